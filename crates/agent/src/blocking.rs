//! Work on other threads or tasks, awaited by its caller.

use tokio::task::JoinHandle;

/// Runs work that may wait for a disk on a blocking thread.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    joined(tokio::task::spawn_blocking(work)).await
}

/// Waits for a task and resumes its panic in the caller.
pub(crate) async fn joined<T>(task: JoinHandle<T>) -> T {
    match task.await.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(value) => value,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // Only a runtime that is shutting down cancels the task, and it drops the caller as well.
        Err(Err(_)) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt as _;

    use super::{blocking, joined};

    #[tokio::test]
    async fn panics_reach_the_caller_but_cancellation_does_not() {
        let panicked = std::panic::AssertUnwindSafe(blocking(|| panic!("on purpose"))).catch_unwind().await;
        assert!(panicked.is_err());
        let task = tokio::spawn(std::future::pending::<()>());
        task.abort();
        assert!(tokio::time::timeout(Duration::from_millis(20), joined(task)).await.is_err());
    }
}
