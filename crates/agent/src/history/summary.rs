//! Summaries of earlier turns, written by a model.
//!
//! The model may fail, answer nothing, answer far too much, or imitate our own tags. In any case the previous summary
//! and the turns are only replaced by a text that is bounded and harmless.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use provider::{
    Block, ChatRequest, ErrorKind, Message, MessageRole, ModelName, Provider, StopReason, SystemParts,
    TokenUsage,
};
use tokens::{Counter, Encoding};

use crate::error::AgentError;
use crate::history::PastTurn;

/// Maximum characters quoted of a tool's result or arguments.
const MAX_TOOL_CHARS: usize = 2_000;
/// Maximum characters quoted of a message: more than a model produces in one answer, and few enough that one message
/// does not take many requests.
const MAX_MESSAGE_CHARS: usize = 400_000;
/// Minimum characters quoted of each message, however long the turn is.
const MIN_MESSAGE_CHARS: usize = 2_000;
/// Maximum requests for summaries per turn. Each quotes what fits into the model's window, usually about 80,000
/// tokens, so one turn can catch up with more than two million. The user waits and pays for all of them; the rest is
/// left to the next turn.
const MAX_REQUESTS: usize = 32;
/// Maximum requests that quote one earlier turn. Even if each has to be repeated because its summary was too long,
/// the turn makes progress.
const MAX_REQUESTS_A_TURN: usize = MAX_REQUESTS / 2;
/// Tokens of the request besides the quoted text.
const OVERHEAD_TOKENS: usize = 500;
/// Below this number of quoted tokens a request is not worthwhile: something else is too long.
const MIN_QUOTED_TOKENS: usize = 500;
/// Factor by which a summary may exceed the requested length. Models count badly, and cutting a summary loses its
/// end.
const TOLERANCE: usize = 2;
/// Upper bound on the characters of a typical token; longer text is cut before it is counted.
const MAX_TOKEN_CHARS: usize = 8;

/// Writes summaries with a model, within limits.
#[derive(Clone)]
pub(crate) struct Summariser {
    pub(crate) provider: Provider,
    pub(crate) model: ModelName,
    pub(crate) counter: Arc<Counter>,
    /// Tokens a request may have.
    pub(crate) context_tokens: usize,
    /// Requests made for the turn so far.
    pub(crate) requests: Arc<AtomicUsize>,
}

/// Result of summarising.
pub(crate) struct SummaryMade {
    pub(crate) summary: Result<Summary, AgentError>,
    /// Cost, including failed requests.
    pub(crate) usage: TokenUsage,
}

/// A summary of the previous summary and some turns.
pub(crate) struct Summary {
    pub(crate) text: String,
    /// Number of turns it covers completely, oldest first. The rest would have taken too many requests.
    pub(crate) covered: usize,
}

/// A quoted line.
struct QuotedLine {
    text: String,
    /// Index of its turn.
    turn: usize,
}

impl Summariser {
    /// Summarises an older summary and the turns after it in about `tokens` tokens.
    pub(crate) async fn summarise(
        &self,
        before: Option<&str>,
        turns: &[PastTurn],
        tokens: usize,
    ) -> SummaryMade {
        let mut usage = TokenUsage::default();
        let summary = self.in_steps(before, turns, tokens, &mut usage).await;
        SummaryMade { summary, usage }
    }

    /// Splits the input over several requests, oldest first, each building on the summary so far.
    async fn in_steps(
        &self,
        before: Option<&str>,
        turns: &[PastTurn],
        tokens: usize,
        usage: &mut TokenUsage,
    ) -> Result<Summary, AgentError> {
        let mut limit = self.context_tokens.saturating_sub(tokens * TOLERANCE + OVERHEAD_TOKENS);
        // The summary so far is part of the next request and may be as long as allowed.
        let room_for_turns = limit.saturating_sub(tokens * TOLERANCE).max(MIN_QUOTED_TOKENS);
        let turns_in_lines = turns.iter().map(|turn| self.quoted(turn, room_for_turns)).enumerate();
        let mut left: VecDeque<QuotedLine> = turns_in_lines
            .flat_map(|(turn, lines)| lines.into_iter().map(move |text| QuotedLine { text, turn }))
            .collect();
        let mut summary = before.map(str::to_owned);
        while let Some(next) = left.front() {
            if !self.may_ask() {
                return match (summary, next.turn) {
                    (None, _) | (_, 0) => Err(AgentError::SummaryTooLong { requests: MAX_REQUESTS }),
                    (Some(text), covered) => Ok(Summary { text, covered }),
                };
            }
            let earlier = summary.as_deref().map(prompt::notes::earlier_summary);
            let room = limit.saturating_sub(earlier.as_deref().map_or(0, |text| self.count(text)));
            if room < MIN_QUOTED_TOKENS {
                return Err(AgentError::TooLong { tokens: limit - room + MIN_QUOTED_TOKENS, room: limit });
            }
            let step = self.take(&mut left, room);
            let quoted: Vec<&str> =
                earlier.as_deref().into_iter().chain(step.iter().map(|line| line.text.as_str())).collect();
            match self.request(&quoted.join("\n\n"), tokens, usage).await {
                Ok(text) => summary = Some(text),
                // The provider's limit is lower than ours, so continue with smaller steps.
                Err(AgentError::Provider(error)) if error.kind == ErrorKind::ContextTooLong => {
                    step.into_iter().rev().for_each(|line| left.push_front(line));
                    limit /= 2;
                }
                Err(error) => return Err(error),
            }
        }
        summary.map(|text| Summary { text, covered: turns.len() }).ok_or(AgentError::NoAnswer)
    }

    /// Quotes a turn, shortened to the number of requests one turn may take. Cuts are marked.
    fn quoted(&self, turn: &PastTurn, room: usize) -> Vec<String> {
        let max_tokens = room * MAX_REQUESTS_A_TURN;
        let mut bounds = QuoteBounds::default();
        // The quoted form is rarely longer than the original, so this estimate avoids counting most turns again.
        let mut tokens = turn.tokens;
        loop {
            let lines: Vec<String> =
                turn.entries.iter().flat_map(|entry| lines(&entry.message, bounds)).collect();
            if tokens > max_tokens {
                tokens = lines.iter().map(|line| self.count(line)).sum();
            }
            if tokens <= max_tokens || bounds.text <= MIN_MESSAGE_CHARS {
                return lines;
            }
            bounds = QuoteBounds { text: bounds.text / 2, tool: bounds.tool / 2 };
        }
    }

    /// Returns true if the turn may make another request.
    fn may_ask(&self) -> bool {
        self.requests.load(Ordering::Relaxed) < MAX_REQUESTS
    }

    /// Takes the oldest lines that fit, or the beginning of a single line that is too long.
    fn take(&self, left: &mut VecDeque<QuotedLine>, room: usize) -> Vec<QuotedLine> {
        let mut taken = Vec::new();
        let mut used = 0;
        while let Some(line) = left.pop_front() {
            let size = self.count(&line.text);
            if used + size <= room {
                used += size;
                taken.push(line);
            } else if taken.is_empty() {
                let (beginning, rest) = self.split(&line.text, room);
                left.push_front(QuotedLine { text: rest, ..line });
                return vec![QuotedLine { text: beginning, ..line }];
            } else {
                left.push_front(line);
                break;
            }
        }
        taken
    }

    /// Splits a text so that the first part fits.
    fn split(&self, text: &str, room: usize) -> (String, String) {
        let mut length = text.chars().count().min(room * MAX_TOKEN_CHARS);
        loop {
            let (beginning, rest) = text.split_at(position(text, length));
            if length <= 1 || self.count(beginning) <= room {
                return (beginning.to_owned(), format!("… {rest}"));
            }
            length = length * 3 / 4;
        }
    }

    /// Requests a summary, and once more a shorter one if it is too long.
    async fn request(
        &self,
        quoted: &str,
        tokens: usize,
        usage: &mut TokenUsage,
    ) -> Result<String, AgentError> {
        let limit = (tokens * TOLERANCE).max(256);
        // Models rarely hit the requested length, so accept up to the limit before paying for another request.
        let first = self.ask(quoted, tokens, limit, usage).await?;
        if !first.is_too_long {
            return Ok(first.text);
        }
        // Half the length the second time: the same request would likely be answered at the same length.
        if self.may_ask()
            && let Ok(second) = self.ask(quoted, tokens / 2, limit, usage).await
            && !second.is_too_long
        {
            return Ok(second.text);
        }
        Ok(self.without_middle(&first.text, limit))
    }

    async fn ask(
        &self,
        quoted: &str,
        tokens: usize,
        limit: usize,
        usage: &mut TokenUsage,
    ) -> Result<WrittenSummary, AgentError> {
        let mut request = ChatRequest::new(self.model.model(), vec![Message::user(quoted)]);
        let instruction = prompt::notes::summary_request(tokens);
        request.system = SystemParts { stable: instruction, session: String::new() };
        request.max_output_tokens = u32::try_from(limit).unwrap_or(u32::MAX);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let answered = self.provider.complete(&request).await;
        let response = answered.map_err(|error| AgentError::Provider(Box::new(error)))?;
        *usage += response.usage;
        // The summary becomes a message of ours, so tags that only we may use must be neutralised.
        let text = response.message.text().replace('\0', "");
        let text = instructions::make_harmless(text.trim()).0.into_owned();
        if response.stop == StopReason::Refused {
            return Err(AgentError::Refused);
        }
        if text.is_empty() {
            return Err(AgentError::NoAnswer);
        }
        let was_cut = matches!(response.stop, StopReason::MaxOutputTokens | StopReason::ContextFull);
        // Compare the length first: counting the tokens of a runaway answer would take long.
        let is_too_long = was_cut || text.len() / MAX_TOKEN_CHARS > limit * 4 || self.count(&text) > limit;
        Ok(WrittenSummary { text, is_too_long })
    }

    /// Removes the middle of a text. The beginning has the oldest facts and the end the newest; both stay.
    fn without_middle(&self, text: &str, limit: usize) -> String {
        let length = text.chars().count();
        let mut kept = length.min(limit * MAX_TOKEN_CHARS);
        loop {
            if kept == length && self.count(text) <= limit {
                return text.to_owned();
            }
            let beginning = &text[..position(text, kept / 2)];
            let end = &text[position(text, length - kept / 2)..];
            let cut = prompt::notes::cut_summary(beginning, length - kept / 2 * 2, end);
            if kept < 16 || self.count(&cut) <= limit {
                return cut;
            }
            kept = kept * 4 / 5;
        }
    }

    fn count(&self, text: &str) -> usize {
        self.counter.count(Encoding::Cl100k, text) + 2
    }
}

/// A summary as the model wrote it.
struct WrittenSummary {
    text: String,
    is_too_long: bool,
}

/// Returns the byte position of a character index.
fn position(text: &str, characters: usize) -> usize {
    text.char_indices().nth(characters).map_or(text.len(), |(position, _)| position)
}

/// Limits on quoted characters.
#[derive(Clone, Copy)]
struct QuoteBounds {
    /// Characters of a message's text.
    text: usize,
    /// Characters of a tool's arguments or result.
    tool: usize,
}

impl Default for QuoteBounds {
    fn default() -> Self {
        Self { text: MAX_MESSAGE_CHARS, tool: MAX_TOOL_CHARS }
    }
}

/// Quotes a message for a reader who was not part of the conversation, without the parts we added.
fn lines(message: &Message, bounds: QuoteBounds) -> Vec<String> {
    let lines = message.blocks.iter().enumerate().filter_map(|(index, block)| match (message.role, block) {
        // Blocks after the user's own words belonged to that turn only, and instructions are delivered again.
        (MessageRole::User, Block::Text { text }) if index == 0 => {
            Some(quoted_line("User", &bounded(text, bounds.text)))
        }
        (MessageRole::Assistant, Block::Text { text }) => {
            Some(quoted_line("Assistant", &bounded(text, bounds.text)))
        }
        (_, Block::ToolCall(call)) => {
            let arguments = shortened(&call.arguments, bounds.tool);
            Some(quoted_line(&format!("Assistant calls {}", call.name), &arguments))
        }
        (_, Block::ToolResult(result)) => {
            let outcome = if result.is_error { "Tool failed" } else { "Tool answered" };
            Some(quoted_line(
                outcome,
                &shortened(
                    &result.blocks.join(
                        "
",
                    ),
                    bounds.tool,
                ),
            ))
        }
        _ => None,
    });
    lines.collect()
}

/// Formats a line of the conversation. Continuation lines are indented: otherwise a file that a tool has read could
/// pose as the user.
fn quoted_line(who: &str, text: &str) -> String {
    format!("{who}: {}", text.replace('\n', "\n    "))
}

/// Removes the middle of a text that is far too long.
fn bounded(text: &str, max_chars: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= max_chars {
        return Cow::Borrowed(text);
    }
    let beginning = &text[..position(text, max_chars / 2)];
    let end = &text[position(text, length - max_chars / 2)..];
    Cow::Owned(prompt::notes::cut_message(beginning, length - max_chars / 2 * 2, end))
}

fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((position, _)) => format!("{}…", &text[..position]),
        None => text.to_owned(),
    }
}
