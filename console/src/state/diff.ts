/** Difference of two texts by lines. */

export interface DiffLine {
  kind: "equal" | "insert" | "delete";
  text: string;
  /** Number of the line in the old text, from 1; absent for inserted lines. */
  before?: number;
  /** Number of the line in the new text, from 1; absent for deleted lines. */
  after?: number;
}

/** Edits beyond which the middle is shown as one replacement, because the search takes quadratic time. */
const MAX_EDITS = 2_000;

/** Returns the lines of a text. A final line feed ends a line and does not begin an empty one. */
export function lines(text: string): string[] {
  if (text === "") return [];
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  return all;
}

/** Returns the shortest edit from one list of lines to the other, after Myers. */
export function diffLines(old: string[], fresh: string[]): DiffLine[] {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < fresh.length - start &&
    old[old.length - 1 - end] === fresh[fresh.length - 1 - end]
  ) {
    end += 1;
  }
  const result: DiffLine[] = [];
  let before = 0;
  let after = 0;
  const push = (kind: DiffLine["kind"]) => {
    if (kind === "delete") result.push({ kind, text: old[before] ?? "", before: ++before });
    else if (kind === "insert") result.push({ kind, text: fresh[after] ?? "", after: ++after });
    else result.push({ kind, text: old[before] ?? "", before: ++before, after: ++after });
  };
  for (let line = 0; line < start; line += 1) push("equal");
  const middle = shortestEdit(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  for (const kind of middle) push(kind);
  for (let line = 0; line < end; line += 1) push("equal");
  return result;
}

function shortestEdit(old: string[], fresh: string[]): DiffLine["kind"][] {
  const replace = (): DiffLine["kind"][] => [
    ...old.map(() => "delete" as const),
    ...fresh.map(() => "insert" as const),
  ];
  if (old.length === 0 || fresh.length === 0) return replace();
  const most = Math.min(old.length + fresh.length, MAX_EDITS);
  const offset = most + 1;
  let reach = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(reach.slice());
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const below = reach[offset + diagonal - 1] ?? 0;
      const above = reach[offset + diagonal + 1] ?? 0;
      const goesDown = diagonal === -edits || (diagonal !== edits && below < above);
      let x = goesDown ? above : below + 1;
      let y = x - diagonal;
      while (x < old.length && y < fresh.length && old[x] === fresh[y]) {
        x += 1;
        y += 1;
      }
      reach[offset + diagonal] = x;
      if (x >= old.length && y >= fresh.length) return backtrack(trace, old.length, fresh.length, offset);
    }
  }
  return replace();
}

function backtrack(trace: Int32Array[], width: number, height: number, offset: number): DiffLine["kind"][] {
  const kinds: DiffLine["kind"][] = [];
  let x = width;
  let y = height;
  for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
    const reach = trace[edits] ?? new Int32Array();
    const diagonal = x - y;
    const below = reach[offset + diagonal - 1] ?? 0;
    const above = reach[offset + diagonal + 1] ?? 0;
    const goesDown = diagonal === -edits || (diagonal !== edits && below < above);
    const previous = goesDown ? diagonal + 1 : diagonal - 1;
    const fromX = edits === 0 ? 0 : (reach[offset + previous] ?? 0);
    const fromY = edits === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY) {
      kinds.push("equal");
      x -= 1;
      y -= 1;
    }
    if (edits === 0) break;
    kinds.push(goesDown ? "insert" : "delete");
    x = fromX;
    y = fromY;
  }
  return kinds.reverse();
}

/** Returns the difference of two texts. */
export function diff(old: string, fresh: string): DiffLine[] {
  return diffLines(lines(old), lines(fresh));
}

/** A changed part with its surroundings, or a number of equal lines that are left out. */
export type DiffPart = { kind: "lines"; lines: DiffLine[] } | { kind: "gap"; count: number };

/** Leaves out equal lines that are more than `context` lines away from a change. */
export function fold(all: DiffLine[], context = 3): DiffPart[] {
  const near = new Uint8Array(all.length);
  all.forEach((line, index) => {
    if (line.kind === "equal") return;
    near.fill(1, Math.max(0, index - context), Math.min(all.length, index + context + 1));
  });
  const parts: DiffPart[] = [];
  const firsts = new Map<DiffPart, DiffLine>();
  const onlyLine = (gap: DiffPart): DiffPart => {
    const line = firsts.get(gap);
    return line ? { kind: "lines", lines: [line] } : gap;
  };
  all.forEach((line, index) => {
    const last = parts.at(-1);
    if (near[index]) {
      if (last?.kind === "lines") last.lines.push(line);
      else parts.push({ kind: "lines", lines: [line] });
    } else if (last?.kind === "gap") last.count += 1;
    else {
      const gap: DiffPart = { kind: "gap", count: 1 };
      firsts.set(gap, line);
      parts.push(gap);
    }
  });
  // A single line takes no more space than the note about it.
  return parts.map((part) => (part.kind === "gap" && part.count === 1 ? onlyLine(part) : part));
}

/** A row of the side-by-side view. */
export interface DiffRow {
  left?: DiffLine;
  right?: DiffLine;
}

/** Pairs deleted lines with the inserted ones that follow them. */
export function sideBySide(all: DiffLine[]): DiffRow[] {
  const rows: DiffRow[] = [];
  let deleted: DiffLine[] = [];
  let inserted: DiffLine[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(deleted.length, inserted.length); index += 1) {
      rows.push({ left: deleted[index], right: inserted[index] });
    }
    deleted = [];
    inserted = [];
  };
  for (const line of all) {
    if (line.kind === "delete") deleted.push(line);
    else if (line.kind === "insert") inserted.push(line);
    else {
      flush();
      rows.push({ left: line, right: line });
    }
  }
  flush();
  return rows;
}
