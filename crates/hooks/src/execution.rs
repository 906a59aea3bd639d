//! One run of one hook: a task of its own, up to its timeout.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinError;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::admission::{Admitted, admit};
use crate::error::Fault;
use crate::preview::preview;
use crate::registry::Entry;
use crate::{FailureCause, HookContext, TurnContext};

/// How a run ended.
pub(crate) type Ended = Result<Admitted, Fault>;

/// Starts a hook at once. The answer comes at its timeout at the latest; dropping it aborts the hook.
///
/// The timeout is watched here and not in the hook's task, which may be stuck.
pub(crate) fn start(
    entry: &Arc<Entry>,
    turn: &Arc<TurnContext>,
    cancellation: CancellationToken,
) -> impl Future<Output = Ended> + Send + 'static {
    let deadline = Instant::now() + entry.timeout;
    let context = HookContext {
        turn: turn.clone(),
        phase: entry.subscription.phase,
        deadline,
        cancellation: cancellation.clone(),
    };
    let task = AbortOnDropHandle::new(tokio::spawn(run(entry.clone(), context)));
    let guard = cancellation.drop_guard();
    let timeout = entry.timeout;
    async move {
        let late = || Fault { cause: FailureCause::Timeout, preview: format!("timed out after {timeout:?}") };
        let (ended, at) = match timeout_at(deadline, task).await {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => return Err(broken(error)),
            Err(_) => return Err(late()),
        };
        // A result can be there and still be late, when the thread was busy while the time ran out.
        if at > deadline {
            return Err(late());
        }
        guard.disarm();
        ended
    }
}

async fn run(entry: Arc<Entry>, context: HookContext) -> (Ended, Instant) {
    let result = entry.subscription.hook.clone().start(context).await;
    let ended = match result {
        Ok(contributions) => admit(&entry.subscription, contributions),
        Err(failure) => Err(Fault { cause: FailureCause::Error, preview: preview(failure.message()) }),
    };
    (ended, Instant::now())
}

/// What is shown of a task that did not return.
fn broken(error: JoinError) -> Fault {
    match error.try_into_panic() {
        Ok(payload) => Fault {
            cause: FailureCause::Panic,
            preview: preview(&format!("panicked: {}", message(&*payload))),
        },
        Err(_) => {
            Fault { cause: FailureCause::Error, preview: "the tokio runtime is shutting down".to_owned() }
        }
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}
