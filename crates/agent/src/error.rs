//! Errors of prompts and turns.

use std::borrow::Cow;
use std::path::PathBuf;

use hooks::HookError;
use instructions::ResolveError;
use prompt::RebuildError;
use protocol::{Hint, TurnErrorKind};
use store::StoreError;

use crate::explain::request::RequestError;

/// Reason that there is no prompt or no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A fail-closed hook failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// Instruction files could not be resolved.
    #[error(transparent)]
    Files(#[from] ResolveError),
    /// The directory is outside of the workspace root.
    #[error("{} is not inside the workspace's directory {}", cwd.display(), root.display())]
    OutsideWorkspace { cwd: PathBuf, root: PathBuf },
    /// The project root set by the workspace is outside of its directory.
    #[error(
        "the workspace's `projectRootOverride` {} is not inside its directory {}",
        wanted.display(), root.display()
    )]
    RootOutsideWorkspace {
        /// The project root from the workspace's settings.
        wanted: PathBuf,
        root: PathBuf,
    },
    /// The request needs a directory, but the workspace has none.
    #[error("the workspace has no directory, so no path can be inside it")]
    NoDirectory,
    /// A directory cannot be used.
    #[error("cannot work in {}: {source}", path.display())]
    Directory { path: PathBuf, source: std::io::Error },
    /// The context for a turn is too long.
    #[error("the context has {characters} characters, but at most {limit} are allowed")]
    LongContext { characters: usize, limit: usize },
    #[error("skills are disabled (skills.enabled)")]
    SkillsOff,
    #[error("there is no skill `{slug}` here")]
    UnknownSkill {
        slug: String,
        /// A slug that is similar.
        meant: Option<String>,
    },
    /// The selected skill exists, but turns cannot use it.
    #[error("the skill `{slug}` cannot be used: it is {outcome}")]
    UnusableSkill {
        slug: String,
        outcome: protocol::SkillOutcome,
        /// Reason and remedy.
        detail: Option<String>,
    },
    /// Neither the request nor the settings name a model.
    #[error("no model is configured")]
    NoModel,
    /// The name of the model is malformed.
    #[error(transparent)]
    ModelName(#[from] provider::ModelNameError),
    /// The model's provider is not configured.
    #[error(transparent)]
    UnknownProvider(Box<provider::ProviderError>),
    /// The provider failed or cannot be used.
    #[error(transparent)]
    Provider(Box<provider::ProviderError>),
    /// The provider finished without an answer.
    #[error("the model ended without an answer")]
    NoAnswer,
    /// The model answered a request for a list with something else.
    #[error("the model's answer contains no valid JSON array")]
    NoList,
    /// Summarising the earlier turns takes more requests than a turn may make.
    #[error("the earlier turns could not be summarised in {requests} requests")]
    SummaryTooLong {
        /// Number of requests made.
        requests: usize,
    },
    /// The last answer was cut off inside a tool call.
    #[error(
        "the model's answer was cut off at its maximum length inside a call to `{tool}`, which did not run"
    )]
    CutCall {
        /// The tool that was called.
        tool: String,
    },
    /// Another gateway declared the turn dead.
    #[error("another gateway declared the turn dead")]
    LeaseLost,
    /// The gateway that ran the turn died.
    #[error("the gateway that ran this turn is gone")]
    GatewayGone,
    #[error("the gateway was stopped while the turn ran")]
    ShutDown,
    /// The client disconnected before the queued turn started.
    #[error("the client disconnected before the turn started")]
    Withdrawn,
    /// The turn was stopped while its calls ran. It ends as cancelled, so this is never shown.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The turn panicked, which is a bug in the program.
    #[error("internal error in the gateway; see its log for details")]
    Panicked,
    /// The gateway has reached its limit of running turns.
    #[error("gateway already has {limit} running turns (limit)")]
    TooManyTurns { limit: usize },
    /// The thread has reached its limit of queued turns.
    #[error("thread already has {limit} queued turns (limit)")]
    QueueFull { limit: usize },
    /// The workspace has used its daily tokens.
    #[error("workspace has used its {limit} tokens for today (UTC)")]
    TokensSpent { limit: u64 },
    /// The turn does not belong to the thread of the request.
    #[error("turn `{turn_id}` belongs to another thread")]
    OtherThread { turn_id: protocol::TurnId },
    /// The input is blank.
    #[error("the input is blank")]
    NoInput,
    /// The parts that must be sent exceed the model's window.
    #[error("the prompt, the tools and the question have about {tokens} tokens, and the limit is {room}")]
    TooLong {
        /// Tokens of the parts that must be sent.
        tokens: usize,
        room: usize,
    },
    /// The model, or a filter in front of it, refused.
    #[error("the model refused to answer")]
    Refused,
    /// The model kept calling tools although it had to answer.
    #[error("the model used up its tool budget and kept calling tools instead of answering")]
    OnlyCalls,
    /// Tools cannot run in the workspace's directory.
    #[error(transparent)]
    Tools(#[from] tools::ContextError),
    /// There is no manifest to compare or rebuild.
    #[error("turn `{turn_id}` has no manifest{}", round.map_or_else(String::new, |round| format!(" of round {round}")))]
    NoManifest {
        turn_id: protocol::TurnId,
        /// The requested round, if any.
        round: Option<u32>,
    },
    /// A past prompt cannot be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// A past request cannot be rebuilt.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl AgentError {
    /// Returns the kind of error to record for the turn.
    pub fn kind(&self) -> TurnErrorKind {
        match self {
            AgentError::Provider(_)
            | AgentError::UnknownProvider(_)
            | AgentError::NoModel
            | AgentError::ModelName(_) => TurnErrorKind::ProviderFailed,
            AgentError::Hook(_) => TurnErrorKind::HookFailed,
            AgentError::LeaseLost | AgentError::ShutDown | AgentError::GatewayGone => {
                TurnErrorKind::Interrupted
            }
            AgentError::NoAnswer | AgentError::CutCall { .. } => TurnErrorKind::NoAnswer,
            AgentError::Refused => TurnErrorKind::Refused,
            AgentError::OnlyCalls => TurnErrorKind::ToolBudgetSpent,
            AgentError::TooLong { .. } => TurnErrorKind::TooLong,
            _ => TurnErrorKind::Failed,
        }
    }

    /// Returns true if the same turn could succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            // Only causes outside of the request are worth a retry. A hook or a missing setting fails again in the
            // same way.
            AgentError::Provider(error) => error.retryable,
            AgentError::LeaseLost | AgentError::ShutDown | AgentError::GatewayGone | AgentError::NoAnswer => {
                true
            }
            AgentError::Store(StoreError::Unavailable(_)) => true,
            _ => false,
        }
    }
}

/// Instructions for configuring a model, per kind of provider; the parts in backticks can be pasted.
const MODELS: &str = "\
for this turn alone, name one with `--model PROVIDER/MODEL`
for all, start the gateway again with FOREWORD_MODEL_DEFAULT set, or with a line at the beginning of config.toml in its \
home directory, which `foreword status` names
Anthropic, with ANTHROPIC_API_KEY set where the gateway starts: `model.default = \"anthropic/claude-opus-5\"`
OpenAI, with OPENAI_API_KEY set there: `model.default = \"openai/gpt-5\"`
Ollama: `model.default = \"ollama/llama3.2\"` and \
`providers.ollama = { kind = \"openai_compatible\", base_url = \"http://127.0.0.1:11434/v1\" }`";

impl Hint for AgentError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            AgentError::Provider(error) | AgentError::UnknownProvider(error) => return error.hint(),
            AgentError::ModelName(error) => return error.hint(),
            AgentError::UnknownSkill { meant: Some(meant), .. } => {
                return Some(format!("did you mean `{meant}`?").into());
            }
            AgentError::UnknownSkill { meant: None, .. } => {
                "`foreword skill list` lists the available skills"
            }
            AgentError::UnusableSkill { detail, .. } => return detail.as_deref().map(Cow::Borrowed),
            AgentError::NoModel => MODELS,
            AgentError::TooLong { .. } => {
                "ask for less, or raise turns.max_context_tokens if the model takes more"
            }
            AgentError::TooManyTurns { .. } => "wait for one to end, cancel one, or raise limits.turns",
            AgentError::QueueFull { .. } => "wait for a queued turn to start, or cancel the running one",
            AgentError::TokensSpent { .. } => "wait for tomorrow, or raise limits.tokens_per_day",
            AgentError::CutCall { .. } => "ask for less at once",
            AgentError::Rebuild(RebuildError::Purged { .. }) => {
                "its manifest is still available: `foreword prompt manifest THREAD --turn TURN`"
            }
            AgentError::LongContext { .. } => "shorten it, or put it into a file that the agent can read",
            AgentError::Request(RequestError::Altered { .. }) => {
                "a part of it was forgotten or redacted since, or another version of Foreword sent it"
            }
            AgentError::Request(RequestError::Missing { .. } | RequestError::Tool { .. }) => {
                "requests are recorded since this version, with `prompt.keep_texts`"
            }
            AgentError::Refused => "ask differently, or ask another model with --model",
            AgentError::OnlyCalls => {
                "ask for less at once, or raise turns.max_rounds and turns.max_tool_calls"
            }
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }
}
