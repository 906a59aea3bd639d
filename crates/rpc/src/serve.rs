//! Serves the requests of a connection, one after another.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::dispatch::error_frame;
use crate::{CloseReason, Endpoint, Inbound, Service, dispatch};

/// Serves a connection until the peer closes it, this side drops it, or `shutdown` is cancelled.
///
/// A request that was taken from the connection is always finished and answered before a shutdown or any other reason
/// to close takes effect. Only a peer that does not read is not waited for.
pub async fn serve<S: Service>(
    mut endpoint: Endpoint,
    service: Arc<S>,
    peer: Arc<S::Peer>,
    shutdown: CancellationToken,
) {
    let outgoing = endpoint.outgoing.clone();
    loop {
        let inbound = tokio::select! {
            // Shutdown and closing are checked before new input. Otherwise a peer that always has another request
            // waiting could be served past a shutdown.
            biased;
            () = shutdown.cancelled() => {
                outgoing.close(CloseReason::Shutdown);
                break;
            }
            _ = outgoing.closed() => break,
            inbound = endpoint.incoming.recv() => inbound,
        };
        let _answering = outgoing.answering();
        let answered = match inbound {
            None => break,
            Some(Inbound::Refused(error)) => outgoing.send(error_frame(&error)).await,
            Some(Inbound::Fatal(error, reason)) => {
                outgoing.send(error_frame(&error)).await;
                outgoing.close(reason);
                false
            }
            Some(Inbound::Text(frame)) => {
                // Boxed, so that a connection that only listens does not reserve memory for the state of a call.
                let answer = Box::pin(dispatch(&*service, &peer, frame.as_str())).await;
                let sent = match answer.frame {
                    Some(frame) => outgoing.send_reserved(frame, answer.reserved).await,
                    None => true,
                };
                // Runs only now that the answer is queued. A subscription that started earlier could send its first
                // notification before the client knows that it is subscribed.
                for after in answer.after {
                    after();
                }
                sent
            }
        };
        if !answered {
            break;
        }
    }
    // Ends subscriptions and other holders of the queue. An earlier close reason is kept.
    outgoing.close(CloseReason::Finished);
}
