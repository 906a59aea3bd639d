//! The tokens of cl100k by their bytes, in a table that is built with the crate and embedded in the program.

use crate::hash::{SLOTS, hash};

/// For each slot, the rank of a token plus one, with a check of its hash above; 0 for an empty slot.
static SLOT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));
/// For each rank, the end of its bytes.
static ENDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ends"));
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bytes"));

/// Length of the longest token in bytes.
const LONGEST: usize = 128;

/// Returns the rank of a token; tokens with a lower rank are merged earlier.
pub(crate) fn rank(token: &[u8]) -> Option<u32> {
    if token.len() > LONGEST {
        return None;
    }
    let wanted = hash(token);
    let mut slot = wanted.slot;
    loop {
        let check = number(SLOT, 2 * slot + 1);
        let rank = number(SLOT, 2 * slot).checked_sub(1)?;
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

/// Reads a little-endian number from a table.
fn number(table: &[u8], index: usize) -> u32 {
    let at = table.get(4 * index..).and_then(|rest| rest.first_chunk());
    at.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
