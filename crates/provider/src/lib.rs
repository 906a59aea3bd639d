//! Model providers: a request in neutral terms, and its translation for each API.
//!
//! A [`ChatRequest`] contains everything that a model is shown and may do. A [`Provider`] turns it into one call of its API
//! and streams the answer as [`ChatEvent`]s; the last one is the whole [`ChatResponse`]. Three adapters translate:
//! Anthropic's Messages, OpenAI's Responses, and the Chat Completions of other servers ([`ProviderKind`]). Connections,
//! time limits, event parsing, retries and assembling an answer are shared.
//!
//! A provider that is busy or failed is retried as long as nothing of an answer was delivered. An answer that is
//! interrupted ends the round with a retryable error, which keeps the part that arrived. Dropping the stream ends the
//! request. Keys appear in no error, log or `Debug` output.
//!
//! ```
//! use futures_util::StreamExt as _;
//! use provider::{ChatEvent, ChatRequest, Message, Provider, ProviderConfig, ProviderKind};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let model = scripted_model::ScriptedModel::start().await?;
//! # model.answer(scripted_model::Answer::text("Hello, world.").in_deltas(3));
//! # let base_url = model.base_url(scripted_model::Wire::Anthropic);
//! let config = ProviderConfig::new("anthropic", ProviderKind::Anthropic, base_url);
//! let provider = Provider::new(config)?;
//!
//! let request = ChatRequest::new("claude-opus-5", vec![Message::user("Say hello.")]);
//! let mut stream = provider.chat(&request);
//! let mut text = String::new();
//! while let Some(event) = stream.next().await {
//!     match event? {
//!         ChatEvent::TextDelta { text: delta } => text.push_str(&delta),
//!         ChatEvent::Finished(response) => assert_eq!(response.message.text(), text),
//!         _ => {}
//!     }
//! }
//! assert_eq!(text, "Hello, world.");
//! # anyhow::Ok(()) }).unwrap();
//! ```

mod adapter;
mod chat;
mod error;
mod fault;
mod provider;
mod settings;
mod transport;

pub use chat::request::{ChatRequest, DEFAULT_MAX_OUTPUT_TOKENS, ReasoningEffort, SystemParts};
pub use chat::response::{ChatEvent, ChatResponse, PartialResponse, StopReason};
pub use error::{ContextOverrun, ErrorKind, ProviderError};
/// Message types, which the store keeps.
pub use protocol::message::{Block, Message, ProviderKind, Reasoning, ToolResult};
pub use protocol::prompt::ToolChoice;
pub use protocol::{MessageRole, TokenUsage, ToolCall, ToolSpec};
pub use provider::{ChatStream, EncodedRequest, Provider};
pub use settings::config::{BuiltIn, ProviderConfig, ProviderSettings, ResponseLimits, Timeouts};
pub use settings::key::{KeyFileError, key_from_file};
pub use settings::model_name::{ModelName, ModelNameError, Providers};
pub use settings::rules::{CacheRules, ModelRules, ReasoningRules};
pub use transport::retry::RetryPolicy;
