//! `turn/watch`: follows a turn from another connection than the one that started it.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use agent::TurnListener;
use futures_util::future::BoxFuture;
use protocol::TurnId;
use protocol::error::ErrorObject;
use protocol::method::TurnGetParams;
use protocol::notification::{TurnDelta, TurnRetrying};
use rpc::{CloseReason, Frame, Outgoing, Reply};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::error::{from_agent, invalid_state};
use crate::handler::turn::{delta, retrying};
use crate::router::Context;

/// Deltas queued for a slow reader.
const WAITING: usize = 1024;

pub(crate) async fn watch(context: Context, params: TurnGetParams) -> Result<Reply, ErrorObject> {
    let Some(outgoing) = context.peer.outgoing().cloned() else {
        let message =
            "watching a turn needs a connection that stays; use WebSocket or stdio instead of HTTP POST";
        return Err(invalid_state(message));
    };
    let (queue, mut waiting) = mpsc::channel(WAITING);
    let watcher = Arc::new(Watcher { queue, outgoing: outgoing.clone(), number: context.peer.number });
    let watched = context.shared.agent.watch_turn(&params.workspace_id, &params.turn_id, watcher).await;
    // Deltas after the snapshot are sent after the response. The queue closes when the turn ends.
    Ok(Reply::new(watched.map_err(from_agent)?).then(move || {
        tokio::spawn(async move {
            while let Some(frame) = waiting.recv().await {
                if !outgoing.send(frame).await {
                    break;
                }
            }
        });
    }))
}

/// A connection that watches a turn. The turn never waits for it.
struct Watcher {
    queue: mpsc::Sender<Frame>,
    outgoing: Outgoing,
    number: u64,
}

impl Watcher {
    /// Queues a notification. A client that falls too far behind is disconnected like any slow client: with a gap it
    /// would display a wrong answer.
    fn tell(&self, method: &str, params: &impl Serialize) {
        let Ok(frame) = rpc::notification(method, params) else { return };
        if let Err(mpsc::error::TrySendError::Full(_)) = self.queue.try_send(frame) {
            self.outgoing.close(CloseReason::Slow);
        }
    }
}

impl TurnListener for Watcher {
    fn delta<'a>(&'a self, turn_id: &'a TurnId, index: u64, text: &'a str) -> BoxFuture<'a, ()> {
        self.tell(TurnDelta::NAME, &delta(turn_id, index, text));
        Box::pin(ready(()))
    }

    fn retrying<'a>(
        &'a self,
        turn_id: &'a TurnId,
        attempt: u32,
        delay: Duration,
        message: &'a str,
    ) -> BoxFuture<'a, ()> {
        self.tell(TurnRetrying::NAME, &retrying(turn_id, attempt, delay, message));
        Box::pin(ready(()))
    }

    fn is_gone(&self) -> bool {
        self.queue.is_closed() || self.outgoing.is_gone() || self.outgoing.has_left()
    }

    fn recipient(&self) -> Option<u64> {
        Some(self.number)
    }
}
