//! The thread that owns the connection. [`client::Connection`] says what to do; here it is done and reported.

use std::time::Instant;

use client::{
    Caller, Client, ClientError, Connection, ConnectionRequest, ConnectionState, Failure, Notification,
    Target,
};
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, EventsUnsubscribe, EventsUnsubscribeParams, Initialize,
    InitializeParams, InitializeResult, Program,
};
use protocol::{ErrorKind, InstanceId, Method, Sequence, WorkspaceId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Command, Incoming, Link};

/// What became of something that was started, and for which target.
struct Reported {
    target: u64,
    report: Report,
}

enum Report {
    Connected { generation: u64, client: Client, answer: Box<InitializeResult> },
    Failed { generation: u64, error: ClientError },
    Lost { generation: u64 },
    Notification { generation: u64, notification: Notification },
    Subscribed { generation: u64, workspace_id: WorkspaceId, outcome: Result<(), ClientError> },
}

/// Serves until the window is gone.
pub(super) async fn run(
    mut commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::UnboundedSender<Incoming>,
) {
    let (sender, mut reported) = mpsc::unbounded_channel();
    let mut bridge = Bridge {
        events,
        reports: Reports { target: 0, sender },
        target: None,
        connection: Connection::default(),
        current: None,
        followed: None,
        not_running: false,
        server: None,
        told: Link::Idle,
    };
    loop {
        bridge.proceed();
        let wake = bridge.connection.wake_at();
        let asleep = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            command = commands.recv() => match command {
                Some(command) => bridge.command(command),
                None => return,
            },
            // What is told about a gateway that was left is of no interest.
            Some(Reported { target, report }) = reported.recv() => if target == bridge.reports.target {
                bridge.report(report);
            },
            () = asleep => {}
        }
    }
}

/// Where those that were started report.
#[derive(Clone)]
struct Reports {
    /// Counts the targets.
    target: u64,
    sender: mpsc::UnboundedSender<Reported>,
}

impl Reports {
    /// Whether anybody listens.
    fn send(&self, report: Report) -> bool {
        self.sender.send(Reported { target: self.target, report }).is_ok()
    }
}

/// The connection that is there.
struct Current {
    caller: Caller,
    /// Owns the connection's other half and passes on what arrives.
    listener: JoinHandle<()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

struct Bridge {
    events: mpsc::UnboundedSender<Incoming>,
    reports: Reports,
    target: Option<Target>,
    connection: Connection,
    current: Option<Current>,
    followed: Option<WorkspaceId>,
    /// Whether the last try found no gateway on this machine.
    not_running: bool,
    /// The database and the program of the gateway.
    server: Option<(InstanceId, String)>,
    /// What the window was told last.
    told: Link,
}

impl Bridge {
    fn command(&mut self, command: Command) {
        match command {
            Command::Call(job) => job(self.current.as_ref().map(|current| &current.caller)),
            Command::Retry => self.connection.retry_now(),
            Command::Follow { workspace_id, since } => {
                if let Some(old) = self.followed.take().filter(|old| *old != workspace_id) {
                    self.connection.unfollow(&old);
                }
                self.followed = Some(workspace_id.clone());
                self.connection.follow(workspace_id, since);
            }
            Command::Connect(target) => {
                self.target = Some(target);
                self.current = None;
                self.followed = None;
                self.reports.target += 1;
                self.connection = Connection::default();
                self.connection.start();
            }
        }
    }

    /// Does what the connection asks for, and tells the window where it stands.
    fn proceed(&mut self) {
        while let Some(request) = self.connection.poll(Instant::now()) {
            match request {
                ConnectionRequest::Connect { generation } => self.connect(generation),
                ConnectionRequest::Disconnect { .. } => self.current = None,
                ConnectionRequest::Subscribe { generation, workspace_id, since } => {
                    self.subscribe(generation, workspace_id, since);
                }
                ConnectionRequest::Unsubscribe { workspace_id, .. } => self.unsubscribe(workspace_id),
                ConnectionRequest::Reload { .. } => self.tell(Incoming::Reload),
            }
        }
        let link = self.link();
        if link != self.told {
            self.told = link.clone();
            self.tell(Incoming::Link(link));
        }
    }

    fn link(&self) -> Link {
        match self.connection.state() {
            ConnectionState::Stopped => Link::Idle,
            // What it waits for is told until it is there.
            ConnectionState::Connecting { attempt } if *attempt > 1 => match &self.told {
                Link::Waiting { .. } => self.told.clone(),
                _ => Link::Connecting,
            },
            ConnectionState::Connecting { .. } => Link::Connecting,
            ConnectionState::Connected => match self.server.clone() {
                Some((instance, server)) => Link::Connected { instance, server },
                None => Link::Connecting,
            },
            ConnectionState::Waiting { message, .. } => {
                Link::Waiting { reason: message.clone(), not_running: self.not_running }
            }
            ConnectionState::Refused { message } => Link::Refused { reason: message.clone() },
        }
    }

    fn tell(&self, incoming: Incoming) {
        // The window may be gone; then the commands end, too.
        let _ = self.events.send(incoming);
    }

    fn connect(&mut self, generation: u64) {
        self.current = None;
        let Some(target) = self.target.clone() else { return };
        let reports = self.reports.clone();
        tokio::spawn(async move {
            let report = match introduce(&target).await {
                Ok((client, answer)) => Report::Connected { generation, client, answer: Box::new(answer) },
                Err(error) => Report::Failed { generation, error },
            };
            reports.send(report);
        });
    }

    fn report(&mut self, report: Report) {
        let now = Instant::now();
        match report {
            Report::Connected { generation, client, answer } => {
                self.connection.connected(generation, &answer.instance, now);
                if self.connection.generation() == generation && self.connection.is_connected() {
                    self.not_running = false;
                    let program = format!("{} {}", answer.server.name, answer.server.version);
                    self.server = Some((answer.instance, program));
                    let caller = client.caller().clone();
                    let listener = tokio::spawn(listen(generation, client, self.reports.clone()));
                    self.current = Some(Current { caller, listener });
                }
            }
            Report::Failed { generation, error } => {
                if self.connection.generation() == generation {
                    self.not_running = matches!(error, ClientError::NotRunning { .. });
                }
                self.connection.failed(generation, Failure::from(&error), now);
            }
            Report::Lost { generation } => {
                if self.connection.generation() == generation {
                    self.current = None;
                }
                self.connection.lost(generation, ClientError::Lost.to_string(), now);
            }
            Report::Notification { generation, notification } => self.pass_on(generation, notification),
            Report::Subscribed { generation, workspace_id, outcome } => match outcome {
                Ok(()) => self.connection.subscribed(generation, &workspace_id),
                Err(error) if error.kind() == Some(ErrorKind::LogPruned) => {
                    self.connection.log_pruned(generation, &workspace_id);
                }
                Err(error) => {
                    let failure = Failure::from(&error);
                    self.connection.subscribe_failed(generation, &workspace_id, &failure, now);
                }
            },
        }
    }

    fn subscribe(&self, generation: u64, workspace_id: WorkspaceId, since: Sequence) {
        let Some(current) = &self.current else { return };
        let (caller, reports) = (current.caller.clone(), self.reports.clone());
        tokio::spawn(async move {
            let params = EventsSubscribeParams { workspace_id: workspace_id.clone(), since: Some(since) };
            let answer =
                caller.call::<<EventsSubscribe as Method>::Result>(EventsSubscribe::NAME, &params).await;
            let outcome = answer.map(|_| ()).map_err(ClientError::from);
            reports.send(Report::Subscribed { generation, workspace_id, outcome });
        });
    }

    fn unsubscribe(&self, workspace_id: WorkspaceId) {
        let Some(current) = &self.current else { return };
        let caller = current.caller.clone();
        tokio::spawn(async move {
            let params = EventsUnsubscribeParams { workspace_id };
            // A workspace that is still followed only costs a few messages that nobody looks at.
            let _ =
                caller.call::<<EventsUnsubscribe as Method>::Result>(EventsUnsubscribe::NAME, &params).await;
        });
    }

    fn pass_on(&mut self, generation: u64, notification: Notification) {
        #[derive(serde::Deserialize)]
        struct Place {
            seq: Sequence,
            workspace_id: WorkspaceId,
        }
        // What has no number, such as a piece of an answer, is not in the log and cannot come twice.
        let is_new = match serde_json::from_str::<Place>(notification.params.get()) {
            Ok(place) => self.connection.event(generation, &place.workspace_id, place.seq),
            Err(_) => generation == self.connection.generation(),
        };
        if is_new {
            self.tell(Incoming::Notification(notification));
        }
    }
}

/// Connects, says who we are and finds out whose database it is.
async fn introduce(target: &Target) -> Result<(Client, InitializeResult), ClientError> {
    let client = Client::connect(target).await?;
    let program =
        Program { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let answer = client.call::<Initialize>(&InitializeParams { client: Some(program) }).await?;
    Ok((client, answer))
}

async fn listen(generation: u64, mut client: Client, reports: Reports) {
    while let Some(notification) = client.notification().await {
        if !reports.send(Report::Notification { generation, notification }) {
            return;
        }
    }
    reports.send(Report::Lost { generation });
}
