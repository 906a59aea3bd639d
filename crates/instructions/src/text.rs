//! From bytes to text: decoding, cuts, headers, and neutralizing untrusted text.

pub(crate) mod content_hash;
mod cut;
pub(crate) mod decode;
pub(crate) mod front_matter;
pub mod header;
pub(crate) mod safety;

mod marked;
pub(crate) mod markup;
pub(crate) mod mentions;
pub(crate) mod named_imports;
pub(crate) mod references;
pub(crate) mod rule_header;
pub(crate) mod transform;

pub use cut::common_prefix;
pub(crate) use cut::{cut, headings_after};
pub(crate) use decode::{decode, is_blank};
