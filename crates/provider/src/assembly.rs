//! An answer in the making, out of the pieces that all providers send.

use serde_json::Value;
use uuid::Uuid;

use crate::error::Fault;
use crate::{
    Block, ChatEvent, ChatResponse, Message, PartialResponse, ProviderKind, Reasoning, StopReason,
    TokenUsage, ToolCall,
};

/// More blocks than any answer has; every piece has to find its own among them.
const MAX_BLOCKS: usize = 4096;

/// More bytes than any token has on the average; the longest are rows of blanks.
const TOKEN_BYTES: usize = 128;
/// What an answer may have in any case: some servers do not know the limit that they are told, and what they write is cut
/// where it is used.
const LEAST_BYTES: usize = 4 << 20;

/// What has arrived so far. Pieces name their block by a number that the adapter chooses; blocks are in the order
/// in which they began.
#[derive(Debug)]
pub(crate) struct Assembly {
    kind: ProviderKind,
    requested_model: String,
    max_tokens: u32,
    /// Bytes of texts, reasonings and arguments that may still come.
    left: usize,
    slots: Vec<(u64, Slot)>,
    /// What the caller has not been told yet.
    events: Vec<ChatEvent>,
    pub(crate) usage: TokenUsage,
    pub(crate) model: Option<String>,
    pub(crate) stop: Option<StopReason>,
}

#[derive(Debug)]
enum Slot {
    Text(String),
    Call(ToolCall, Progress),
    Reasoning { text: String, value: Value },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Arriving,
    /// The provider says that it is complete, but its arguments may have been cut: only why the model stopped tells.
    Ended,
    Complete,
}

impl Assembly {
    /// For an answer of at most so many tokens, whatever the provider makes of that.
    pub(crate) fn new(kind: ProviderKind, requested_model: String, max_tokens: u32) -> Self {
        Self {
            kind,
            requested_model,
            max_tokens,
            left: (max_tokens as usize).saturating_mul(TOKEN_BYTES).max(LEAST_BYTES),
            slots: Vec::new(),
            events: Vec::new(),
            usage: TokenUsage::default(),
            model: None,
            stop: None,
        }
    }

    pub(crate) fn text(&mut self, key: u64, delta: &str) -> Result<(), Fault> {
        if delta.is_empty() {
            return Ok(());
        }
        self.take_room(delta)?;
        match self.find(key, |slot| matches!(slot, Slot::Text(_))) {
            Some(Slot::Text(text)) => text.push_str(delta),
            _ => self.add(key, Slot::Text(delta.to_owned()))?,
        }
        self.events.push(ChatEvent::TextDelta { text: delta.to_owned() });
        Ok(())
    }

    /// Whether there is any of a text.
    pub(crate) fn has_text(&self, key: u64) -> bool {
        self.slots.iter().any(|(other, slot)| *other == key && matches!(slot, Slot::Text(_)))
    }

    /// Whether there is any of a reasoning.
    pub(crate) fn has_reasoning(&self, key: u64) -> bool {
        self.slots.iter().any(|(other, slot)| *other == key && matches!(slot, Slot::Reasoning { .. }))
    }

    /// More reasoning that may be shown.
    pub(crate) fn reasoning(&mut self, key: u64, delta: &str) -> Result<(), Fault> {
        if delta.is_empty() {
            return Ok(());
        }
        self.take_room(delta)?;
        self.change_reasoning(key, |text, _| text.push_str(delta))?;
        self.events.push(ChatEvent::ReasoningDelta { text: delta.to_owned() });
        Ok(())
    }

    /// What has to be sent back of a reasoning, once it is complete.
    pub(crate) fn reasoning_value(&mut self, key: u64, value: Value) -> Result<(), Fault> {
        self.change_reasoning(key, |_, old| *old = value)
    }

    /// The shown text of a reasoning.
    pub(crate) fn reasoning_text(&mut self, key: u64) -> Result<String, Fault> {
        self.change_reasoning(key, |text, _| text.clone())
    }

    /// A tool call begins. Without an id it gets one, unlike any other in its thread: results have to refer to it.
    pub(crate) fn call_started(&mut self, key: u64, id: &str, name: &str) -> Result<(), Fault> {
        let id = if id.is_empty() { format!("call_{}", Uuid::now_v7().simple()) } else { id.to_owned() };
        let call = ToolCall { id: id.clone(), name: name.to_owned(), arguments: String::new() };
        self.add(key, Slot::Call(call, Progress::Arriving))?;
        self.events.push(ChatEvent::ToolCallStarted { id, name: name.to_owned() });
        Ok(())
    }

    /// More arguments of a call.
    pub(crate) fn call_arguments(&mut self, key: u64, delta: &str) -> Result<(), Fault> {
        if delta.is_empty() {
            return Ok(());
        }
        self.take_room(delta)?;
        let (call, progress) = self.call(key)?;
        if *progress != Progress::Arriving {
            return Err(Fault::malformed("the answer adds arguments to a tool call that was complete"));
        }
        call.arguments.push_str(delta);
        let event = ChatEvent::ToolCallDelta { id: call.id.clone(), arguments: delta.to_owned() };
        self.events.push(event);
        Ok(())
    }

    /// The arguments of a call so far; `None` if there is no such call.
    pub(crate) fn arguments(&mut self, key: u64) -> Option<&str> {
        self.call(key).ok().map(|(call, _)| call.arguments.as_str())
    }

    /// A call is complete, as the provider says. To say it twice does no harm.
    pub(crate) fn call_finished(&mut self, key: u64) -> Result<(), Fault> {
        let (call, progress) = self.call(key)?;
        if *progress != Progress::Arriving {
            return Ok(());
        }
        if has_arguments(call) {
            *progress = Progress::Complete;
            let call = call.clone();
            self.events.push(ChatEvent::ToolCallFinished { call });
        } else {
            *progress = Progress::Ended;
        }
        Ok(())
    }

    /// The answer is at its end, and why the model stopped is known: calls are complete, except those that a limit cut
    /// off. Providers end the block of such a call like any other.
    pub(crate) fn settle_calls(&mut self) {
        let is_cut = matches!(self.stop, Some(StopReason::MaxOutputTokens | StopReason::ContextFull));
        let last = self.slots.len().saturating_sub(1);
        for (place, (_, slot)) in self.slots.iter_mut().enumerate() {
            let Slot::Call(call, progress) = slot else { continue };
            if *progress == Progress::Complete {
                continue;
            }
            // Nothing at all is what some servers write for a tool without parameters.
            let is_blank = call.arguments.trim().is_empty();
            if is_cut && !has_arguments(call) && (!is_blank || place == last) {
                *progress = Progress::Arriving;
                continue;
            }
            if let Err(problem) = call.input() {
                tracing::warn!(tool = %call.name, "a model wrote arguments that are not a JSON object: {}", problem.problem);
            }
            *progress = Progress::Complete;
            self.events.push(ChatEvent::ToolCallFinished { call: call.clone() });
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.slots.iter().any(|(_, slot)| matches!(slot, Slot::Call(..)))
    }

    /// Whether the caller was, or is about to be, told anything of this answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn take_events(&mut self) -> impl Iterator<Item = ChatEvent> {
        self.events.drain(..)
    }

    pub(crate) fn into_response(self) -> ChatResponse {
        let (stop, usage) = (self.stop.clone().unwrap_or(StopReason::EndTurn), self.usage);
        let model = self.model.clone().unwrap_or_else(|| self.requested_model.clone());
        let (message, unfinished_calls) = self.into_message();
        ChatResponse { message, unfinished_calls, stop, usage, model, cache_marks: Vec::new() }
    }

    /// What there is of an answer that broke off, if there is anything.
    pub(crate) fn into_partial(self) -> Option<PartialResponse> {
        if self.is_empty() {
            return None;
        }
        let (usage, model) = (self.usage, self.model.clone());
        let (message, unfinished_calls) = self.into_message();
        Some(PartialResponse { message, unfinished_calls, usage, model })
    }

    fn into_message(self) -> (Message, Vec<ToolCall>) {
        let (mut blocks, mut unfinished) = (Vec::new(), Vec::new());
        for (_, slot) in self.slots {
            match slot {
                Slot::Text(text) => blocks.push(Block::Text { text }),
                Slot::Call(call, Progress::Complete) => blocks.push(Block::ToolCall(call)),
                Slot::Call(call, _) => unfinished.push(call),
                Slot::Reasoning { text, value } => {
                    let model = self.requested_model.clone();
                    blocks.push(Block::Reasoning(Reasoning { kind: self.kind, model, text, value }));
                }
            }
        }
        (Message::assistant(blocks), unfinished)
    }

    /// A provider that does not stop, or does not keep to what it was asked, must not fill the memory and the database.
    fn take_room(&mut self, delta: &str) -> Result<(), Fault> {
        self.left = self.left.checked_sub(delta.len()).ok_or_else(|| {
            Fault::malformed(format!(
                "the answer goes on far beyond the {} tokens that were asked for",
                self.max_tokens
            ))
        })?;
        Ok(())
    }

    fn find(&mut self, key: u64, fits: impl Fn(&Slot) -> bool) -> Option<&mut Slot> {
        let found = self.slots.iter_mut().rev().find(|(other, slot)| *other == key && fits(slot));
        found.map(|(_, slot)| slot)
    }

    fn call(&mut self, key: u64) -> Result<(&mut ToolCall, &mut Progress), Fault> {
        match self.find(key, |slot| matches!(slot, Slot::Call(..))) {
            Some(Slot::Call(call, progress)) => Ok((call, progress)),
            _ => Err(Fault::malformed("the answer continues a tool call that was not begun")),
        }
    }

    fn change_reasoning<T>(
        &mut self,
        key: u64,
        change: impl FnOnce(&mut String, &mut Value) -> T,
    ) -> Result<T, Fault> {
        if let Some(Slot::Reasoning { text, value }) =
            self.find(key, |slot| matches!(slot, Slot::Reasoning { .. }))
        {
            return Ok(change(text, value));
        }
        let (mut text, mut value) = (String::new(), Value::Null);
        let result = change(&mut text, &mut value);
        self.add(key, Slot::Reasoning { text, value })?;
        Ok(result)
    }

    fn add(&mut self, key: u64, slot: Slot) -> Result<(), Fault> {
        if self.slots.len() == MAX_BLOCKS {
            return Err(Fault::malformed(format!("the answer has more than {MAX_BLOCKS} blocks")));
        }
        self.slots.push((key, slot));
        Ok(())
    }
}

/// Whether a call has arguments, and all of them.
fn has_arguments(call: &ToolCall) -> bool {
    !call.arguments.trim().is_empty() && call.input().is_ok()
}
