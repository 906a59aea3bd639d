//! Every section a prompt can have, in one table: its order is the order of the text.

use protocol::prompt::{PromptProfile, Stability};

/// A section that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionKind {
    /// Its id in manifests and settings.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// How long it stays the same.
    pub stability: Stability,
    /// Who fills it.
    pub filled_by: FilledBy,
    /// The least profile that has it.
    pub profile: PromptProfile,
}

/// Who fills a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilledBy {
    /// A text of ours.
    BuiltIn,
    /// A file in the home directory.
    Bootstrap,
    /// The session's frozen chain of instruction files.
    Session,
    /// The tools that a model has to ask for.
    HiddenTools,
    /// A hook; the text is put between our own lines if it needs them.
    Hook(Option<Wrapper>),
    /// Whoever asks for the prompt, or a hook.
    Caller,
    /// A [note](crate::notes) at the end of the message that caused it. In the prompt it would break the prefix that a
    /// provider has cached.
    Note,
}

/// Lines around a text; never cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// The lines before it.
    pub before: &'static str,
    /// The lines after it.
    pub after: &'static str,
}

const DOCUMENT: Wrapper = Wrapper {
    before: "These instructions come from the effective AGENTS.md for this thread tree scope. \
             System, developer, and explicit user messages take precedence.\n\n<AGENTS_MD>\n",
    after: "\n</AGENTS_MD>",
};

/// The id of the section that an AGENTS.md document fills.
pub const AGENTS_MD: &str = "agents_md";
/// The id of the section of the session's chain.
pub const AGENTS_CONTEXT: &str = "agents_context";

/// The id of the note that tells a model to go on with an answer that was cut off.
pub const RECOVERY_CONTINUATION: &str = "recovery_continuation";
/// The id of the section that lists the tools that a model has to ask for.
pub const HIDDEN_TOOL_DOMAINS: &str = "hidden_tool_domains";
/// The id of the section that tells a model of its skills.
pub const SKILLS_RUNTIME: &str = "skills_runtime";
/// The id of the section that tells a model what was remembered earlier.
pub const MEMORY_RECALL: &str = "memory_recall";
/// The id of the note that tells a model what to do about tools that failed.
pub const RETRY_INSTRUCTION: &str = "retry_instruction";

/// All sections that are known by name.
pub const SECTIONS: &[SectionKind] = {
    use FilledBy::{Bootstrap, BuiltIn, Caller, HiddenTools, Hook, Note, Session as Chain};
    use PromptProfile::{Full, Minimal};
    use Stability::{Session, Stable, Turn};
    &[
        row("identity", "Identity", Stable, BuiltIn, Minimal),
        row("safety", "Safety", Stable, BuiltIn, Minimal),
        row("soul_core", "Soul Core", Stable, Bootstrap, Full),
        row("identity_core", "Identity Core", Stable, Bootstrap, Full),
        row("user_persona", "User Persona", Stable, Bootstrap, Full),
        row("tool_recovery_policy", "Tool Recovery Policy", Stable, BuiltIn, Full),
        row("agents_guidance", "AGENTS Guidance", Session, BuiltIn, Full),
        row("environment", "Environment", Session, BuiltIn, Full),
        row(AGENTS_CONTEXT, "AGENTS Context", Session, Chain, Minimal),
        row("task_orchestration", "Task Orchestration", Session, BuiltIn, Full),
        row(HIDDEN_TOOL_DOMAINS, "Hidden Tool Domains", Session, HiddenTools, Full),
        row(AGENTS_MD, "AGENTS.md", Session, Hook(Some(DOCUMENT)), Minimal),
        row(SKILLS_RUNTIME, "Skills Runtime", Session, Hook(None), Full),
        row(MEMORY_RECALL, "Memory Recall", Turn, Hook(None), Full),
        // What hooks bring under names of their own comes here.
        row(RECOVERY_CONTINUATION, "Recovery Continuation", Turn, Note, Full),
        row(RETRY_INSTRUCTION, "Retry Instruction", Turn, Note, Full),
        row("dynamic_context", "Dynamic Context", Turn, Hook(None), Full),
        row("extra_system", "Current Context", Turn, Caller, Full),
    ]
};

/// Sections that hooks bring under names of their own come before this one.
pub(crate) const FIRST_AFTER_UNKNOWN: &str = RECOVERY_CONTINUATION;

const fn row(
    id: &'static str,
    title: &'static str,
    stability: Stability,
    filled_by: FilledBy,
    profile: PromptProfile,
) -> SectionKind {
    SectionKind { id, title, stability, filled_by, profile }
}

impl SectionKind {
    /// The section of this id.
    pub fn find(id: &str) -> Option<&'static SectionKind> {
        SECTIONS.iter().find(|section| section.id == id)
    }

    /// Whether a hook may fill it.
    pub fn is_open_to_hooks(&self) -> bool {
        matches!(self.filled_by, FilledBy::Hook(_) | FilledBy::Caller)
    }

    pub(crate) fn wrapper(&self) -> Option<Wrapper> {
        match self.filled_by {
            FilledBy::Hook(wrapper) => wrapper,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_more_often_comes_later_and_ids_are_unique() {
        assert!(SECTIONS.is_sorted_by_key(|section| section.stability));
        let mut ids: Vec<&str> = SECTIONS.iter().map(|section| section.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), SECTIONS.len());
        assert!(SectionKind::find(FIRST_AFTER_UNKNOWN).is_some_and(|it| it.stability == Stability::Turn));
    }
}
