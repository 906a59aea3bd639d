//! Two edits of one text, merged: what only one of them changed is taken, what both changed differently is marked.

use diffy::{ConflictStyle, IncompleteHunkStyle, MergeOptions};
use protocol::limits::MAX_DOCUMENT_BYTES;
use serde::{Deserialize, Serialize};

/// How long marks are where no line of the texts looks like one.
const USUAL_LENGTH: usize = 7;

/// The lines that stand before and after what both changed. They are told apart by their length from everything that stands
/// in the texts, such as what explains how to read marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct Marks {
    length: usize,
}

/// A draft on the disk may say anything; no text that is saved has a longer line.
impl TryFrom<usize> for Marks {
    type Error = String;

    fn try_from(length: usize) -> Result<Self, String> {
        if (1..=MAX_DOCUMENT_BYTES).contains(&length) {
            Ok(Self { length })
        } else {
            Err(format!("marks are not {length} characters long"))
        }
    }
}

impl From<Marks> for usize {
    fn from(marks: Marks) -> usize {
        marks.length
    }
}

impl Marks {
    /// Marks that none of the texts has a line like.
    fn for_texts(texts: [&str; 3]) -> Self {
        let lines = texts.iter().flat_map(|text| text.lines());
        let longest = lines.map(run_of_mark).max().unwrap_or_default();
        Self { length: USUAL_LENGTH.max(longest + 1) }
    }

    fn line(self, sign: char, name: &str) -> String {
        format!("{} {name}", String::from_iter(std::iter::repeat_n(sign, self.length)))
    }

    /// Whether some of them still stand in a text.
    pub fn are_in(self, text: &str) -> bool {
        let (yours, theirs) = (self.line('<', "yours"), self.line('>', "theirs"));
        text.lines().any(|line| line == yours || line == theirs)
    }
}

/// How many signs of a mark a line begins with.
fn run_of_mark(line: &str) -> usize {
    let Some(first) = line.chars().next().filter(|first| ['<', '=', '>'].contains(first)) else { return 0 };
    line.chars().take_while(|sign| *sign == first).count()
}

/// What two edits of one text come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// They do not touch each other.
    Clean(String),
    /// Both changed the same lines: both versions stand in the text, between marks.
    Marked {
        /// The text.
        text: String,
        /// How its marks look.
        marks: Marks,
    },
}

impl Merged {
    /// The text, with marks or without.
    pub fn text(&self) -> &str {
        match self {
            Self::Clean(text) | Self::Marked { text, .. } => text,
        }
    }
}

/// Merges two edits of a common text, line by line.
pub fn merge(base: &str, yours: &str, theirs: &str) -> Merged {
    // What one side left alone is the other's, whatever it looks like, marks included.
    if base == yours || yours == theirs {
        return Merged::Clean(theirs.to_owned());
    }
    if base == theirs {
        return Merged::Clean(yours.to_owned());
    }
    let marks = Marks::for_texts([base, yours, theirs]);
    let mut options = MergeOptions::new();
    options
        .set_conflict_style(ConflictStyle::Merge)
        .set_conflict_marker_length(marks.length)
        .set_incomplete_hunk_style(IncompleteHunkStyle::Git);
    match options.merge(base, yours, theirs) {
        Ok(text) => Merged::Clean(text),
        Err(text) => {
            // The library's name for it means nothing to whoever edits.
            let (ours, named) = (marks.line('<', "ours"), marks.line('<', "yours"));
            let lines = text.split('\n').map(|line| if line == ours { named.as_str() } else { line });
            Merged::Marked { text: lines.collect::<Vec<_>>().join("\n"), marks }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_of_different_lines_are_both_taken() {
        let merged = merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n");
        assert_eq!(merged, Merged::Clean("A\nb\nc\nd\nE\n".to_owned()));
    }

    #[test]
    fn edits_of_one_line_stand_between_marks() {
        let merged = merge("a\nb\nc\n", "a\nmine\nc\n", "a\nyours\nc\n");
        let marked = "a\n<<<<<<< yours\nmine\n=======\nyours\n>>>>>>> theirs\nc\n";
        let Merged::Marked { text, marks } = merged else { panic!("{merged:?}") };
        assert_eq!(text, marked);
        assert!(marks.are_in(marked) && !marks.are_in("a\nb <<<<<<< yours\n"));
    }

    #[test]
    fn marks_stand_in_lines_of_their_own_where_no_line_ends_the_text() {
        let merged = merge("a", "mine", "theirs");
        assert_eq!(merged.text(), "<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> theirs\n");
    }

    #[test]
    fn a_text_about_marks_keeps_its_own() {
        let about = "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n";
        let (base, yours, theirs) =
            (format!("{about}end\n"), format!("{about}mine\n"), format!("{about}theirs\n"));
        let Merged::Marked { text, marks } = merge(&base, &yours, &theirs) else { panic!() };
        assert_eq!(text, format!("{about}<<<<<<<< yours\nmine\n========\ntheirs\n>>>>>>>> theirs\n"));
        assert!(marks.are_in(&text) && !marks.are_in(&yours), "its own lines are no marks of the merge");
        // A merge of a text with marks in it has other marks.
        let Merged::Marked { text, marks: longer } = merge(&theirs, &text, &base) else { panic!() };
        assert!(longer != marks && longer.are_in(&text), "{text}");
    }

    #[test]
    fn what_one_side_left_alone_is_the_others() {
        assert_eq!(merge("a\n", "a\n", "b"), Merged::Clean("b".to_owned()));
        assert_eq!(merge("a\n", "", "a\n"), Merged::Clean(String::new()));
        assert_eq!(merge("a", "b", "b"), Merged::Clean("b".to_owned()));
        assert_eq!(merge("", "mine\n", "theirs\n").text().lines().count(), 5);
    }

    #[test]
    fn no_line_of_either_side_is_lost() {
        let texts = ["", "a\n", "a\nb\n", "b\na", "a\n\n\nb\n", "c\nd\n", "a\nc\nb\nd"];
        for base in texts {
            for yours in texts {
                for theirs in texts {
                    let merged = merge(base, yours, theirs);
                    let added = |side: &str| -> Vec<String> {
                        side.lines().filter(|line| !base.contains(*line)).map(str::to_owned).collect()
                    };
                    for line in added(yours).into_iter().chain(added(theirs)) {
                        assert!(merged.text().contains(&line), "{base:?} {yours:?} {theirs:?}: {merged:?}");
                    }
                }
            }
        }
    }
}
