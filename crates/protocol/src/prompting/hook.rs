//! Hooks: phases, failure policies, records of runs, and contributions to a prompt.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::prompt::{PromptDiagnostic, PromptLeftOut, PromptSource};
use crate::{ThreadId, Timestamp, TurnId, WorkspaceId};

/// Point of a turn at which hooks run, in order of execution.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, VariantArray,
)]
#[schemars(rename = "HookPhase")]
pub enum Phase {
    /// Before the turn's policy is decided.
    #[serde(rename = "turn.pre_policy")]
    PrePolicy,
    /// Before the prompt's context is collected.
    #[serde(rename = "turn.pre_prompt_context")]
    PrePromptContext,
    /// Before the turn's tools are listed.
    #[serde(rename = "turn.pre_tool_materialization")]
    PreToolMaterialization,
    /// Before the prompt is compiled. Sections are contributed here.
    #[serde(rename = "turn.pre_prompt_compile")]
    PrePromptCompile,
    /// After the prompt was compiled.
    #[serde(rename = "turn.post_prompt_compile")]
    PostPromptCompile,
    /// After the turn has ended.
    #[serde(rename = "turn.post_turn")]
    PostTurn,
    /// Before older history is summarized.
    #[serde(rename = "turn.pre_compaction")]
    PreCompaction,
}

impl Phase {
    /// Returns the name used in records and errors.
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

/// Way in which a phase waits for a hook.
// The serialized names of these enums appear in stored hook runs and in manifests, which is why the schema
// names differ from the type names but the values never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HookExecution")]
pub enum Execution {
    /// The phase waits for the result, up to the timeout.
    Blocking,
    /// The phase takes the result if it arrives in time and drops a late one.
    Deadline,
    /// The phase does not wait.
    Background,
}

impl Execution {
    /// Returns the timeout of subscriptions that set none.
    pub const fn default_timeout(self) -> Duration {
        // A blocking hook delays every turn, and one with a deadline is optional by definition. A
        // background job delays nothing and may call a model.
        match self {
            Self::Blocking => Duration::from_secs(5),
            Self::Deadline => Duration::from_secs(1),
            Self::Background => Duration::from_secs(60),
        }
    }
}

/// Effect of a hook's failure: an error, a panic, a timeout, or an oversized result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HookFailurePolicy")]
pub enum FailurePolicy {
    /// The phase fails. A single rejected contribution counts as a failure.
    FailClosed,
    /// The subscription's fallback contributions are used, with a diagnostic.
    Fallback,
    /// The phase continues without the hook's contributions, with a diagnostic.
    #[default]
    BestEffort,
    /// The phase continues without the hook's contributions. Only the run's record shows the failure.
    Skip,
}

/// Audience that may see a hook's runs.
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

/// Kind of a hook's contribution to a turn.
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
    /// A job to run after the turn.
    // Records use these kinds as keys of a map. The derived order keeps such maps stable in stored JSON.
    BackgroundJob,
}

impl ContributionKind {
    /// Returns the name used in records and manifests.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for ContributionKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A section of the prompt contributed by a hook. It never crosses the wire: the manifest describes the
/// outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptSection {
    /// Id of the contribution, unique among the hook's results.
    pub id: String,
    /// Id of the prompt's section. Each section is filled by one hook.
    pub section_id: String,
    /// Heading of a section that the compiler does not know: one line of at most 200 characters.
    pub title: String,
    /// The text.
    pub content: String,
    /// Order in the prompt: higher priorities come first and are cut last.
    pub priority: i32,
    /// Sources of the text.
    pub sources: Vec<PromptSource>,
    /// Character limit below the hook's own budget. The compiler cuts.
    pub max_chars: Option<usize>,
    /// Sources that were left out. Recorded for a section without text as well.
    // An empty section can be the result of leaving everything out. The reasons would be lost if only
    // sections with text counted.
    pub left_out: Vec<PromptLeftOut>,
    /// Diagnostics for the manifest.
    pub diagnostics: Vec<PromptDiagnostic>,
}

impl PromptSection {
    /// Creates a section without sources, with priority 0.
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

/// Result of a hook's run.
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
    /// Its phase was dropped or ended by another hook, or the runtime shut down.
    Cancelled,
    /// The background queue was full.
    Rejected,
    /// It failed, and its policy is `skip`.
    Skipped,
    /// It failed, and its fallback was used.
    FellBack,
}

impl RunStatus {
    /// Returns the name used in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Record of one run of a hook, without the content of its contributions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookRun {
    /// The workspace; absent for a run outside a workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// The thread; absent for a run outside a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The turn; absent for a run outside a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Id of the hook's package.
    pub package_id: String,
    /// Id of the hook.
    pub hook_id: String,
    /// Id of the subscription.
    pub subscription_id: String,
    /// Phase of the turn.
    pub phase: Phase,
    /// Execution mode.
    pub execution: Execution,
    /// Failure policy.
    pub failure: FailurePolicy,
    /// Audience of the record.
    pub visibility: Visibility,
    /// Start time; for a run that never started, the start of its phase.
    #[serde(alias = "started_at_ms", deserialize_with = "started_at")]
    pub started_at: Timestamp,
    /// Duration in microseconds; 0 if the run never started.
    // Microseconds, since most hooks finish in far less than a millisecond.
    pub duration_us: u64,
    /// Result of the run.
    pub status: RunStatus,
    /// Number of accepted contributions by kind, including fallbacks.
    pub contributions: BTreeMap<ContributionKind, u32>,
    /// Number of rejected contributions.
    pub refused: u32,
    /// Size of the returned contributions in bytes.
    // Rejected contributions count as well, since the budget applies to everything that a hook returns.
    pub bytes: u64,
    /// Reason for an incomplete run, on one line and without secrets.
    // Records have a wider audience than prompts, so this is a cleaned excerpt and not the error itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_preview: Option<String>,
}

/// Reads a timestamp, or the `started_at_ms` of the first version in milliseconds since 1970.
// Untagged is safe here: a timestamp is always a string and the older form always an integer.
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
    fn names_match_their_serialization() {
        for phase in Phase::VARIANTS {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.name());
        }
        for kind in ContributionKind::VARIANTS {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        // `TimedOut` has two words, so a difference between the two derives in the separator would show.
        assert_eq!(serde_json::to_value(RunStatus::TimedOut).unwrap(), RunStatus::TimedOut.name());
    }

    #[test]
    fn records_of_the_first_version_are_readable() {
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
