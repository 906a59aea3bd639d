//! What can go wrong with a turn.

use std::path::PathBuf;

use hooks::HookError;
use instructions::ResolveError;
use prompt::RebuildError;
use store::StoreError;

/// Why there is no prompt, or no answer.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A hook that must not fail did.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// Instruction files cannot be resolved.
    #[error(transparent)]
    Files(#[from] ResolveError),
    /// The directory is not inside the workspace's.
    #[error("{} is not inside the workspace's directory {}", cwd.display(), root.display())]
    OutsideWorkspace {
        /// The directory.
        cwd: PathBuf,
        /// The workspace's.
        root: PathBuf,
    },
    /// The project root that the workspace asks for is not inside its directory.
    #[error(
        "the workspace's `projectRootOverride` {} is not inside its directory {}",
        wanted.display(), root.display()
    )]
    RootOutsideWorkspace {
        /// The project root that is asked for.
        wanted: PathBuf,
        /// The workspace's directory.
        root: PathBuf,
    },
    /// A directory was named, but the workspace has none.
    #[error("the workspace has no directory, so `cwd` cannot be inside it")]
    NoDirectory,
    /// A directory cannot be used.
    #[error("cannot work in {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What is stored cannot be understood.
    #[error("the stored {what} cannot be read: {message}")]
    Stored {
        /// What.
        what: &'static str,
        /// Why.
        message: String,
    },
    /// Nobody said which model to ask.
    #[error(
        "no model is configured\n\
         hint: Anthropic: export ANTHROPIC_API_KEY=…, and in config.toml: [model] default = \"anthropic/claude-opus-5\"\n\
         hint: OpenAI: export OPENAI_API_KEY=…, and in config.toml: [model] default = \"openai/gpt-5\"\n\
         hint: Ollama: in config.toml: [providers.ollama] kind = \"openai_compatible\", \
         base_url = \"http://127.0.0.1:11434/v1\", and [model] default = \"ollama/llama3.2\""
    )]
    NoModel,
    /// A model's name is none.
    #[error(transparent)]
    ModelName(#[from] provider::ModelNameError),
    /// A provider failed, or there is no such provider.
    #[error(transparent)]
    Provider(Box<provider::ProviderError>),
    /// A provider ended without an answer.
    #[error("the model ended without an answer; ask again")]
    NoAnswer,
    /// Another gateway took a turn for dead.
    #[error("the turn was given up by another gateway; ask again")]
    LeaseLost,
    /// The gateway stops.
    #[error("the gateway was stopped while the turn ran; ask again")]
    ShutDown,
    /// Nobody waits for the turn any more, and it had not begun.
    #[error("the turn was withdrawn before it began")]
    Withdrawn,
    /// The program has a fault.
    #[error("the turn failed by a fault of the gateway; its log has the details")]
    Panicked,
    /// A turn was named together with a thread that it does not belong to.
    #[error("turn `{turn_id}` belongs to another thread")]
    OtherThread {
        /// The turn.
        turn_id: protocol::TurnId,
    },
    /// There is nothing to answer.
    #[error("there is nothing to answer: the text is blank")]
    NoInput,
    /// What must be sent does not fit.
    #[error(
        "the prompt, the tools and the question have about {tokens} tokens, and there is room for {room}\n\
         hint: ask for less, or raise turns.max_context_tokens if the model takes more"
    )]
    TooLong {
        /// What must be sent.
        tokens: usize,
        /// What may be.
        room: usize,
    },
    /// The model, or a filter behind it, refused.
    #[error("the model refused to answer\nhint: ask differently, or ask another model with --model")]
    Refused,
    /// The model went on calling tools when it had to answer.
    #[error(
        "the model called tools until it had spent its budget, and then again instead of answering\n\
         hint: ask for less at once, or raise turns.max_rounds and turns.max_tool_calls"
    )]
    OnlyCalls,
    /// Tools cannot run in the workspace's directory.
    #[error(transparent)]
    Tools(#[from] tools::ContextError),
    /// A tool cannot be offered.
    #[error(transparent)]
    Toolbox(#[from] tools::ToolboxError),
    /// There is nothing to compare or rebuild.
    #[error("turn `{turn_id}` has no manifest{}", round.map_or_else(String::new, |round| format!(" of round {round}")))]
    NoManifest {
        /// The turn.
        turn_id: String,
        /// The round, if one was named.
        round: Option<u32>,
    },
    /// A past prompt cannot be rebuilt.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
}

impl AgentError {
    /// What went wrong, in a word that programs can rely on.
    pub fn kind(&self) -> &'static str {
        match self {
            AgentError::Provider(_) | AgentError::NoModel | AgentError::ModelName(_) => "provider_failed",
            AgentError::Hook(_) => "hook_failed",
            AgentError::LeaseLost | AgentError::ShutDown => "interrupted",
            AgentError::NoAnswer => "no_answer",
            AgentError::Refused => "refused",
            AgentError::OnlyCalls => "tool_budget_spent",
            AgentError::TooLong { .. } => "too_long",
            _ => "failed",
        }
    }

    /// Whether the same turn could succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            AgentError::Provider(error) => error.retryable,
            AgentError::LeaseLost | AgentError::ShutDown | AgentError::NoAnswer => true,
            AgentError::Store(StoreError::Unavailable(_)) => true,
            _ => false,
        }
    }
}
