//! Hooks: when they run, how a run ended, and what one can contribute to a prompt.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::prompt::{PromptDiagnostic, PromptLeftOut, PromptSource};
use crate::{ThreadId, Timestamp, TurnId, WorkspaceId};

/// A moment of a turn at which hooks run, in the order in which they come.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, VariantArray,
)]
#[schemars(rename = "HookPhase")]
pub enum Phase {
    /// Before it is decided what the turn may do.
    #[serde(rename = "turn.pre_policy")]
    PrePolicy,
    /// Before the context of the prompt is collected.
    #[serde(rename = "turn.pre_prompt_context")]
    PrePromptContext,
    /// Before the turn's tools are listed.
    #[serde(rename = "turn.pre_tool_materialization")]
    PreToolMaterialization,
    /// Before the prompt is compiled: where sections are contributed.
    #[serde(rename = "turn.pre_prompt_compile")]
    PrePromptCompile,
    /// After the prompt was compiled.
    #[serde(rename = "turn.post_prompt_compile")]
    PostPromptCompile,
    /// After the turn has ended.
    #[serde(rename = "turn.post_turn")]
    PostTurn,
    /// Before older history is summarised.
    #[serde(rename = "turn.pre_compaction")]
    PreCompaction,
}

impl Phase {
    /// The name used in records and errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrePolicy => "turn.pre_policy",
            Self::PrePromptContext => "turn.pre_prompt_context",
            Self::PreToolMaterialization => "turn.pre_tool_materialization",
            Self::PrePromptCompile => "turn.pre_prompt_compile",
            Self::PostPromptCompile => "turn.post_prompt_compile",
            Self::PostTurn => "turn.post_turn",
            Self::PreCompaction => "turn.pre_compaction",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How a phase waits for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HookExecution")]
pub enum Execution {
    /// The phase needs the result and waits for it, up to the timeout.
    Blocking,
    /// The phase takes the result if it comes in time; one that comes later is dropped.
    Deadline,
    /// The phase does not wait.
    Background,
}

impl Execution {
    /// The timeout of a subscription that names none.
    pub const fn default_timeout(self) -> Duration {
        match self {
            Self::Blocking => Duration::from_secs(5),
            Self::Deadline => Duration::from_secs(1),
            Self::Background => Duration::from_secs(60),
        }
    }
}

/// What a hook's failure means: an error, a panic, a timeout or a result that is far too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HookFailurePolicy")]
pub enum FailurePolicy {
    /// The phase ends with an error. A single refused contribution counts as a failure, too.
    FailClosed,
    /// The subscription's fallback contributions are used instead, with a diagnostic.
    Fallback,
    /// The phase continues without the hook's contributions, with a diagnostic.
    #[default]
    BestEffort,
    /// The phase continues without the hook's contributions; only the record says so.
    Skip,
}

/// Who may be shown that a hook ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HookVisibility")]
pub enum Visibility {
    /// Owners.
    #[default]
    Internal,
    /// Operators.
    Debug,
    /// Everyone.
    User,
}

/// What a hook can contribute to a turn.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ContributionKind {
    /// A setting of the turn's policy.
    Policy,
    /// A section of the prompt.
    PromptSection,
    /// Tools that the turn may offer.
    ToolBundle,
    /// Work to be done after the turn.
    BackgroundJob,
}

impl ContributionKind {
    /// The name used in records and manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for ContributionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A section of the prompt that a hook contributes. It never crosses the wire: the manifest describes the outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptSection {
    /// The contribution's id, unique within what the hook returns.
    pub id: String,
    /// Which section of the prompt it is; one hook fills it.
    pub section_id: String,
    /// The heading, for a section that the compiler does not know: one line of at most 200 characters.
    pub title: String,
    /// The text.
    pub content: String,
    /// Sections of higher priority come first, and are cut last.
    pub priority: i32,
    /// What the text was made from.
    pub sources: Vec<PromptSource>,
    /// The most characters it wants, if fewer than it may have; the compiler cuts.
    pub max_chars: Option<usize>,
    /// What could have been in it and is not. Counts for a section without text too.
    pub left_out: Vec<PromptLeftOut>,
    /// What the hook has to say about it, for the manifest.
    pub diagnostics: Vec<PromptDiagnostic>,
}

impl PromptSection {
    /// A section without sources, of priority 0.
    pub fn new(
        id: impl Into<String>,
        section_id: impl Into<String>,
        title: impl Into<String>,
        content: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            section_id: section_id.into(),
            title: title.into(),
            content: content.into(),
            ..Self::default()
        }
    }
}

/// How a hook's run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(rename = "HookRunStatus")]
pub enum RunStatus {
    /// It returned in time.
    Completed,
    /// It returned an error, or too much.
    Failed,
    /// It reached its timeout.
    TimedOut,
    /// It panicked.
    Panicked,
    /// Its phase was dropped or ended by another hook, or the runtime was shut down.
    Cancelled,
    /// There was no room for it in the background.
    Rejected,
    /// It failed and may be left out.
    Skipped,
    /// It failed and its fallback was used.
    FellBack,
}

impl RunStatus {
    /// The name used in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The record of one run of a hook; never what was contributed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRun {
    /// The workspace, if the run belonged to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// The thread, if the run belonged to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The turn, if the run belonged to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// The hook's package.
    pub package_id: String,
    /// The hook.
    pub hook_id: String,
    /// Its subscription.
    pub subscription_id: String,
    /// The phase.
    pub phase: Phase,
    /// How it was waited for.
    pub execution: Execution,
    /// What a failure meant.
    pub failure: FailurePolicy,
    /// Who may be shown it.
    pub visibility: Visibility,
    /// When it started, or when its phase did if it never started.
    #[serde(alias = "started_at_ms", deserialize_with = "started_at")]
    pub started_at: Timestamp,
    /// How long it took, in microseconds; 0 if it never started.
    pub duration_us: u64,
    /// How it ended.
    pub status: RunStatus,
    /// How many contributions of each kind were taken, fallbacks included.
    pub contributions: BTreeMap<ContributionKind, u32>,
    /// How many contributions were refused.
    pub refused: u32,
    /// The bytes of what it returned.
    pub bytes: u64,
    /// Why it did not complete, in one line without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_preview: Option<String>,
}

/// Records of the first version have `started_at_ms`, in milliseconds since 1970.
fn started_at<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Milliseconds(i64),
        Timestamp(Timestamp),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::Milliseconds(milliseconds) => Timestamp::from_milliseconds(milliseconds),
        Either::Timestamp(timestamp) => timestamp,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_what_is_serialised() {
        for phase in Phase::VARIANTS {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.name());
        }
        for kind in ContributionKind::VARIANTS {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(serde_json::to_value(RunStatus::TimedOut).unwrap(), RunStatus::TimedOut.name());
    }

    #[test]
    fn records_of_the_first_version_can_be_read() {
        let run: HookRun = serde_json::from_value(json!({
            "workspace_id": null, "thread_id": null, "turn_id": null,
            "package_id": "p", "hook_id": "h", "subscription_id": "s",
            "phase": "turn.pre_prompt_compile", "execution": "blocking", "failure": "fail_closed",
            "visibility": "internal", "started_at_ms": 1_738_970_000_120_i64, "duration_us": 7,
            "status": "completed", "contributions": { "prompt_section": 1 }, "refused": 0, "bytes": 9,
            "error_preview": null,
        }))
        .unwrap();
        assert_eq!(run.started_at, Timestamp::from_milliseconds(1_738_970_000_120));
        assert_eq!(run.contributions, BTreeMap::from([(ContributionKind::PromptSection, 1)]));
        let wire = serde_json::to_value(&run).unwrap();
        assert_eq!(wire["started_at"], "2025-02-07T23:13:20.120Z");
        assert_eq!(serde_json::from_value::<HookRun>(wire).unwrap(), run);
    }
}
