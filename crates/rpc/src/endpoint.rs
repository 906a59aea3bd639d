//! One side of a connection: incoming messages and a bounded queue of outgoing ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::{Frame, Reserved};
use protocol::error::ErrorObject;

/// Unit of the outgoing limit. Each message counts as at least one unit.
const UNIT: usize = 1024;

/// Time to wait for a peer that does not read, or does not close its side, when the connection ends.
pub(crate) const CLOSING_TIME: Duration = Duration::from_secs(2);

/// Limits of a connection.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Maximum size of an incoming message.
    pub message_bytes: usize,
    /// Maximum bytes waiting to be sent.
    pub outgoing_bytes: usize,
    /// Time without progress after which the peer of a full queue is disconnected. Progress is anything the transport
    /// could write, including a part of a message.
    pub patience: Duration,
    /// Time without any message from the peer before the connection is closed. Pings are sent three times as often.
    pub silence: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            message_bytes: 1024 * 1024,
            outgoing_bytes: 16 * 1024 * 1024,
            patience: Duration::from_secs(10),
            silence: Duration::from_secs(90),
        }
    }
}

/// Reason for closing a connection from this side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseReason {
    /// The peer has closed, or its last request was answered.
    Finished,
    Shutdown,
    /// The peer does not read.
    Slow,
    /// The peer was silent for too long.
    Silent,
    /// The peer knows changes that the database does not have any more.
    Reload,
    /// The peer's token is no longer valid.
    Unauthenticated,
    TooLarge,
    InvalidUtf8,
    InvalidFrame,
}

impl CloseReason {
    /// Returns the WebSocket close code and reason.
    pub fn code_and_text(&self) -> (u16, &'static str) {
        match self {
            CloseReason::Finished => (1000, ""),
            CloseReason::Shutdown => {
                (1001, "the gateway is shutting down; reconnect and subscribe with `since`")
            }
            CloseReason::Slow => {
                (1013, "the client reads too slowly; reconnect and subscribe with `since` to miss nothing")
            }
            CloseReason::Silent => (1001, "no answer to pings"),
            CloseReason::Reload => (1012, "the database continues on another server; reconnect and reload"),
            CloseReason::Unauthenticated => (1008, "the token is no longer valid"),
            CloseReason::TooLarge => (1009, "the message is over the limit"),
            CloseReason::InvalidUtf8 => (1007, "a text frame was not UTF-8"),
            CloseReason::InvalidFrame => (1002, "a frame broke the rules of WebSocket"),
        }
    }
}

/// Event from the transport.
#[derive(Debug)]
pub enum Inbound {
    Text(Frame),
    /// Input that is not a message; it is answered with this error.
    Refused(ErrorObject),
    /// Like `Refused`, but nothing more can be read.
    Fatal(ErrorObject, CloseReason),
}

/// A connection as a pair of channels.
pub struct Endpoint {
    /// Incoming messages; ends when the peer has closed.
    pub incoming: mpsc::Receiver<Inbound>,
    /// Queue for outgoing messages.
    pub outgoing: Outgoing,
}

/// Sending half of the outgoing queue. Clones share the queue.
#[derive(Clone)]
pub struct Outgoing {
    queue: mpsc::UnboundedSender<Queued>,
    room: Arc<Semaphore>,
    units: u32,
    patience: Duration,
    closing: Arc<watch::Sender<Option<CloseReason>>>,
    answering: Arc<watch::Sender<bool>>,
    progress: Progress,
    left: Arc<AtomicBool>,
}

/// Signals that the transport could write something.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<watch::Sender<()>>);

impl Progress {
    /// Records that something was written.
    pub(crate) fn made(&self) {
        self.0.send_replace(());
    }

    /// Resolves when nothing was written for `time`.
    async fn stalled(&self, time: Duration) {
        let mut made = self.0.subscribe();
        while let Ok(Ok(())) = tokio::time::timeout(time, made.changed()).await {}
    }
}

/// Receiving half of the outgoing queue, drained by a transport.
pub(crate) struct OutgoingQueue {
    queue: mpsc::UnboundedReceiver<Queued>,
    closing: watch::Receiver<Option<CloseReason>>,
    answering: watch::Receiver<bool>,
    progress: Progress,
}

/// Marks a request as being answered until dropped.
pub(crate) struct Answering(Arc<watch::Sender<bool>>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// A queued message and its share of the limit, which is released when the message was sent.
pub(crate) struct Queued {
    pub(crate) frame: Frame,
    _room: OwnedSemaphorePermit,
    _reserved: Reserved,
}

impl Outgoing {
    pub(crate) fn new(limits: &ConnectionLimits) -> (Self, OutgoingQueue) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let (closing, closed) = watch::channel(None);
        let (answering, answered) = watch::channel(false);
        let progress = Progress::default();
        let units = u32::try_from((limits.outgoing_bytes / UNIT).max(1)).unwrap_or(u32::MAX >> 4);
        let outgoing = Self {
            queue: sender,
            room: Arc::new(Semaphore::new(units as usize)),
            units,
            patience: limits.patience,
            closing: Arc::new(closing),
            answering: Arc::new(answering),
            progress: progress.clone(),
            left: Arc::default(),
        };
        (outgoing, OutgoingQueue { queue: receiver, closing: closed, answering: answered, progress })
    }

    /// Queues a message, waiting for space. A peer that makes no progress for too long is disconnected.
    ///
    /// Returns false if the connection is closed or closing.
    pub async fn send(&self, frame: Frame) -> bool {
        self.send_reserved(frame, Reserved::default()).await
    }

    /// Like [`Outgoing::send`], and keeps the memory reserved until the message was sent.
    pub async fn send_reserved(&self, frame: Frame, reserved: Reserved) -> bool {
        // A message above the whole limit takes every unit, so it waits until the queue is empty instead of forever.
        // The extra unit per message bounds the number of small ones.
        let wanted = u32::try_from(frame.as_str().len() / UNIT + 1).unwrap_or(u32::MAX).min(self.units);
        let room = Arc::clone(&self.room);
        let mut closing = self.closing.subscribe();
        let permit = tokio::select! {
            // Free space comes first: the answer to the last request must still get into the queue while the connection
            // is closing.
            biased;
            permit = room.acquire_many_owned(wanted) => permit,
            _ = closing.wait_for(Option::is_some) => return false,
            () = self.progress.stalled(self.patience) => {
                self.close(CloseReason::Slow);
                return false;
            }
        };
        permit
            .is_ok_and(|permit| self.queue.send(Queued { frame, _room: permit, _reserved: reserved }).is_ok())
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Marks a request as being answered. The connection does not close before its answer is queued.
    pub(crate) fn answering(&self) -> Answering {
        self.answering.send_replace(true);
        Answering(Arc::clone(&self.answering))
    }

    /// Closes the connection after queued and pending answers were sent, or immediately if the peer does not read.
    pub fn close(&self, reason: CloseReason) {
        self.closing.send_if_modified(|current| {
            // Only the first reason counts. The serving loop closes with `Finished` when it ends, which must not hide
            // the actual reason from the peer and the metrics.
            let first = current.is_none();
            if first {
                *current = Some(reason);
            }
            first
        });
    }

    /// Returns the reason if this side is closing the connection.
    pub fn closing(&self) -> Option<CloseReason> {
        self.closing.borrow().clone()
    }

    /// Waits until this side closes the connection.
    pub async fn closed(&self) -> CloseReason {
        let mut closing = self.closing.subscribe();
        match closing.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(CloseReason::Finished),
            Err(_) => CloseReason::Finished,
        }
    }

    /// Records that the peer has closed its side. Requests it sent before are still answered.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Returns true if the transport has seen the peer close its side.
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// Returns true if the transport has stopped sending.
    pub fn is_gone(&self) -> bool {
        self.queue.is_closed()
    }

    /// Waits until the transport has stopped sending.
    pub async fn gone(&self) {
        self.queue.closed().await;
    }
}

/// Next action of a transport.
pub(crate) enum Next {
    Send(Queued),
    Close(Option<CloseReason>),
}

impl OutgoingQueue {
    /// Returns the next message. While the connection is closing, queued and pending answers come first, unless the
    /// peer is slow.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            let reason = self.closing.borrow_and_update().clone();
            match reason {
                // A slow peer would not read the queued messages either. It only gets the close frame, whose reason
                // explains how to resume.
                Some(CloseReason::Slow) => return Next::Close(reason),
                Some(_) => return self.last_messages(reason).await,
                None => {}
            }
            tokio::select! {
                queued = self.queue.recv() => {
                    return match queued {
                        Some(queued) => Next::Send(queued),
                        None => Next::Close(None),
                    };
                }
                changed = self.closing.changed() => {
                    if changed.is_err() {
                        // All senders are gone, so only queued messages remain.
                        return match self.queue.recv().await {
                            Some(queued) => Next::Send(queued),
                            None => Next::Close(None),
                        };
                    }
                }
            }
        }
    }

    async fn last_messages(&mut self, reason: Option<CloseReason>) -> Next {
        loop {
            // Must be read before the queue: a handler queues its answer first and clears this flag afterwards. In the
            // other order, an answer queued in between would be lost.
            let answering = *self.answering.borrow_and_update();
            match self.queue.try_recv() {
                Ok(queued) => return Next::Send(queued),
                Err(_) if !answering => return Next::Close(reason),
                Err(_) => {}
            }
            tokio::select! {
                queued = self.queue.recv() => return queued.map_or(Next::Close(reason), Next::Send),
                _ = self.answering.changed() => {}
            }
        }
    }

    /// Returns true if the peer was found to be too slow.
    pub(crate) fn is_slow(&self) -> bool {
        *self.closing.borrow() == Some(CloseReason::Slow)
    }

    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Resolves when a stuck write may be abandoned: the peer is too slow, or the connection is closing and makes no
    /// progress.
    pub(crate) async fn overdue(&self, after: Duration) {
        let mut closing = self.closing.clone();
        // The borrowed value must be dropped immediately, because it holds a read lock that blocks `close`.
        if closing.wait_for(Option::is_some).await.map(drop).is_err() {
            std::future::pending::<()>().await;
        }
        if !self.is_slow() {
            self.progress.stalled(after).await;
        }
    }
}
