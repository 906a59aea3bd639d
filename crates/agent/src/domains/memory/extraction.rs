//! Extraction: after a turn, a model is asked for facts worth remembering.

use std::sync::Arc;
use std::time::Duration;

use hooks::{
    BackgroundJob, ContributionKind, Execution, Hook, HookContext, HookResult, HookSubscription, Phase,
    Retries, Visibility,
};
use memory::{EXTRACTION_REQUEST, Extracted, Policy, exchange, extracted};
use protocol::{Audience, TurnStatus};
use provider::{ChatRequest, Message, ModelName, SystemParts};
use serde_json::json;
use store::{ClaimedJob, MemoryPlace, NewMemory};

use crate::agent::Agent;
use crate::background_jobs::JobResult;
use crate::domains::memory::MemoryDomain;
use crate::error::AgentError;

/// Kind of its jobs.
pub(crate) const KIND: &str = "memory_extract";
/// Id of the hook.
const HOOK: &str = "foreword.memory_extract";
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum length of the model's answer.
const MAX_ANSWER_TOKENS: u32 = 1_024;
/// Waits long enough for an overloaded provider to recover.
const RETRIES: Retries = Retries { max_attempts: 4, back_off: Duration::from_secs(30) };

/// Returns the subscription that requests extraction after every completed turn that may be remembered.
pub(crate) fn subscription(domain: Arc<MemoryDomain>) -> HookSubscription {
    HookSubscription::new(HOOK, Phase::PostTurn, ExtractHook(domain))
        .execution(Execution::Blocking)
        .timeout(TIMEOUT)
        .retries(RETRIES)
        .visibility(Visibility::Internal)
        .may_contribute([ContributionKind::BackgroundJob])
}

struct ExtractHook(Arc<MemoryDomain>);

impl Hook for ExtractHook {
    async fn run(&self, context: HookContext) -> HookResult {
        let turn = &context.turn;
        let policy = Policy::of(&self.0.settings, turn.scope.off_the_record.is_some());
        // The input of a delegated turn was written by a model, which may have read it anywhere, so it is not the
        // user's statement.
        let is_persons = turn.audience == Audience::Main;
        let is_wanted = policy.remember && is_persons && turn.status == Some(TurnStatus::Completed);
        let job = is_wanted.then(|| BackgroundJob { kind: KIND.to_owned(), payload: json!({}) }.into());
        Ok(job.into_iter().collect())
    }
}

impl Agent {
    /// Asks a model for facts to remember: the summary model, or else the model of the turn.
    pub(crate) async fn extract(&self, job: &ClaimedJob) -> Result<JobResult, AgentError> {
        // Extraction spends tokens of the workspace as well, so the same limit applies.
        if let Some(limit) = self.exhausted_token_limit(&job.workspace_id).await? {
            return Err(AgentError::TokensSpent { limit });
        }
        let turn = self.turn_view(&job.workspace_id, &job.turn_id).await?.turn;
        let answer = turn.answer.unwrap_or_default();
        let model: ModelName = match (&self.settings.turns.summary_model, &turn.model) {
            (Some(model), _) | (None, Some(model)) => model.parse()?,
            (None, None) => return Err(AgentError::NoModel),
        };
        let provider = self.provider(&model)?;
        let quoted = instructions::make_harmless(&exchange(&turn.input, &answer)).0.into_owned();
        let mut request = ChatRequest::new(model.model(), vec![Message::user(quoted)]);
        request.system = SystemParts { stable: EXTRACTION_REQUEST.to_owned(), session: String::new() };
        request.max_output_tokens = MAX_ANSWER_TOKENS;
        let response =
            provider.complete(&request).await.map_err(|error| AgentError::Provider(Box::new(error)))?;
        // Before parsing, because the tokens are spent even if the answer is unusable.
        self.store.add_job_usage(job, response.usage).await?;
        let items = extracted(&response.message.text()).ok_or(AgentError::NoList)?;
        let memories = items.into_iter().map(|Extracted { category, text }| NewMemory {
            place: MemoryPlace::Workspace(job.workspace_id.clone()),
            category,
            text,
            source_turn: Some(job.turn_id.clone()),
            expires_at: None,
            supersedes: None,
        });
        Ok(JobResult { memories: memories.collect(), actor: turn.created_by })
    }
}
