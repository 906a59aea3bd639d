//! Parts of a Markdown text that rules examine: paragraphs, code and links with their lines.

use std::ops::Range;

use instructions::header::{self, Fence};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Most characters of a line examined as context of a piece.
const MAX_LINE: usize = 1_000;
/// Most lines of a list above an item that are searched for its introduction.
const MAX_ITEMS: usize = 40;
/// Most pieces of one kind examined in a text.
// Generated files can contain millions of code spans. The rules are quadratic in places, and no hand-written
// instructions come near this number.
const MAX_PIECES: usize = 4_096;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Line in the file, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) within: Within,
}

/// Part of a text that contains a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Within {
    #[default]
    Text,
    Heading,
    /// The words of a link.
    Link,
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeBlock {
    /// Line of its first line of code.
    pub(crate) line: usize,
    /// Language of its fence in lower case; empty if there is none.
    pub(crate) language: String,
    pub(crate) text: String,
}

/// Parts of a text.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// Paragraphs and list items, with white space collapsed.
    pub(crate) paragraphs: Vec<Piece>,
    /// Inline code.
    pub(crate) spans: Vec<Piece>,
    pub(crate) blocks: Vec<CodeBlock>,
    /// Targets of links and images.
    pub(crate) links: Vec<Piece>,
    lines: Vec<String>,
    /// Indexes of the lines that are headings.
    headings: Vec<usize>,
}

impl Markdown {
    pub(crate) fn parse(text: &str) -> Self {
        // Front matter is not Markdown: its closing `---` would turn the lines above into a heading. Offsets refer to
        // the body, so `offset` is added for lines of the file.
        let body = header::find(text, Fence::Exact).map_or(text, |header| header.body);
        let offset = text.len() - body.len();
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line = |at: usize| starts.partition_point(|start| *start <= offset + at);
        let mut markdown = Self { lines: text.lines().map(str::to_owned).collect(), ..Self::default() };
        let mut paragraph: Option<Range<usize>> = None;
        let mut block: Option<CodeBlock> = None;
        let mut within = Within::Text;
        for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Paragraph) => paragraph = Some(range),
                // Items of a tight list contain no paragraphs. Nested lists have items of their own.
                Event::Start(Tag::Item) => paragraph = Some(range.start..range.start),
                Event::Start(Tag::List(_)) | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                    markdown.close(&mut paragraph, body, &line);
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let (language, skipped) = match &kind {
                        CodeBlockKind::Fenced(language) => (language.to_string(), 1),
                        CodeBlockKind::Indented => (String::new(), 0),
                    };
                    // The info string of a fence may continue with attributes, as in `sh,no_run` or `sh {.copy}`.
                    let language = language.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase();
                    block =
                        Some(CodeBlock { line: line(range.start) + skipped, language, text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => markdown.blocks.extend(block.take()),
                Event::Text(text) if block.is_some() => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&text);
                    }
                }
                Event::Code(text) => {
                    extend(&mut paragraph, &range);
                    markdown.spans.push(Piece { line: line(range.start), text: text.into_string(), within });
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    extend(&mut paragraph, &range);
                    let text = dest_url.into_string();
                    markdown.links.push(Piece { line: line(range.start), text, within });
                    within = Within::Link;
                }
                Event::End(TagEnd::Link | TagEnd::Image) => within = Within::Text,
                Event::Start(Tag::Heading { .. }) => within = Within::Heading,
                Event::End(TagEnd::Heading(_)) => within = Within::Text,
                _ => extend(&mut paragraph, &range),
            }
        }
        markdown.spans.truncate(MAX_PIECES);
        markdown.links.truncate(MAX_PIECES);
        markdown.blocks.truncate(MAX_PIECES);
        markdown.headings =
            (0..markdown.lines.len()).filter(|line| markdown.lines[*line].starts_with('#')).collect();
        markdown
    }

    fn close(&mut self, paragraph: &mut Option<Range<usize>>, body: &str, line: &impl Fn(usize) -> usize) {
        let Some(range) = paragraph.take() else { return };
        let text = body[range.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            self.paragraphs.push(Piece { line: line(range.start), text, within: Within::Text });
        }
    }

    /// Returns the sentence around a piece, including the previous line if the sentence begins there.
    pub(crate) fn sentence(&self, line: usize, piece: &str) -> String {
        let around = self.around(line);
        // The source of a code span may differ from its text, by blanks at its ends or a line break.
        let Some(at) = around.rfind(piece) else { return around };
        // Sentences are split by punctuation alone. Splitting too early, as after "e.g.", only narrows the context,
        // whereas a parser for prose would still be wrong in lists and tables.
        let ends = [". ", "! ", "? ", ".) ", ".\" "];
        let start =
            ends.iter().filter_map(|end| Some(around[..at].rfind(end)? + end.len())).max().unwrap_or(0);
        let rest = &around[at + piece.len()..];
        let length = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
        around[start..at + piece.len() + length].to_owned()
    }

    /// Returns a line, preceded by the previous one if the sentence continues.
    pub(crate) fn around(&self, line: usize) -> String {
        let at = |line: usize| line.checked_sub(1).and_then(|index| self.lines.get(index));
        let short = |line: &str| line.chars().take(MAX_LINE).collect::<String>();
        let this = at(line).map_or("", String::as_str);
        // Items, table rows and headings begin a new thought. A warning in the item above must not excuse this one.
        let is_item = this.trim_start().starts_with(['-', '*', '+', '|', '#', '>'])
            || this.trim_start().starts_with(|letter: char| letter.is_ascii_digit());
        match at(line.saturating_sub(1)) {
            Some(before) if !is_item && !before.trim().is_empty() => {
                format!("{} {}", short(before), short(this))
            }
            _ => short(this),
        }
    }

    /// Returns the line that introduces the list with an item, as in `Examples:`; empty if there is none.
    pub(crate) fn introduction(&self, line: usize) -> &str {
        let is_item = |line: &str| {
            let start = line.trim_start();
            start.starts_with(['-', '*', '+', '|']) && !start.starts_with("**")
                || start.starts_with(|letter: char| letter.is_ascii_digit())
                || line.starts_with([' ', '\t'])
        };
        let above = self.lines.get(..line).unwrap_or_default();
        if !above.last().is_some_and(|line| is_item(line)) {
            return "";
        }
        let above = above.iter().rev().take(MAX_ITEMS);
        let mut above = above.skip_while(|line| is_item(line) || line.trim().is_empty());
        above.next().map_or("", |line| if line.trim_end().ends_with([':', '*']) { line } else { "" })
    }

    /// Returns the nearest heading above a line.
    pub(crate) fn heading(&self, line: usize) -> &str {
        let above = self.headings.partition_point(|heading| *heading < line);
        above.checked_sub(1).map_or("", |last| self.lines[self.headings[last]].as_str())
    }
}

/// Returns the ranges of code in a text.
pub(crate) fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let is_code = |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
    events.filter(|(event, _)| is_code(event)).map(|(_, range)| range).collect()
}

/// Returns true if a position is inside one of the sorted ranges.
pub(crate) fn is_in(ranges: &[Range<usize>], position: usize) -> bool {
    let behind = ranges.partition_point(|range| range.start <= position);
    behind.checked_sub(1).is_some_and(|last| ranges[last].contains(&position))
}

/// Extends a list item to include its content.
fn extend(paragraph: &mut Option<Range<usize>>, range: &Range<usize>) {
    if let Some(paragraph) = paragraph {
        paragraph.end = paragraph.end.max(range.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(pieces: &[Piece]) -> Vec<(usize, &str)> {
        pieces.iter().map(|piece| (piece.line, piece.text.as_str())).collect()
    }

    #[test]
    fn pieces_have_the_lines_of_the_file() {
        let text = "---\nx: y\n---\n# Title\n\nOne\ntwo `a/b.rs`.\n\n- item [t](x.md)\n  more\n  - inner\n- last\n\n```sh\nmake\n```\n\n    code\n";
        let markdown = Markdown::parse(text);
        assert_eq!(
            pieces(&markdown.paragraphs),
            [(6, "One two `a/b.rs`."), (9, "- item [t](x.md) more"), (11, "- inner"), (12, "- last")]
        );
        assert_eq!(pieces(&markdown.spans), [(7, "a/b.rs")]);
        assert_eq!(pieces(&markdown.links), [(9, "x.md")]);
        let blocks: Vec<_> =
            markdown.blocks.iter().map(|block| (block.line, &*block.language, &*block.text)).collect();
        assert_eq!(blocks, [(15, "sh", "make\n"), (18, "", "code\n")]);
        assert_eq!(markdown.around(7), "One two `a/b.rs`.");
        assert_eq!(markdown.around(9), "- item [t](x.md)");
        assert_eq!(markdown.heading(15), "# Title");
        let markdown = Markdown::parse("Use `a`. Never use\n`b`, e.g. not `c`! Use `d`.\n");
        assert_eq!(markdown.sentence(1, "a"), "Use `a`");
        assert_eq!(markdown.sentence(2, "b"), "Never use `b`, e.g");
        assert_eq!(markdown.sentence(2, "d"), "Use `d`.");
        assert_eq!(markdown.sentence(9, "x"), "");
        assert_eq!(Markdown::parse("ä — ö").sentence(1, "not there"), "ä — ö");
    }

    #[test]
    fn spans_in_links_and_headings_are_marked() {
        let markdown = Markdown::parse("# Use `a`\n\nSee [`b`](x.md) and `c`.\n");
        let within: Vec<Within> = markdown.spans.iter().map(|span| span.within).collect();
        assert_eq!(within, [Within::Heading, Within::Link, Within::Text]);
    }

    #[test]
    fn lists_have_introductions() {
        let markdown = Markdown::parse("Examples:\n\n- `a/b.rs`\n  - `c/d.rs`\n");
        assert_eq!(markdown.introduction(3), "Examples:");
        assert_eq!(markdown.introduction(4), "Examples:");
        assert_eq!(markdown.introduction(1), "");
        assert_eq!(markdown.introduction(99), "");
    }

    #[test]
    fn anything_can_be_parsed() {
        for text in
            ["", "---", "---\n---", "\0", "- ", "- - -", "```", "\u{feff}# x", "| a |\n| - |\n| `b` |"]
        {
            Markdown::parse(text);
        }
    }
}
