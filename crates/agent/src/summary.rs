//! Summaries of earlier turns, written by a model.

use std::sync::Arc;

use provider::{Block, ChatRequest, Message, MessageRole, ModelName, Provider, SystemParts, TokenUsage};
use tokens::{Counter, Encoding};

use crate::error::AgentError;
use crate::history::PastTurn;

/// Most characters of a tool's result or arguments that a summary is made from.
const MAX_TOOL_CHARS: usize = 2_000;
/// Tokens that the request itself needs besides what it quotes.
const OVERHEAD_TOKENS: usize = 500;

/// Who writes summaries, and from how much.
#[derive(Clone)]
pub(crate) struct Summariser {
    pub(crate) provider: Provider,
    pub(crate) model: ModelName,
    pub(crate) counter: Arc<Counter>,
    /// Tokens that a request may have.
    pub(crate) context_tokens: usize,
}

impl Summariser {
    /// A summary of an older summary and some turns, in about so many tokens, and what it cost.
    pub(crate) async fn summarise(
        &self,
        before: Option<&str>,
        turns: &[PastTurn],
        tokens: usize,
    ) -> Result<(String, TokenUsage), AgentError> {
        let quoted = self.fitting(before, turns, tokens);
        let mut request = ChatRequest::new(self.model.model(), vec![Message::user(quoted)]);
        let instruction = prompt::notes::summary_request(tokens);
        request.system = SystemParts { stable: instruction, session: String::new() };
        request.max_output_tokens = u32::try_from(tokens).unwrap_or(u32::MAX).max(256);
        let answered = self.provider.complete(&request).await;
        let response = answered.map_err(|error| AgentError::Provider(Box::new(error)))?;
        let text = response.message.text().trim().to_owned();
        if text.is_empty() { Err(AgentError::NoAnswer) } else { Ok((text, response.usage)) }
    }

    /// The conversation as a text, without its oldest part if it is too long.
    fn fitting(&self, before: Option<&str>, turns: &[PastTurn], tokens: usize) -> String {
        let limit = self.context_tokens.saturating_sub(tokens + OVERHEAD_TOKENS);
        let lines = turns.iter().flat_map(|turn| &turn.entries).flat_map(|entry| lines(&entry.message));
        let mut kept: Vec<String> =
            before.map(|text| format!("Earlier summary: {text}")).into_iter().collect();
        kept.extend(lines);
        let count = |text: &str| self.counter.count(Encoding::Cl100k, text) + 2;
        let mut sizes: Vec<usize> = kept.iter().map(|line| count(line)).collect();
        let mut total: usize = sizes.iter().sum();
        let mut first = 0;
        while total > limit && first + 1 < kept.len() {
            total -= std::mem::take(&mut sizes[first]);
            first += 1;
        }
        kept.drain(..first);
        kept.join("\n\n")
    }
}

/// What a message says, for somebody who reads about it.
fn lines(message: &Message) -> Vec<String> {
    let who = match message.role {
        MessageRole::User => "User",
        MessageRole::Assistant => "Assistant",
        MessageRole::Tool => "Tools",
    };
    let lines = message.blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(format!("{who}: {text}")),
        Block::ToolCall(call) => Some(format!("{who} calls {}: {}", call.name, shortened(&call.arguments))),
        Block::ToolResult(result) => {
            let outcome = if result.is_error { "failed" } else { "answered" };
            Some(format!("{who} {outcome}: {}", shortened(&result.blocks.join("\n"))))
        }
        _ => None,
    });
    lines.collect()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TOOL_CHARS) {
        Some((position, _)) => format!("{}…", &text[..position]),
        None => text.to_owned(),
    }
}
