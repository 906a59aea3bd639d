//! Start-up and shutdown.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent::{Agent, blocking};
use futures_util::future::BoxFuture;
use hooks::{HookPackage, RegistrationError};
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

/// How long open connections and their requests are waited for at shutdown.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// How long background hooks are waited for at shutdown.
const HOOK_TIME: Duration = Duration::from_secs(5);

/// How long the end may take after that, hooks included: a database that says nothing must not keep the process until
/// whoever stops it kills it. Both together are less than `TimeoutStopSec` in examples/systemd/foreword.service.
const LAST_TIME: Duration = Duration::from_secs(15);

/// Why a gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    /// The database is in use, gone, or another one.
    #[error(transparent)]
    DatabaseFile(#[from] DatabaseFileError),
    /// The database cannot be used.
    #[error("could not open the database {database}: {source}")]
    Database {
        /// Which one, without its password.
        database: Database,
        /// What the store said.
        source: StoreError,
    },
    /// The files that say who the model is cannot be made.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// A hook cannot be used.
    #[error("could not register a hook: {0}")]
    Hooks(#[from] RegistrationError),
    /// There is no owner's token.
    #[error("could not make the owner's token: {0}")]
    Owner(#[from] OwnerError),
    /// The address is not one.
    #[error("`{address}` is not an address to listen on: {source}")]
    Address {
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Other machines could reach the address, and nobody allowed that.
    #[error("{address} can be reached from other machines")]
    Remote { address: SocketAddr },
    /// The address is taken, or not ours.
    #[error("could not listen on {address}: {source}")]
    Listen {
        address: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl StartError {
    /// Whether another gateway runs on the data directory.
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
    /// Held for as long as the gateway lives.
    _locked: Option<LockedDatabase>,
}

impl Gateway {
    /// Opens everything, listens, and says so in the data directory.
    pub fn start(settings: GatewaySettings) -> BoxFuture<'static, Result<Self, StartError>> {
        Self::start_with_hooks(settings, [])
    }

    /// The same, with hooks besides our own.
    ///
    /// Boxed, so that the whole of a gateway is compiled here and not once more in every program that starts one.
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
        let address = resolve(&settings).await?;
        let data = settings.data.clone();
        let directory = Arc::new(blocking(move || DataDirectory::lock(&data)).await?);
        let database = settings.database.clone().unwrap_or_else(|| Database::Sqlite(directory.database()));
        let locked = lock_database(&directory, &database, settings.new_database).await?;
        let failed = |source| StartError::Database { database: database.clone(), source };
        let store = Store::open(&database).await.map_err(failed)?;
        let instance = store.instance().await.map_err(failed)?;
        recognise(&directory, &database, &instance, settings.new_database).await?;
        owner::ensure(&directory, &store).await?;
        let home = settings.agent.home.clone();
        blocking(move || create_bootstrap_files(&home)).await?;
        // Whatever else is kept from tools, this is: the owner's token is in it.
        settings.agent.private_paths.push(settings.data.clone());
        settings.agent.private_paths.extend(private_files(&database));
        settings.agent.set_aside = Some(directory.undone_files());
        // Beside the runtime's threads: which sandbox there is is found out by trying, in processes that are waited for.
        let (agent_store, agent_settings) = (store.clone(), settings.agent.clone());
        let (mcp_settings, memory) = (settings.mcp.clone(), directory.path().join("mcp"));
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
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let shell = settings.agent.turns.shell.clone();
        // The first to ask for the level waits while it is tried.
        let sandbox = blocking(move || shell.and_then(|shell| shell.level().ok())).await;
        let start = AuditEvent::GatewayStarted {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            address: address.to_string(),
            database: database.to_string(),
            sandbox,
            settings: settings.configured.clone(),
        };
        store.record_audit(vec![by_gateway(start, store.now())]).await.map_err(failed)?;
        let shared = Arc::new(Shared::new(settings, store, agent, servers, instance));
        let background = upkeep::start(&shared);
        let service = Arc::new(Service::new(shared));
        let shutdown = CancellationToken::new();
        let tasks = TaskTracker::new();
        let state = AppState {
            service: Arc::clone(&service),
            shutdown: shutdown.clone(),
            tasks: tasks.clone(),
            mcp: Arc::default(),
        };
        let limits = service.shared.settings.listener.clone();
        let serving =
            crate::http::listener::serve(listener, routes(state), limits, shutdown.clone(), tasks.clone());
        let server = tokio::spawn(serving);
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

    /// The HTTP base address.
    pub fn url(&self) -> String {
        format!("http://{}", reachable(self.address))
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database, shown without its password.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// What makes prompts, for whoever runs a gateway in their own process.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.service.shared.agent
    }

    /// Where everything is kept, for whoever runs a gateway in their own process.
    pub fn store(&self) -> &Store {
        &self.service.shared.store
    }

    pub fn directory(&self) -> &DataDirectory {
        &self.directory
    }

    /// Serves a parent process over a pair of byte streams until it closes its end, or the gateway stops.
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

    /// Serves the owner in this process; a test needs no socket.
    pub async fn serve_owner(&self, endpoint: Endpoint) {
        let _ = self.tasks.spawn(self.serving_owner(endpoint)).await;
    }

    /// Runs on a task that a shutdown waits for: whoever waits for the connection may stop waiting before.
    fn serving_owner(&self, endpoint: Endpoint) -> BoxFuture<'static, ()> {
        let peer = Arc::new(Peer::connected(Arc::new(Actor::stdio()), endpoint.outgoing.clone()));
        Box::pin(rpc::serve(endpoint, Arc::clone(&self.service), peer, self.shutdown.clone()))
    }

    /// Stops accepting, finishes what was accepted, closes connections and database.
    pub fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shut_down())
    }

    async fn shut_down(&self) {
        let directory = Arc::clone(&self.directory);
        blocking(move || directory.withdraw()).await;
        self.shutdown.cancel();
        self.tasks.close();
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let finished = async {
            self.tasks.wait().await;
            if let Some(server) = server {
                let _ = server.await;
            }
        };
        if tokio::time::timeout(SHUTDOWN_TIME, finished).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        self.background.iter().for_each(JoinHandle::abort);
        if tokio::time::timeout(LAST_TIME, self.leave_store()).await.is_err() {
            tracing::warn!("the database did not answer in time, and is left as it is");
        }
    }

    /// Ends turns, writes what is not written yet and closes the database.
    async fn leave_store(&self) {
        self.service.shared.agent.shutdown(HOOK_TIME).await;
        self.service.shared.servers.shut_down().await;
        if let Err(error) = self.service.shared.access.flush_counts().await {
            tracing::warn!(%error, "the last minute of the audit could not be written");
        }
        self.service.shared.store.close().await;
    }
}

/// The files of an embedded database, which may be anywhere: every workspace's documents and tokens are in them.
fn private_files(database: &Database) -> Vec<PathBuf> {
    let Database::Sqlite(path) = database else { return Vec::new() };
    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let beside = sqlite_files_beside(&path);
    [path].into_iter().chain(beside).collect()
}

/// Locks the embedded database, and refuses to make an empty one where one is known.
async fn lock_database(
    directory: &Arc<DataDirectory>,
    database: &Database,
    new_database: bool,
) -> Result<Option<LockedDatabase>, StartError> {
    let Database::Sqlite(path) = database else { return Ok(None) };
    let (directory, database, path) = (Arc::clone(directory), database.clone(), path.clone());
    blocking(move || {
        if !new_database {
            check_database_file(directory.path(), &database)?;
        }
        Ok(Some(LockedDatabase::lock(&path)?))
    })
    .await
}

/// Refuses a database that is not the one this data directory was used with, and remembers the one it is used with.
async fn recognise(
    directory: &Arc<DataDirectory>,
    database: &Database,
    instance: &InstanceId,
    new_database: bool,
) -> Result<(), StartError> {
    let (directory, database, instance) = (Arc::clone(directory), database.clone(), instance.clone());
    blocking(move || {
        let mut known = KnownDatabases::read(directory.path());
        if !new_database {
            known.check_instance(&directory, &database, &instance)?;
        }
        Ok(known.remember(&directory, &database, &instance)?)
    })
    .await
}

/// How programs on this machine reach an address: "everywhere" is no place to connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(host, address.port())
}

/// The address to listen on, if it is allowed.
async fn resolve(settings: &GatewaySettings) -> Result<SocketAddr, StartError> {
    let failed = |source| StartError::Address { address: settings.listen.clone(), source };
    let mut addresses = tokio::net::lookup_host(&settings.listen).await.map_err(failed)?;
    let address = addresses.next().ok_or_else(|| failed(std::io::Error::other("the name has no address")))?;
    if !address.ip().is_loopback() && !settings.allow_remote {
        return Err(StartError::Remote { address });
    }
    Ok(address)
}

/// An entry of the audit about what the gateway itself does.
fn by_gateway(event: AuditEvent, at: Timestamp) -> AuditEntry {
    AuditEntry {
        id: AuditEntryId::new(),
        at,
        actor: Some(GATEWAY_ACTOR.to_owned()),
        workspace_id: None,
        event,
    }
}
