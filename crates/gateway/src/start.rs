//! Startup and shutdown.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, blocking};
use futures_util::future::BoxFuture;
use hooks::{HookPackage, RegistrationError};
use parking_lot::Mutex;
use prompt::{BootstrapError, create_bootstrap_files};
use protocol::{AuditEntry, AuditEntryId, AuditEvent, GATEWAY_ACTOR, Hint, InstanceId, Timestamp};
use rpc::Endpoint;
use store::{Database, Store, StoreError, sqlite_files_beside};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Actor;
use crate::access::owner::{self, OwnerError};
use crate::connection::peer::Peer;
use crate::http::{AppState, routes};
use crate::service::{Service, Shared};
use crate::settings::GatewaySettings;
use crate::storage::data_directory::{DataDirectory, DataDirectoryError, OF_ANOTHER};
use crate::storage::database_file::{DatabaseFileError, LockedDatabase};
use crate::storage::known_databases::{KnownDatabases, check_database_file};
use crate::upkeep;

/// Time for open connections and their requests to finish at shutdown.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// Time for background hooks to finish at shutdown.
const HOOK_TIME: Duration = Duration::from_secs(5);

/// Time limit for the rest of the shutdown, hooks included, so that an unresponsive database cannot keep the process
/// alive until the service manager kills it. Both limits together stay below `TimeoutStopSec` in
/// examples/systemd/foreword.service.
const LAST_TIME: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    #[error(transparent)]
    DatabaseFile(#[from] DatabaseFileError),
    #[error("could not open the database {database}: {source}")]
    Database { database: Database, source: StoreError },
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    #[error("could not register a hook: {0}")]
    Hooks(#[from] RegistrationError),
    #[error("could not make the owner's token: {0}")]
    Owner(#[from] OwnerError),
    #[error("`{address}` is not an address to listen on: {source}")]
    Address { address: String, source: std::io::Error },
    /// Other machines could reach the address, and `allow_remote` is not set.
    #[error("{address} can be reached from other machines")]
    Remote { address: SocketAddr },
    #[error("could not listen on {address}: {source}")]
    Listen { address: String, source: std::io::Error },
}

impl StartError {
    /// Returns true if another gateway runs on the data directory.
    pub fn is_already_running(&self) -> bool {
        matches!(self, StartError::DataDirectory(DataDirectoryError::Locked { .. }))
    }
}

impl Hint for StartError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            StartError::DataDirectory(DataDirectoryError::OfAnother { .. }) => OF_ANOTHER,
            StartError::DataDirectory(DataDirectoryError::Locked { .. }) => {
                "use that gateway, stop it first, or start this one with another --data directory"
            }
            StartError::DatabaseFile(DatabaseFileError::InUse { .. }) => {
                "use that gateway, stop it first, or start this one with another --database"
            }
            StartError::DatabaseFile(DatabaseFileError::Linked { .. }) => {
                "remove all but one of its hard links (`find -samefile` finds them): SQLite keeps a log for each name, and \
                 two of them destroy the database"
            }
            StartError::DatabaseFile(
                DatabaseFileError::Missing { .. } | DatabaseFileError::Replaced { .. },
            ) => {
                "put the database back, or restore a backup with `foreword restore`; to go on with what is there, or \
                 with an empty one, start once with --new-database"
            }
            StartError::Bootstrap(BootstrapError::IsADirectory { .. }) => {
                "move it away, or use another home directory with --home"
            }
            StartError::Remote { .. } => {
                "add --allow-remote if that is meant, put a TLS proxy in front, and name the host in \
                 gateway.allowed_hosts"
            }
            StartError::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                "choose another port with --listen, or take a free one with --listen 127.0.0.1:0"
            }
            StartError::Database { database, source } => return database.hint(source).map(Cow::Owned),
            StartError::Hooks(error) => return error.hint(),
            _ => return None,
        };
        Some(Cow::Borrowed(hint))
    }
}

pub struct Gateway {
    service: Arc<Service>,
    address: SocketAddr,
    shutdown: CancellationToken,
    tasks: TaskTracker,
    server: Mutex<Option<JoinHandle<()>>>,
    background: Vec<JoinHandle<()>>,
    directory: Arc<DataDirectory>,
    database: Database,
    /// Held while the gateway runs; dropping it releases the lock.
    _locked: Option<LockedDatabase>,
}

impl Gateway {
    /// Opens the database, listens, and announces the address in the data directory.
    pub fn start(settings: GatewaySettings) -> BoxFuture<'static, Result<Self, StartError>> {
        Self::start_with_hooks(settings, [])
    }

    /// Like [`Self::start`], with additional hooks.
    ///
    /// Boxed, so that the gateway's code is compiled in this crate instead of in every program that starts one.
    pub fn start_with_hooks(
        settings: GatewaySettings,
        packages: impl IntoIterator<Item = HookPackage>,
    ) -> BoxFuture<'static, Result<Self, StartError>> {
        Self::start_boxed(settings, packages.into_iter().collect())
    }

    fn start_boxed(
        settings: GatewaySettings,
        packages: Vec<HookPackage>,
    ) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(Self::open(settings, packages))
    }

    async fn open(mut settings: GatewaySettings, packages: Vec<HookPackage>) -> Result<Self, StartError> {
        // Resolved before anything is created: a mistyped or forbidden address leaves no data directory behind.
        let address = resolve(&settings).await?;
        let data = settings.data.clone();
        let directory = Arc::new(blocking(move || DataDirectory::lock(&data)).await?);
        let database = settings.database.clone().unwrap_or_else(|| Database::Sqlite(directory.database()));
        // Locked before the store is opened, because opening may change the schema while another gateway still uses the
        // file.
        let locked = lock_database(&directory, &database, settings.new_database).await?;
        restore_protected_files(&directory).await;
        let failed = |source| StartError::Database { database: database.clone(), source };
        let store = Store::open(&database).await.map_err(failed)?;
        let instance = store.instance().await.map_err(failed)?;
        check_and_record_instance(&directory, &database, &instance, settings.new_database).await?;
        owner::ensure(&directory, &store).await?;
        let home = settings.agent.home.clone();
        blocking(move || create_bootstrap_files(&home)).await?;
        // The data directory holds the owner's token, so it is always out of reach of tools.
        settings.agent.private_paths.push(settings.data.clone());
        settings.agent.private_paths.extend(private_files(&database));
        settings.agent.set_aside = Some(directory.undone_files());
        settings.agent.journal = Some(directory.journal());
        // On a blocking thread: the available sandbox level is detected by running probe processes.
        let agent_store = store.clone();
        let agent_settings = settings.agent.clone();
        let mcp_settings = settings.mcp.clone();
        let memory = directory.path().join("mcp");
        let made = blocking(move || {
            let servers = mcp::Servers::new(&mcp_settings, &memory, &agent_settings.private_paths, |name| {
                std::env::var(name).ok()
            });
            let agent = Agent::new(agent_store, agent_settings, packages)?;
            let agent = servers.sources().into_iter().fold(agent, Agent::with_tools);
            Ok::<_, RegistrationError>((agent, servers))
        });
        let (agent, servers) = made.await?;
        let agent = Arc::new(agent);
        let listen = |source| StartError::Listen { address: settings.listen.clone(), source };
        // The slow steps, and those that fail most often, come first, so that clients rarely connect to a gateway that
        // then does not start.
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shell = settings.agent.turns.shell.clone();
        // The first request for the level waits for the probe.
        let sandbox = blocking(move || shell.and_then(|shell| shell.level().ok())).await;
        let start = AuditEvent::GatewayStarted {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            address: address.to_string(),
            database: database.to_string(),
            sandbox,
            settings: settings.configured.clone(),
        };
        // A database that can only be read, on a full disk for example, is still better than none.
        match store.record_audit(vec![by_gateway(start, store.now())]).await {
            Err(error @ (StoreError::DiskFull | StoreError::Unavailable(_))) => {
                tracing::error!(%error, "the database cannot be written; the gateway starts for reading");
            }
            recorded => recorded.map_err(failed)?,
        }
        let shared = Arc::new(Shared::new(settings, store, agent, servers, instance, address.port()));
        let background = upkeep::start(&shared);
        let service = Arc::new(Service::new(shared));
        let shutdown = CancellationToken::new();
        let tasks = TaskTracker::new();
        let state =
            AppState { service: Arc::clone(&service), shutdown: shutdown.clone(), tasks: tasks.clone() };
        let limits = service.shared.settings.listener.clone();
        let serving =
            crate::http::listener::serve(listener, routes(state), limits, shutdown.clone(), tasks.clone());
        let server = tokio::spawn(serving);
        // Announced last, because local commands connect as soon as the file exists.
        let (announcing, url) = (Arc::clone(&directory), format!("http://{}", reachable(address)));
        blocking(move || announcing.announce(&url)).await?;
        Ok(Self {
            service,
            address,
            shutdown,
            tasks,
            server: Mutex::new(Some(server)),
            background,
            directory,
            database,
            _locked: locked,
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", reachable(self.address))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the agent, for programs that embed a gateway.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.service.shared.agent
    }

    /// Returns the store, for programs that embed a gateway.
    pub fn store(&self) -> &Store {
        &self.service.shared.store
    }

    pub fn directory(&self) -> &DataDirectory {
        &self.directory
    }

    /// Serves a parent process over a pair of byte streams until it closes its end or the gateway stops.
    pub async fn serve_stdio(
        &self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) {
        let limits = &self.service.shared.settings.limits;
        let (endpoint, written) = rpc::stdio::endpoint(reader, writer, limits);
        let serving = self.serving_owner(endpoint);
        let served = async move {
            serving.await;
            let _ = written.await;
        };
        let _ = self.tasks.spawn(served).await;
    }

    /// Serves the owner in this process without a socket, for tests.
    pub async fn serve_owner(&self, endpoint: Endpoint) {
        let _ = self.tasks.spawn(self.serving_owner(endpoint)).await;
    }

    /// Spawned as a tracked task, because shutdown must wait for the connection even if the caller stops waiting.
    fn serving_owner(&self, endpoint: Endpoint) -> BoxFuture<'static, ()> {
        let peer = Arc::new(Peer::connected(Arc::new(Actor::stdio()), endpoint.outgoing.clone()));
        Box::pin(rpc::serve(endpoint, Arc::clone(&self.service), peer, self.shutdown.clone()))
    }

    /// Stops accepting, finishes accepted requests, and closes connections and database.
    pub fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shut_down())
    }

    async fn shut_down(&self) {
        let directory = Arc::clone(&self.directory);
        // The announcement goes first, so that local commands do not find a gateway that is about to refuse them.
        blocking(move || directory.withdraw()).await;
        self.shutdown.cancel();
        self.tasks.close();
        let server = self.server.lock().take();
        let finished = async {
            self.tasks.wait().await;
            if let Some(server) = server {
                let _ = server.await;
            }
        };
        if tokio::time::timeout(SHUTDOWN_TIME, finished).await.is_err() {
            tracing::warn!("some connections did not close in time");
        }
        // Background tasks run until the connections are closed, because they still deliver changes and revocations to
        // them. After that they would only use a store that is about to close.
        self.background.iter().for_each(JoinHandle::abort);
        if tokio::time::timeout(LAST_TIME, self.leave_store()).await.is_err() {
            tracing::warn!("gave up closing the database: it did not answer in time");
        }
    }

    /// Ends turns, flushes pending writes and closes the database.
    async fn leave_store(&self) {
        // Turns end first, because they use the MCP servers and store their results. The counts are written when
        // nothing can add to them any more, and the store closes last.
        self.service.shared.agent.shutdown(HOOK_TIME).await;
        self.service.shared.servers.shut_down().await;
        if let Err(error) = self.service.shared.access.flush_counts().await {
            tracing::warn!(%error, "failed to write the last audit counts");
        }
        self.service.shared.store.close().await;
    }
}

/// Returns the files of an embedded database. They contain every workspace's documents and tokens, and may lie
/// anywhere.
fn private_files(database: &Database) -> Vec<PathBuf> {
    let Database::Sqlite(path) = database else { return Vec::new() };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let beside = sqlite_files_beside(&path);
    [path].into_iter().chain(beside).collect()
}

/// Locks the embedded database. Fails if a known database is missing, before an empty one would be created in its
/// place.
async fn lock_database(
    directory: &Arc<DataDirectory>,
    database: &Database,
    new_database: bool,
) -> Result<Option<LockedDatabase>, StartError> {
    let Database::Sqlite(path) = database else { return Ok(None) };
    let directory = Arc::clone(directory);
    let database = database.clone();
    let path = path.clone();
    blocking(move || {
        if !new_database {
            check_database_file(directory.path(), &database)?;
        }
        Ok(Some(LockedDatabase::lock(&path)?))
    })
    .await
}

/// Undoes what commands of a killed gateway did to protected files, before any agent reads them again.
async fn restore_protected_files(directory: &Arc<DataDirectory>) {
    let (journal, set_aside) = (directory.journal(), directory.undone_files());
    for files in blocking(move || tools::restore_after_kill(&journal, &set_aside)).await {
        let root = files.root.display();
        if !files.restored.is_empty() {
            tracing::warn!(%root, restored = ?files.restored, set_aside = ?files.set_aside,
                "restored protected files that a command had changed before the gateway was killed");
        }
        if !files.left.is_empty() {
            tracing::warn!(%root, files = ?files.left,
                "protected files changed while a command ran and the gateway was killed; check them");
        }
    }
}

/// Rejects a database that is not the one this data directory was used with; otherwise records it.
async fn check_and_record_instance(
    directory: &Arc<DataDirectory>,
    database: &Database,
    instance: &InstanceId,
    new_database: bool,
) -> Result<(), StartError> {
    let directory = Arc::clone(directory);
    let database = database.clone();
    let instance = instance.clone();
    blocking(move || {
        let mut known = KnownDatabases::read(directory.path());
        if !new_database {
            known.check_instance(&directory, &database, &instance)?;
        }
        Ok(known.remember(&directory, &database, &instance)?)
    })
    .await
}

/// Returns an address that local programs can connect to, replacing the unspecified address.
fn reachable(address: SocketAddr) -> SocketAddr {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(host, address.port())
}

/// Resolves the listen address and rejects a remote one that is not allowed.
async fn resolve(settings: &GatewaySettings) -> Result<SocketAddr, StartError> {
    let failed = |source| StartError::Address { address: settings.listen.clone(), source };
    let mut addresses = tokio::net::lookup_host(&settings.listen).await.map_err(failed)?;
    let address = addresses.next().ok_or_else(|| failed(std::io::Error::other("the name has no address")))?;
    if !address.ip().is_loopback() && !settings.allow_remote {
        return Err(StartError::Remote { address });
    }
    Ok(address)
}

fn by_gateway(event: AuditEvent, at: Timestamp) -> AuditEntry {
    AuditEntry {
        id: AuditEntryId::new(),
        at,
        actor: Some(GATEWAY_ACTOR.to_owned()),
        workspace_id: None,
        event,
    }
}
