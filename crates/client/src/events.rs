//! Follows a workspace across lost connections without missing or repeating a change.

use protocol::method::{EventsSubscribe, EventsSubscribeParams, Initialize, InitializeParams};
use protocol::{InstanceId, Sequence, WorkspaceId};
use serde_json::value::RawValue;

use crate::{Client, ClientError, Target, backoff};

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

/// Stream of a workspace's changes.
pub struct Events {
    target: Target,
    workspace_id: WorkspaceId,
    cursor: Option<Sequence>,
    /// The database that the cursor counts in.
    instance: Option<InstanceId>,
    client: Option<Client>,
}

impl Events {
    /// Starts following. With `since`, the changes after it are replayed first.
    pub async fn follow(
        target: Target,
        workspace_id: WorkspaceId,
        since: Option<Sequence>,
    ) -> Result<Self, ClientError> {
        let mut events = Self { target, workspace_id, cursor: since, instance: None, client: None };
        events.client = Some(events.subscribe().await?);
        Ok(events)
    }

    /// Returns the next change. Reconnects after temporary failures of the connection.
    pub async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            let client = match &mut self.client {
                Some(client) => client,
                None => {
                    let client = self.reconnect().await?;
                    self.client.insert(client)
                }
            };
            let Some(notification) = client.notification().await else {
                // The connection has ended. The loop connects again and resumes after the cursor, so no change is lost.
                self.client = None;
                continue;
            };
            #[derive(serde::Deserialize)]
            struct LoggedAt {
                seq: Sequence,
                workspace_id: WorkspaceId,
            }
            // Notifications without a sequence number, such as the deltas of a turn, are not part of the change log.
            let Ok(logged) = serde_json::from_str::<LoggedAt>(notification.params.get()) else { continue };
            if logged.workspace_id != self.workspace_id {
                continue;
            }
            self.cursor = Some(logged.seq);
            return Ok(Event { seq: logged.seq, method: notification.method, params: notification.params });
        }
    }

    async fn reconnect(&mut self) -> Result<Client, ClientError> {
        let mut failures = 0;
        loop {
            match self.subscribe().await {
                // Every other error ends the loop: waiting cures neither a revoked token nor a different database.
                Err(error) if error.is_transient() => {
                    failures += 1;
                    tokio::time::sleep(backoff::pause(failures)).await;
                }
                answer => return answer,
            }
        }
    }

    async fn subscribe(&mut self) -> Result<Client, ClientError> {
        let client = Client::connect(&self.target).await?;
        let instance = client.call::<Initialize>(&InitializeParams::default()).await?.instance;
        // Sequence numbers of another database refer to other changes, even if they look plausible.
        if self.instance.get_or_insert_with(|| instance.clone()) != &instance {
            return Err(ClientError::OtherInstance);
        }
        let params = EventsSubscribeParams { workspace_id: self.workspace_id.clone(), since: self.cursor };
        let answer = client.call::<EventsSubscribe>(&params).await?;
        // Without `since`, following starts at the newest change, and a reconnection must resume from there.
        self.cursor.get_or_insert(answer.seq);
        Ok(client)
    }
}
