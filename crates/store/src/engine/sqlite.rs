//! An SQLite file: one writer thread and a few reader threads.

// Queued writes share a commit: up to [`MAX_JOBS`] jobs run in one transaction, each in its own savepoint, and all are
// answered after the commit. So a hundred callers wait for one disk sync instead of a hundred, and a job that fails or
// panics affects no other.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::StoreError;
use crate::change_log::Wake;
use crate::connection::{self, Tx};
use crate::engine::counter::Counter;
use crate::migrations;

mod integrity;

use integrity::Integrity;

/// Number of reader threads.
const READERS: usize = 4;
/// Jobs that share a commit.
const MAX_JOBS: usize = 64;
/// Parameter bytes after which a transaction takes no further job.
const MAX_BYTES: usize = 4 << 20;
/// Queue length for the writer and for the readers.
// Further callers wait before they enter the queue.
const MAX_WAITING: usize = 1024;
/// Time that another process may lock the file before the database counts as unavailable.
pub(crate) const BUSY_TIME: Duration = Duration::from_secs(5);
/// Time to wait for readers before emptying the write-ahead log.
const LOG_TIME: Duration = Duration::from_secs(1);
/// Prepared statements per connection: slightly more than the store has.
const STATEMENTS: usize = 200;

/// The threads of an open file.
pub(crate) struct Sqlite {
    writer: Queue<WriteJob>,
    readers: Queue<ReadJob>,
    file: Arc<OpenedFile>,
}

/// A job for the writer.
// It gets an error if there is no connection.
type WriteJob = Box<dyn FnOnce(Result<&mut Connection, &StoreError>) -> Done + Send>;
type ReadJob = Box<dyn FnOnce(Result<&mut Connection, &StoreError>) + Send>;

/// A finished job whose transaction is still open.
struct Done {
    /// False if the job's writes are rolled back.
    keep: bool,
    wakes: Vec<Wake>,
    bytes: usize,
    error: Option<StoreError>,
    /// Sends the result to the caller, once the outcome of the transaction is known.
    answer: JobAnswer,
}

type JobAnswer = Box<dyn FnOnce(Result<(), &StoreError>)>;

impl Sqlite {
    /// Opens a file and brings its schema up to date.
    // A missing file is created.
    pub(crate) async fn open(path: &Path, wakes: broadcast::Sender<Wake>) -> Result<Self, StoreError> {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || Self::open_now(path, wakes))
            .await
            .map_err(StoreError::unavailable)?
    }

    fn open_now(path: PathBuf, wakes: broadcast::Sender<Wake>) -> Result<Self, StoreError> {
        make_private_file(&path)?;
        let mut connection = connect(&path, OpenFlags::empty())?;
        migrate(&mut connection)?;
        // From here on the file must exist. If it was moved away, a connection that is opened later must not create an
        // empty one and use it with the old file's write-ahead log.
        let file = Arc::new(OpenedFile::remember(path));
        file.integrity.watch(file.path.clone());
        let (writer, jobs, running) = Queue::new();
        let thread = Writer { file: file.clone(), connection: Some(connection), jobs, wakes };
        spawn("store-writer", running, move || thread.run())?;
        let (readers, jobs, running) = Queue::new();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..READERS {
            let thread = Reader {
                file: file.clone(),
                connection: Some(connect_reader(&file.path)?),
                jobs: jobs.clone(),
            };
            spawn("store-reader", running.clone(), move || thread.run())?;
        }
        Ok(Self { writer, readers, file })
    }

    /// Runs a change in a transaction and returns after its commit. An error leaves no trace.
    ///
    /// The change happens even if the caller stops waiting.
    pub(crate) async fn write<T, F>(&self, counter: Arc<Counter>, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (sender, answered) = oneshot::channel();
        let job: WriteJob = Box::new(move |connection| {
            let (outcome, left) = run_job(connection, change, &counter);
            Done {
                keep: outcome.is_ok() && !left.discarded,
                wakes: left.wakes,
                bytes: left.bytes,
                error: outcome.as_ref().err().map(StoreError::clone_for_batch),
                answer: Box::new(move |committed| {
                    // An error waits for the commit too, because it may refer to data that the same transaction has
                    // written.
                    let _ = sender.send(committed.map_err(StoreError::clone_for_batch).and(outcome));
                }),
            }
        });
        self.writer.send(job).await?;
        answered.await.map_err(|_| closed())?
    }

    /// Runs a job whose reads all see the same state.
    pub(crate) async fn read<T, F>(&self, counter: Arc<Counter>, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (sender, answered) = oneshot::channel();
        let job: ReadJob = Box::new(move |connection| {
            // A caller that stopped waiting needs no result, and a read has no other effect.
            if !sender.is_closed() {
                let _ = sender.send(run_job(connection, job, &counter).0);
            }
        });
        self.readers.send(job).await?;
        answered.await.map_err(|_| closed())?
    }

    /// Moves the write-ahead log into the file and truncates it, so that neither contains overwritten pages.
    // Waits briefly for readers.
    pub(crate) async fn empty_log(&self) -> Result<(), StoreError> {
        let file = Arc::clone(&self.file);
        let emptied = tokio::task::spawn_blocking(move || {
            file.check()?;
            let connection = connect(&file.path, OpenFlags::empty())?;
            connection.busy_timeout(LOG_TIME)?;
            let busy = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
            match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], busy)? {
                0 => Ok(()),
                _ => Err(StoreError::unavailable("the write-ahead log is being read")),
            }
        });
        emptied.await.map_err(StoreError::unavailable)?
    }

    /// Checks that the path still refers to the opened file and that it can be read.
    // Runs on a reader thread, because a slow disk may block.
    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        let (sender, answered) = oneshot::channel();
        let file = Arc::clone(&self.file);
        let job: ReadJob = Box::new(move |connection| {
            let reads = connection.map_err(StoreError::clone_for_batch).and_then(|connection| {
                file.check()?;
                connection.query_row("SELECT 1", [], |_| Ok(())).map_err(StoreError::from)
            });
            let _ = sender.send(reads);
        });
        self.readers.send(job).await?;
        answered.await.map_err(|_| closed())?
    }

    /// Ends the threads after they finish queued jobs.
    // The writer ends last, because the last connection to close removes the write-ahead log.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Runs a job to completion.
// On SQLite a job never has to wait, so polling it once is enough; one that is still pending has a bug.
fn run_job<T, F>(
    connection: Result<&mut Connection, &StoreError>,
    job: F,
    counter: &Counter,
) -> (Result<T, StoreError>, connection::JobOutcome)
where
    F: AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
{
    let connection = match connection {
        Ok(connection) => connection,
        Err(error) => return (Err(error.clone_for_batch()), connection::JobOutcome::default()),
    };
    let mut tx = Tx::new(connection::DriverConnection::Sqlite(connection), None);
    let outcome = catch_unwind(AssertUnwindSafe(|| job(&mut tx).now_or_never()));
    let left = tx.into_outcome();
    counter.count(left.statements);
    let outcome = match outcome {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Err(StoreError::database("a job of the store waited for something else")),
        Err(_) => Err(StoreError::database("a job of the store panicked")),
    };
    (outcome, left)
}

fn closed() -> StoreError {
    StoreError::unavailable("it was closed")
}

/// A queue of jobs for threads.
struct Queue<J> {
    jobs: Mutex<Option<mpsc::Sender<J>>>,
    /// Each thread holds a sender, on which nothing is sent: the channel closes when all threads have ended.
    ended: tokio::sync::Mutex<mpsc::Receiver<()>>,
}

impl<J> Queue<J> {
    fn new() -> (Self, mpsc::Receiver<J>, mpsc::Sender<()>) {
        let (sender, jobs) = mpsc::channel(MAX_WAITING);
        let (running, ended) = mpsc::channel(1);
        (Self { jobs: Mutex::new(Some(sender)), ended: tokio::sync::Mutex::new(ended) }, jobs, running)
    }

    async fn send(&self, job: J) -> Result<(), StoreError> {
        let sender = self.jobs.lock().clone().ok_or_else(closed)?;
        sender.send(job).await.map_err(|_| closed())
    }

    async fn close(&self) {
        drop(self.jobs.lock().take());
        self.ended.lock().await.recv().await;
    }
}

fn spawn(
    name: &str,
    running: mpsc::Sender<()>,
    run: impl FnOnce() + Send + 'static,
) -> Result<(), StoreError> {
    let run = move || {
        run();
        drop(running);
    };
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map(drop).map_err(StoreError::unavailable)
}

struct Writer {
    file: Arc<OpenedFile>,
    /// `None` after a transaction was lost, until the next one needs a connection.
    connection: Option<Connection>,
    jobs: mpsc::Receiver<WriteJob>,
    wakes: broadcast::Sender<Wake>,
}

impl Writer {
    fn run(mut self) {
        let mut arrived = Vec::new();
        while self.jobs.blocking_recv_many(&mut arrived, MAX_JOBS) > 0 {
            // One batch may leave jobs behind, because it also ends at MAX_BYTES.
            let mut waiting = VecDeque::from(std::mem::take(&mut arrived));
            while !waiting.is_empty() {
                self.batch(&mut waiting);
            }
            arrived = waiting.into();
        }
    }

    /// Runs queued jobs in one transaction and answers them.
    fn batch(&mut self, waiting: &mut VecDeque<WriteJob>) {
        let mut done = Vec::with_capacity(waiting.len());
        let committed = self.transaction(waiting, &mut done);
        if let Err(error) = &committed {
            done.extend(waiting.drain(..).map(|job| job(Err(error))));
        }
        if committed.is_ok() {
            for wake in done.iter_mut().filter(|done| done.keep).flat_map(|done| done.wakes.drain(..)) {
                // Having no receiver is fine: the log is there for later ones.
                let _ = self.wakes.send(wake);
            }
        }
        for done in done {
            (done.answer)(committed.as_ref().copied());
        }
    }

    fn transaction(
        &mut self,
        waiting: &mut VecDeque<WriteJob>,
        done: &mut Vec<Done>,
    ) -> Result<(), StoreError> {
        self.file.check()?;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(&self.file.path, OpenFlags::empty())?,
        };
        if let Err(error) = execute(&connection, "BEGIN IMMEDIATE") {
            self.connection = Some(connection);
            return Err(error);
        }
        let committed = run_all(&mut connection, waiting, done);
        if committed.is_ok() {
            self.connection = Some(connection);
        }
        // A connection that lost its transaction is closed: on a full disk or a failed write, SQLite may have ended the
        // transaction on its own, and later statements would be committed individually.
        committed
    }
}

/// Runs jobs in the open transaction and commits it.
fn run_all(
    connection: &mut Connection,
    waiting: &mut VecDeque<WriteJob>,
    done: &mut Vec<Done>,
) -> Result<(), StoreError> {
    let mut bytes = 0;
    while bytes < MAX_BYTES
        && let Some(job) = waiting.pop_front()
    {
        // Each job can be rolled back alone, so one that fails does not undo its neighbors.
        execute(connection, "SAVEPOINT job")?;
        let mut finished = job(Ok(connection));
        let keep = finished.keep;
        let error = finished.error.take();
        bytes += finished.bytes;
        done.push(finished);
        // SQLite has ended the transaction on its own, for example because the disk is full. All jobs in it are lost.
        if connection.is_autocommit() {
            return Err(error.unwrap_or_else(|| StoreError::database("it ended a transaction by itself")));
        }
        if !keep {
            execute(connection, "ROLLBACK TO job")?;
        }
        execute(connection, "RELEASE job")?;
    }
    execute(connection, "COMMIT")
}

struct Reader {
    file: Arc<OpenedFile>,
    connection: Option<Connection>,
    jobs: Arc<Mutex<mpsc::Receiver<ReadJob>>>,
}

impl Reader {
    fn run(mut self) {
        loop {
            // Only one reader waits in the channel at a time; the others wait for the lock, which is released as soon
            // as a job arrives.
            let job = self.jobs.lock().blocking_recv();
            let Some(job) = job else { return };
            self.read(job);
        }
    }

    fn read(&mut self, job: ReadJob) {
        let connection = match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.file.check().and_then(|()| connect_reader(&self.file.path)),
        };
        let begun = connection.and_then(|connection| execute(&connection, "BEGIN").map(|()| connection));
        match begun {
            Ok(mut connection) => {
                job(Ok(&mut connection));
                if execute(&connection, "COMMIT").is_ok() {
                    self.connection = Some(connection);
                }
            }
            Err(error) => job(Err(&error)),
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Creates a missing file that only this user can read, whatever the umask.
// SQLite gives its auxiliary files the same mode.
pub(crate) fn make_private_file(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let made = options.open(path);
    #[cfg(unix)]
    let made = made.and_then(|file| {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600)).map(|()| file)
    });
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(StoreError::unavailable(error))
        }
        _ => Ok(()),
    }
}

pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIME)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Readers continue while the writer commits.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // An acknowledged write must survive a power failure; with WAL the default does not sync each commit.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // SQLite checks foreign keys only on request, for each connection.
    connection.pragma_update(None, "foreign_keys", true)?;
    // Overwrites deleted content with zeros instead of only unlinking it.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

fn connect_reader(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path, OpenFlags::empty())?;
    // A job that writes on a reader connection would bypass the writer thread, so it fails instead.
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Runs the migrations in one transaction.
fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    execute(connection, "BEGIN IMMEDIATE")?;
    let job = async |tx: &mut Tx<'_>| migrations::migrate(tx).await;
    let (migrated, _) = run_job(Ok(&mut *connection), job, &Counter::default());
    execute(connection, if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    migrated
}

/// The file that was opened, to notice when its path leads to another file or to none.
struct OpenedFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    integrity: Arc<Integrity>,
}

impl OpenedFile {
    fn remember(path: PathBuf) -> Self {
        Self { identity: identity(&path), path, integrity: Arc::default() }
    }

    /// Rejects writes to a file that was moved, deleted or damaged, because they would be lost.
    fn check(&self) -> Result<(), StoreError> {
        self.integrity.check()?;
        if identity(&self.path) == self.identity {
            return Ok(());
        }
        Err(StoreError::unavailable(format!(
            "{} was moved, replaced or deleted while it was open; put it back, or restart the gateway",
            self.path.display()
        )))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests;
