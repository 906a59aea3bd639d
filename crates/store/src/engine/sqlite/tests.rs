//! Behavior of the threads: jobs that fail, panic or block among others that do not.

use std::sync::Barrier;

use tokio::task::JoinHandle;

use super::*;
use crate::column::values;

struct Given {
    sqlite: Arc<Sqlite>,
    wakes: broadcast::Receiver<Wake>,
    directory: tempfile::TempDir,
}

/// Runs a test with a table of numbers.
fn run(test: impl AsyncFnOnce(&mut Given)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let (sender, wakes) = broadcast::channel(100);
        let sqlite = Arc::new(Sqlite::open(&directory.path().join("foreword.db"), sender).await.unwrap());
        let mut given = Given { sqlite, wakes, directory };
        given
            .write(async |tx: &mut Tx<'_>| tx.script("CREATE TABLE number (n BIGINT)").await)
            .await
            .unwrap()
            .unwrap();
        test(&mut given).await;
        given.sqlite.close().await;
    });
}

impl Given {
    fn write<T: Send + 'static>(
        &self,
        change: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> JoinHandle<Result<T, StoreError>> {
        let sqlite = self.sqlite.clone();
        let (sender, answered) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _ = sender.send(runtime.block_on(sqlite.write(Arc::default(), change)));
        });
        tokio::spawn(async { answered.await.unwrap() })
    }

    /// Inserts a number and sends a wake.
    fn insert(&self, number: i64) -> JoinHandle<Result<u64, StoreError>> {
        self.write(async move |tx: &mut Tx<'_>| {
            tx.wake(Wake::Tokens);
            tx.execute("INSERT INTO number VALUES ($1)", values![number]).await
        })
    }

    /// Keeps the writer busy until [`Held::release`], so that later jobs share one transaction.
    async fn hold_writer(&self) -> Held {
        let barrier = Arc::new(Barrier::new(2));
        let held = barrier.clone();
        let job = self.write(async move |_: &mut Tx<'_>| {
            held.wait();
            held.wait();
            Ok(())
        });
        let reached = barrier.clone();
        tokio::task::spawn_blocking(move || reached.wait()).await.unwrap();
        Held { barrier, job }
    }

    /// Waits until that many jobs are queued for the writer.
    async fn waiting(&self, jobs: usize) {
        loop {
            let sender = self.sqlite.writer.jobs.lock().clone().unwrap();
            if sender.max_capacity() - sender.capacity() == jobs {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn numbers(&self) -> Vec<i64> {
        let select = async |tx: &mut Tx<'_>| {
            tx.all("SELECT n FROM number ORDER BY n", &[], |mut row| row.next()).await
        };
        self.sqlite.read(Arc::default(), select).await.unwrap()
    }

    fn wakes(&mut self) -> usize {
        std::iter::from_fn(|| self.wakes.try_recv().ok()).count()
    }
}

struct Held {
    barrier: Arc<Barrier>,
    job: JoinHandle<Result<(), StoreError>>,
}

impl Held {
    async fn release(self) {
        self.barrier.wait();
        self.job.await.unwrap().unwrap();
    }
}

#[test]
fn a_job_that_fails_harms_no_other_of_its_transaction() {
    run(async |given| {
        let held = given.hold_writer().await;
        let first = given.insert(1);
        given.waiting(1).await;
        let failing = given.write(async |tx: &mut Tx<'_>| {
            tx.wake(Wake::Everything);
            tx.execute("INSERT INTO number VALUES (2)", &[]).await?;
            tx.execute("INSERT INTO nowhere VALUES (2)", &[]).await
        });
        given.waiting(2).await;
        let last = given.insert(3);
        given.waiting(3).await;
        held.release().await;
        assert_eq!(first.await.unwrap().unwrap(), 1);
        let error = failing.await.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Database(_)), "{error:?}");
        assert!(error.to_string().contains("nowhere"), "{error}");
        assert_eq!(last.await.unwrap().unwrap(), 1);
        assert_eq!((given.numbers().await, given.wakes()), (vec![1, 3], 2));
    });
}

// The panic must neither end the writer thread nor roll back the neighbors.
#[test]
fn a_job_that_panics_harms_no_other_of_its_transaction() {
    run(async |given| {
        let held = given.hold_writer().await;
        let first = given.insert(1);
        given.waiting(1).await;
        let panicking = given.write(async |tx: &mut Tx<'_>| -> Result<(), StoreError> {
            tx.execute("INSERT INTO number VALUES (2)", &[]).await?;
            panic!("a job of a test");
        });
        given.waiting(2).await;
        let last = given.insert(3);
        given.waiting(3).await;
        held.release().await;
        first.await.unwrap().unwrap();
        assert!(matches!(panicking.await.unwrap(), Err(StoreError::Database(_))));
        last.await.unwrap().unwrap();
        assert_eq!(given.numbers().await, [1, 3]);
    });
}

// A job that really waited would block the writer thread, and every other writer with it.
#[test]
fn a_job_that_waits_for_something_else_is_refused() {
    run(async |given| {
        let waiting = given.write(async |tx: &mut Tx<'_>| -> Result<(), StoreError> {
            tx.execute("INSERT INTO number VALUES (2)", &[]).await?;
            std::future::pending().await
        });
        assert!(matches!(waiting.await.unwrap(), Err(StoreError::Database(_))));
        given.insert(3).await.unwrap().unwrap();
        assert_eq!(given.numbers().await, [3]);
    });
}

#[test]
fn a_discarded_job_leaves_no_trace() {
    run(async |given| {
        let discarded = given.write(async |tx: &mut Tx<'_>| {
            tx.wake(Wake::Tokens);
            tx.discard();
            tx.execute("INSERT INTO number VALUES (1)", &[]).await
        });
        assert_eq!(discarded.await.unwrap().unwrap(), 1);
        assert_eq!((given.numbers().await, given.wakes()), (vec![], 0));
    });
}

// A full disk has this effect: SQLite may end a transaction on its own.
#[test]
fn a_lost_transaction_fails_only_its_jobs() {
    run(async |given| {
        let held = given.hold_writer().await;
        let first = given.insert(1);
        given.waiting(1).await;
        let ending = given.write(async |tx: &mut Tx<'_>| {
            tx.script("ROLLBACK").await?;
            Err::<(), _>(StoreError::DiskFull)
        });
        given.waiting(2).await;
        let last = given.insert(3);
        given.waiting(3).await;
        held.barrier.wait();
        // The job that held the writer ran alone in its transaction.
        held.job.await.unwrap().unwrap();
        assert!(matches!(first.await.unwrap(), Err(StoreError::DiskFull)));
        assert!(matches!(ending.await.unwrap(), Err(StoreError::DiskFull)));
        assert!(matches!(last.await.unwrap(), Err(StoreError::DiskFull)));
        assert_eq!((given.numbers().await, given.wakes()), (vec![], 0));
        given.insert(4).await.unwrap().unwrap();
        assert_eq!(given.numbers().await, [4]);
    });
}

#[test]
fn waiting_jobs_share_transactions_of_a_bounded_number_of_bytes() {
    run(async |given| {
        given
            .write(async |tx: &mut Tx<'_>| tx.script("CREATE TABLE text (t TEXT)").await)
            .await
            .unwrap()
            .unwrap();
        let held = given.hold_writer().await;
        let text: Arc<str> = "x".repeat(MAX_BYTES / 2 + 1).into();
        let path = given.directory.path().join("foreword.db");
        let jobs: Vec<_> = (0..5)
            .map(|_| {
                let text = text.clone();
                let path = path.clone();
                given.write(async move |tx: &mut Tx<'_>| {
                    tx.execute("INSERT INTO text VALUES ($1)", values![&*text]).await?;
                    // A second connection sees only what was committed before this transaction.
                    let beside = Connection::open(path)?;
                    let count = "SELECT count(*) FROM text";
                    Ok(beside.query_row(count, [], |row| row.get::<_, i64>(0))?)
                })
            })
            .collect();
        given.waiting(5).await;
        held.release().await;
        let mut committed_before = Vec::new();
        for job in jobs {
            committed_before.push(job.await.unwrap().unwrap());
        }
        committed_before.sort_unstable();
        assert_eq!(committed_before, [0, 0, 2, 2, 4], "two jobs are as much as a transaction takes");
    });
}

// A client may disconnect after its write was queued. Its outcome must not depend on that moment.
#[test]
fn a_change_happens_even_if_its_caller_is_gone() {
    run(async |given| {
        let held = given.hold_writer().await;
        let sqlite = given.sqlite.clone();
        let change = tokio::spawn(async move {
            let insert = async |tx: &mut Tx<'_>| tx.execute("INSERT INTO number VALUES (1)", &[]).await;
            sqlite.write(Arc::default(), insert).await
        });
        given.waiting(1).await;
        change.abort();
        assert!(change.await.unwrap_err().is_cancelled());
        held.release().await;
        given.insert(2).await.unwrap().unwrap();
        assert_eq!(given.numbers().await, [1, 2]);
    });
}

// There are only a few reader threads. Losing one for each panic would soon stop all reads.
#[test]
fn a_reader_writes_nothing_and_survives_a_panic() {
    run(async |given| {
        let insert = async |tx: &mut Tx<'_>| tx.execute("INSERT INTO number VALUES (1)", &[]).await;
        assert!(given.sqlite.read(Arc::default(), insert).await.is_err());
        for _ in 0..READERS * 2 {
            let panics = async |_: &mut Tx<'_>| -> Result<(), StoreError> { panic!("a job of a test") };
            assert!(given.sqlite.read(Arc::default(), panics).await.is_err());
        }
        assert_eq!(given.numbers().await, [0; 0]);
    });
}

// A gateway that shuts down must not drop writes that it has accepted.
#[test]
fn queued_jobs_finish_before_the_file_is_closed() {
    run(async |given| {
        let held = given.hold_writer().await;
        let last = given.insert(1);
        given.waiting(1).await;
        let sqlite = given.sqlite.clone();
        let closing = tokio::spawn(async move { sqlite.close().await });
        held.release().await;
        last.await.unwrap().unwrap();
        closing.await.unwrap();
        assert!(matches!(given.insert(2).await.unwrap(), Err(StoreError::Unavailable(_))));
        let beside = given.directory.path().read_dir().unwrap().count();
        assert_eq!(beside, 1);
    });
}
