//! A real gateway in this process, with a temporary data directory.

use std::path::Path;

use agent::PromptRequest;
use anyhow::Context as _;
use client::{Client, Target};
use gateway::{Database, Gateway, GatewaySettings};
use protocol::method::{
    TokenCreate, TokenCreateParams, TurnStartParams, WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::{Role, ThreadId, Timestamp, TokenReach, TurnId, TurnScope, Workspace, WorkspaceId};
use rpc::memory;
use store::{FinishTurn, Lease, TurnEnd};

/// A running gateway. Dropping it removes everything it has written.
pub struct TestGateway {
    gateway: std::sync::Arc<Gateway>,
    directory: tempfile::TempDir,
}

impl TestGateway {
    /// Starts a gateway on a new SQLite database.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(|_| {}).await
    }

    /// Starts a gateway on an existing database.
    pub async fn start_on(database: Database) -> anyhow::Result<Self> {
        Self::start_with(|settings| settings.database = Some(database)).await
    }

    /// Starts a gateway with changed settings.
    pub async fn start_with(change: impl FnOnce(&mut GatewaySettings)) -> anyhow::Result<Self> {
        Self::start_in(tempfile::tempdir().context("make a data directory")?, change).await
    }

    /// Starts a gateway in an existing data directory, such as the one that [`TestGateway::stop`] returned.
    pub async fn start_in(
        directory: tempfile::TempDir,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> anyhow::Result<Self> {
        let mut settings = GatewaySettings::new(directory.path());
        // Port 0 lets the system choose a free one, so that tests can run in parallel.
        settings.listen = "127.0.0.1:0".to_owned();
        change(&mut settings);
        let gateway = std::sync::Arc::new(Gateway::start(settings).await?);
        Ok(Self { gateway, directory })
    }

    /// Starts a gateway with additional hooks.
    pub async fn start_with_hooks(
        packages: impl IntoIterator<Item = hooks::HookPackage>,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("make a data directory")?;
        let mut settings = GatewaySettings::new(directory.path());
        settings.listen = "127.0.0.1:0".to_owned();
        let gateway = std::sync::Arc::new(Gateway::start_with_hooks(settings, packages).await?);
        Ok(Self { gateway, directory })
    }

    /// Creates a completed turn without a model. Its prompt is prepared and recorded like that of a real turn.
    pub async fn silent_turn(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> anyhow::Result<TurnId> {
        let agent = self.gateway.agent();
        let store = self.gateway.store();
        // The turn ends below within this lease. An expired one would be taken over by the gateway, which runs
        // meanwhile.
        let expires_at = Timestamp::from_milliseconds(Timestamp::now().milliseconds() + 60_000);
        let lease = Lease { owner: "test-gateway".to_owned(), expires_at };
        let input = "hello".to_owned();
        let start = TurnStartParams::new(workspace_id, thread_id, input.clone());
        let turn = store.create_turn(start, lease, None, None).await?;
        let scope = TurnScope {
            turn_id: Some(turn.id.clone()),
            input: Some(input),
            reach: TokenReach::Everything,
            ..TurnScope::new(workspace_id.clone(), thread_id.clone())
        };
        let request = PromptRequest { scope, cwd: None };
        let prepared = agent.prepare(&request).await?;
        agent.record(workspace_id, &turn.id, "test-gateway", 1, &prepared.compiled).await?;
        let finish = FinishTurn::new(TurnEnd::Completed { session: None });
        store.finish_turn(workspace_id, &turn.id, "test-gateway", finish, None).await?;
        Ok(turn.id)
    }

    pub fn gateway(&self) -> std::sync::Arc<Gateway> {
        std::sync::Arc::clone(&self.gateway)
    }

    pub fn data(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the HTTP base address.
    pub fn url(&self) -> String {
        self.gateway.url()
    }

    pub fn owner_secret(&self) -> anyhow::Result<String> {
        let path = self.data().join(protocol::local::OWNER_TOKEN_FILE);
        Ok(std::fs::read_to_string(path)?.trim().to_owned())
    }

    /// Returns connection parameters of a local command, which reads the owner's token from the data directory.
    pub fn target(&self) -> Target {
        Target::Local { data: self.data().to_owned() }
    }

    /// Returns connection parameters of a client with a secret.
    pub fn target_of(&self, secret: &str) -> Target {
        Target::Address { url: self.url(), token: secret.to_owned().into() }
    }

    /// Connects as the owner over a WebSocket.
    pub async fn owner(&self) -> anyhow::Result<Client> {
        Ok(Client::connect(&self.target()).await?)
    }

    /// Connects as the owner without a socket.
    pub fn owner_in_memory(&self) -> Client {
        let (near, far) = memory::pair();
        let gateway = std::sync::Arc::clone(&self.gateway);
        // The task ends when the client is dropped, because that closes the other end of the pair.
        tokio::spawn(async move { gateway.serve_owner(far).await });
        Client::over(near)
    }

    /// Creates a token and returns its secret.
    pub async fn token(
        &self,
        name: &str,
        role: Role,
        workspace_id: Option<WorkspaceId>,
    ) -> anyhow::Result<String> {
        let params = TokenCreateParams { name: name.to_owned(), role, workspace_id, expires_at: None };
        Ok(self.owner_in_memory().call::<TokenCreate>(&params).await?.secret)
    }

    pub async fn workspace(&self, name: &str) -> anyhow::Result<Workspace> {
        let params = WorkspaceCreateParams { name: name.to_owned(), root_path: None, agents: None };
        Ok(self.owner_in_memory().call::<WorkspaceCreate>(&params).await?.workspace)
    }

    /// Shuts the gateway down cleanly and returns its data directory for another start.
    pub async fn stop(self) -> anyhow::Result<tempfile::TempDir> {
        self.gateway.shutdown().await;
        Ok(self.directory)
    }
}
