//! Follows a workspace across lost connections without missing or repeating a change.

use std::pin::Pin;
use std::time::Instant;

use protocol::method::{EventsSubscribe, EventsSubscribeParams, Initialize, InitializeParams};
use protocol::{ErrorKind, InstanceId, Method, Sequence, WorkspaceId};
use rpc::{Caller, Notification};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Client, ClientError, Connection, ConnectionRequest, Failure, Target};

/// A change announced by the gateway.
#[derive(Debug, Clone)]
pub struct Event {
    /// Sequence number of the change in the workspace's change log.
    pub seq: Sequence,
    /// Method of the notification.
    pub method: String,
    /// Parameters of the notification.
    pub params: Box<RawValue>,
}

/// News about a followed workspace.
#[derive(Debug)]
pub enum Update {
    /// A change, or a notification outside the change log, such as a delta of an answer.
    Notification(Notification),
    /// The connection was lost. Notifications outside the change log are missed from now on.
    Disconnected,
    /// A new connection resumes after the last change.
    Resumed,
}

/// A connection that follows one workspace. It reconnects automatically and resumes after the last change.
///
/// It owns the clock and the socket of a [`Connection`].
pub struct WorkspaceFollower {
    target: Target,
    workspace_id: WorkspaceId,
    connection: Connection,
    client: Option<Client>,
    /// The running attempt to connect or to subscribe. It is kept here because [`next`](Self::next) may be cancelled.
    attempt: Option<Attempt>,
}

type Attempt = Pin<Box<dyn Future<Output = Result<Attempted, ClientError>> + Send>>;

/// Result of a successful attempt.
enum Attempted {
    Connected(Client, InstanceId),
    Subscribed,
}

/// Position of a notification in the change log.
#[derive(Deserialize)]
struct LogPosition {
    seq: Sequence,
    workspace_id: WorkspaceId,
}

impl WorkspaceFollower {
    /// Connects and follows the workspace. With `since`, the changes after it are replayed first.
    pub async fn follow(
        target: Target,
        workspace_id: WorkspaceId,
        since: Option<Sequence>,
    ) -> Result<Self, ClientError> {
        let client = Client::connect(&target).await?;
        Self::over(client, target, workspace_id, since).await
    }

    /// Follows the workspace over an open connection to `target`.
    pub async fn over(
        client: Client,
        target: Target,
        workspace_id: WorkspaceId,
        since: Option<Sequence>,
    ) -> Result<Self, ClientError> {
        let instance = client.call::<Initialize>(&InitializeParams::default()).await?.instance;
        let params = EventsSubscribeParams { workspace_id: workspace_id.clone(), since, instance: None };
        let newest = client.call::<EventsSubscribe>(&params).await?.seq;
        // Without `since`, following starts at the newest change, and a reconnection must resume from there.
        let mut follower = Self::unconnected(target, workspace_id, since.unwrap_or(newest));
        let generation = follower.connection.generation();
        let now = Instant::now();
        follower.connection.poll(now);
        follower.connection.connected(generation, &instance, now);
        follower.connection.poll(now);
        follower.connection.subscribed(generation, &follower.workspace_id);
        follower.client = Some(client);
        Ok(follower)
    }

    /// Creates a follower that connects with the first call of [`next`](Self::next).
    pub fn unconnected(target: Target, workspace_id: WorkspaceId, since: Sequence) -> Self {
        let mut connection = Connection::default();
        connection.follow(workspace_id.clone(), since);
        connection.start();
        Self { target, workspace_id, connection, client: None, attempt: None }
    }

    /// Calls a method over the current connection.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        match &self.client {
            Some(client) => client.call::<M>(params).await,
            None => Err(ClientError::NotConnected),
        }
    }

    /// Returns the next change, and skips everything else.
    pub async fn next_change(&mut self) -> Result<Event, ClientError> {
        loop {
            let Update::Notification(notification) = self.next().await? else { continue };
            if let Ok(LogPosition { seq, .. }) = serde_json::from_str(notification.params.get()) {
                return Ok(Event { seq, method: notification.method, params: notification.params });
            }
        }
    }

    /// Returns the next update. Reconnects after temporary failures; every other error ends following, because waiting
    /// cures neither a revoked token nor a different database. Nothing is lost if the returned future is dropped.
    pub async fn next(&mut self) -> Result<Update, ClientError> {
        loop {
            if let Some(request) = self.connection.poll(Instant::now()) {
                self.begin(request)?;
            } else if let Some(attempt) = &mut self.attempt {
                let outcome = attempt.await;
                self.attempt = None;
                if let Some(update) = self.finish(outcome)? {
                    return Ok(update);
                }
            } else if let Some(update) = self.wait().await {
                return Ok(update);
            }
        }
    }

    /// Starts the attempt that the connection requests.
    fn begin(&mut self, request: ConnectionRequest) -> Result<(), ClientError> {
        match request {
            ConnectionRequest::Connect { .. } => self.attempt = Some(Box::pin(connect(self.target.clone()))),
            ConnectionRequest::Subscribe { workspace_id, since, .. } => {
                let Some(client) = &self.client else { return Ok(()) };
                let params = EventsSubscribeParams { workspace_id, since: Some(since), instance: None };
                self.attempt = Some(Box::pin(subscribe(client.caller().clone(), params)));
            }
            // Sequence numbers of another database refer to other changes, even if they look plausible.
            ConnectionRequest::Reload { .. } => return Err(ClientError::OtherInstance),
            // These follow calls that this type never makes.
            ConnectionRequest::Disconnect { .. } | ConnectionRequest::Unsubscribe { .. } => {}
        }
        Ok(())
    }

    fn finish(&mut self, outcome: Result<Attempted, ClientError>) -> Result<Option<Update>, ClientError> {
        let now = Instant::now();
        let generation = self.connection.generation();
        let error = match outcome {
            Ok(Attempted::Connected(client, instance)) => {
                self.connection.connected(generation, &instance, now);
                self.client = Some(client);
                return Ok(None);
            }
            Ok(Attempted::Subscribed) => {
                self.connection.subscribed(generation, &self.workspace_id);
                return Ok(Some(Update::Resumed));
            }
            Err(error) => error,
        };
        let failure = Failure::from(&error);
        if !self.connection.is_connected() {
            self.connection.failed(generation, failure, now);
        } else if error.kind() == Some(ErrorKind::LogPruned) {
            self.connection.log_pruned(generation, &self.workspace_id);
        } else {
            self.connection.subscribe_failed(generation, &self.workspace_id, &failure, now);
        }
        if error.is_transient() { Ok(None) } else { Err(error) }
    }

    /// Waits for a notification, the end of the connection, or the time of the next request.
    async fn wait(&mut self) -> Option<Update> {
        let wake_at = self.connection.wake_at();
        let due = async {
            match wake_at {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let Some(client) = &mut self.client else {
            due.await;
            return None;
        };
        let notification = tokio::select! {
            notification = client.notification() => notification,
            () = due => return None,
        };
        let generation = self.connection.generation();
        let Some(notification) = notification else {
            self.client = None;
            self.connection.lost(generation, ClientError::Lost.to_string(), Instant::now());
            return Some(Update::Disconnected);
        };
        let is_new = match serde_json::from_str::<LogPosition>(notification.params.get()) {
            // Resuming may repeat changes that were already announced.
            Ok(at) => self.connection.event(generation, &at.workspace_id, at.seq),
            Err(_) => true,
        };
        is_new.then_some(Update::Notification(notification))
    }
}

async fn connect(target: Target) -> Result<Attempted, ClientError> {
    let client = Client::connect(&target).await?;
    let instance = client.call::<Initialize>(&InitializeParams::default()).await?.instance;
    Ok(Attempted::Connected(client, instance))
}

async fn subscribe(caller: Caller, params: EventsSubscribeParams) -> Result<Attempted, ClientError> {
    caller.call::<<EventsSubscribe as Method>::Result>(EventsSubscribe::NAME, &params).await?;
    Ok(Attempted::Subscribed)
}
