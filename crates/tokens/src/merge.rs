//! Byte pair encoding of one piece: merges the pair with the lowest rank first, the leftmost of equals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::table::rank;

/// Pieces up to this size are scanned for their next pair, which is faster than maintaining a heap.
const SHORT: usize = 96;

/// Counts the tokens of a piece.
pub(crate) fn count(piece: &[u8]) -> usize {
    if piece.len() <= 1 || rank(piece).is_some() {
        return piece.len().min(1);
    }
    if piece.len() <= SHORT { count_short(piece) } else { count_long(piece) }
}

fn count_short(piece: &[u8]) -> usize {
    let pair = |starts: &[usize], left: usize| -> u32 {
        let end = starts.get(left + 2).copied();
        end.and_then(|end| rank(&piece[starts[left]..end])).unwrap_or(u32::MAX)
    };
    // Starts of the parts, including the end of the last one, and the rank of each part joined with its right neighbour.
    let mut starts: Vec<usize> = (0..=piece.len()).collect();
    let mut ranks: Vec<u32> = (0..piece.len() - 1).map(|left| pair(&starts, left)).collect();
    while let Some((left, lowest)) = ranks.iter().copied().enumerate().min_by_key(|(_, rank)| *rank) {
        if lowest == u32::MAX {
            break;
        }
        starts.remove(left + 1);
        ranks.remove(left);
        if left < ranks.len() {
            ranks[left] = pair(&starts, left);
        }
        if left > 0 {
            ranks[left - 1] = pair(&starts, left - 1);
        }
    }
    starts.len() - 1
}

/// Counts with a heap of pairs, so that time grows hardly faster than length for any text.
fn count_long(piece: &[u8]) -> usize {
    /// Marks a part that was merged into its left neighbour.
    const GONE: usize = 0;
    // For the start of each part: its end, and the start of its left neighbour.
    let mut ends: Vec<usize> = (1..=piece.len()).collect();
    let mut lefts: Vec<usize> = (0..piece.len()).map(|start| start.saturating_sub(1)).collect();
    let mut heap = BinaryHeap::with_capacity(piece.len());
    let pair = |ends: &[usize], start: usize| {
        let middle = ends[start];
        let end = *ends.get(middle)?;
        Some(Reverse((rank(&piece[start..end])?, start, middle, end)))
    };
    heap.extend((0..piece.len()).filter_map(|start| pair(&ends, start)));
    let mut parts = piece.len();
    while let Some(Reverse((_, start, middle, end))) = heap.pop() {
        // An outdated entry: one of its parts was merged meanwhile. Removing it from the heap earlier would be slower.
        if ends[start] != middle || ends[middle] != end {
            continue;
        }
        ends[start] = end;
        ends[middle] = GONE;
        if let Some(left) = lefts.get_mut(end) {
            *left = start;
        }
        parts -= 1;
        heap.extend(pair(&ends, start));
        if start > 0 {
            heap.extend(pair(&ends, lefts[start]));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_algorithms_agree() {
        for text in
            ["ab", "indivisible", "aaaaaaaaaaaaaaaaaaaaaa", "日本語のテキスト", "\u{0}\u{1}\u{2}\u{3}"]
        {
            for times in 1..6 {
                let piece = text.repeat(times);
                assert_eq!(count_short(piece.as_bytes()), count_long(piece.as_bytes()), "{piece:?}");
            }
        }
    }
}
