//! A PostgreSQL server that lives in a temporary directory and dies with the process that started it.
//!
//! Tests ask for a [`test_database`]; those that need a server of their own, to stop it and start it again, ask for
//! a [`test_cluster`]. Everything here blocks, because it mostly waits for PostgreSQL's own programs.

mod freeze;
mod installation;
mod random;
mod test_database;
mod watchdog;

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use self::installation::{Installation, finish};
use self::watchdog::Watchdog;

pub use self::freeze::Frozen;
pub use self::test_database::{SERVER_VARIABLE, TestDatabase, test_cluster, test_database};

/// The superuser of every cluster.
const USER: &str = "foreword";
/// Ports to choose from.
// Below the ephemeral ports of common systems: an outgoing connection could otherwise take a stopped server's port.
const PORTS: std::ops::Range<u16> = 15_000..32_000;
/// Ports to try before a start fails.
const PORT_ATTEMPTS: usize = 20;

/// Time limit for the processes of a killed server to end.
const ENDING_TIME: Duration = Duration::from_secs(30);

/// Options of a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Data that a power failure may lose.
    pub durability: Durability,
}

impl Options {
    /// For tests that never check what is left after a crash.
    pub fn fast() -> Self {
        Self { durability: Durability::None }
    }
}

/// Data that a power failure may lose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: every commit waits for the disk.
    #[default]
    Full,
    /// Everything: no commit waits.
    None,
}

/// A PostgreSQL server with its own data, listening on the loopback address.
///
/// The server is stopped and its directory removed as soon as the value is dropped or its process ends, even if it is killed.
pub struct Cluster {
    installation: Installation,
    directory: PathBuf,
    port: u16,
    // Last, so that it is dropped last.
    _watchdog: Watchdog,
}

impl Cluster {
    /// Creates a cluster and waits until it accepts connections.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let installation = Installation::find().context("no PostgreSQL programs were found")?;
        Self::start_with(installation, options)
    }

    fn start_with(installation: Installation, options: Options) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("foreword-postgres-").tempdir()?.keep();
        let installation = installation.for_directory(&directory)?;
        let watchdog = Watchdog::start(&directory, &stop_command(&installation, &directory, "immediate"))?;
        let mut cluster = Self { installation, directory, port: 0, _watchdog: watchdog };
        cluster.initialise(options)?;
        for _ in 0..PORT_ATTEMPTS {
            cluster.port = free_port()?;
            match cluster.start_server() {
                Ok(()) => return Ok(cluster),
                Err(_) if cluster.port_was_taken() => {}
                Err(error) => return Err(error),
            }
        }
        bail!("no free port was found for PostgreSQL in {PORT_ATTEMPTS} attempts")
    }

    /// Returns the address of a database of the server.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}:{}/{database}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Creates an empty database and returns its address.
    pub fn create_database(&self) -> anyhow::Result<String> {
        let name = test_database::unique_name();
        self.installation.psql(&self.url("postgres"), &format!("CREATE DATABASE {name}"))?;
        Ok(self.url(&name))
    }

    /// Stops the server, ending its connections; its data and port stay.
    pub fn stop(&self) -> anyhow::Result<()> {
        finish(&mut stop_command(&self.installation, &self.directory, "fast"))
    }

    /// Kills the server: nothing more is written, and the next start has to recover what was committed.
    pub fn crash(&self) -> anyhow::Result<()> {
        finish(Command::new("sh").args(["-c", "kill -9 \"$1\"", "kill"]).arg(self.pid()?.to_string()))
    }

    /// Starts the server again after [`Cluster::stop`] or [`Cluster::crash`], with the same data and port.
    pub fn start_again(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            match self.start_server() {
                Err(_) if self.is_still_ending() && begun.elapsed() < ENDING_TIME => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                started => return started,
            }
        }
    }

    /// Copies the server's current data, as an asynchronous standby has them.
    pub fn copy_to_standby(&self) -> anyhow::Result<()> {
        self.stop()?;
        finish(Command::new("cp").arg("-a").arg(data_directory(&self.directory)).arg(self.standby()))?;
        self.start_again()
    }

    /// Lets the standby take the place of the server, without the changes since the copy. As in any promotion, the server
    /// begins a new timeline.
    pub fn fail_over(&self) -> anyhow::Result<()> {
        self.stop()?;
        let data = data_directory(&self.directory);
        fs::remove_dir_all(&data)?;
        fs::rename(self.standby(), &data)?;
        let mut configuration = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?;
        configuration.write_all(b"restore_command = 'false'\n")?;
        fs::write(data.join("recovery.signal"), "")?;
        self.start_again()
    }

    fn standby(&self) -> PathBuf {
        self.directory.join("standby")
    }

    /// Returns the id of the server's first process.
    fn pid(&self) -> anyhow::Result<u32> {
        let path = data_directory(&self.directory).join("postmaster.pid");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        text.lines().next().unwrap_or_default().trim().parse().context("no process id")
    }

    fn initialise(&self, options: Options) -> anyhow::Result<()> {
        let data = data_directory(&self.directory);
        let mut initdb = self.installation.server_program("initdb", &self.directory);
        initdb.arg("--pgdata").arg(&data).args(["--username", USER, "--auth", "trust", "--encoding", "UTF8"]);
        finish(initdb.args(["--locale", "C", "--no-sync", "--no-instructions"]))?;
        let mut configuration = fs::OpenOptions::new().append(true).open(data.join("postgresql.conf"))?;
        configuration.write_all(settings(&self.directory, options).as_bytes())?;
        Ok(())
    }

    fn start_server(&self) -> anyhow::Result<()> {
        let log = self.log_file();
        // A log of an earlier attempt would be mistaken for this one's. Usually there is none.
        let _ = fs::remove_file(&log);
        let mut start = self.installation.server_program("pg_ctl", &self.directory);
        start.args(["start", "--wait", "--timeout", "60", "--silent", "--pgdata"]);
        start.arg(data_directory(&self.directory)).arg("--log").arg(&log);
        start.arg("--options").arg(format!("-p {}", self.port));
        finish(&mut start).with_context(|| format!("the server's log says:\n{}", self.log()))
    }

    fn port_was_taken(&self) -> bool {
        self.log().contains("could not bind")
    }

    /// Returns true if a start failed because processes of a killed server still exist.
    fn is_still_ending(&self) -> bool {
        let log = self.log();
        log.contains("lock file \"postmaster.pid\" already exists") || log.contains("is still in use")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.directory.join("server.log")
    }
}

fn data_directory(directory: &Path) -> PathBuf {
    directory.join("data")
}

fn stop_command(installation: &Installation, directory: &Path, mode: &str) -> Command {
    let mut stop = installation.server_program("pg_ctl", directory);
    stop.args(["stop", "--wait", "--silent", "--mode", mode, "--pgdata"]).arg(data_directory(directory));
    stop
}

fn settings(directory: &Path, options: Options) -> String {
    let sockets = directory.display().to_string().replace('\'', "''");
    let durability = match options.durability {
        Durability::Full => "fsync = on",
        Durability::None => "fsync = off\nsynchronous_commit = off\nfull_page_writes = off",
    };
    format!(
        "listen_addresses = '{}'\nunix_socket_directories = '{sockets}'\nmax_connections = 300\n{durability}\n",
        Ipv4Addr::LOCALHOST
    )
}

/// Returns a port that is free at this moment. Another process may still take it, so the caller retries.
fn free_port() -> anyhow::Result<u16> {
    for _ in 0..PORT_ATTEMPTS {
        let port = random::within(PORTS);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no free port was found between {} and {} in {PORT_ATTEMPTS} attempts", PORTS.start, PORTS.end)
}

/// Returns a command's program and arguments, for another process to run.
fn words(command: &Command) -> Vec<OsString> {
    std::iter::once(command.get_program()).chain(command.get_args()).map(OsString::from).collect()
}
