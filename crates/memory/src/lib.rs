//! Memory: the terms that items are found by, the text that presents them to a model, and requests not to remember.
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

mod extraction;
mod policy;
mod recall;
mod settings;
mod terms;

pub use extraction::{EXTRACTION_REQUEST, Extracted, exchange, extracted};
pub use policy::{Policy, phrase_against_remembering};
pub use recall::{MAX_RECALLED, Recall, best, recall_text};
pub use settings::MemorySettings;
pub use terms::{IndexTerms, MAX_QUERY_TERMS, MAX_TERM_CHARS, QueryTerms};
