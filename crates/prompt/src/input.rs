//! What a prompt is compiled from.

use std::collections::BTreeSet;

use protocol::hook::PromptSection;
use protocol::prompt::{PromptDiagnostic, PromptProfile, PromptSource, PromptTruncation};

use crate::bootstrap::BootstrapFiles;
use crate::budget::Budgets;

/// Everything a prompt is compiled from. The same input gives the same bytes.
#[derive(Debug, Clone, Default)]
pub struct PromptCompileInput {
    /// How much is made.
    pub profile: PromptProfile,
    /// The files of the home directory, as they were read.
    pub bootstrap: BootstrapFiles,
    /// Whether the model is told what to do when a tool fails.
    pub include_tool_recovery_policy: bool,
    /// What the model is told about AGENTS files.
    pub agents_guidance: AgentsGuidance,
    /// The session's frozen chain.
    pub agents_context: Option<AgentsContext>,
    /// Facts such as the date and the operating system.
    pub extra_system: Option<String>,
    /// What hooks contributed, in the order of the hooks.
    pub contributed: Vec<ContributedSection>,
    /// What hooks and whoever asks want to have said in the manifest.
    pub diagnostics: Vec<PromptDiagnostic>,
    /// Sections that are switched off, by id.
    pub disabled_sections: BTreeSet<String>,
    /// How long everything may be.
    pub limits: Budgets,
}

/// What the model is told about AGENTS files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentsGuidance {
    /// Nothing, as none apply.
    #[default]
    Nothing,
    /// How to treat them.
    Rules,
    /// How to treat them, and how those of nested directories relate.
    RulesAndNestedScopes,
}

/// A session's chain of instruction files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentsContext {
    /// The text the session started with; it is used as it is.
    pub text: String,
    /// The files it was made from.
    pub sources: Vec<PromptSource>,
    /// Whether something of them was left out.
    pub truncated: bool,
}

/// A section, and the hook that contributed it: of `hooks::Contributed` what the compiler needs, since it knows nothing of how
/// hooks run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContributedSection {
    /// The hook.
    pub hook_id: String,
    /// The hook's subscription.
    pub subscription_id: String,
    /// Whether the text was cut before it came here.
    pub truncation: PromptTruncation,
    /// The section.
    pub section: PromptSection,
}
