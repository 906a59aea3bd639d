//! A connected client with typed calls.

use protocol::Method;
use rpc::{Caller, ConnectionLimits, Notification, websocket};
use secrecy::ExposeSecret as _;
use tokio::sync::mpsc;

use crate::{ClientError, Target};

/// A connected client.
pub struct Client {
    caller: Caller,
    notifications: mpsc::Receiver<Notification>,
}

impl Client {
    /// Connects to a gateway.
    pub async fn connect(target: &Target) -> Result<Self, ClientError> {
        let local = target.clone();
        // Locating a local gateway reads files and may block on the disk.
        let located = tokio::task::spawn_blocking(move || local.locate())
            .await
            .map_err(|_| ClientError::NotConnected)??;
        let endpoint = websocket::connect(
            &located.websocket_url(),
            located.token.expose_secret(),
            &ConnectionLimits::default(),
        )
        .await?;
        Ok(Self::over(endpoint))
    }

    /// Creates a client over an existing endpoint, such as one end of an in-memory pair.
    pub fn over(endpoint: rpc::Endpoint) -> Self {
        let (caller, notifications) = Caller::new(endpoint);
        Self { caller, notifications }
    }

    /// Calls a method.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        Ok(self.caller.call(M::NAME, params).await?)
    }

    /// Returns the next notification, or `None` once the connection has ended.
    pub async fn notification(&mut self) -> Option<Notification> {
        self.notifications.recv().await
    }

    /// Returns the untyped caller, for calls that have no type here.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
}
