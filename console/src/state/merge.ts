/** Three-way merge by lines. */
import { diffLines, lines } from "./diff";

export interface Merged {
  text: string;
  /** False if both sides changed the same lines, which are then enclosed in markers. */
  isClean: boolean;
}

const YOURS = "<<<<<<< yours";
const MIDDLE = "=======";
const THEIRS = ">>>>>>> theirs";

/** Returns true if a text contains a marker line of a merge. */
export function hasMarks(text: string): boolean {
  return lines(text).some((line) => line === YOURS || line === THEIRS);
}

/** A replacement of base lines `from..to`. */
interface Hunk {
  from: number;
  to: number;
  lines: string[];
}

function hunks(base: string[], fresh: string[]): Hunk[] {
  const found: Hunk[] = [];
  let position = 0;
  let open: Hunk | undefined;
  for (const line of diffLines(base, fresh)) {
    if (line.kind === "equal") {
      position += 1;
      open = undefined;
      continue;
    }
    if (!open) {
      open = { from: position, to: position, lines: [] };
      found.push(open);
    }
    if (line.kind === "delete") {
      position += 1;
      open.to = position;
    } else {
      open.lines.push(line.text);
    }
  }
  return found;
}

/** Merges two edits of a common text. */
export function merge(base: string, yours: string, theirs: string): Merged {
  if (base === yours || yours === theirs) return { text: theirs, isClean: true };
  if (base === theirs) return { text: yours, isClean: true };
  const common = lines(base);
  const mine = hunks(common, lines(yours));
  const other = hunks(common, lines(theirs));
  const result: string[] = [];
  let position = 0;
  let isClean = true;
  while (mine.length > 0 || other.length > 0) {
    const from = Math.min(mine[0]?.from ?? Infinity, other[0]?.from ?? Infinity);
    result.push(...common.slice(position, from));
    // All hunks of both sides that touch each other form one region.
    let to = from;
    const ours: Hunk[] = [];
    const others: Hunk[] = [];
    for (;;) {
      const take = (source: Hunk[], target: Hunk[]): boolean => {
        const next = source[0];
        const isFirst = ours.length + others.length === 0 && next?.from === from;
        if (!next || !(isFirst || next.from <= to)) return false;
        source.shift();
        target.push(next);
        to = Math.max(to, next.to);
        return true;
      };
      if (!take(mine, ours) && !take(other, others)) break;
    }
    const left = apply(common, from, to, ours);
    const right = apply(common, from, to, others);
    if (others.length === 0 || left.join("\n") === right.join("\n")) result.push(...left);
    else if (ours.length === 0) result.push(...right);
    else {
      isClean = false;
      result.push(YOURS, ...left, MIDDLE, ...right, THEIRS);
    }
    position = to;
  }
  result.push(...common.slice(position));
  const ends = [yours, theirs].some((text) => text.endsWith("\n"));
  return { text: result.length === 0 ? "" : result.join("\n") + (ends ? "\n" : ""), isClean };
}

function apply(common: string[], from: number, to: number, changes: Hunk[]): string[] {
  const result: string[] = [];
  let position = from;
  for (const change of changes) {
    result.push(...common.slice(position, change.from), ...change.lines);
    position = change.to;
  }
  result.push(...common.slice(position, to));
  return result;
}
