//! One round: sending the request, retrying, and reading the answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use protocol::round::CacheMark;
use serde_json::Value;

use crate::adapter::{DecodeStep, Decoder};
use crate::chat::assembly::Assembly;
use crate::error::Fault;
use crate::provider::ProviderState;
use crate::transport::http;
use crate::transport::http::{HttpAnswer, ReadState};
use crate::transport::sse::SseEvent;
use crate::{ChatEvent, ChatRequest, ChatResponse, ProviderError, fault};

/// A request in progress. All work happens inside [`Round::next`], so dropping it ends everything.
pub(crate) struct Round {
    shared: Arc<ProviderState>,
    model: String,
    max_tokens: u32,
    body: Vec<u8>,
    marks: Vec<CacheMark>,
    attempts: u32,
    state: RoundState,
    /// Events to deliver before any further work.
    queue: VecDeque<ChatEvent>,
}

enum RoundState {
    Asking,
    Waiting(Duration),
    AnswerReading(Box<AnswerReading>),
    Failed(Fault, Option<Box<Assembly>>),
    Over,
}

struct AnswerReading {
    answer: HttpAnswer,
    decoder: Box<dyn Decoder>,
    assembly: Assembly,
}

impl Round {
    pub(crate) fn new(
        shared: Arc<ProviderState>,
        request: &ChatRequest,
        body: Vec<u8>,
        marks: Vec<CacheMark>,
    ) -> Self {
        let model = request.model.clone();
        let max_tokens = request.max_output_tokens;
        Self {
            shared,
            model,
            max_tokens,
            body,
            marks,
            attempts: 0,
            state: RoundState::Asking,
            queue: VecDeque::new(),
        }
    }

    /// Returns the next event. `None` after the end of the round.
    pub(crate) async fn next(&mut self) -> Option<Result<ChatEvent, ProviderError>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(Ok(event));
            }
            // The state is taken out, so a future that is dropped in the middle leaves `Over` behind and never resumes.
            self.state = match std::mem::replace(&mut self.state, RoundState::Over) {
                RoundState::Over => return None,
                RoundState::Waiting(delay) => {
                    tokio::time::sleep(delay).await;
                    RoundState::Asking
                }
                RoundState::Asking => self.ask().await,
                RoundState::AnswerReading(reading) => self.read(reading).await,
                RoundState::Failed(fault, assembly) => match self.again(&fault, assembly.as_deref()) {
                    Some(delay) => RoundState::Waiting(delay),
                    None => {
                        let partial = assembly.and_then(|assembly| assembly.into_partial());
                        return Some(Err(self.shared.error(fault, &self.model, partial)));
                    }
                },
            };
        }
    }

    async fn ask(&mut self) -> RoundState {
        self.attempts += 1;
        let shared = &self.shared;
        tracing::debug!(provider = %shared.config.name, model = %self.model, attempt = self.attempts, "asking a model");
        match shared.http.post(shared.headers.clone(), self.body.clone()).await {
            Ok(answer) => {
                let assembly = Assembly::new(shared.config.kind, self.model.clone(), self.max_tokens);
                RoundState::AnswerReading(Box::new(AnswerReading {
                    answer,
                    decoder: shared.adapter.decoder(),
                    assembly,
                }))
            }
            Err(fault) => RoundState::Failed(fault, None),
        }
    }

    async fn read(&mut self, mut reading: Box<AnswerReading>) -> RoundState {
        let reported = reading.assembly.usage;
        let step = reading.step().await;
        self.queue.extend(reading.assembly.take_events());
        match step {
            Ok(DecodeStep::Continue) => {
                if reading.assembly.usage != reported {
                    self.queue.push_back(ChatEvent::Usage(reading.assembly.usage));
                }
                RoundState::AnswerReading(reading)
            }
            Ok(DecodeStep::Done) => {
                // The marks move into the response. They describe the one request that all attempts repeat, so they do
                // not depend on which attempt succeeded.
                let cache_marks = std::mem::take(&mut self.marks);
                let response = ChatResponse { cache_marks, ..reading.assembly.into_response() };
                self.queue.push_back(ChatEvent::Finished(response));
                RoundState::Over
            }
            Err(fault) => RoundState::Failed(fault, Some(Box::new(reading.assembly))),
        }
    }

    /// Returns the delay before a retry. `None` if there must not be one, for example because a part was already delivered and
    /// would arrive twice.
    fn again(&mut self, fault: &Fault, assembly: Option<&Assembly>) -> Option<Duration> {
        // Nothing has been delivered and no tool has run while the assembly is empty, so repeating the request costs at
        // most the tokens of the prompt.
        if !fault.kind.is_repeated() || assembly.is_some_and(|assembly| !assembly.is_empty()) {
            return None;
        }
        let delay = self.shared.config.retry.delay(self.attempts, fault.retry_after)?;
        let error = self.shared.error(fault.clone(), &self.model, None);
        tracing::info!(attempt = self.attempts, ?delay, "asking a model again: {error}");
        self.queue.push_back(ChatEvent::Retrying { attempt: self.attempts, delay, error });
        Some(delay)
    }
}

impl AnswerReading {
    /// Decodes an answer that came as one value.
    fn whole(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| http::no_answer("application/json"))?;
        // Proxies that ignore the request for a stream also report errors with status 200. Some include `"error": null`
        // in good answers, so the field's presence alone does not mean a failure.
        if value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(fault::of_event(&value));
        }
        self.decoder.whole(&value, &mut self.assembly)
    }

    /// Waits for a piece of the answer and decodes it.
    async fn step(&mut self) -> Result<DecodeStep, Fault> {
        let mut events: Vec<SseEvent> = Vec::new();
        let more = self.answer.read(&mut events).await;
        // Events that were complete before a problem still count: they may even end the answer.
        for event in &events {
            if self.decoder.event(event, &mut self.assembly)? == DecodeStep::Done {
                return Ok(DecodeStep::Done);
            }
        }
        match more? {
            ReadState::Open => Ok(DecodeStep::Continue),
            ReadState::No => self.decoder.end(&mut self.assembly).map(|()| DecodeStep::Done),
            ReadState::Whole(bytes) => self.whole(&bytes).map(|()| DecodeStep::Done),
        }
    }
}
