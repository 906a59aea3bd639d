/** Markdown for the editor. The parser is used directly: its usual package brings HTML, CSS and JavaScript with it. */
import { HighlightStyle, Language, defineLanguageFacet, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { GFM, parser } from "@lezer/markdown";

const facet = defineLanguageFacet({ commentTokens: { block: { open: "<!--", close: "-->" } } });

export const markdown = new Language(facet, parser.configure(GFM), [], "markdown");

export const highlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.heading, class: "cm-heading" },
    { tag: tags.strong, class: "cm-strong" },
    { tag: tags.emphasis, class: "cm-emphasis" },
    { tag: tags.monospace, class: "cm-code" },
    { tag: [tags.link, tags.url], class: "cm-link" },
    { tag: tags.quote, class: "cm-quote" },
    { tag: [tags.comment, tags.processingInstruction, tags.meta], class: "cm-mark" },
  ]),
);
