//! The hook trait, and the context a hook runs with.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use protocol::hook::Phase;
use protocol::{Audience, ContentHash, DelegateInstructions, TurnScope, TurnStatus};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Contributed, Contribution};

/// The turn as its hooks see it.
#[derive(Debug, Clone)]
pub struct TurnContext {
    pub scope: Arc<TurnScope>,
    /// Files and directories touched by tool calls of the thread: in completed turns, and in this one so far.
    pub touched_paths: Vec<PathBuf>,
    /// The reader of the turn's instructions: the main agent, or a delegate of another turn.
    pub audience: Audience,
    /// Instructions that a delegated turn gets.
    pub delegate_instructions: DelegateInstructions,
    /// True if a delegated turn gets the document of its scope in any case.
    pub inherits_document: bool,
    /// Contributions of earlier phases of the turn.
    pub earlier: Vec<Contributed>,
    /// Fingerprint of the whole prompt, once it is compiled.
    pub prompt_fingerprint: Option<ContentHash>,
    /// Final status, once the turn has ended.
    pub status: Option<TurnStatus>,
}

impl TurnContext {
    /// Returns true if the turn works for another one and reads no instructions besides its goal.
    pub fn reads_goal_only(&self) -> bool {
        self.audience == Audience::Delegate && self.delegate_instructions == DelegateInstructions::None
    }

    /// Creates the context of a scope; everything else is empty.
    pub fn new(scope: impl Into<Arc<TurnScope>>) -> Self {
        Self {
            scope: scope.into(),
            touched_paths: Vec::new(),
            audience: Audience::Main,
            delegate_instructions: DelegateInstructions::default(),
            inherits_document: false,
            earlier: Vec::new(),
            prompt_fingerprint: None,
            status: None,
        }
    }
}

/// Arguments of one hook run; cheap to clone.
#[derive(Debug, Clone)]
pub struct HookContext {
    pub turn: Arc<TurnContext>,
    /// The running phase.
    pub phase: Phase,
    /// Time at which the hook is aborted.
    pub deadline: Instant,
    /// Cancelled at the timeout, for work that survives aborting the hook's task.
    pub cancellation: CancellationToken,
}

/// Contributions of a hook, or its failure.
pub type HookResult = Result<Vec<Contribution>, HookFailure>;

/// Code that contributes to a turn.
///
/// Every run is its own task. It is aborted at its timeout, which takes effect where the hook awaits. A hook that
/// blocks its thread is abandoned just as punctually on a multi-threaded runtime, but keeps that thread until it
/// returns. Blocking work belongs in `spawn_blocking` and should watch [`HookContext::cancellation`].
///
/// A closure from a [`HookContext`] to a future is also a hook.
pub trait Hook: Send + Sync + 'static {
    /// Runs once. A panic fails only this run.
    fn run(&self, context: HookContext) -> impl Future<Output = HookResult> + Send;
}

impl<F, R> Hook for F
where
    F: Fn(HookContext) -> R + Send + Sync + 'static,
    R: Future<Output = HookResult> + Send,
{
    fn run(&self, context: HookContext) -> impl Future<Output = HookResult> + Send {
        self(context)
    }
}

/// Object-safe form of [`Hook`].
pub(crate) trait AnyHook: Send + Sync + 'static {
    fn start(self: Arc<Self>, context: HookContext) -> BoxFuture<'static, HookResult>;
}

impl<H: Hook> AnyHook for H {
    fn start(self: Arc<Self>, context: HookContext) -> BoxFuture<'static, HookResult> {
        Box::pin(async move { self.run(context).await })
    }
}

/// Failure of a hook, in the hook's own words.
///
/// Any error converts with `?`; its causes are kept in the text. Only a [`preview`](crate::preview) of it is shown.
pub struct HookFailure(String);

impl HookFailure {
    /// Creates a failure with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Returns the whole message. It may contain secrets.
    pub fn message(&self) -> &str {
        &self.0
    }
}

/// Shows only a preview, because debug output easily ends up in logs.
impl fmt::Debug for HookFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HookFailure").field(&crate::preview(&self.0)).finish()
    }
}

impl<E: Error> From<E> for HookFailure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Many errors repeat their cause in their own text.
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        Self(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read the list")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn causes_are_kept() {
        let failure = HookFailure::from(Outer(std::io::Error::other("disk on fire")));
        assert_eq!(failure.message(), "could not read the list: disk on fire");
    }

    #[test]
    fn debugging_a_failure_shows_no_secret() {
        let failure = HookFailure::new("password=hunter2hunter2");
        assert_eq!(format!("{failure:?}"), r#"HookFailure("password=[redacted]")"#);
    }
}
