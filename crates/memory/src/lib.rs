//! What is remembered: the words it is found by, how much of it a model is told, and when nothing may be remembered.
//!
//! Pure and synchronous: text in, text and terms out. The items themselves are in the store.
//!
//! ```
//! use memory::{IndexTerms, QueryTerms};
//!
//! let index = IndexTerms::of("The café in 東京 opens at eight");
//! assert!(QueryTerms::of("CAFE").iter().all(|term| index.contains(term)));
//! assert!(QueryTerms::of("東京").iter().all(|term| index.contains(term)));
//! ```

#![warn(missing_docs)]

mod extraction;
mod policy;
mod recall;
mod settings;
mod terms;

pub use extraction::{EXTRACTION_REQUEST, Extracted, exchange, extracted};
pub use policy::{Policy, asks_not_to_remember};
pub use recall::{MAX_RECALLED, Recall, best, recall_text};
pub use settings::MemorySettings;
pub use terms::{IndexTerms, MAX_QUERY_TERMS, MAX_TERM_CHARS, QueryTerms};
