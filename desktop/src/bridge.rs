//! Between GPUI and tokio: one thread with a runtime owns the connection; calls go in as commands and come back as futures
//! that any executor can wait for, what the gateway tells goes out on a channel.

use std::io;
use std::time::Duration;

use client::{Caller, Client, ClientError, Notification, Target};
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, EventsUnsubscribe, EventsUnsubscribeParams, Initialize,
    InitializeParams, Program,
};
use protocol::{ErrorKind, InstanceId, Method, Sequence, WorkspaceId};
use tokio::sync::{mpsc, oneshot};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

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
        pause: Duration,
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
            let bridge = Bridge { commands: receiver, events, target: None, followed: None, instance: None };
            runtime.block_on(bridge.run());
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
                let _ = answer.send(Err(ClientError::Lost));
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

struct Followed {
    workspace_id: WorkspaceId,
    cursor: Sequence,
}

struct Bridge {
    commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::UnboundedSender<Incoming>,
    target: Option<Target>,
    followed: Option<Followed>,
    instance: Option<InstanceId>,
}

/// The window is gone.
struct Ended;

impl Bridge {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let step = match self.target.clone() {
                None => self.disconnected(std::future::pending()).await,
                Some(target) => {
                    self.tell(Incoming::Link(Link::Connecting));
                    match self.attempt(target).await {
                        Ok(Some(Ok(client))) => {
                            pause = FIRST_PAUSE;
                            self.serve(client).await
                        }
                        Ok(Some(Err(error))) => self.wait(error, &mut pause).await,
                        // Somebody chose another gateway meanwhile.
                        Ok(None) => Ok(()),
                        Err(ended) => Err(ended),
                    }
                }
            };
            if step.is_err() {
                return;
            }
        }
    }

    fn tell(&self, incoming: Incoming) {
        let _ = self.events.send(incoming);
    }

    /// Answers commands until the future ends or there is a reason to connect.
    async fn disconnected(&mut self, until: impl Future<Output = ()>) -> Result<(), Ended> {
        tokio::pin!(until);
        loop {
            let command = tokio::select! {
                () = &mut until => return Ok(()),
                command = self.commands.recv() => command.ok_or(Ended)?,
            };
            if self.note(command) {
                return Ok(());
            }
        }
    }

    /// Deals with a command while there is no connection; whether to connect now.
    fn note(&mut self, command: Command) -> bool {
        match command {
            Command::Call(job) => {
                job(None);
                false
            }
            Command::Connect(target) => {
                self.change_target(target);
                true
            }
            Command::Follow { workspace_id, since } => {
                self.followed = Some(Followed { workspace_id, cursor: since });
                false
            }
            Command::Retry => true,
        }
    }

    fn change_target(&mut self, target: Target) {
        self.target = Some(target);
        self.followed = None;
        self.instance = None;
    }

    async fn attempt(&mut self, target: Target) -> Result<Option<Result<Client, ClientError>>, Ended> {
        let connecting = Client::connect(&target);
        tokio::pin!(connecting);
        loop {
            let command = tokio::select! {
                answer = &mut connecting => return Ok(Some(answer)),
                command = self.commands.recv() => command.ok_or(Ended)?,
            };
            let chosen = matches!(command, Command::Connect(_));
            self.note(command);
            if chosen {
                return Ok(None);
            }
        }
    }

    async fn wait(&mut self, error: ClientError, pause: &mut Duration) -> Result<(), Ended> {
        let reason = error.to_string();
        if !error.is_transient() {
            self.tell(Incoming::Link(Link::Refused { reason }));
            return self.disconnected(std::future::pending()).await;
        }
        let not_running = matches!(error, ClientError::NotRunning { .. });
        self.tell(Incoming::Link(Link::Waiting { reason, pause: *pause, not_running }));
        let rest = tokio::time::sleep(*pause);
        *pause = (*pause * 2).min(LONGEST_PAUSE);
        self.disconnected(rest).await
    }

    /// Serves calls and passes on notifications until the connection ends.
    async fn serve(&mut self, mut client: Client) -> Result<(), Ended> {
        if let Err(error) = self.introduce(&client).await {
            let mut pause = FIRST_PAUSE;
            return self.wait(error, &mut pause).await;
        }
        loop {
            tokio::select! {
                command = self.commands.recv() => match command.ok_or(Ended)? {
                    Command::Call(job) => job(Some(client.caller())),
                    Command::Connect(target) => {
                        self.change_target(target);
                        return Ok(());
                    }
                    Command::Follow { workspace_id, since } => {
                        self.unfollow(&client, &workspace_id);
                        self.followed = Some(Followed { workspace_id, cursor: since });
                        if self.subscribe(&client).await.is_err() {
                            return Ok(());
                        }
                    }
                    Command::Retry => {}
                },
                notification = client.notification() => match notification {
                    Some(notification) => self.pass_on(notification),
                    None => return Ok(()),
                },
            }
        }
    }

    /// Says who we are, finds out whose database it is, and catches up with what was missed.
    async fn introduce(&mut self, client: &Client) -> Result<(), ClientError> {
        let program = Program {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let answer = client.call::<Initialize>(&InitializeParams { client: Some(program) }).await?;
        let same = self.instance.replace(answer.instance.clone()).is_none_or(|old| old == answer.instance);
        if !same {
            // Its numbers count something else.
            self.followed = None;
        }
        let server = format!("{} {}", answer.server.name, answer.server.version);
        self.tell(Incoming::Link(Link::Connected { instance: answer.instance, server }));
        if !same {
            self.tell(Incoming::Reload);
        }
        self.subscribe(client).await
    }

    async fn subscribe(&mut self, client: &Client) -> Result<(), ClientError> {
        let Some(followed) = &mut self.followed else { return Ok(()) };
        let params = EventsSubscribeParams {
            workspace_id: followed.workspace_id.clone(),
            since: Some(followed.cursor),
        };
        match client.call::<EventsSubscribe>(&params).await {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == Some(ErrorKind::LogPruned) => {
                self.followed = None;
                self.tell(Incoming::Reload);
                Ok(())
            }
            // The workspace is archived, or this token may not see it: the window finds out when it asks.
            Err(ClientError::Refused(_)) => {
                self.followed = None;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn unfollow(&self, client: &Client, next: &WorkspaceId) {
        let Some(followed) = self.followed.as_ref().filter(|old| old.workspace_id != *next) else { return };
        let params = EventsUnsubscribeParams { workspace_id: followed.workspace_id.clone() };
        let caller = client.caller().clone();
        tokio::spawn(async move {
            // A workspace that is still followed only costs a few messages that nobody looks at.
            let _ =
                caller.call::<<EventsUnsubscribe as Method>::Result>(EventsUnsubscribe::NAME, &params).await;
        });
    }

    fn pass_on(&mut self, notification: Notification) {
        #[derive(serde::Deserialize)]
        struct Place {
            seq: Sequence,
            workspace_id: WorkspaceId,
        }
        let place = serde_json::from_str::<Place>(notification.params.get()).ok();
        if let (Some(place), Some(followed)) = (place, &mut self.followed)
            && place.workspace_id == followed.workspace_id
        {
            followed.cursor = place.seq;
        }
        self.tell(Incoming::Notification(notification));
    }
}
