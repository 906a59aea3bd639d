//! Writes the tokens of cl100k as a prepared hash table, so that nothing is built at run time.

#![expect(clippy::expect_used, reason = "a build that cannot write its table must fail")]

#[path = "src/hash.rs"]
mod hash;

use std::path::Path;

use hash::{SLOTS, hash};

/// Number of cl100k's ranks without special tokens, which are counted as ordinary text.
const TOKENS: u32 = 100_256;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/hash.rs");
    let tokenizer = tiktoken_rs::cl100k_base().expect("the encoding");
    let mut slots = vec![0_u64; SLOTS];
    let mut ends = Vec::new();
    let mut bytes = Vec::new();
    for rank in 0..TOKENS {
        let token = tokenizer.decode_bytes(&[rank]).expect("ranks without a gap");
        let hash = hash(&token);
        // Open addressing with linear probing, as in `table::rank`.
        let mut slot = hash.slot;
        while slots[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        // The rank is stored plus one, so that zero can mark an empty slot and the table needs no separate
        // flags.
        slots[slot] = u64::from(hash.check) << 32 | u64::from(rank + 1);
        bytes.extend_from_slice(&token);
        ends.push(u32::try_from(bytes.len()).expect("less than 4 GiB"));
    }
    let directory = std::env::var_os("OUT_DIR").expect("a place to write to");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(Path::new(&directory).join(name), bytes).expect("a table on disk");
    };
    write("slots", &slots.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<u8>>());
    write("ends", &ends.iter().flat_map(|end| end.to_le_bytes()).collect::<Vec<u8>>());
    write("bytes", &bytes);
}
