import { expect, test } from "vitest";
import { diff, fold, sideBySide } from "./diff";
import { hasMarks, merge } from "./merge";

function shown(old: string, fresh: string): string {
  const signs = { equal: " ", insert: "+", delete: "-" };
  return diff(old, fresh)
    .map((line) => signs[line.kind] + line.text)
    .join("|");
}

test("differences are the shortest edit", () => {
  expect(shown("a\nb\nc\n", "a\nx\nc\n")).toBe(" a|-b|+x| c");
  expect(shown("", "a\n")).toBe("+a");
  expect(shown("a\n", "")).toBe("-a");
  expect(shown("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n")).toHaveLength("-a|-b| c|+b| a| b|-b| a|+c".length);
});

test("a difference turns one text into the other", () => {
  let seed = 3;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let run = 0; run < 200; run += 1) {
    const text = () => Array.from({ length: random(12) }, () => "abc"[random(3)]).join("\n");
    const [old, fresh] = [text(), text()];
    const all = diff(old, fresh);
    const rebuilt = (skip: string) => all.filter((line) => line.kind !== skip).map((line) => line.text).join("\n");
    expect(rebuilt("insert")).toBe(old);
    expect(rebuilt("delete")).toBe(fresh);
  }
});

test("a complete rewrite of a long text is quick", () => {
  const text = (word: string) => Array.from({ length: 5_000 }, (_, index) => `${word} ${index}`).join("\n");
  expect(diff(text("a"), text("b"))).toHaveLength(10_000);
});

test("equal lines far from a change are left out", () => {
  const old = Array.from({ length: 20 }, (_, index) => String(index)).join("\n");
  const parts = fold(diff(old, old.replace("10", "ten")), 2);
  expect(parts.map((part) => (part.kind === "gap" ? part.count : part.lines.length))).toEqual([8, 6, 7]);
});

test("changed lines stand side by side", () => {
  const rows = sideBySide(diff("a\nb\nc\n", "a\nB\nB2\nc\n"));
  expect(rows.map((row) => [row.left?.text, row.right?.text])).toEqual([
    ["a", "a"],
    ["b", "B"],
    [undefined, "B2"],
    ["c", "c"],
  ]);
});

test("edits of different lines are both taken", () => {
  expect(merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n")).toEqual({
    text: "A\nb\nc\nd\nE\n",
    isClean: true,
  });
});

test("edits of one line get marks", () => {
  const merged = merge("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n");
  expect(merged).toEqual({
    text: "a\n<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> theirs\nc\n",
    isClean: false,
  });
  expect(hasMarks(merged.text)).toBe(true);
});

test("the same edit of both sides is taken once", () => {
  expect(merge("a\nb\n", "a\nB\nc\n", "a\nB\nd\n").isClean).toBe(false);
  expect(merge("a\nb\nc\nd\n", "A\nb\nc\nx\n", "A\nb\nc\nd\n")).toEqual({ text: "A\nb\nc\nx\n", isClean: true });
});

test("a merge keeps every line of both sides", () => {
  let seed = 11;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let run = 0; run < 300; run += 1) {
    const base = Array.from({ length: 8 }, (_, index) => `line ${index}`);
    const edit = (who: string) => {
      const lines = [...base];
      for (let count = 0; count < 2; count += 1) lines[random(8)] = `${who} ${run} ${count}`;
      return `${lines.join("\n")}\n`;
    };
    const [yours, theirs] = [edit("yours"), edit("theirs")];
    const { text } = merge(`${base.join("\n")}\n`, yours, theirs);
    for (const line of [...yours.split("\n"), ...theirs.split("\n")]) {
      if (/ \d+ \d$/.test(line)) expect(text).toContain(line);
    }
  }
});
