//! Errors of servers, worded so that a model and a user can act on them.

use std::borrow::Cow;
use std::time::Duration;

use protocol::Hint;

#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ServerError {
    /// `why` is the server's or the system's own message.
    #[error("the MCP server `{server}` could not be started: {why}")]
    NotStarted { server: String, why: String },
    #[error("the MCP server `{server}` failed before ({why}), and is started again in {} s at the earliest", wait.as_secs().max(1))]
    Waiting { server: String, why: String, wait: Duration },
    #[error("the MCP server `{server}` did not answer within {} ms", limit.as_millis())]
    TooSlow { server: String, limit: Duration },
    #[error("the MCP server `{server}` ended in the middle of the call: {why}")]
    Ended { server: String, why: String },
    #[error("the MCP server `{server}` refused: {why}")]
    Refused { server: String, why: String },
    #[error(
        "the MCP server `{server}` offers `{tool}` no longer as it was when this call was decided, so it was not made"
    )]
    Changed { server: String, tool: String },
    #[error("the MCP server `{server}` answered with something else than a result")]
    Nonsense { server: String },
    #[error("the MCP server `{server}` asks for {what}, which is not supported")]
    Unsupported { server: String, what: &'static str },
    #[error("the MCP server `{server}` is shut down with the gateway")]
    ShutDown { server: String },
}

impl Hint for ServerError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::NotStarted { .. } | Self::Waiting { .. } => {
                "tell the user, who finds more with `foreword mcp status`"
            }
            Self::TooSlow { .. } | Self::Ended { .. } => {
                "whether it has done anything is not known; look before you call it again"
            }
            Self::Refused { .. } => "correct the arguments",
            Self::Changed { .. } => {
                "read its description again, and call it again if it still does what you want"
            }
            Self::Nonsense { .. } | Self::Unsupported { .. } => "do without it, and tell the user",
            Self::ShutDown { .. } => return None,
        };
        Some(hint.into())
    }
}
