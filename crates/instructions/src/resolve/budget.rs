//! Shares the limit among files.

use crate::profile::{Blank, ByteOrderMark, OverLimit};
use crate::text::{cut, is_blank};

/// A file that takes part in sharing the limit.
pub(crate) struct SharedFile<'a> {
    /// First bytes of the file.
    pub(crate) bytes: &'a [u8],
    /// Size of the whole file.
    pub(crate) size: u64,
    /// An earlier file imports it.
    pub(crate) imported: bool,
}

/// Share of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    /// The whole file.
    Whole,
    /// First bytes of the file.
    Cut(usize),
    /// Nothing: earlier files used up the limit.
    Nothing,
    /// Nothing: the file does not fit as a whole.
    DoesNotFit,
    /// Nothing: an earlier file did not fit.
    Stopped,
    /// Nothing: the limit of files was reached.
    TooMany,
    /// Nothing: the part that fits is only white space.
    Blank,
}

/// Limits of a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainLimit {
    pub(crate) bytes: u64,
    pub(crate) files: Option<u64>,
    pub(crate) over: OverLimit,
    pub(crate) mark: ByteOrderMark,
    /// Effect of a file of which only white space fits.
    pub(crate) blank: Blank,
}

/// Shares the limit among files in chain order, root first.
pub(crate) fn share(files: &[SharedFile<'_>], limit: ChainLimit) -> Vec<Share> {
    match limit.over {
        OverLimit::NearestFirst => nearest_first(files, limit),
        OverLimit::RootFirst => root_first(files, limit),
        OverLimit::StopsAtFirst => stop_at_first(files, limit),
    }
}

fn most_files(limit: ChainLimit) -> usize {
    limit.files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

fn nearest_first(files: &[SharedFile<'_>], limit: ChainLimit) -> Vec<Share> {
    let mut shares = vec![Share::TooMany; files.len()];
    let mut left = limit.bytes;
    let order = nearest_first_order(files.len(), |index| files[index].imported);
    for index in order.into_iter().take(most_files(limit)) {
        let (share, file) = (&mut shares[index], &files[index]);
        if file.size <= left {
            left -= file.size;
            *share = Share::Whole;
            continue;
        }
        let kept = cut(file.bytes, usize::try_from(left).unwrap_or(usize::MAX));
        *share = if kept == 0 { Share::Nothing } else { Share::Cut(kept) };
        // Bytes left over by cutting at a line are not given to files further away: a cut near file must not be
        // followed by a whole distant one.
        left = 0;
    }
    shares
}

/// Returns the order in which files get their share: the last file first, its imports right after it.
pub(crate) fn nearest_first_order(count: usize, is_imported: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut order = Vec::with_capacity(count);
    let mut end = count;
    for start in (0..count).rev() {
        // A file and the imports after it form a group. Within a group the order stays: an import gives way before the
        // file that names it.
        if start == 0 || !is_imported(start) {
            order.extend(start..end);
            end = start;
        }
    }
    order
}

// A blank part costs nothing. The cut is at a byte, even inside a character: decoding replaces the rest of it
// later.
fn root_first(files: &[SharedFile<'_>], limit: ChainLimit) -> Vec<Share> {
    let mut left = limit.bytes;
    let mut count = most_files(limit);
    files
        .iter()
        .map(|file| {
            if left == 0 {
                return Share::Nothing;
            }
            if count == 0 {
                return Share::TooMany;
            }
            let kept = file.size.min(left);
            let length = usize::try_from(kept).unwrap_or(usize::MAX).min(file.bytes.len());
            // Only the part that fits is tested, as the agent does. A file whose text begins behind the cut therefore
            // counts as blank.
            if limit.blank == Blank::HidesOthers && is_blank(&file.bytes[..length], limit.mark) {
                return Share::Blank;
            }
            left -= kept;
            count -= 1;
            if kept == file.size { Share::Whole } else { Share::Cut(length) }
        })
        .collect()
}

// The specification prefers a complete prefix of the chain: a file that does not fit ends it, even if a later one
// would fit.
fn stop_at_first(files: &[SharedFile<'_>], limit: ChainLimit) -> Vec<Share> {
    let mut left = limit.bytes;
    let mut count = most_files(limit);
    let mut stopped = None;
    files
        .iter()
        .map(|file| {
            if let Some(stopped) = stopped {
                return stopped;
            }
            if count == 0 {
                stopped = Some(Share::TooMany);
                return Share::TooMany;
            }
            if file.size > left {
                stopped = Some(Share::Stopped);
                return Share::DoesNotFit;
            }
            count -= 1;
            left -= file.size;
            Share::Whole
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(over: OverLimit, bytes: u64, files: Option<u64>, texts: &[&str]) -> Vec<Share> {
        let shared: Vec<SharedFile<'_>> = texts
            .iter()
            .map(|text| {
                let text = text.as_bytes();
                // In these tests a text that begins with `@` is an import.
                SharedFile { bytes: text, size: text.len() as u64, imported: text.starts_with(b"@") }
            })
            .collect();
        share(
            &shared,
            ChainLimit { bytes, files, over, mark: ByteOrderMark::Kept, blank: Blank::HidesOthers },
        )
    }

    #[test]
    fn the_nearest_file_survives() {
        use Share::*;
        let nearest = |bytes, texts| shares(OverLimit::NearestFirst, bytes, None, texts);
        assert_eq!(nearest(10, &["root", "leaf"]), [Whole, Whole]);
        assert_eq!(nearest(6, &["ro\not", "leaf"]), [Cut(2), Whole]);
        assert_eq!(nearest(4, &["root", "mid", "leaf"]), [Nothing, Nothing, Whole]);
        assert_eq!(nearest(2, &["root", "leaf"]), [Nothing, Cut(2)]);
        assert_eq!(nearest(4, &["root", "leaf", "@one", "@two"]), [Nothing, Whole, Nothing, Nothing]);
        assert_eq!(nearest(9, &["root", "@sub", "leaf"]), [Whole, Cut(1), Whole]);
        assert_eq!(shares(OverLimit::NearestFirst, 99, Some(1), &["a", "b"]), [TooMany, Whole]);
    }

    #[test]
    fn codex_starves_the_leaf_and_blank_costs_nothing() {
        use Share::*;
        let codex = |bytes, texts| shares(OverLimit::RootFirst, bytes, None, texts);
        assert_eq!(codex(6, &["root", "leaf"]), [Whole, Cut(2)]);
        assert_eq!(codex(4, &["root", "leaf"]), [Whole, Nothing]);
        assert_eq!(codex(5, &["     x", "leaf"]), [Blank, Whole]);
        assert_eq!(codex(6, &["     x", "leaf"]), [Whole, Nothing]);
    }

    #[test]
    fn the_specification_stops_at_what_does_not_fit() {
        use Share::*;
        let stops = |bytes, files, texts| shares(OverLimit::StopsAtFirst, bytes, files, texts);
        assert_eq!(stops(8, None, &["12345", "6789012", "3"]), [Whole, DoesNotFit, Stopped]);
        assert_eq!(stops(99, Some(2), &["0", "1", "2"]), [Whole, Whole, TooMany]);
    }
}
