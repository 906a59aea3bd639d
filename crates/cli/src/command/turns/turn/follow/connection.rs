//! Reconnection to the gateway.

use std::time::Duration;

use client::{Client, ClientError};
use protocol::method::{EventsSubscribe, EventsSubscribeParams};
use tokio::time::Instant;

use super::Live;
use crate::failure::{Exit, Failure};

/// Time limit for reconnecting, long enough for a gateway to restart.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Live<'_> {
    /// Reconnects and resumes after the last change. Deltas were only sent over the old connection.
    pub(super) async fn reconnect(&mut self) -> Result<(), Failure> {
        // Deltas sent in the meantime are lost. The rest of the answer is printed from the stored one at the end.
        self.answer.lose();
        self.note("the connection to the gateway was lost; connecting again");
        let end = Instant::now() + self.patience;
        let mut pause = FIRST_PAUSE;
        loop {
            // Connecting and subscribing are one attempt, because a connection without a subscription would miss the
            // end of the turn.
            let connect = async {
                let client = Client::connect(&self.context.target()?).await?;
                let params = EventsSubscribeParams {
                    workspace_id: self.workspace_id.clone(),
                    since: Some(self.cursor),
                };
                client.call::<EventsSubscribe>(&params).await?;
                Ok::<_, Lost>(client)
            };
            tokio::select! {
                connected = tokio::time::timeout_at(end, connect) => match connected {
                    Ok(Ok(client)) => {
                        self.client = client;
                        return Ok(());
                    }
                    Ok(Err(Lost::For(failure))) => return Err(failure),
                    Ok(Err(Lost::Passing)) => {}
                    Err(_) => return Err(self.given_up()),
                },
                // No request to cancel could reach the gateway now, so a signal can only mean leaving.
                () = self.stop.next() => return Err(self.left()),
            }
            if Instant::now() >= end {
                return Err(self.given_up());
            }
            tokio::select! {
                () = tokio::time::sleep_until(end.min(Instant::now() + pause)) => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                () = self.stop.next() => return Err(self.left()),
            }
        }
    }

    fn given_up(&self) -> Failure {
        let message = format!("no gateway could be reached for {} seconds", self.patience.as_secs());
        Failure::new(Exit::Failed, message)
            .hint(format!("{} once a gateway runs again", self.how_to_see_its_end()))
    }

    pub(super) fn left(&self) -> Failure {
        Failure::new(Exit::Failed, "left before the turn had ended").hint(self.how_to_see_its_end())
    }

    fn how_to_see_its_end(&self) -> String {
        format!("`foreword{} turn show {}` shows how it ended", self.context.repeated_flags, self.turn_id)
    }
}

/// Reason for a failed reconnection.
enum Lost {
    /// A retry may succeed.
    Passing,
    /// A user action is required.
    For(Failure),
}

impl From<ClientError> for Lost {
    fn from(error: ClientError) -> Self {
        if error.is_transient() { Lost::Passing } else { Lost::For(error.into()) }
    }
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Lost::For(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use protocol::WorkspaceId;

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
        // The far end is closed, so the connection counts as lost, and no gateway runs on the empty directory.
        let (near, far) = rpc::memory::pair();
        drop(far);
        let stop = StopSignals::listen().unwrap();
        let mut live = Live::new(&context, Client::over(near), stop, Policy::Elsewhere, WorkspaceId::new());
        live.patience = FIRST_PAUSE * 2;
        let turn_id = live.turn_id.clone();
        let begun = Instant::now();
        let failure = live.follow().await.unwrap_err();
        assert!(begun.elapsed() >= FIRST_PAUSE * 2);
        assert_eq!(failure.exit, Exit::Failed);
        assert_eq!(failure.message, "no gateway could be reached for 0 seconds");
        let hint = format!(" turn show {turn_id}` shows how it ended once a gateway runs again");
        assert!(failure.hints.len() == 1 && failure.hints[0].ends_with(&hint), "{:?}", failure.hints);
    }
}
