/** Search over titles, and over the texts of documents. */

export interface Hit {
  line: number;
  text: string;
}

/** Returns the words that a text must contain. */
export function words(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

/** Returns how well a title matches, or `undefined` if it does not. Smaller is better. */
export function rank(title: string, query: string): number | undefined {
  const lower = title.toLowerCase();
  const wanted = words(query);
  if (!wanted.every((word) => lower.includes(word))) return undefined;
  const first = wanted[0];
  if (first === undefined) return 0;
  const at = lower.indexOf(first);
  const isWordStart = at === 0 || /[^\p{L}\p{N}]/u.test(lower[at - 1] ?? "");
  return (isWordStart ? 0 : 1_000) + at + title.length / 1_000;
}

/** Returns the lines of a text with at least one of the words, if the text has all of them. */
export function hits(text: string, query: string, most: number): Hit[] {
  const wanted = words(query);
  const lower = text.toLowerCase();
  if (wanted.length === 0 || !wanted.every((word) => lower.includes(word))) return [];
  const found: Hit[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (found.length >= most) break;
    const small = line.toLowerCase();
    if (wanted.some((word) => small.includes(word))) found.push({ line: index + 1, text: line });
  }
  return found;
}
