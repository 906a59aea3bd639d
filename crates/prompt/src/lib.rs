//! Compiles a prompt from sections, and records them in a manifest.
//!
//! Pure: text in, text and [`PromptManifest`] out. Sections are ordered by how rarely they change ([`Stability`]), so that a
//! provider can reuse the beginning from one request to the next; [`blame`] explains why it could not. The manifest's
//! diagnostics list everything that was cut or left out, and [`rebuild`] restores a past prompt from its manifest and the
//! kept texts.
//!
//! ```
//! use prompt::{ContributedSection, PromptCompileInput, PromptSection, blame, compile_prompt};
//!
//! let input = |rules: &str| PromptCompileInput {
//!     contributed: vec![ContributedSection {
//!         hook_id: "example".to_owned(),
//!         section: PromptSection::new("rules", "agents_md", "AGENTS.md", rules),
//!         ..ContributedSection::default()
//!     }],
//!     extra_system: Some("Date: 2026-11-15".to_owned()),
//!     ..PromptCompileInput::default()
//! };
//! let before = compile_prompt(&input("Run the tests."));
//! assert!(before.stable_text.starts_with("## Identity\n"));
//! assert!(before.session_text.contains("<AGENTS_MD>\nRun the tests.\n</AGENTS_MD>"));
//! assert_eq!(before.turn_text, "## Current Context\nDate: 2026-11-15");
//!
//! let after = compile_prompt(&input("Run the tests twice."));
//! let found = blame(&before.manifest, &after.manifest, |_| None);
//! assert_eq!(found.changed_sections, ["agents_md"]);
//! assert_eq!(before.manifest.fingerprints.stable, after.manifest.fingerprints.stable);
//! ```

#![warn(missing_docs)]

mod blame;
mod bootstrap;
mod budget;
mod collect;
mod compiler;
mod cut;
mod fingerprint;
mod input;
pub mod notes;
mod parts;
mod rebuild;
mod section;
mod texts;

pub use blame::blame;
pub use bootstrap::{BOOTSTRAP_FILES, BootstrapError, BootstrapFile, BootstrapFiles, create_bootstrap_files};
pub use budget::{BUDGET_SETTINGS, BudgetSetting, PromptBudgets};
pub use compiler::{COMPILER_VERSION, CompiledPrompt, Compiler, SectionText, compile_prompt};
pub use input::{
    AgentsContext, AgentsGuidance, ContributedSection, Environment, EnvironmentDirectory, FileTools,
    HiddenDomain, PromptCompileInput,
};
/// Types of this crate's input and output that the wire and the store share.
pub use protocol::{
    ContentHash,
    hook::PromptSection,
    prompt::{
        PromptBlame, PromptChange, PromptDiagnostic, PromptDiagnosticCode, PromptDifference,
        PromptFingerprints, PromptHookSource, PromptManifest, PromptManifestSection, PromptProfile,
        PromptRole, PromptSource, PromptSourceKind, PromptTruncation, Stability,
    },
};
pub use rebuild::{RebuildError, Rebuilt, rebuild};
pub use section::{
    AGENTS_CONTEXT, AGENTS_MD, DYNAMIC_CONTEXT, FINAL_ANSWER, FilledBy, HIDDEN_TOOL_DOMAINS, MEMORY_RECALL,
    RECOVERY_CONTINUATION, RETRY_INSTRUCTION, SECTIONS, SELECTED_SKILLS, SKILLS_RUNTIME, SectionKind,
    TASK_ORCHESTRATION, UNANSWERED_TURNS, Wrapper,
};
pub use texts::TEXTS_VERSION;

/// Joins sections or parts by a blank line and skips empty ones.
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
