//! Shared by the tests: a scripted model, and providers of each kind with short time limits.

use std::time::Duration;

use futures_util::StreamExt as _;
use provider::{
    ChatEvent, ChatRequest, ChatResponse, Message, Provider, ProviderConfig, ProviderError, ProviderKind,
    RetryPolicy, Timeouts,
};
use scripted_model::{Answer, ScriptedModel, Wire};

/// Key of all tests, which is searched for in output.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) const KINDS: &[(ProviderKind, Wire)] = &[
    (ProviderKind::Anthropic, Wire::Anthropic),
    (ProviderKind::Openai, Wire::Openai),
    (ProviderKind::OpenaiCompatible, Wire::OpenaiCompatible),
];

/// A scripted model and the kind of API it speaks.
pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) kind: ProviderKind,
    wire: Wire,
}

/// Everything that happened in a round.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) events: Vec<ChatEvent>,
    pub(crate) result: Result<ChatResponse, ProviderError>,
}

impl Stage {
    pub(crate) async fn new((kind, wire): (ProviderKind, Wire)) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        model.require_key(KEY);
        Self { model, kind, wire }
    }

    /// Creates a stage with scripted answers.
    pub(crate) async fn with(kind: (ProviderKind, Wire), answers: impl IntoIterator<Item = Answer>) -> Self {
        let stage = Self::new(kind).await;
        answers.into_iter().for_each(|answer| stage.model.answer(answer));
        stage
    }

    pub(crate) fn config(&self) -> ProviderConfig {
        let mut config = ProviderConfig::new("tested", self.kind, self.model.base_url(self.wire))
            .key_from_environment("TESTED_API_KEY", |_| Some(KEY.to_owned()));
        config.retry = RetryPolicy {
            attempts: 3,
            base: Duration::from_millis(2),
            longest: Duration::from_millis(10),
            longest_asked: Duration::from_secs(2),
        };
        config.timeouts = Timeouts {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(20),
            idle: Duration::from_secs(20),
        };
        config
    }

    pub(crate) fn provider(&self) -> Provider {
        Provider::new(self.config()).unwrap()
    }

    pub(crate) async fn ask(&self) -> Outcome {
        outcome(&self.provider(), &hello()).await
    }
}

pub(crate) fn hello() -> ChatRequest {
    ChatRequest::new("scripted-model", vec![Message::user("Hello.")])
}

/// Collects a round to its end.
pub(crate) async fn outcome(provider: &Provider, request: &ChatRequest) -> Outcome {
    let mut stream = provider.chat(request);
    let mut events = Vec::new();
    let mut result = None;
    while let Some(event) = stream.next().await {
        assert!(result.is_none(), "something came after the end: {event:?}");
        match event {
            Ok(ChatEvent::Finished(response)) => result = Some(Ok(response)),
            Ok(event) => events.push(event),
            Err(error) => result = Some(Err(error)),
        }
    }
    Outcome { events, result: result.unwrap() }
}

impl Outcome {
    pub(crate) fn response(&self) -> &ChatResponse {
        self.result.as_ref().unwrap()
    }

    pub(crate) fn error(&self) -> &ProviderError {
        self.result.as_ref().unwrap_err()
    }

    /// Returns the pieces of text in order.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let texts = self.events.iter().filter_map(|event| match event {
            ChatEvent::TextDelta { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the number of retries.
    pub(crate) fn retries(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, ChatEvent::Retrying { .. })).count()
    }
}
