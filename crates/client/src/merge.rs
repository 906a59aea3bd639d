//! Two edits of one text, merged: what only one of them changed is taken, what both changed differently is marked.

use diffy::{ConflictStyle, MergeOptions};

/// How the marks of a conflict begin, as the library writes them.
const OURS: &str = "<<<<<<< ours";
/// The same in words that fit whoever edits.
const YOURS: &str = "<<<<<<< yours";
const THEIRS: &str = ">>>>>>> theirs";

/// What two edits of one text come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// They do not touch each other.
    Clean(String),
    /// Both changed the same lines: both versions stand in the text, between marks.
    Marked(String),
}

impl Merged {
    /// The text, with marks or without.
    pub fn text(&self) -> &str {
        match self {
            Self::Clean(text) | Self::Marked(text) => text,
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
    let mut options = MergeOptions::new();
    options.set_conflict_style(ConflictStyle::Merge);
    match options.merge(base, yours, theirs) {
        Ok(text) => Merged::Clean(text),
        Err(text) => Merged::Marked(text.replace(OURS, YOURS)),
    }
}

/// Whether a text still has marks of a conflict in it.
pub fn has_marks(text: &str) -> bool {
    text.lines().any(|line| line == YOURS || line == THEIRS)
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
        assert_eq!(merged, Merged::Marked(marked.to_owned()));
        assert!(has_marks(marked) && !has_marks("a\nb <<<<<<< yours\n"));
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
