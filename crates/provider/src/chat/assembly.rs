//! Assembles an answer from the pieces that all providers send.

use serde_json::Value;
use uuid::Uuid;

use crate::error::Fault;
use crate::{
    Block, ChatEvent, ChatResponse, Message, PartialResponse, ProviderKind, Reasoning, StopReason,
    TokenUsage, ToolCall,
};

/// Limit on the blocks of an answer. Every piece is matched against all of them, so the cost would grow quadratically.
const MAX_BLOCKS: usize = 4096;

/// Upper bound for the average bytes of a token; the longest tokens are rows of blanks.
const TOKEN_BYTES: usize = 128;
/// Bytes that every answer may have. Some servers ignore the requested limit, and their output is cut where it is used.
const LEAST_BYTES: usize = 4 << 20;

/// The answer so far. The adapter numbers blocks; they are kept in the order in which they began.
#[derive(Debug)]
pub(crate) struct Assembly {
    kind: ProviderKind,
    requested_model: String,
    max_tokens: u32,
    /// Bytes of text, reasoning and arguments that may still arrive.
    left: usize,
    slots: Vec<(u64, Slot)>,
    /// Events that were not delivered to the caller yet.
    events: Vec<ChatEvent>,
    pub(crate) usage: TokenUsage,
    pub(crate) model: Option<String>,
    pub(crate) stop: Option<StopReason>,
}

#[derive(Debug)]
enum Slot {
    Text(String),
    Call(ToolCall, CallProgress),
    Reasoning { text: String, value: Value },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallProgress {
    Arriving,
    /// The provider has ended the call, but a limit may have cut its arguments. Only the stop reason shows that.
    Ended,
    Complete,
}

impl Assembly {
    /// Creates an assembly for an answer of at most `max_tokens` tokens, whether or not the provider obeys that.
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
        // The last block with this number: some servers reuse a number after a block of another type.
        match self.find(key, |slot| matches!(slot, Slot::Text(_))) {
            Some(Slot::Text(text)) => text.push_str(delta),
            _ => self.add(key, Slot::Text(delta.to_owned()))?,
        }
        self.events.push(ChatEvent::TextDelta { text: delta.to_owned() });
        Ok(())
    }

    /// Returns true if the answer has as many tokens as were requested at most.
    pub(crate) fn is_at_limit(&self) -> bool {
        self.usage.output >= u64::from(self.max_tokens)
    }

    /// Returns true if there is text in a block.
    pub(crate) fn has_text(&self, key: u64) -> bool {
        self.slots.iter().any(|(other, slot)| *other == key && matches!(slot, Slot::Text(_)))
    }

    /// Returns true if there is reasoning in a block.
    pub(crate) fn has_reasoning(&self, key: u64) -> bool {
        self.slots.iter().any(|(other, slot)| *other == key && matches!(slot, Slot::Reasoning { .. }))
    }

    /// Appends reasoning that may be shown.
    pub(crate) fn reasoning(&mut self, key: u64, delta: &str) -> Result<(), Fault> {
        if delta.is_empty() {
            return Ok(());
        }
        self.take_room(delta)?;
        self.change_reasoning(key, |text, _| text.push_str(delta))?;
        self.events.push(ChatEvent::ReasoningDelta { text: delta.to_owned() });
        Ok(())
    }

    /// Sets the value of a complete reasoning block that must be sent back.
    pub(crate) fn reasoning_value(&mut self, key: u64, value: Value) -> Result<(), Fault> {
        self.change_reasoning(key, |_, old| *old = value)
    }

    /// Returns the visible text of a reasoning block.
    pub(crate) fn reasoning_text(&mut self, key: u64) -> Result<String, Fault> {
        self.change_reasoning(key, |text, _| text.clone())
    }

    /// Begins a tool call. A missing id is replaced by one that is unique in the thread, because results refer to it.
    pub(crate) fn call_started(&mut self, key: u64, id: &str, name: &str) -> Result<(), Fault> {
        let id = if id.is_empty() { format!("call_{}", Uuid::now_v7().simple()) } else { id.to_owned() };
        let call = ToolCall { id: id.clone(), name: name.to_owned(), arguments: String::new() };
        self.add(key, Slot::Call(call, CallProgress::Arriving))?;
        self.events.push(ChatEvent::ToolCallStarted { id, name: name.to_owned() });
        Ok(())
    }

    /// Appends arguments to a call.
    pub(crate) fn call_arguments(&mut self, key: u64, delta: &str) -> Result<(), Fault> {
        if delta.is_empty() {
            return Ok(());
        }
        self.take_room(delta)?;
        let (call, progress) = self.call(key)?;
        if *progress != CallProgress::Arriving {
            return Err(Fault::malformed("the answer adds arguments to a tool call that was complete"));
        }
        call.arguments.push_str(delta);
        let event = ChatEvent::ToolCallDelta { id: call.id.clone(), arguments: delta.to_owned() };
        self.events.push(event);
        Ok(())
    }

    /// Returns the arguments of a call so far. `None` if there is no such call.
    pub(crate) fn arguments(&mut self, key: u64) -> Option<&str> {
        self.call(key).ok().map(|(call, _)| call.arguments.as_str())
    }

    /// Marks a call as complete. Repeating this has no effect.
    pub(crate) fn call_finished(&mut self, key: u64) -> Result<(), Fault> {
        let (call, progress) = self.call(key)?;
        if *progress != CallProgress::Arriving {
            return Ok(());
        }
        if has_arguments(call) {
            *progress = CallProgress::Complete;
            let call = call.clone();
            self.events.push(ChatEvent::ToolCallFinished { call });
        } else {
            *progress = CallProgress::Ended;
        }
        Ok(())
    }

    /// Completes all calls at the end of an answer, once the stop reason is known. A call that a limit cut off stays incomplete;
    /// providers end its block like any other.
    pub(crate) fn settle_calls(&mut self) {
        // Running a call with half of its arguments could, for example, write a file that ends in the middle. Only the
        // two limits make such a cut plausible; otherwise the model itself wrote broken arguments, and the tool answers
        // with the error.
        let is_cut = matches!(self.stop, Some(StopReason::MaxOutputTokens | StopReason::ContextFull));
        let last = self.slots.len().saturating_sub(1);
        for (place, (_, slot)) in self.slots.iter_mut().enumerate() {
            let Slot::Call(call, progress) = slot else { continue };
            if *progress == CallProgress::Complete {
                continue;
            }
            // Some servers send no arguments for a tool without parameters, so an empty text alone does not mean that the call
            // was cut. Only the last call can have been cut before its first byte.
            let is_blank = call.arguments.trim().is_empty();
            if is_cut && !has_arguments(call) && (!is_blank || place == last) {
                *progress = CallProgress::Arriving;
                continue;
            }
            if let Err(problem) = call.input() {
                tracing::warn!(tool = %call.name, "a model wrote arguments that are not a JSON object: {}", problem.problem);
            }
            *progress = CallProgress::Complete;
            self.events.push(ChatEvent::ToolCallFinished { call: call.clone() });
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        self.slots.iter().any(|(_, slot)| matches!(slot, Slot::Call(..)))
    }

    /// Returns true if nothing of the answer was, or is about to be, delivered to the caller.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(crate) fn take_events(&mut self) -> impl Iterator<Item = ChatEvent> {
        self.events.drain(..)
    }

    pub(crate) fn into_response(self) -> ChatResponse {
        let stop = self.stop.clone().unwrap_or(StopReason::EndTurn);
        let usage = self.usage;
        let model = self.model.clone().unwrap_or_else(|| self.requested_model.clone());
        let (message, unfinished_calls) = self.into_message();
        ChatResponse { message, unfinished_calls, stop, usage, model, cache_marks: Vec::new() }
    }

    /// Returns the part of an interrupted answer. `None` if there is none.
    pub(crate) fn into_partial(self) -> Option<PartialResponse> {
        if self.is_empty() {
            return None;
        }
        let usage = self.usage;
        let model = self.model.clone();
        let (message, unfinished_calls) = self.into_message();
        Some(PartialResponse { message, unfinished_calls, usage, model })
    }

    fn into_message(self) -> (Message, Vec<ToolCall>) {
        let mut blocks = Vec::new();
        let mut unfinished = Vec::new();
        for (_, slot) in self.slots {
            match slot {
                Slot::Text(text) => blocks.push(Block::Text { text }),
                Slot::Call(call, CallProgress::Complete) => blocks.push(Block::ToolCall(call)),
                Slot::Call(call, _) => unfinished.push(call),
                Slot::Reasoning { text, value } => {
                    let model = self.requested_model.clone();
                    blocks.push(Block::Reasoning(Reasoning { kind: self.kind, model, text, value }));
                }
            }
        }
        (Message::assistant(blocks), unfinished)
    }

    /// Counts bytes against the limit, so that a provider that never stops cannot fill the memory and the database.
    fn take_room(&mut self, delta: &str) -> Result<(), Fault> {
        self.left = self.left.checked_sub(delta.len()).ok_or_else(|| {
            Fault::malformed(format!(
                "the answer continues far beyond the {} tokens that were requested",
                self.max_tokens
            ))
        })?;
        Ok(())
    }

    fn find(&mut self, key: u64, fits: impl Fn(&Slot) -> bool) -> Option<&mut Slot> {
        let found = self.slots.iter_mut().rev().find(|(other, slot)| *other == key && fits(slot));
        found.map(|(_, slot)| slot)
    }

    fn call(&mut self, key: u64) -> Result<(&mut ToolCall, &mut CallProgress), Fault> {
        match self.find(key, |slot| matches!(slot, Slot::Call(..))) {
            Some(Slot::Call(call, progress)) => Ok((call, progress)),
            _ => Err(Fault::malformed("the answer continues a tool call that has not begun")),
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
        let mut text = String::new();
        let mut value = Value::Null;
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

/// Returns true if a call's arguments are complete and not empty.
fn has_arguments(call: &ToolCall) -> bool {
    !call.arguments.trim().is_empty() && call.input().is_ok()
}
