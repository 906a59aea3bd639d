/** Sections of a prompt with their texts. */
import type { PromptManifestSection, PromptResult, PromptSource } from "../protocol/types";

export interface SectionText {
  section: PromptManifestSection;
  /** Text of the section; absent if it cannot be told apart from its neighbors. */
  text: string | undefined;
}

/** Text between two sections of one part. */
const JOINT = "\n\n";

/** Returns the sections of a prompt in order, each with its text. */
export function sectionTexts(prompt: PromptResult): SectionText[] {
  const { sections } = prompt.manifest;
  const part = (section: PromptManifestSection) => {
    if (section.said_earlier) return "earlier";
    if (section.stability === "session" && section.role === "user") return "user";
    return section.stability;
  };
  const texts: Record<string, string | undefined> = {
    stable: prompt.stable_text,
    session: prompt.session_text,
    user: prompt.user_text,
    turn: prompt.turn_text,
  };
  const found = new Map<PromptManifestSection, string>();
  for (const [name, text] of Object.entries(texts)) {
    const own = sections.filter((section) => part(section) === name);
    split(text ?? "", own.map((section) => section.chars))?.forEach((piece, index) => {
      const section = own[index];
      if (section) found.set(section, piece);
    });
  }
  return sections.map((section) => ({ section, text: found.get(section) }));
}

/** Splits a text into pieces of known lengths. `undefined` if the lengths do not add up to it. */
export function split(text: string, lengths: number[]): string[] | undefined {
  const characters = [...text];
  const joints = Math.max(0, lengths.length - 1) * JOINT.length;
  if (lengths.reduce((sum, length) => sum + length, joints) !== characters.length) return undefined;
  let position = 0;
  return lengths.map((length) => {
    const piece = characters.slice(position, position + length).join("");
    position += length + JOINT.length;
    return piece;
  });
}

/** Returns a source as a short text. */
export function sourceName(source: PromptSource): string {
  const name = source.path ?? source.id ?? source.owner ?? "";
  const version = source.version === undefined ? "" : `, version ${source.version}`;
  return `${source.kind}${name ? ` ${name}` : ""}${version}`;
}
