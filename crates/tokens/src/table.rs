//! The tokens of cl100k by their bytes: prepared when the crate is built, looked up where they lie in the program.

use crate::hash::{SLOTS, hash};

/// For each place the rank of a token and one more, with a check of its hash above; 0 is an empty place.
static SLOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));
/// For each rank where its bytes end.
static ENDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ends"));
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bytes"));

/// The longest token has 128 bytes.
const LONGEST: usize = 128;

/// The rank of a token: the lower, the earlier it is merged.
pub(crate) fn rank(token: &[u8]) -> Option<u32> {
    if token.len() > LONGEST {
        return None;
    }
    let wanted = hash(token);
    let mut slot = wanted.slot;
    loop {
        let (check, rank) = (number(SLOT, 2 * slot + 1), number(SLOT, 2 * slot).checked_sub(1)?);
        if check == wanted.check && bytes(rank as usize) == token {
            return Some(rank);
        }
        slot = (slot + 1) % SLOTS;
    }
}

fn bytes(rank: usize) -> &'static [u8] {
    let start = if rank == 0 { 0 } else { number(ENDS, rank - 1) as usize };
    BYTES.get(start..number(ENDS, rank) as usize).unwrap_or_default()
}

/// One of the numbers that a table holds, in the order of its bytes.
fn number(table: &[u8], index: usize) -> u32 {
    let at = table.get(4 * index..).and_then(|rest| rest.first_chunk());
    at.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
