//! Follows a workspace, across lost connections, without missing or repeating a change.

use protocol::method::{EventsSubscribe, EventsSubscribeParams, Initialize, InitializeParams};
use protocol::{InstanceId, Sequence, WorkspaceId};
use serde_json::value::RawValue;

use crate::{Client, ClientError, Target, backoff};

/// A change as the gateway told it.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its place in the workspace's change log.
    pub seq: Sequence,
    /// The notification's method.
    pub method: String,
    /// The notification's parameters.
    pub params: Box<RawValue>,
}

/// The changes of a workspace, one after another.
pub struct Events {
    target: Target,
    workspace_id: WorkspaceId,
    cursor: Option<Sequence>,
    /// The database that the cursor counts in.
    instance: Option<InstanceId>,
    client: Option<Client>,
}

impl Events {
    /// Starts following; with `since`, first come the changes after it.
    pub async fn follow(
        target: Target,
        workspace_id: WorkspaceId,
        since: Option<Sequence>,
    ) -> Result<Self, ClientError> {
        let mut events = Self { target, workspace_id, cursor: since, instance: None, client: None };
        events.client = Some(events.subscribe().await?);
        Ok(events)
    }

    /// The next change. Reconnects for as long as the connection fails only temporarily.
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
                self.client = None;
                continue;
            };
            #[derive(serde::Deserialize)]
            struct LoggedAt {
                seq: Sequence,
                workspace_id: WorkspaceId,
            }
            let Ok(place) = serde_json::from_str::<LoggedAt>(notification.params.get()) else { continue };
            if place.workspace_id != self.workspace_id {
                continue;
            }
            self.cursor = Some(place.seq);
            return Ok(Event { seq: place.seq, method: notification.method, params: notification.params });
        }
    }

    async fn reconnect(&mut self) -> Result<Client, ClientError> {
        let mut failures = 0;
        loop {
            match self.subscribe().await {
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
        // Its numbers would count something else, even where they happen to fit.
        if self.instance.get_or_insert_with(|| instance.clone()) != &instance {
            return Err(ClientError::OtherInstance);
        }
        let params = EventsSubscribeParams { workspace_id: self.workspace_id.clone(), since: self.cursor };
        let answer = client.call::<EventsSubscribe>(&params).await?;
        self.cursor.get_or_insert(answer.seq);
        Ok(client)
    }
}
