//! Compiles a prompt from sections: which there are, in which order, how long, from what, and a record of it all.
//!
//! Pure: text in, text and [`PromptManifest`] out. Sections stand in the order of how rarely they change, so that a
//! provider can keep the beginning from one request to the next; [`blame`] says why it could not.
//!
//! ```
//! use prompt::{PromptCompileInput, compile_prompt};
//!
//! let input = PromptCompileInput { extra_system: Some("Date: 2026-11-15".into()), ..Default::default() };
//! let compiled = compile_prompt(&input);
//! assert!(compiled.stable_text.starts_with("## Identity\n"));
//! assert_eq!(compiled.turn_text, "## Extra System\nDate: 2026-11-15");
//! assert_eq!(compiled.manifest.sections[0].id, "identity");
//! ```

mod blame;
mod bootstrap;
mod budget;
mod collect;
mod compiler;
mod cut;
mod fingerprint;
mod input;
pub mod notes;
mod rebuild;
mod section;
mod texts;

pub use blame::blame;
pub use bootstrap::{BOOTSTRAP_FILES, BootstrapError, BootstrapFile, BootstrapFiles, create_bootstrap_files};
pub use budget::{BUDGETS, Budget, Budgets};
pub use compiler::{COMPILER_VERSION, CompiledPrompt, Compiler, SectionText, compile_prompt};
pub use fingerprint::sha256;
pub use input::{AgentsContext, AgentsGuidance, ContributedSection, PromptCompileInput};
/// The vocabulary of this crate's input and output, which the wire and the store share.
pub use protocol::{
    hook::PromptSection,
    prompt::{
        PromptBlame, PromptChange, PromptDiagnostic, PromptDiagnosticCode, PromptDifference,
        PromptFingerprints, PromptHookSource, PromptManifest, PromptManifestSection, PromptProfile,
        PromptSource, PromptTruncation, Stability,
    },
};
pub use rebuild::{RebuildError, Rebuilt, rebuild};
pub use section::{AGENTS_CONTEXT, AGENTS_MD, FilledBy, SECTIONS, SectionKind, Wrapper};
pub use texts::TEXTS_VERSION;

/// Joins sections, or parts, by a blank line. What is empty renders nothing.
pub(crate) fn join<'a>(texts: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> String {
    const SEPARATOR: &str = "\n\n";
    let texts = texts.into_iter();
    let mut joined = String::with_capacity(texts.clone().map(|text| text.len() + SEPARATOR.len()).sum());
    for text in texts.filter(|text| !text.is_empty()) {
        if !joined.is_empty() {
            joined.push_str(SEPARATOR);
        }
        joined.push_str(text);
    }
    joined
}
