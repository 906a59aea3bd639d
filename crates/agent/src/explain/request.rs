//! Past requests, rebuilt from stored parts byte for byte as they were sent.

use futures_util::future::BoxFuture;
use protocol::message::{TurnItem, TurnMessage};
use protocol::prompt::PromptManifest;
use protocol::round::SentRequest;
use protocol::turn::ExplainedHistory;
use protocol::{ContentHash, ToolSpec, Turn, TurnId, Version, WorkspaceId};
use provider::{ChatRequest, EncodedRequest, ReasoningEffort, SystemParts};
use store::{RangePart, TurnRange};

use crate::agent::Agent;
use crate::domains::memory::privacy::{is_hidden, memory_of_another};
use crate::error::AgentError;
use crate::history::History;

/// A past request whose digest was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebuiltRequest {
    pub record: SentRequest,
    /// The body, without headers and therefore without keys.
    pub body: String,
}

/// Reason why a past request cannot be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The round has no record of its request.
    #[error("turn `{turn_id}` has no recorded request{}", round.map_or_else(String::new, |round| format!(" of round {round}")))]
    Missing { turn_id: TurnId, round: Option<u32> },
    /// The description of a tool is not stored.
    #[error("the description of the tool `{tool}` is not kept (any more)")]
    Tool { tool: String },
    /// The request contains what another user has remembered for themselves.
    #[error(
        "this request has what `{owner}` has remembered for themselves, and only they can have it rebuilt"
    )]
    Private { owner: String },
    /// The rebuilt body differs from the one that was sent.
    #[error("the rebuilt request has the SHA-256 {found}, but {recorded} was sent")]
    Altered { found: ContentHash, recorded: ContentHash },
}

/// The messages of a request in stored form.
struct StoredMessages {
    record: SentRequest,
    history: Option<ExplainedHistory>,
    entries: Vec<TurnMessage>,
}

impl Agent {
    /// Rebuilds the request of a round, or of the last one if `round` is `None`, for a reader of this name.
    pub fn rebuild_request<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
        round: Option<u32>,
        reader: Option<&'a str>,
    ) -> BoxFuture<'a, Result<RebuiltRequest, AgentError>> {
        Box::pin(async move {
            let turn = self.store.turn(workspace_id, turn_id).await?;
            let missing = || RequestError::Missing { turn_id: turn_id.clone(), round };
            let stored = self.stored_messages(&turn, round).await?.ok_or_else(missing)?;
            let manifest = self.manifest(workspace_id, turn_id, Some(stored.record.round)).await?;
            if let Some(owner) = memory_of_another(&manifest, reader) {
                return Err(RequestError::Private { owner: owner.to_owned() }.into());
            }
            let mut request = self.request_without_messages(&turn, &stored.record, &manifest).await?;
            // The token that started the turn decided about private memory, and only its name is stored. A token for one
            // workspace has none, whatever its name is.
            let mut found = None;
            for owner in [turn.created_by.as_deref(), None] {
                let history = self.sent_history(&turn, stored.history.as_ref(), owner).await?;
                let private =
                    history.entries().chain(&stored.entries).find_map(|entry| private_owner(entry, reader));
                let earlier = history.messages().into_iter();
                request.messages = earlier.chain(stored.entries.iter().map(TurnMessage::as_sent)).collect();
                let body = EncodedRequest::new(stored.record.api, &request).body;
                let sha256 = ContentHash::of(&body);
                if sha256 != stored.record.sha256 {
                    found.get_or_insert(sha256);
                    continue;
                }
                return match private {
                    Some(owner) => Err(RequestError::Private { owner }.into()),
                    None => {
                        let body = String::from_utf8_lossy(&body).into_owned();
                        Ok(RebuiltRequest { record: stored.record, body })
                    }
                };
            }
            let recorded = stored.record.sha256;
            let found = found.unwrap_or_else(|| recorded.clone());
            Err(RequestError::Altered { found, recorded }.into())
        })
    }

    /// Returns the record of a request with everything that was stored before it.
    async fn stored_messages(
        &self,
        turn: &Turn,
        round: Option<u32>,
    ) -> Result<Option<StoredMessages>, AgentError> {
        let mut found = None;
        let mut history = None;
        let mut entries: Vec<TurnMessage> = Vec::new();
        for stored in self.store.turn_items(&turn.workspace_id, &turn.id).await? {
            match stored.item {
                TurnItem::Message(entry) => entries.push(entry),
                TurnItem::Context(context) => history = Some(context),
                TurnItem::Trimmed(trimmed) => {
                    for result in &trimmed.results {
                        entries.iter_mut().for_each(|entry| entry.trim_result(result));
                    }
                }
                TurnItem::Request(record) if round.is_none_or(|round| record.round == round) => {
                    found =
                        Some(StoredMessages { record, history: history.clone(), entries: entries.clone() });
                }
                TurnItem::Request(_) | TurnItem::Round(_) => {}
            }
        }
        Ok(found)
    }

    async fn request_without_messages(
        &self,
        turn: &Turn,
        record: &SentRequest,
        manifest: &PromptManifest,
    ) -> Result<ChatRequest, AgentError> {
        let prompt = self.rebuild(&turn.workspace_id, manifest).await?;
        let mut request = ChatRequest::new(record.model.clone(), Vec::new());
        request.system = SystemParts { stable: prompt.stable_text, session: prompt.session_text };
        request.preamble = prompt.user_text;
        request.max_output_tokens = record.max_output_tokens;
        request.cache_key = Some(turn.thread_id.to_string());
        request.reasoning = record.reasoning.as_deref().and_then(ReasoningEffort::of_word);
        let Some(sent) = &manifest.request else { return Ok(request) };
        request.tool_choice = sent.tool_choice;
        let digests: Vec<ContentHash> = sent.tools.iter().map(|tool| tool.sha256.clone()).collect();
        let texts = self.store.prompt_texts(&turn.workspace_id, &digests).await?;
        for tool in &sent.tools {
            let spec: Option<ToolSpec> =
                texts.get(&tool.sha256).and_then(|text| serde_json::from_str(text).ok());
            request.tools.push(spec.ok_or_else(|| RequestError::Tool { tool: tool.name.clone() })?);
        }
        Ok(request)
    }

    /// Returns the earlier turns as they were sent.
    async fn sent_history(
        &self,
        turn: &Turn,
        sent: Option<&ExplainedHistory>,
        owner: Option<&str>,
    ) -> Result<History, AgentError> {
        let Some(sent) = sent else { return Ok(History::default()) };
        let range = TurnRange { after: sent.left_out_through, before: turn.ordinal, part: RangePart::All };
        Ok(History {
            summary: sent.summary.clone(),
            turns: self.completed_turns_for(turn, range, owner).await?,
            through: sent.left_out_through,
            missing_after: sent.missing_after,
            version: Version(0),
            usage: protocol::TokenUsage::default(),
        })
    }
}

/// Returns the owner of private memory in a message that `reader` may not see.
fn private_owner(entry: &TurnMessage, reader: Option<&str>) -> Option<String> {
    let notes = entry.notes.iter().filter_map(|note| note.owner.as_deref());
    let effects = entry.effects.iter().filter_map(|attached| attached.effects.memory_owner.as_deref());
    notes.chain(effects).find(|owner| is_hidden(Some(owner), reader)).map(str::to_owned)
}
