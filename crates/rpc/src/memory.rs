//! Two endpoints connected in memory, so that protocol tests need no sockets.

use tokio::sync::mpsc;

use crate::endpoint::{CLOSING_TIME, Next, OutgoingQueue};
use crate::{ConnectionLimits, Endpoint, Inbound, Outgoing};

/// Returns two connected endpoints with default limits.
pub fn pair() -> (Endpoint, Endpoint) {
    pair_with(&ConnectionLimits::default())
}

pub fn pair_with(limits: &ConnectionLimits) -> (Endpoint, Endpoint) {
    let (near_outgoing, near_queue) = Outgoing::new(limits);
    let (far_outgoing, far_queue) = Outgoing::new(limits);
    let near = Endpoint { incoming: pump(far_queue), outgoing: near_outgoing };
    let far = Endpoint { incoming: pump(near_queue), outgoing: far_outgoing };
    (near, far)
}

fn pump(mut queue: OutgoingQueue) -> mpsc::Receiver<Inbound> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let progress = queue.progress();
        while let Next::Send(queued) = queue.next().await {
            let delivered = tokio::select! {
                delivered = sender.send(Inbound::Text(queued.frame.clone())) => delivered.is_ok(),
                () = queue.overdue(CLOSING_TIME) => false,
            };
            if !delivered {
                break;
            }
            progress.made();
        }
    });
    receiver
}
