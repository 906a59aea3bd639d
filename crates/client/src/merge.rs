//! Three-way merge: accepts changes of only one side and marks lines that both sides changed.

use diffy::{ConflictStyle, IncompleteHunkStyle, MergeOptions};
use protocol::limits::MAX_DOCUMENT_BYTES;
use serde::{Deserialize, Serialize};

/// Length of conflict markers unless a text has similar lines.
const USUAL_LENGTH: usize = 7;

/// Conflict markers around lines that both sides changed. Their length distinguishes them from similar lines in the texts,
/// such as an explanation of conflict markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct Marks {
    length: usize,
}

/// Limits the length, because a draft file may contain any number. No saved text has a longer line.
impl TryFrom<usize> for Marks {
    type Error = String;

    fn try_from(length: usize) -> Result<Self, String> {
        if (1..=MAX_DOCUMENT_BYTES).contains(&length) {
            Ok(Self { length })
        } else {
            Err(format!("conflict markers cannot be {length} characters long"))
        }
    }
}

impl From<Marks> for usize {
    fn from(marks: Marks) -> usize {
        marks.length
    }
}

impl Marks {
    /// Returns markers that are longer than any similar line in the texts.
    fn for_texts(texts: [&str; 3]) -> Self {
        let lines = texts.iter().flat_map(|text| text.lines());
        let longest = lines.map(run_of_mark).max().unwrap_or_default();
        Self { length: USUAL_LENGTH.max(longest + 1) }
    }

    fn line(self, sign: char, name: &str) -> String {
        format!("{} {name}", String::from_iter(std::iter::repeat_n(sign, self.length)))
    }

    /// Returns true if the text still contains one of these markers.
    pub fn are_in(self, text: &str) -> bool {
        let yours = self.line('<', "yours");
        let theirs = self.line('>', "theirs");
        // Whole lines are compared, because a text may mention a marker in a sentence. The middle marker is left
        // out, since it looks like the underline of a heading.
        text.lines().any(|line| line == yours || line == theirs)
    }
}

/// Returns the length of the marker characters at the start of a line.
fn run_of_mark(line: &str) -> usize {
    let Some(first) = line.chars().next().filter(|first| ['<', '=', '>'].contains(first)) else { return 0 };
    line.chars().take_while(|sign| *sign == first).count()
}

/// Result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The edits do not overlap.
    Clean(String),
    /// Both sides changed the same lines, which are enclosed in conflict markers.
    Marked {
        /// The merged text.
        text: String,
        /// The markers in the text.
        marks: Marks,
    },
}

impl Merged {
    /// Returns the merged text, with or without markers.
    pub fn text(&self) -> &str {
        match self {
            Self::Clean(text) | Self::Marked { text, .. } => text,
        }
    }
}

/// Merges two edits of a common text, line by line.
pub fn merge(base: &str, yours: &str, theirs: &str) -> Merged {
    // An unchanged side accepts the other one literally, even if it contains lines that look like markers.
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
            // The library calls the first side "ours", which means nothing to the user.
            let ours = marks.line('<', "ours");
            let named = marks.line('<', "yours");
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
    fn edits_of_one_line_get_conflict_markers() {
        let merged = merge("a\nb\nc\n", "a\nmine\nc\n", "a\nyours\nc\n");
        let marked = "a\n<<<<<<< yours\nmine\n=======\nyours\n>>>>>>> theirs\nc\n";
        let Merged::Marked { text, marks } = merged else { panic!("{merged:?}") };
        assert_eq!(text, marked);
        assert!(marks.are_in(marked) && !marks.are_in("a\nb <<<<<<< yours\n"));
    }

    #[test]
    fn markers_have_their_own_lines_without_a_final_newline() {
        let merged = merge("a", "mine", "theirs");
        assert_eq!(merged.text(), "<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> theirs\n");
    }

    #[test]
    fn marker_like_lines_in_a_text_survive() {
        let about = "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n";
        let base = format!("{about}end\n");
        let yours = format!("{about}mine\n");
        let theirs = format!("{about}theirs\n");
        let Merged::Marked { text, marks } = merge(&base, &yours, &theirs) else { panic!() };
        assert_eq!(text, format!("{about}<<<<<<<< yours\nmine\n========\ntheirs\n>>>>>>>> theirs\n"));
        assert!(
            marks.are_in(&text) && !marks.are_in(&yours),
            "the text's own lines are not markers of the merge"
        );
        // Merging a text that contains markers needs longer ones.
        let Merged::Marked { text, marks: longer } = merge(&theirs, &text, &base) else { panic!() };
        assert!(longer != marks && longer.are_in(&text), "{text}");
    }

    #[test]
    fn an_unchanged_side_accepts_the_other_side() {
        assert_eq!(merge("a\n", "a\n", "b"), Merged::Clean("b".to_owned()));
        assert_eq!(merge("a\n", "", "a\n"), Merged::Clean(String::new()));
        assert_eq!(merge("a", "b", "b"), Merged::Clean("b".to_owned()));
        assert_eq!(merge("", "mine\n", "theirs\n").text().lines().count(), 5);
    }

    #[test]
    fn no_line_of_either_side_is_lost() {
        // All combinations of a few small texts cover empty sides, missing final newlines and reordered lines.
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
