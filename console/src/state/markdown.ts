/**
 * Markdown as a tree of plain values, which components turn into elements. There is no way from a text to raw HTML: tags in
 * a text stay text.
 */

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "emphasis"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; isOrdered: boolean; items: Inline[][] }
  | { kind: "quote"; children: Inline[] }
  | { kind: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^\s{0,9}(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}>\s?(.*)$/;

/** Returns the blocks of a text. */
export function blocks(text: string): Block[] {
  const all = text.split("\n");
  const found: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) found.push({ kind: "paragraph", children: inlines(paragraph.join("\n")) });
    paragraph = [];
  };
  for (let index = 0; index < all.length; index += 1) {
    const line = all[index] ?? "";
    const fence = FENCE.exec(line);
    if (fence) {
      flush();
      const mark = fence[1] ?? "```";
      const code: string[] = [];
      for (index += 1; index < all.length && !(all[index] ?? "").trim().startsWith(mark); index += 1) {
        code.push(all[index] ?? "");
      }
      found.push({ kind: "code", language: fence[2] ?? "", text: code.join("\n") });
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      flush();
      found.push({ kind: "heading", level: (heading[1] ?? "#").length, children: inlines(heading[2] ?? "") });
      continue;
    }
    if (RULE.test(line)) {
      flush();
      found.push({ kind: "rule" });
      continue;
    }
    const item = ITEM.exec(line);
    if (item) {
      flush();
      const isOrdered = item[2] !== undefined;
      const last = found.at(-1);
      const children = inlines(item[3] ?? "");
      const before = all[index - 1] ?? "";
      if (last?.kind === "list" && last.isOrdered === isOrdered && before.trim() !== "") last.items.push(children);
      else found.push({ kind: "list", isOrdered, items: [children] });
      continue;
    }
    const quote = QUOTE.exec(line);
    if (quote) {
      flush();
      found.push({ kind: "quote", children: inlines(quote[1] ?? "") });
      continue;
    }
    if (line.trim() === "") flush();
    else paragraph.push(line);
  }
  flush();
  return found;
}

const INLINE =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*|\*(?=[^\s*])([^*]*[^\s*])\*|\[([^\]\n]{1,500})\]\(([^()\s]{1,2000})\)/g;
/** Depth of nested emphasis. */
const DEEPEST = 6;

/** Returns the parts of a line or paragraph. */
export function inlines(text: string, depth = 0): Inline[] {
  if (depth >= DEEPEST) return [{ kind: "text", text }];
  const found: Inline[] = [];
  let position = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, , code, strong, emphasis, label, href] = match;
    let part: Inline | undefined;
    if (code !== undefined) part = { kind: "code", text: code };
    else if (strong !== undefined) part = { kind: "strong", children: inlines(strong, depth + 1) };
    else if (emphasis !== undefined) part = { kind: "emphasis", children: inlines(emphasis, depth + 1) };
    else if (label !== undefined && href !== undefined) {
      const safe = safeAddress(href);
      if (safe) part = { kind: "link", href: safe, children: inlines(label, depth + 1) };
    }
    if (!part) continue;
    if (match.index > position) found.push({ kind: "text", text: text.slice(position, match.index) });
    found.push(part);
    position = match.index + all.length;
  }
  if (position < text.length) found.push({ kind: "text", text: text.slice(position) });
  return found;
}

/** Returns an address that is safe to follow. Anything but the web, such as `javascript:`, stays text. */
export function safeAddress(href: string): string | undefined {
  try {
    const url = new URL(href);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}
