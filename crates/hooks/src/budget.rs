//! How much is taken from a hook, and how a text that is longer is cut.

use std::io;

use serde::Serialize;

use crate::Contribution;

/// The most contributions of one run; a hook that returns more has failed.
pub const MAX_CONTRIBUTIONS: usize = 256;

/// How much is taken from one run of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Characters of the text of one contribution. A longer text is cut at the end of a line, with a mark.
    pub text_chars: usize,
    /// Bytes of one contribution apart from such a text, which cannot be cut. A larger one is refused.
    pub json_bytes: usize,
    /// Bytes of all contributions of a run. A hook that returns more has failed.
    pub total_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { text_chars: 32_000, json_bytes: 512 * 1024, total_bytes: 1024 * 1024 }
    }
}

/// Cuts a text to a number of characters, its mark included; `None` if it fits.
///
/// The cut is at the end of a line if one ends in the second half of what fits, else between two characters.
pub(crate) fn cut(text: &str, most: usize) -> Option<String> {
    // A character has at least a byte, so most texts need not be counted.
    if text.len() <= most {
        return None;
    }
    let size = text.chars().count();
    if size <= most {
        return None;
    }
    // The number of characters shown is never longer than the number of all.
    let room = most.saturating_sub(mark(size, size).chars().count() + 1);
    let end = text.char_indices().nth(room).map_or(text.len(), |(index, _)| index);
    let end = match text[..end].rfind('\n') {
        Some(line) if line >= end / 2 => line,
        _ => end,
    };
    let kept = &text[..end];
    let mark = mark(kept.chars().count(), size);
    let marked = if kept.is_empty() { mark } else { format!("{kept}\n{mark}") };
    // A budget smaller than the mark shows as much of the mark as fits.
    Some(marked.chars().take(most).collect())
}

fn mark(kept: usize, size: usize) -> String {
    format!("[foreword: {kept} of {size} characters shown; the rest exceeds the hook's budget.]")
}

/// The bytes of a contribution, or `None` if there are more than `most`; never looks at much more than that.
pub(crate) fn bytes(contribution: &Contribution, most: usize) -> Option<usize> {
    let mut count = Count { left: most };
    match contribution {
        Contribution::Policy(policy) => count.texts([&policy.key]).and_then(|()| count.json(&policy.value)),
        Contribution::PromptSection(section) => count
            .texts([&section.id, &section.section_id, &section.title, &section.content])
            .and_then(|()| section.sources.iter().try_for_each(|source| count.json(source))),
        Contribution::ToolBundle(bundle) => {
            count.texts([&bundle.id]).and_then(|()| bundle.tools.iter().try_for_each(|tool| count.json(tool)))
        }
        Contribution::BackgroundJob(job) => count.texts([&job.kind]).and_then(|()| count.json(&job.payload)),
    }?;
    Some(most - count.left)
}

/// Counts down to a limit.
struct Count {
    left: usize,
}

impl Count {
    fn texts<const N: usize>(&mut self, texts: [&String; N]) -> Option<()> {
        for text in texts {
            self.left = self.left.checked_sub(text.len())?;
        }
        Some(())
    }

    fn json(&mut self, value: &impl Serialize) -> Option<()> {
        serde_json::to_writer(self, value).ok()
    }
}

impl io::Write for Count {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(buffer.len());
        self.left = left.ok_or(io::ErrorKind::StorageFull)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{BackgroundJob, PromptSection};

    #[test]
    fn a_text_is_cut_at_the_end_of_a_line() {
        let text = "0123456789\n".repeat(100);
        let cut = cut(&text, 200).unwrap();
        let (kept, mark) = cut.rsplit_once('\n').unwrap();
        assert!(kept.lines().all(|line| line == "0123456789"), "{cut}");
        assert_eq!(
            mark,
            format!(
                "[foreword: {} of 1100 characters shown; the rest exceeds the hook's budget.]",
                kept.chars().count()
            )
        );
    }

    #[test]
    fn bytes_are_counted_up_to_a_limit() {
        let job = Contribution::from(BackgroundJob { kind: "ab".into(), payload: json!([1, 2]) });
        assert_eq!(bytes(&job, 100), Some(2 + "[1,2]".len()));
        assert_eq!(bytes(&job, 7), Some(7));
        assert_eq!(bytes(&job, 6), None);
        let section = Contribution::from(PromptSection::new("k", "", "", "é"));
        assert_eq!(bytes(&section, 100), Some(3));
    }

    proptest! {
        #[test]
        fn what_is_cut_fits(text in "(?s).{0,400}", most in 0_usize..300) {
            match cut(&text, most) {
                Some(cut) => {
                    prop_assert!(text.chars().count() > most);
                    prop_assert!(cut.chars().count() <= most);
                }
                None => prop_assert!(text.chars().count() <= most),
            }
        }
    }
}
