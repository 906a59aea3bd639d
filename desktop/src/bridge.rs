//! Connects GPUI to tokio. One thread with a runtime owns the connection. Calls go in as commands and return
//! futures for any executor; notifications come out of a channel.

mod thread;

use std::io;

use client::{Caller, ClientError, Notification, Target};
use protocol::{InstanceId, Method, Sequence, WorkspaceId};
use tokio::sync::{mpsc, oneshot};

/// State of the connection as shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// No gateway is chosen yet.
    Idle,
    Connecting,
    Connected {
        instance: InstanceId,
        server: String,
    },
    /// A temporary failure; the next attempt is automatic.
    Waiting {
        reason: String,
        /// Nothing runs on this machine's data directory, so a gateway can be started.
        not_running: bool,
    },
    /// A permanent failure, such as a revoked token.
    Refused {
        reason: String,
    },
}

impl Link {
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Returns true if starting a gateway on this machine would help.
    pub fn wants_gateway(&self) -> bool {
        matches!(self, Self::Waiting { not_running: true, .. })
    }
}

/// Output of the bridge.
#[derive(Debug)]
pub enum Incoming {
    Link(Link),
    Notification(Notification),
    /// All loaded data of the workspace is stale: the log has gaps, or the database is another one.
    Reload,
}

type Job = Box<dyn FnOnce(Option<&Caller>) + Send>;

enum Command {
    Call(Job),
    Connect(Target),
    Follow { workspace_id: WorkspaceId, since: Sequence },
    Retry,
}

/// Handle to the gateway connection. Clones share it.
#[derive(Clone)]
pub struct Gateway {
    commands: mpsc::UnboundedSender<Command>,
}

impl Gateway {
    /// Starts the thread, which ends with the last clone.
    pub fn start() -> io::Result<(Self, mpsc::UnboundedReceiver<Incoming>)> {
        // The client's sockets need tokio, and GPUI brings executors of its own. One worker is enough for one
        // connection.
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

    /// Disconnects and connects to another gateway.
    pub fn connect(&self, target: Target) {
        self.send(Command::Connect(target));
    }

    /// Reconnects immediately.
    pub fn retry(&self) {
        self.send(Command::Retry);
    }

    /// Follows the changes of this workspace after `since`, and no longer those of another one.
    pub fn follow(&self, workspace_id: WorkspaceId, since: Sequence) {
        self.send(Command::Follow { workspace_id, since });
    }

    /// Calls a method. Fails immediately without a connection.
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
                // The receiver is gone if the view was closed meanwhile, which is not an error.
                let _ = answer.send(Err(ClientError::NotConnected));
                return;
            };
            // A task for each call, so that a slow call does not delay the next command.
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
