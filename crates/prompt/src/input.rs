//! What a prompt is compiled from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use protocol::hook::PromptSection;
use protocol::prompt::{PromptDiagnostic, PromptProfile, PromptRole, PromptSource, PromptTruncation};

use crate::bootstrap::BootstrapFiles;
use crate::budget::Budgets;

/// Everything a prompt is compiled from. The same input gives the same bytes.
#[derive(Debug, Clone, Default)]
pub struct PromptCompileInput {
    /// How much is made.
    pub profile: PromptProfile,
    /// The files of the home directory, as they were read.
    pub bootstrap: BootstrapFiles,
    /// Whether the turn could change those of them that are the model's own.
    pub can_evolve: bool,
    /// Whether the model is told what to do when a tool fails.
    pub include_tool_recovery_policy: bool,
    /// Whether the model is told how to give work to others.
    pub include_task_orchestration: bool,
    /// What the model is told about AGENTS files.
    pub agents_guidance: AgentsGuidance,
    /// Where the model works; none: it is not said.
    pub environment: Option<Environment>,
    /// The session's frozen chain.
    pub agents_context: Option<AgentsContext>,
    /// The tools that the model has to ask for, by domain.
    pub hidden_domains: Vec<HiddenDomain>,
    /// Facts such as the date.
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

/// What is true of AGENTS files in this session; the model is told no more than that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentsGuidance {
    /// Whether files can apply at all; if not, nothing is said about them.
    pub files_apply: bool,
    /// Whether the session started with the text of some.
    pub has_initial_text: bool,
    /// Whether tools bring the files of other directories along.
    pub follows_tools: bool,
    /// Whether it is said how files of nested directories relate.
    pub nested_scopes: bool,
}

/// Where a model works. A session keeps it as it was at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The working directory and the workspace's own; none where the workspace has none.
    pub directory: Option<EnvironmentDirectory>,
    /// The operating system, as programs call it.
    pub operating_system: String,
    /// Whether the model has tools for files and commands.
    pub file_tools: FileTools,
}

/// The directories of an [`Environment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentDirectory {
    /// Where the model works.
    pub cwd: PathBuf,
    /// What bounds its tools.
    pub workspace: PathBuf,
}

/// Whether a model has tools for files and commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTools {
    /// It has some.
    Present,
    /// It has none, as in chats and without a directory.
    Absent,
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
    /// Who says it: the system, or in profiles of some agents the user.
    pub role: PromptRole,
}

/// Tools of one domain that are not in a request until the model asks for them. Those it has asked for are listed too, so
/// that the list stays as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenDomain {
    /// The domain.
    pub name: String,
    /// Names and descriptions, both as their source has them.
    pub tools: Vec<(String, String)>,
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
