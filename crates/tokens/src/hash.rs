//! Where a token is in the table; the build script and the table itself must agree on it.

/// Places of the table, about a third of them taken.
pub(crate) const SLOTS: usize = 1 << 18;

/// Where to look for a token, and what tells it from most others there.
pub(crate) struct Hash {
    pub(crate) slot: usize,
    pub(crate) check: u32,
}

/// Mixes eight bytes at a time. The table never changes, so nobody can make it slow.
pub(crate) fn hash(bytes: &[u8]) -> Hash {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = (bytes.len() as u64).wrapping_mul(FACTOR);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed = (mixed.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    mixed ^= mixed >> 29;
    Hash { slot: (mixed as usize) % SLOTS, check: (mixed >> 32) as u32 }
}
