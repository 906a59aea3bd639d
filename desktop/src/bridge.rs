//! Between GPUI and tokio: one thread with a runtime owns the connection; calls go in as commands and come back as futures
//! that any executor can wait for, what the gateway tells goes out on a channel.

mod thread;

use std::io;

use client::{Caller, ClientError, Notification, Target};
use protocol::{InstanceId, Method, Sequence, WorkspaceId};
use tokio::sync::{mpsc, oneshot};

/// The state of the connection, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// No gateway was chosen yet.
    Idle,
    Connecting,
    Connected {
        instance: InstanceId,
        server: String,
    },
    /// It failed in a way that may pass; another try follows by itself.
    Waiting {
        reason: String,
        /// Nothing runs on this machine's data directory, so a gateway can be started.
        not_running: bool,
    },
    /// It failed in a way that does not pass by itself.
    Refused {
        reason: String,
    },
}

impl Link {
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Whether starting a gateway on this machine would help.
    pub fn wants_gateway(&self) -> bool {
        matches!(self, Self::Waiting { not_running: true, .. })
    }
}

/// What comes out of the bridge.
#[derive(Debug)]
pub enum Incoming {
    Link(Link),
    Notification(Notification),
    /// What is known of the workspace no longer holds: the log has gaps, or the database is another one.
    Reload,
}

type Job = Box<dyn FnOnce(Option<&Caller>) + Send>;

enum Command {
    Call(Job),
    Connect(Target),
    Follow { workspace_id: WorkspaceId, since: Sequence },
    Retry,
}

/// A way to the gateway; clones share the connection.
#[derive(Clone)]
pub struct Gateway {
    commands: mpsc::UnboundedSender<Command>,
}

impl Gateway {
    /// Starts the thread. It ends when the last clone is gone.
    pub fn start() -> io::Result<(Self, mpsc::UnboundedReceiver<Incoming>)> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (commands, receiver) = mpsc::unbounded_channel();
        let (events, incoming) = mpsc::unbounded_channel();
        std::thread::Builder::new().name("gateway".to_owned()).spawn(move || {
            runtime.block_on(thread::run(receiver, events));
            // A call that never ends must not keep the program alive.
            runtime.shutdown_background();
        })?;
        Ok((Self { commands }, incoming))
    }

    /// Leaves the gateway it talks to and connects to another one.
    pub fn connect(&self, target: Target) {
        self.send(Command::Connect(target));
    }

    /// Tries again at once.
    pub fn retry(&self) {
        self.send(Command::Retry);
    }

    /// From now on the changes of this workspace arrive, first those after `since`; those of another one no longer.
    pub fn follow(&self, workspace_id: WorkspaceId, since: Sequence) {
        self.send(Command::Follow { workspace_id, since });
    }

    /// Calls a method. Fails at once where there is no connection.
    pub fn call<M: Method>(
        &self,
        params: M::Params,
    ) -> impl Future<Output = Result<M::Result, ClientError>> + Send + 'static + use<M>
    where
        M::Params: Send + Sync + 'static,
        M::Result: Send + 'static,
    {
        let (answer, waiting) = oneshot::channel();
        self.send(Command::Call(Box::new(move |caller| {
            let Some(caller) = caller.cloned() else {
                // Whoever asked may be gone.
                let _ = answer.send(Err(ClientError::NotConnected));
                return;
            };
            tokio::spawn(async move {
                let result = caller.call::<M::Result>(M::NAME, &params).await;
                let _ = answer.send(result.map_err(ClientError::from));
            });
        })));
        async move { waiting.await.unwrap_or(Err(ClientError::Lost)) }
    }

    fn send(&self, command: Command) {
        // The thread ends only after the last sender.
        let _ = self.commands.send(command);
    }
}
