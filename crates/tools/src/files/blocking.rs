//! Runs blocking work that stops when its result is no longer needed.

use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::{FileError, ToolArguments, ToolContext, ToolOutput};

/// Cancellation and deadline of blocking work.
pub(crate) struct BlockingWork {
    cancellation: CancellationToken,
    deadline: Instant,
    time: Duration,
}

impl BlockingWork {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Returns an error if the call was cancelled or its time is over.
    pub(crate) fn check(&self) -> Result<(), FileError> {
        if self.cancellation.is_cancelled() {
            return Err(FileError::Cancelled);
        }
        if Instant::now() >= self.deadline {
            return Err(FileError::TooSlow(self.time));
        }
        Ok(())
    }
}

/// Parses a call's parameters and runs its work on a blocking thread. Dropping the future cancels the work.
pub(crate) async fn run<Parameters: DeserializeOwned + Send + 'static>(
    context: ToolContext,
    arguments: &ToolArguments,
    work: fn(&ToolContext, &Parameters, &BlockingWork) -> Result<ToolOutput, FileError>,
) -> ToolOutput {
    let parameters: Parameters = match arguments.get() {
        Ok(parameters) => parameters,
        Err(error) => return ToolOutput::failed(&error),
    };
    let time = context.limits().file_time;
    let cancellation = context.cancellation().child_token();
    // A blocking thread cannot be stopped from outside. Dropping this future sets the token, and the work ends at its
    // next check.
    let _stop = cancellation.clone().drop_guard();
    let watch = BlockingWork { cancellation, deadline: Instant::now() + time, time };
    let running = tokio::task::spawn_blocking(move || work(&context, &parameters, &watch));
    // Work on a file system that hangs never reaches its own check of the deadline.
    match tokio::time::timeout(time + Duration::from_millis(500), running).await {
        Ok(Ok(Ok(output))) => output,
        Ok(Ok(Err(error))) => ToolOutput::failed(&error),
        Ok(Err(error)) => match error.try_into_panic() {
            // Resumed here, so that the router treats a panic on the blocking thread like any other panic of a tool.
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(_) => ToolOutput::failed(&FileError::Cancelled),
        },
        Err(_) => ToolOutput::failed(&FileError::TooSlow(time)),
    }
}

#[cfg(test)]
impl BlockingWork {
    pub(crate) fn endless() -> Self {
        let time = Duration::from_secs(3_600);
        Self { cancellation: CancellationToken::new(), deadline: Instant::now() + time, time }
    }
}
