//! Hash of a token in the table, shared by the build script and the lookup, which must agree.

/// Slots of the table, about a third of them used.
pub(crate) const SLOTS: usize = 1 << 18;

/// Slot of a token, and a check value that distinguishes it from most others.
pub(crate) struct Hash {
    pub(crate) slot: usize,
    pub(crate) check: u32,
}

/// Mixes eight bytes at a time. The table is fixed, so collisions cannot be provoked by inserting keys.
pub(crate) fn hash(bytes: &[u8]) -> Hash {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    // The length is mixed in first: a token that ends in zero bytes would otherwise collide with its
    // shorter form.
    let mut mixed = (bytes.len() as u64).wrapping_mul(FACTOR);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed = (mixed.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    mixed ^= mixed >> 29;
    Hash { slot: (mixed as usize) % SLOTS, check: (mixed >> 32) as u32 }
}
