//! Comparison of two texts: equal and changed runs, and unified diffs of lines.
//!
//! ```
//! let diff = diff::LineDiff::new("one\ntwo\n", "one\n2\n");
//! assert_eq!(diff.removed_lines(), 1);
//! assert_eq!(diff.unified("before", "after"), "--- before\n+++ after\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
//! ```
//!
//! For long texts without common parts, the shortest result is not searched for, so that the running time
//! stays bounded.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};

/// Marker after a line without a line end.
pub const NO_LINE_END: &str = "\\ No newline at end of file";

/// Lines of context around a change.
const CONTEXT: u32 = 3;

/// Corresponding elements of two sequences, either equal or replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub old: Range<usize>,
    pub new: Range<usize>,
    pub is_equal: bool,
}

/// Splits two sequences into runs that cover both from beginning to end.
pub fn runs(old: &[&[u8]], new: &[&[u8]]) -> Vec<Run> {
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut runs = Vec::new();
    let mut old_done = 0;
    let mut new_done = 0;
    let equal = |old: Range<usize>, new: Range<usize>| Run { old, new, is_equal: true };
    for Hunk { before, after } in compare(&input).hunks() {
        let before = before.start as usize..before.end as usize;
        let after = after.start as usize..after.end as usize;
        // Hunks list only changes. The equal elements between them, and those after the last one, complete the cover;
        // empty runs at either end are removed below.
        runs.push(equal(old_done..before.start, new_done..after.start));
        (old_done, new_done) = (before.end, after.end);
        runs.push(Run { old: before, new: after, is_equal: false });
    }
    runs.push(equal(old_done..old.len(), new_done..new.len()));
    runs.retain(|run| !(run.old.is_empty() && run.new.is_empty()));
    runs
}

/// A comparison of two texts by line.
pub struct LineDiff<'a> {
    input: InternedInput<&'a str>,
    diff: Diff,
}

impl<'a> LineDiff<'a> {
    pub fn new(old: &'a str, new: &'a str) -> Self {
        let mut input = InternedInput::default();
        // Line ends belong to their lines, so a missing one at the end of the text is a change like any other.
        input.update_before(old.split_inclusive('\n'));
        input.update_after(new.split_inclusive('\n'));
        let mut diff = compare(&input);
        // A change within equal lines can be placed in several ways. This picks the one that people expect,
        // such as a whole function.
        diff.postprocess_lines(&input);
        Self { input, diff }
    }

    /// Returns the number of removed lines.
    pub fn removed_lines(&self) -> u64 {
        u64::from(self.diff.count_removals())
    }

    /// Returns a unified diff, or an empty text if there are no changes.
    pub fn unified(&self, old_name: &str, new_name: &str) -> String {
        let changes: Vec<Hunk> = self.diff.hunks().collect();
        if changes.is_empty() {
            return String::new();
        }
        let mut text = format!("--- {old_name}\n+++ {new_name}\n");
        // Two changes whose context lines would overlap form one hunk.
        for together in changes.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
            self.add_hunk(&mut text, together);
        }
        text
    }

    fn add_hunk(&self, text: &mut String, changes: &[Hunk]) {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
        let above = first.before.start.min(CONTEXT);
        // Context lines are equal on both sides, so the old text supplies the numbers for both.
        let below = (self.input.before.len() as u32 - last.before.end).min(CONTEXT);
        let old = first.before.start - above..last.before.end + below;
        let new = first.after.start - above..last.after.end + below;
        text.push_str(&format!("@@ -{} +{} @@\n", numbers(&old), numbers(&new)));
        let mut shown = old.start;
        for change in changes {
            self.add_lines(text, ' ', &self.input.before, shown..change.before.start);
            self.add_lines(text, '-', &self.input.before, change.before.clone());
            self.add_lines(text, '+', &self.input.after, change.after.clone());
            shown = change.before.end;
        }
        self.add_lines(text, ' ', &self.input.before, shown..old.end);
    }

    fn add_lines(&self, text: &mut String, sign: char, lines: &[Token], range: Range<u32>) {
        for &line in &lines[range.start as usize..range.end as usize] {
            let line = self.input.interner[line];
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str(&format!("\n{NO_LINE_END}\n"));
            }
        }
    }
}

/// Formats the lines of a hunk. An empty range is named by the line before it, and a length of one is
/// omitted.
fn numbers(lines: &Range<u32>) -> String {
    match lines.len() {
        // GNU diff and git number an empty range by the line before it, which `lines.start` is when counted from one.
        0 => format!("{},0", lines.start),
        1 => (lines.start + 1).to_string(),
        length => format!("{},{length}", lines.start + 1),
    }
}

fn compare<T>(input: &InternedInput<T>) -> Diff {
    Diff::compute(Algorithm::Myers, input)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(old: &str, new: &str) -> String {
        LineDiff::new(old, new).unified("a", "b")
    }

    #[test]
    fn hunks_name_the_changed_lines() {
        let lines: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
        let old = lines.concat();
        for changed in 1..=20_usize {
            let mut new = lines.clone();
            new[changed - 1] = "new\n".to_owned();
            let diff = LineDiff::new(&old, &new.concat()).unified("a", "b");
            let first = changed.saturating_sub(3).max(1);
            let last = (changed + 3).min(20);
            let range = format!("{first},{}", last - first + 1);
            assert!(
                diff.contains(&format!("\n@@ -{range} +{range} @@\n line {first}\n")) || changed == 1,
                "{diff}"
            );
            assert_eq!(diff.lines().count(), 3 + last - first + 2, "{diff}");
            assert!(diff.contains(&format!("-line {changed}\n+new\n")), "{diff}");
        }
    }

    #[test]
    fn changed_lines_have_signs_and_context() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("2\n3\n", "two\n3\n").replace("20\n", "20");
        assert_eq!(
            check(&old, &new),
            "--- a\n+++ b\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n\
             @@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n"
        );
        assert_eq!(check("", "a\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(check("a\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(check("a", "a"), "");
    }

    #[test]
    fn texts_without_common_parts_are_compared() {
        let text =
            |seed: u64| (0..50_000u64).map(|line| format!("{}\n", line.wrapping_mul(seed) % 9_973)).collect();
        let (old, new): (String, String) = (text(7_919), text(104_729));
        assert!(LineDiff::new(&old, &new).removed_lines() > 0);
    }

    proptest! {
        #[test]
        fn runs_cover_both_sides_and_say_what_is_equal(old in "[ab\n]{0,40}", new in "[ab\n]{0,40}") {
            let split = |text: &'static str| text.split_inclusive('\n').map(str::as_bytes).collect::<Vec<_>>();
            let old = split(old.leak());
            let new = split(new.leak());
            let mut old_done = 0;
            let mut new_done = 0;
            for run in runs(&old, &new) {
                prop_assert_eq!((run.old.start, run.new.start), (old_done, new_done));
                prop_assert!(!run.is_equal || old[run.old.clone()] == new[run.new.clone()]);
                (old_done, new_done) = (run.old.end, run.new.end);
            }
            prop_assert_eq!((old_done, new_done), (old.len(), new.len()));
        }
    }
}
