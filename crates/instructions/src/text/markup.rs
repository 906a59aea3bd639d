//! What a file's Markdown says besides its text: when the file applies, and which others it imports.

use crate::profile::ByteOrderMark;
use crate::text::decode;
use crate::text::decode::count_lines;
use crate::text::front_matter::{self, Conditions, FrontMatter, Problem};
use crate::text::references::{self, References};

/// Found once for each content, and only where there is a trace of it.
#[derive(Debug)]
pub(crate) struct Markup {
    /// Where the text begins, behind conditions.
    pub(crate) start: usize,
    pub(crate) conditions: Option<Conditions>,
    /// Why a block that looks like conditions is text.
    pub(crate) problem: Option<Problem>,
    pub(crate) references: References,
}

impl Markup {
    /// What a file has by rules that take all of it for text.
    pub(crate) const NONE: Self =
        Self { start: 0, conditions: None, problem: None, references: References::NONE };

    /// Looks at the first bytes of a file.
    pub(crate) fn find(bytes: &[u8], is_whole: bool) -> Self {
        let mut markup = Self::NONE;
        match front_matter::read(bytes) {
            FrontMatter::None => {}
            FrontMatter::Conditions(conditions, start) => {
                markup.conditions = Some(conditions);
                markup.start = start;
            }
            FrontMatter::Invalid(problem) => markup.problem = Some(problem),
        }
        let text = &bytes[markup.start..];
        if text.contains(&b'@') {
            // A word may go on behind what was read.
            let end = if is_whole { text.len() } else { last_line_end(text) };
            let lines = count_lines(&bytes[..markup.start]);
            markup.references = references::find(&decode(&text[..end], ByteOrderMark::Stripped).text);
            for reference in &mut markup.references.found {
                reference.line += lines;
            }
        }
        markup
    }
}

fn last_line_end(text: &[u8]) -> usize {
    text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0)
}
