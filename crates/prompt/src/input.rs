//! The input of the compiler.

use std::collections::BTreeSet;
use std::path::PathBuf;

use protocol::hook::PromptSection;
use protocol::prompt::{
    PromptDiagnostic, PromptPolicy, PromptProfile, PromptRole, PromptSource, PromptTruncation,
};
use protocol::{Audience, DelegateInstructions};

use crate::bootstrap::BootstrapFiles;
use crate::budget::PromptBudgets;

/// Everything a prompt is compiled from. The same input gives the same bytes.
#[derive(Debug, Clone, Default)]
pub struct PromptCompileInput {
    /// Profile that selects the sections.
    pub profile: PromptProfile,
    /// Reader of the prompt: the agent that a user talks to, or one that works for another agent.
    pub audience: Audience,
    /// Files of the home directory as read from disk.
    pub bootstrap: BootstrapFiles,
    /// True if the turn has the tools to edit the bootstrap files that belong to the model.
    pub can_evolve: bool,
    /// True if the prompt explains how to react to failed calls.
    pub include_tool_recovery_policy: bool,
    /// Instructions that delegates get, which the advice about delegation mentions. `None` omits that advice.
    pub task_orchestration: Option<DelegateInstructions>,
    /// Facts about AGENTS files that the prompt explains.
    pub agents_guidance: AgentsGuidance,
    /// Working environment. `None` omits the section.
    pub environment: Option<Environment>,
    /// Frozen initial chain of the session.
    pub agents_context: Option<AgentsContext>,
    /// Hidden tools by domain.
    pub hidden_domains: Vec<HiddenDomain>,
    /// Context that the calling program supplies for this turn. It is data.
    pub dynamic_context: Option<String>,
    /// Facts such as the date.
    pub extra_system: Option<String>,
    /// Contributions of hooks, in the order of the hooks.
    pub contributed: Vec<ContributedSection>,
    /// Decisions of hooks about the turn, for the manifest.
    pub policies: Vec<PromptPolicy>,
    /// Problems that hooks and the caller add to the manifest.
    pub diagnostics: Vec<PromptDiagnostic>,
    /// Ids of sections that are switched off.
    pub disabled_sections: BTreeSet<String>,
    /// Character budgets.
    pub limits: PromptBudgets,
}

/// Facts about AGENTS files in this session. The model learns only what is true here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentsGuidance {
    /// True if files can apply at all; if not, the section is omitted.
    pub files_apply: bool,
    /// True if the session started with the text of some files.
    pub has_initial_text: bool,
    /// True if tool results deliver the files of other directories.
    pub follows_tools: bool,
    /// True if the relation of nested directories' files is explained.
    pub nested_scopes: bool,
}

/// Environment of a model, frozen at the start of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Working directory and workspace root. `None` if the workspace has no directory.
    pub directory: Option<EnvironmentDirectory>,
    /// Operating system, as in `std::env::consts::OS`.
    pub operating_system: String,
    /// Presence of tools for files and commands.
    pub file_tools: FileTools,
}

/// The directories of an [`Environment`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentDirectory {
    /// Working directory of the model.
    pub cwd: PathBuf,
    /// Directory that bounds the model's tools.
    pub workspace: PathBuf,
}

/// Presence of tools for files and commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTools {
    /// The model has such tools.
    Present,
    /// The model has none, as in chats and in workspaces without a directory.
    Absent,
}

/// The instruction files of a session, as the compiler needs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentsContext {
    /// Text that the session started with, used unchanged.
    pub text: String,
    /// Files that the text was made from.
    pub sources: Vec<PromptSource>,
    /// True if parts of the files were truncated or dropped.
    pub truncated: bool,
    /// Role of the message: the system prompt, or the user in the profiles of some agents.
    pub role: PromptRole,
}

/// Tools of one domain that are not in a request until the model requests them. Requested tools stay in the list, because
/// a changed list would break the cached prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenDomain {
    /// Name of the domain.
    pub name: String,
    /// Names and descriptions, unchanged from their source.
    pub tools: Vec<(String, String)>,
}

/// A section and the hook that contributed it: the part of `hooks::Contributed` that the compiler needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContributedSection {
    /// Id of the hook.
    pub hook_id: String,
    /// Id of the hook's subscription.
    pub subscription_id: String,
    /// Truncation that happened before the compiler received the text.
    pub truncation: PromptTruncation,
    /// The section.
    pub section: PromptSection,
}
