//! Calls to the gateway that survive a lost connection.

use std::time::Duration;

use client::{ClientError, Update};
use protocol::Method;

use super::TurnFollower;
use crate::failure::{Exit, Failure};

/// Time limit for reconnecting, long enough for a gateway to restart.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Pause before a call that failed for another temporary reason is repeated.
const PAUSE: Duration = Duration::from_secs(1);

impl TurnFollower<'_> {
    /// Calls a method while counting stop signals, which may abandon the call. The call is repeated after temporary
    /// failures, so it must have the same effect if it is executed twice. The inner error is a lasting one.
    pub(super) async fn call<M: Method>(
        &mut self,
        params: &M::Params,
    ) -> Result<Result<M::Result, ClientError>, Failure> {
        loop {
            let answer = {
                let mut answer = std::pin::pin!(self.changes.call::<M>(params));
                loop {
                    tokio::select! {
                        answer = &mut answer => break answer,
                        () = self.stop.signals.next() => self.stop.count += 1,
                    }
                    if self.stop.is_leaving() {
                        return Err(self.left());
                    }
                }
            };
            match answer {
                Err(ClientError::Lost | ClientError::NotConnected) => self.reconnect(PATIENCE).await?,
                Err(error) if error.is_transient() => tokio::select! {
                    () = tokio::time::sleep(PAUSE) => {}
                    () = self.stop.signals.next() => return Err(self.left()),
                },
                answer => return Ok(answer),
            }
        }
    }

    /// Waits until the connection is open again and resumes after the last change.
    pub(super) async fn reconnect(&mut self, patience: Duration) -> Result<(), Failure> {
        self.turn.disconnected();
        self.note("the connection to the gateway was lost; connecting again");
        let resumed = async {
            loop {
                match self.changes.next().await? {
                    Update::Resumed => return Ok::<_, Failure>(()),
                    Update::Notification(notification) => self.arrived.push_back(notification),
                    Update::Disconnected => {}
                }
            }
        };
        let resumed = tokio::select! {
            resumed = tokio::time::timeout(patience, resumed) => resumed,
            // No request to cancel could reach the gateway now, so a signal can only mean leaving.
            () = self.stop.signals.next() => return Err(self.left()),
        };
        resumed.map_err(|_| self.given_up(patience))??;
        self.turn.reconnected();
        Ok(())
    }

    fn given_up(&self, patience: Duration) -> Failure {
        let message = format!("no gateway could be reached for {} seconds", patience.as_secs());
        Failure::new(Exit::Failed, message)
            .hint(format!("{} once a gateway runs again", self.how_to_see_its_end()))
    }

    pub(super) fn left(&self) -> Failure {
        Failure::new(Exit::Failed, "left before the turn had ended").hint(self.how_to_see_its_end())
    }

    fn how_to_see_its_end(&self) -> String {
        format!("`foreword{} turn show {}` shows how it ended", self.context.repeated_flags, self.turn.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use client::WorkspaceFollower;
    use protocol::{Sequence, WorkspaceId};
    use tokio::time::Instant;

    use crate::arguments::Arguments;
    use crate::command::turns::turn::approval::Policy;
    use crate::context::Context;
    use crate::output::{Format, Output};
    use crate::signals::StopSignals;

    #[tokio::test]
    async fn reconnecting_ends_after_the_time_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let words = ["foreword", "--home", path, "--data", path, "turn", "list", "thread"];
        let context = Context::new(&Arguments::parse_from(words), Output::new(Format::Json)).unwrap();
        // No gateway runs on the empty directory.
        let stop = StopSignals::listen().unwrap();
        let workspace_id = WorkspaceId::new();
        let target = context.target().unwrap();
        let changes = WorkspaceFollower::unconnected(target, workspace_id.clone(), Sequence(0));
        let mut follower = TurnFollower::over(&context, changes, stop, Policy::Elsewhere, workspace_id, None);
        let patience = Duration::from_millis(400);
        let turn_id = follower.turn.id().clone();
        let begun = Instant::now();
        let failure = follower.reconnect(patience).await.unwrap_err();
        assert!(begun.elapsed() >= patience);
        assert_eq!(failure.exit, Exit::Failed);
        assert_eq!(failure.message, "no gateway could be reached for 0 seconds");
        let hint = format!(" turn show {turn_id}` shows how it ended once a gateway runs again");
        assert!(failure.hints.len() == 1 && failure.hints[0].ends_with(&hint), "{:?}", failure.hints);
    }
}
