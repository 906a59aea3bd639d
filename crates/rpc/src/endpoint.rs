//! One side of a connection: what came in, and a bounded queue of what goes out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

use crate::Frame;
use protocol::error::ErrorObject;

/// What is counted against the outgoing bound: kibibytes, at least one a message.
const UNIT: usize = 1024;

/// How long a client that does not read, or does not close its side, is waited for when the connection ends.
pub(crate) const CLOSING_TIME: Duration = Duration::from_secs(2);

/// Bounds of a connection.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Most bytes of one incoming message.
    pub message_bytes: usize,
    /// Most bytes waiting to be sent.
    pub outgoing_bytes: usize,
    /// How long a full outgoing queue may make no progress before the client is dropped. Progress is whatever the
    /// transport could hand on, also of a message that is not yet sent whole.
    pub patience: Duration,
    /// How long a connection may stay silent; pings are sent at a third of it.
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

/// Why this side closes a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseReason {
    /// Nothing more will be said: the other side has closed, or its last request is answered.
    Finished,
    Shutdown,
    /// The other side does not read.
    Slow,
    /// The other side was silent for too long.
    Silent,
    /// The other side may no longer talk.
    Unauthenticated,
    /// A message was far over the limit.
    TooLarge,
    /// A text frame was not UTF-8.
    InvalidUtf8,
    /// A frame was not as WebSocket wants it.
    InvalidFrame,
}

impl CloseReason {
    /// WebSocket close code and reason text.
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
            CloseReason::Unauthenticated => (1008, "the token is no longer valid"),
            CloseReason::TooLarge => (1009, "the message is over the limit"),
            CloseReason::InvalidUtf8 => (1007, "a text frame was not UTF-8"),
            CloseReason::InvalidFrame => (1002, "a frame broke the rules of WebSocket"),
        }
    }
}

/// Something that came in.
#[derive(Debug)]
pub enum Inbound {
    Text(Frame),
    /// Something that is no message and is answered with this error.
    Refused(ErrorObject),
    /// The same, after which nothing more can be read.
    Fatal(ErrorObject, CloseReason),
}

/// A connection as a pair of channels.
pub struct Endpoint {
    /// What came in; ends when the other side has closed.
    pub incoming: mpsc::Receiver<Inbound>,
    /// Where to put what goes out.
    pub outgoing: Outgoing,
}

/// The sending half; clones share one queue.
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

/// Tells whoever waits for room that the other side reads.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<watch::Sender<()>>);

impl Progress {
    /// Something could be handed on.
    pub(crate) fn made(&self) {
        self.0.send_replace(());
    }

    /// Resolves when nothing could be handed on for as long as this.
    async fn stalled(&self, time: Duration) {
        let mut made = self.0.subscribe();
        while let Ok(Ok(())) = tokio::time::timeout(time, made.changed()).await {}
    }
}

/// The receiving half, which a transport drains.
pub(crate) struct OutgoingQueue {
    queue: mpsc::UnboundedReceiver<Queued>,
    closing: watch::Receiver<Option<CloseReason>>,
    answering: watch::Receiver<bool>,
    progress: Progress,
}

/// A request is being answered for as long as this lives.
pub(crate) struct Answering(Arc<watch::Sender<bool>>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// A waiting message with its share of the bound, given back when it was sent.
pub(crate) struct Queued {
    pub(crate) frame: Frame,
    _room: OwnedSemaphorePermit,
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

    /// Queues a message, waiting for room for as long as the client is given; then the client is dropped.
    ///
    /// Returns false when the connection is closed or closing.
    pub async fn send(&self, frame: Frame) -> bool {
        let wanted = u32::try_from(frame.as_str().len() / UNIT + 1).unwrap_or(u32::MAX).min(self.units);
        let room = Arc::clone(&self.room);
        let mut closing = self.closing.subscribe();
        let permit = tokio::select! {
            biased;
            permit = room.acquire_many_owned(wanted) => permit,
            _ = closing.wait_for(Option::is_some) => return false,
            () = self.progress.stalled(self.patience) => {
                self.close(CloseReason::Slow);
                return false;
            }
        };
        permit.is_ok_and(|permit| self.queue.send(Queued { frame, _room: permit }).is_ok())
    }

    /// How long the other side may keep this one waiting.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Says that a request is being answered: the connection is not closed before the answer is queued.
    pub(crate) fn answering(&self) -> Answering {
        self.answering.send_replace(true);
        Answering(Arc::clone(&self.answering))
    }

    /// Closes the connection after what is queued or being answered, or at once when the client does not read.
    pub fn close(&self, reason: CloseReason) {
        self.closing.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason);
            }
            first
        });
    }

    /// Why the connection is being closed by this side, if it is.
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

    /// Says that the other side has closed its connection; what it asked before is answered all the same.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Whether the other side has closed its connection, as far as its transport can tell.
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether the transport has stopped sending.
    pub fn is_gone(&self) -> bool {
        self.queue.is_closed()
    }

    /// Waits until the transport has stopped sending.
    pub async fn gone(&self) {
        self.queue.closed().await;
    }
}

/// What a transport does next.
pub(crate) enum Next {
    Send(Queued),
    Close(Option<CloseReason>),
}

impl OutgoingQueue {
    /// The next message; once the connection is closing, what is queued or being answered comes first unless the
    /// client is slow.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            let reason = self.closing.borrow_and_update().clone();
            match reason {
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
                        // Every sender is gone: only what is queued is left.
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
            // Looked at before the queue: whoever is done answering has queued the answer.
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

    /// Whether the client was found to be too slow.
    pub(crate) fn is_slow(&self) -> bool {
        *self.closing.borrow() == Some(CloseReason::Slow)
    }

    /// What the transport tells of what it could hand on.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Resolves when a stuck write can be given up: the client was found to be too slow, or the connection is to be
    /// closed and nothing could be handed on for some time.
    pub(crate) async fn overdue(&self, after: Duration) {
        let mut closing = self.closing.clone();
        // The value is not held on to: it would keep others from closing.
        if closing.wait_for(Option::is_some).await.map(drop).is_err() {
            std::future::pending::<()>().await;
        }
        if !self.is_slow() {
            self.progress.stalled(after).await;
        }
    }
}
