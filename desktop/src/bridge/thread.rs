//! The thread that owns the connection. It executes the requests of [`client::Connection`] and reports their
//! outcomes.

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

/// Report of a task with the target that it worked for.
struct TargetReport {
    target: u64,
    report: ConnectionReport,
}

enum ConnectionReport {
    Connected { generation: u64, client: Client, answer: Box<InitializeResult> },
    Failed { generation: u64, error: ClientError },
    Lost { generation: u64 },
    Notification { generation: u64, notification: Notification },
    Subscribed { generation: u64, workspace_id: WorkspaceId, outcome: Result<(), ClientError> },
}

/// Runs until the last handle to the bridge is dropped.
pub(super) async fn run(
    mut commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::UnboundedSender<Incoming>,
) {
    let (sender, mut reported) = mpsc::unbounded_channel();
    let mut bridge = Bridge {
        events,
        reports: ReportSender { target: 0, sender },
        target: None,
        connection: Connection::default(),
        current: None,
        followed: None,
        not_running: false,
        server: None,
        reported_link: Link::Idle,
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
            // Tasks are not canceled when the target changes, so their late reports must not reach the new
            // connection.
            Some(TargetReport { target, report }) = reported.recv() => if target == bridge.reports.target {
                bridge.report(report);
            },
            () = asleep => {}
        }
    }
}

/// Sends reports of tasks for the current target.
#[derive(Clone)]
struct ReportSender {
    /// Number of the target, increased with each one.
    target: u64,
    sender: mpsc::UnboundedSender<TargetReport>,
}

impl ReportSender {
    /// Returns false if the bridge is gone.
    fn send(&self, report: ConnectionReport) -> bool {
        self.sender.send(TargetReport { target: self.target, report }).is_ok()
    }
}

/// An established connection.
struct Current {
    caller: Caller,
    /// Task that owns the receiving half and forwards notifications.
    listener: JoinHandle<()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        // A dropped handle would only detach the task, and two listeners would forward notifications of two
        // connections.
        self.listener.abort();
    }
}

struct Bridge {
    events: mpsc::UnboundedSender<Incoming>,
    reports: ReportSender,
    target: Option<Target>,
    connection: Connection,
    current: Option<Current>,
    followed: Option<WorkspaceId>,
    /// The last attempt found no gateway on this machine.
    not_running: bool,
    /// Database and program name of the connected gateway.
    server: Option<(InstanceId, String)>,
    /// State that was last sent to the window.
    reported_link: Link,
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
                // Nothing of the previous target may survive: its data would be shown as that of the new
                // gateway.
                self.target = Some(target);
                self.current = None;
                self.followed = None;
                self.reports.target += 1;
                self.connection = Connection::default();
                self.connection.start();
            }
        }
    }

    /// Executes all requests of the connection and reports a changed state.
    fn proceed(&mut self) {
        // The state machine may answer an input with several requests. All of them must be executed before
        // the thread sleeps again, because its wake time assumes that none is pending.
        while let Some(request) = self.connection.poll(Instant::now()) {
            match request {
                ConnectionRequest::Connect { generation } => self.connect(generation),
                ConnectionRequest::Disconnect { .. } => self.current = None,
                ConnectionRequest::Subscribe { generation, workspace_id, since } => {
                    self.subscribe(generation, workspace_id, since);
                }
                ConnectionRequest::Unsubscribe { workspace_id, .. } => self.unsubscribe(workspace_id),
                ConnectionRequest::Reload { .. } => self.send_event(Incoming::Reload),
            }
        }
        let link = self.link();
        if link != self.reported_link {
            self.reported_link = link.clone();
            self.send_event(Incoming::Link(link));
        }
    }

    fn link(&self) -> Link {
        match self.connection.state() {
            ConnectionState::Stopped => Link::Idle,
            // Keeps showing the failure while retrying. Otherwise the line at the bottom would flicker
            // between the reason and `Connecting` every few seconds.
            ConnectionState::Connecting { attempt } if *attempt > 1 => match &self.reported_link {
                Link::Waiting { .. } => self.reported_link.clone(),
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

    fn send_event(&self, incoming: Incoming) {
        // Fails only if the window is gone; then the commands end as well.
        let _ = self.events.send(incoming);
    }

    fn connect(&mut self, generation: u64) {
        self.current = None;
        let Some(target) = self.target.clone() else { return };
        let reports = self.reports.clone();
        tokio::spawn(async move {
            let report = match introduce(&target).await {
                Ok((client, answer)) => {
                    ConnectionReport::Connected { generation, client, answer: Box::new(answer) }
                }
                Err(error) => ConnectionReport::Failed { generation, error },
            };
            reports.send(report);
        });
    }

    fn report(&mut self, report: ConnectionReport) {
        let now = Instant::now();
        match report {
            ConnectionReport::Connected { generation, client, answer } => {
                self.connection.connected(generation, &answer.instance, now);
                if self.connection.generation() == generation && self.connection.is_connected() {
                    // The check of the generation above matters: the user may have retried while this attempt
                    // was still running, and only the newest attempt may become the connection.
                    self.not_running = false;
                    let program = format!("{} {}", answer.server.name, answer.server.version);
                    self.server = Some((answer.instance, program));
                    let caller = client.caller().clone();
                    let listener = tokio::spawn(listen(generation, client, self.reports.clone()));
                    self.current = Some(Current { caller, listener });
                }
            }
            ConnectionReport::Failed { generation, error } => {
                if self.connection.generation() == generation {
                    self.not_running = matches!(error, ClientError::NotRunning { .. });
                }
                self.connection.failed(generation, Failure::from(&error), now);
            }
            ConnectionReport::Lost { generation } => {
                if self.connection.generation() == generation {
                    self.current = None;
                }
                self.connection.lost(generation, ClientError::Lost.to_string(), now);
            }
            ConnectionReport::Notification { generation, notification } => {
                self.pass_on(generation, notification)
            }
            ConnectionReport::Subscribed { generation, workspace_id, outcome } => match outcome {
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
        let caller = current.caller.clone();
        let reports = self.reports.clone();
        tokio::spawn(async move {
            let params = EventsSubscribeParams {
                workspace_id: workspace_id.clone(),
                since: Some(since),
                instance: None,
            };
            let answer =
                caller.call::<<EventsSubscribe as Method>::Result>(EventsSubscribe::NAME, &params).await;
            let outcome = answer.map(|_| ()).map_err(ClientError::from);
            reports.send(ConnectionReport::Subscribed { generation, workspace_id, outcome });
        });
    }

    fn unsubscribe(&self, workspace_id: WorkspaceId) {
        let Some(current) = &self.current else { return };
        let caller = current.caller.clone();
        tokio::spawn(async move {
            let params = EventsUnsubscribeParams { workspace_id };
            // If this fails, the gateway sends some notifications that the event filter drops.
            let _ =
                caller.call::<<EventsUnsubscribe as Method>::Result>(EventsUnsubscribe::NAME, &params).await;
        });
    }

    fn pass_on(&mut self, generation: u64, notification: Notification) {
        #[derive(serde::Deserialize)]
        struct LogPosition {
            seq: Sequence,
            workspace_id: WorkspaceId,
        }
        // Notifications without a number, such as deltas of an answer, are not in the log and cannot arrive
        // twice. All others may be repeated after a reconnect and must pass the filter of the connection.
        let is_new = match serde_json::from_str::<LogPosition>(notification.params.get()) {
            Ok(place) => self.connection.event(generation, &place.workspace_id, place.seq),
            Err(_) => generation == self.connection.generation(),
        };
        if is_new {
            self.send_event(Incoming::Notification(notification));
        }
    }
}

/// Connects, identifies this program and learns the identity of the gateway's database.
async fn introduce(target: &Target) -> Result<(Client, InitializeResult), ClientError> {
    let client = Client::connect(target).await?;
    let program =
        Program { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let answer = client.call::<Initialize>(&InitializeParams { client: Some(program) }).await?;
    Ok((client, answer))
}

async fn listen(generation: u64, mut client: Client, reports: ReportSender) {
    while let Some(notification) = client.notification().await {
        if !reports.send(ConnectionReport::Notification { generation, notification }) {
            return;
        }
    }
    reports.send(ConnectionReport::Lost { generation });
}
