import "fake-indexeddb/auto";
import { describe, expect, test } from "vitest";
import type { Folder, ThreadSummary, ThreadTreeResult, Turn, TurnStep } from "../protocol/types";
import { Drafts } from "./drafts";
import { blocks, inlines, safeAddress } from "./markdown";
import { split } from "./prompt";
import { link, parse, type Route } from "./route";
import { hits, rank } from "./search";
import { characters, visible } from "./text";
import { spans } from "./timeline";
import { Tree } from "./tree";
import { layout } from "./treemap";
import { WatchedTurn } from "./turn";

describe("addresses", () => {
  const routes: Route[] = [
    { page: "home" },
    { page: "tokens" },
    { page: "workspace", workspace: "w" },
    { page: "doc", workspace: "w", folder: undefined },
    { page: "doc", workspace: "w", folder: "f", version: 3 },
    { page: "history", workspace: "w", folder: "f", version: 4, from: 2 },
    { page: "thread", workspace: "w", thread: "t" },
    { page: "turn", workspace: "w/x", turn: "t" },
    { page: "prompt", workspace: "w", thread: "t" },
    { page: "approvals", workspace: "w" },
  ];
  test("pages and addresses belong together", () => {
    for (const route of routes) expect(parse(link(route))).toEqual(route);
  });
  test("the documented addresses are read", () => {
    expect(parse("#/w/W/doc/root")).toEqual({ page: "doc", workspace: "W", folder: undefined });
    expect(parse("#/w/W/doc/root@7")).toEqual({ page: "doc", workspace: "W", folder: undefined, version: 7 });
    expect(parse("#/w/W/doc/F@x")).toEqual({ page: "doc", workspace: "W", folder: "F" });
  });
  test("nonsense is an unknown page", () => {
    for (const hash of ["#/x", "#/w/a/b", "#/w/a/thread", "#/%zz"]) expect(parse(hash).page).toBe("unknown");
  });
});

describe("tree", () => {
  const time = "2027-01-01T00:00:00.000Z";
  const folder = (id: string, name: string, parent_folder_id?: string) =>
    ({ id, name, parent_folder_id, workspace_id: "w", created_at: time, updated_at: time }) as Folder;
  const thread = (id: string, title = id) =>
    ({ id, title, mode: "agent", created_at: time, updated_at: time }) as ThreadSummary;
  const document = (folder_id: string | undefined, char_count: number, status: "active" | "draft" = "active") =>
    ({ id: `d${folder_id}`, workspace_id: "w", folder_id, status, content_sha256: "", version: 1, char_count, updated_at: time });

  function tree(): Tree {
    const made = new Tree(100);
    made.load({
      workspace_id: "w",
      seq: 1,
      folders: [folder("b", "beta"), folder("a", "alpha"), folder("c", "inner", "a")],
      threads: [thread("t1"), thread("t2")],
      placements: [{ thread_id: "t2", folder_id: "c" }],
      agents_docs: [document(undefined, 10), document("a", 200), document("b", 1, "draft")],
      more: [{ folder_id: "b", threads: 3 }],
    } as ThreadTreeResult);
    return made;
  }

  const names = (made: Tree, open: string[], filter = "") =>
    made.rows(new Set(open), filter).map((row) => `${row.level}:${row.key}`);

  test("folders come sorted, then threads", () => {
    expect(names(tree(), [])).toEqual(["1:document/", "1:folder/a", "1:folder/b", "1:thread/t1"]);
    expect(names(tree(), ["a", "b"])).toEqual([
      "1:document/",
      "1:folder/a",
      "2:document/a",
      "2:folder/c",
      "1:folder/b",
      "2:document/b",
      "2:more/b",
      "1:thread/t1",
    ]);
  });
  test("badges show what applies", () => {
    const made = tree();
    expect(made.badge("a")).toBe("own");
    expect(made.badge("c")).toBe("inherited");
    expect(made.badge("b")).toBe("draft");
    expect(made.effective("c")?.folderId).toBe("a");
    expect(made.effective("b")?.folderId).toBe(undefined);
    expect(made.isOver(made.document("a"))).toBe(true);
  });
  test("a filter keeps the folders above a match", () => {
    expect(names(tree(), [], "T2")).toEqual(["1:folder/a", "2:folder/c", "3:thread/t2"]);
  });
  test("pages are added until none is left", () => {
    const made = tree();
    made.addPage("b", [thread("t3"), thread("t4")], false);
    expect(made.threadCount("b")).toBe(3);
    made.addPage("b", [thread("t5")], true);
    expect(names(made, ["b"]).filter((name) => name.includes("more"))).toEqual([]);
  });
  test("a moved thread has one place", () => {
    const made = tree();
    made.putThread({ ...thread("t2"), workspace_id: "w", folder_id: "b" });
    expect(made.folderOfThread("t2")).toBe("b");
    expect(names(made, ["a", "c"]).filter((name) => name.includes("t2"))).toEqual([]);
    made.putThread({ ...thread("t2"), workspace_id: "w", archived_at: time });
    expect(made.thread("t2")).toBeUndefined();
  });
  test("a hundred thousand threads are listed quickly", () => {
    const made = new Tree(100);
    made.load({ workspace_id: "w", seq: 1, folders: [], threads: [], placements: [], agents_docs: [] });
    const all = Array.from({ length: 100_000 }, (_, index) => thread(String(index).padStart(6, "0")));
    made.addPage(undefined, all, true);
    expect(made.rows(new Set())).toHaveLength(100_001);
  });
});

describe("markdown", () => {
  test("blocks and inline parts are recognized", () => {
    expect(blocks("# A\n\ntext\n\n- one\n- two\n\n```js\n<b>\n```")).toEqual([
      { kind: "heading", level: 1, children: [{ kind: "text", text: "A" }] },
      { kind: "paragraph", children: [{ kind: "text", text: "text" }] },
      { kind: "list", isOrdered: false, items: [[{ kind: "text", text: "one" }], [{ kind: "text", text: "two" }]] },
      { kind: "code", language: "js", text: "<b>" },
    ]);
    expect(inlines("a **b** `c`")).toEqual([
      { kind: "text", text: "a " },
      { kind: "strong", children: [{ kind: "text", text: "b" }] },
      { kind: "text", text: " " },
      { kind: "code", text: "c" },
    ]);
  });
  test("only addresses of the web can be followed", () => {
    expect(safeAddress("https://example.com/a")).toBe("https://example.com/a");
    for (const href of ["javascript:alert(1)", "data:text/html,x", "JAVASCRIPT:x", "/relative", "vbscript:x"]) {
      expect(safeAddress(href)).toBeUndefined();
    }
    expect(inlines("[x](javascript:y)")).toEqual([{ kind: "text", text: "[x](javascript:y)" }]);
  });
  test("unbalanced marks take no quadratic time", () => {
    const started = performance.now();
    for (const mark of ["*", "**", "`", "[", "> ", "- "]) blocks(mark.repeat(20_000));
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe("turns", () => {
  const turn = { id: "t", ordinal: 1, status: "running", input: "hi", created_at: "2027-01-01T00:00:00.000Z" } as Turn;

  test("pieces of an answer are joined in order", () => {
    const watched = new WatchedTurn(turn);
    const delta = (index: number, text: string) => watched.delta({ turn_id: "t", index, text });
    expect(delta(2, "c")).toBe(true);
    watched.watched({ turn, text: "ab", next_index: 2 });
    expect(watched.items.at(-1)).toMatchObject({ kind: "saying", text: "abc" });
    expect(delta(2, "c")).toBe(true);
    expect(delta(4, "e")).toBe(false);
    expect(delta(3, "d")).toBe(true);
    expect(watched.items.at(-1)).toMatchObject({ text: "abcde" });
  });
  test("stored steps replace the streamed text", () => {
    const watched = new WatchedTurn(turn);
    watched.watched({ turn, text: "first second", next_index: 5 });
    const steps = [
      { role: "user", text: "hi", created_at: "" },
      { role: "assistant", text: "first ", calls: [{ call_id: "c", tool: "read_file", arguments: "{}" }], created_at: "" },
    ] as TurnStep[];
    watched.got({ turn, steps, approvals: [] }, 0);
    expect(watched.items.map((item) => item.kind)).toEqual(["asked", "said", "call", "saying"]);
    expect(watched.items.at(-1)).toMatchObject({ text: "second" });
  });
  test("the timeline has no gaps", () => {
    const at = (second: number) => `2027-01-01T00:00:0${second}.000Z`;
    const steps = [
      { role: "user", created_at: at(0) },
      { role: "assistant", calls: [{ call_id: "c", tool: "run", arguments: "{}" }], created_at: at(2) },
      { role: "tool", results: [{ call_id: "c", text: "" }], created_at: at(5) },
      { role: "assistant", created_at: at(6) },
    ] as TurnStep[];
    const ended = { ...turn, status: "completed", finished_at: at(6) } as Turn;
    const found = spans(ended, steps, [], 0).map((span) => [span.label, span.from, span.to]);
    expect(found).toEqual([
      ["Round 1", 0, 2_000],
      ["run", 2_000, 5_000],
      ["Round 2", 5_000, 6_000],
    ]);
  });
});

describe("small parts", () => {
  test("a text is split only if the lengths fit", () => {
    expect(split("ab\n\ncde", [2, 3])).toEqual(["ab", "cde"]);
    expect(split("ab\n\ncde", [2, 2])).toBeUndefined();
    expect(split("", [])).toEqual([]);
  });
  test("a treemap fills its area in proportion", () => {
    const rects = layout([6, 6, 4, 3, 2, 2, 1], { x: 0, y: 0, width: 600, height: 400 });
    const area = rects.map((rect) => Math.round(rect.width * rect.height));
    expect(area).toEqual([60_000, 60_000, 40_000, 30_000, 20_000, 20_000, 10_000]);
  });
  test("titles and lines are found by words", () => {
    expect(rank("Payment rules", "rules pay")).toBeDefined();
    expect(rank("Payment rules", "rules x")).toBeUndefined();
    expect(hits("a\nUse cents\nno floats", "cents floats", 5).map((hit) => hit.line)).toEqual([2, 3]);
  });
  test("hidden characters are shown and astral ones counted once", () => {
    expect(visible("a\u202Eb")).toBe("a⟨U+202E⟩b");
    expect(characters("a😀b")).toBe(3);
  });
  test("drafts are kept by place", async () => {
    const drafts = new Drafts();
    const place = { instance: "i", workspace: "w", folder: undefined };
    const draft = { baseVersion: 1, baseText: "a", text: "b" };
    await drafts.keep(place, draft);
    await drafts.keep({ ...place, folder: "f" }, draft);
    expect(await drafts.load(place)).toEqual(draft);
    expect(await drafts.folders("i", "w")).toEqual(expect.arrayContaining([undefined, "f"]));
    expect(await drafts.load({ ...place, workspace: "other" })).toBeUndefined();
    await drafts.keep(place, null);
    expect(await drafts.load(place)).toBeUndefined();
  });
});
