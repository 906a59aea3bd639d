//! The table of all sections. Its order is the order of the text.

use protocol::prompt::{PromptProfile, Stability};

/// A section with a known id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionKind {
    /// Id in manifests and settings.
    pub id: &'static str,
    /// Heading in the text.
    pub title: &'static str,
    /// Part of the prompt that holds the section.
    pub stability: Stability,
    /// Source of the text.
    pub filled_by: FilledBy,
    /// Smallest profile that includes the section.
    pub profile: PromptProfile,
}

/// The source of a section's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilledBy {
    /// A built-in text.
    BuiltIn,
    /// A file in the home directory.
    Bootstrap,
    /// The session's frozen chain of instruction files.
    Session,
    /// The list of hidden tools.
    HiddenTools,
    /// A hook, whose text is put into the wrapper if there is one.
    Hook(Option<Wrapper>),
    /// The caller, or a hook.
    Caller,
    /// A [note](crate::notes) at the end of the message that caused it. In the prompt it would break the prefix that a
    /// provider has cached.
    Note,
}

/// Lines around a text, which are never cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrapper {
    /// Lines before the text.
    pub before: &'static str,
    /// Lines after the text.
    pub after: &'static str,
}

const DOCUMENT: Wrapper = Wrapper {
    before: "These instructions come from the effective AGENTS.md for this thread tree scope. \
             System, developer, and explicit user messages take precedence.\n\n<AGENTS_MD>\n",
    after: "\n</AGENTS_MD>",
};

/// Id of the section that holds an AGENTS.md document.
pub const AGENTS_MD: &str = "agents_md";
/// Id of the section that holds the session's chain.
pub const AGENTS_CONTEXT: &str = "agents_context";

/// Id of the note that asks a model to continue a cut answer.
pub const RECOVERY_CONTINUATION: &str = "recovery_continuation";
/// Id of the section that lists the hidden tools.
pub const HIDDEN_TOOL_DOMAINS: &str = "hidden_tool_domains";
/// Id of the section that lists skills.
pub const SKILLS_RUNTIME: &str = "skills_runtime";
/// Id of the section that holds recalled memories.
pub const MEMORY_RECALL: &str = "memory_recall";
/// Id of the note about failed calls.
pub const RETRY_INSTRUCTION: &str = "retry_instruction";
/// Id of the note that requests an answer without further calls.
pub const FINAL_ANSWER: &str = "final_answer";
/// Id of the note about turns that ended without an answer.
pub const UNANSWERED_TURNS: &str = "unanswered_turns";
/// Id of the section that explains delegation.
pub const TASK_ORCHESTRATION: &str = "task_orchestration";
/// Id of the section with the context that the caller supplies.
pub const DYNAMIC_CONTEXT: &str = "dynamic_context";
/// Id of the section that names the skills that the user selected.
pub const SELECTED_SKILLS: &str = "selected_skills";

/// All sections with a known id.
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
        row("environment", "Environment", Session, BuiltIn, Minimal),
        row(TASK_ORCHESTRATION, "Task Orchestration", Session, BuiltIn, Full),
        row(HIDDEN_TOOL_DOMAINS, "Hidden Tool Domains", Session, HiddenTools, Full),
        // From here on the later text wins, as the identity explains.
        row(SKILLS_RUNTIME, "Skills Runtime", Session, Hook(None), Full),
        row(AGENTS_MD, "AGENTS.md", Session, Hook(Some(DOCUMENT)), Minimal),
        row(AGENTS_CONTEXT, "AGENTS Context", Session, Chain, Minimal),
        row(MEMORY_RECALL, "Memory Recall", Turn, Hook(None), Full),
        // Sections that only hooks know are inserted here.
        row(RECOVERY_CONTINUATION, "Recovery Continuation", Turn, Note, Full),
        row(RETRY_INSTRUCTION, "Retry Instruction", Turn, Note, Full),
        row(FINAL_ANSWER, "Final Answer", Turn, Note, Full),
        row(UNANSWERED_TURNS, "Turns Without an Answer", Turn, Note, Full),
        row(DYNAMIC_CONTEXT, "Dynamic Context", Turn, Caller, Full),
        // A user who selects a skill expects it in every profile that has text at all.
        row(SELECTED_SKILLS, "Selected Skills", Turn, Hook(None), Minimal),
        row("extra_system", "Current Context", Turn, Caller, Full),
    ]
};

/// Sections that only hooks know come before this one.
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
    /// Finds a section by its id.
    pub fn find(id: &str) -> Option<&'static SectionKind> {
        SECTIONS.iter().find(|section| section.id == id)
    }

    /// Returns true if a hook may fill the section.
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
    fn sections_are_ordered_by_stability_with_unique_ids() {
        assert!(SECTIONS.is_sorted_by_key(|section| section.stability));
        let mut ids: Vec<&str> = SECTIONS.iter().map(|section| section.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), SECTIONS.len());
        assert!(SectionKind::find(FIRST_AFTER_UNKNOWN).is_some_and(|it| it.stability == Stability::Turn));
    }
}
