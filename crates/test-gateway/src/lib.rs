//! A real gateway in a temporary directory, in this process.

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

/// A gateway that is gone, with everything it wrote, when it is dropped.
pub struct TestGateway {
    gateway: std::sync::Arc<Gateway>,
    directory: tempfile::TempDir,
}

impl TestGateway {
    /// On an SQLite database of its own.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(|_| {}).await
    }

    /// On a database that is given.
    pub async fn start_on(database: Database) -> anyhow::Result<Self> {
        Self::start_with(|settings| settings.database = Some(database)).await
    }

    /// With settings changed before the start.
    pub async fn start_with(change: impl FnOnce(&mut GatewaySettings)) -> anyhow::Result<Self> {
        Self::start_in(tempfile::tempdir().context("make a data directory")?, change).await
    }

    /// On a data directory that is given, such as the one that [`TestGateway::stop`] returned.
    pub async fn start_in(
        directory: tempfile::TempDir,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> anyhow::Result<Self> {
        let mut settings = GatewaySettings::new(directory.path());
        settings.listen = "127.0.0.1:0".to_owned();
        change(&mut settings);
        let gateway = std::sync::Arc::new(Gateway::start(settings).await?);
        Ok(Self { gateway, directory })
    }

    /// With hooks besides our own.
    pub async fn start_with_hooks(
        packages: impl IntoIterator<Item = hooks::HookPackage>,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir().context("make a data directory")?;
        let mut settings = GatewaySettings::new(directory.path());
        settings.listen = "127.0.0.1:0".to_owned();
        let gateway = std::sync::Arc::new(Gateway::start_with_hooks(settings, packages).await?);
        Ok(Self { gateway, directory })
    }

    /// Ends a turn of a thread without asking a model: its prompt is prepared and kept as a real turn's is.
    pub async fn silent_turn(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> anyhow::Result<TurnId> {
        let agent = self.gateway.agent();
        let store = self.gateway.store();
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

    /// The HTTP base address.
    pub fn url(&self) -> String {
        self.gateway.url()
    }

    pub fn owner_secret(&self) -> anyhow::Result<String> {
        let path = self.data().join(protocol::local::OWNER_TOKEN_FILE);
        Ok(std::fs::read_to_string(path)?.trim().to_owned())
    }

    /// How a local command reaches it.
    pub fn target(&self) -> Target {
        Target::Local { data: self.data().to_owned() }
    }

    /// How somebody with a secret reaches it.
    pub fn target_of(&self, secret: &str) -> Target {
        Target::Address { url: self.url(), token: secret.to_owned().into() }
    }

    /// The owner, over a WebSocket.
    pub async fn owner(&self) -> anyhow::Result<Client> {
        Ok(Client::connect(&self.target()).await?)
    }

    /// The owner, without a socket.
    pub fn owner_in_memory(&self) -> Client {
        let (near, far) = memory::pair();
        let gateway = std::sync::Arc::clone(&self.gateway);
        tokio::spawn(async move { gateway.serve_owner(far).await });
        Client::over(near)
    }

    /// A new token's secret.
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

    /// Stops it as an operator would, and returns its directory so that it can be started again on it.
    pub async fn stop(self) -> anyhow::Result<tempfile::TempDir> {
        self.gateway.shutdown().await;
        Ok(self.directory)
    }
}
