//! Conditions and imports in the Markdown of a file.

use crate::profile::ByteOrderMark;
use crate::text::decode;
use crate::text::decode::count_lines;
use crate::text::front_matter::{self, Conditions, FrontMatter, Problem};
use crate::text::references::{self, References};

/// Conditions and imports of a file, computed once for each content.
#[derive(Debug)]
pub(crate) struct Markup {
    /// Offset of the text after the conditions.
    pub(crate) start: usize,
    pub(crate) conditions: Option<Conditions>,
    /// Reason why a block that looks like conditions is treated as text.
    pub(crate) problem: Option<Problem>,
    pub(crate) references: References,
}

impl Markup {
    /// Markup of a file that is entirely text.
    pub(crate) const NONE: Self =
        Self { start: 0, conditions: None, problem: None, references: References::NONE };

    /// Finds the markup in the first bytes of a file.
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
            // The last word may continue beyond the bytes that were read, so an incomplete line is not searched.
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
