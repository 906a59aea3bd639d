//! Databases that fail or are full: clear errors, nothing half-written, and normal operation afterwards.

use std::path::{Path, PathBuf};
use std::process::Command;

use protocol::Version;
use protocol::method::WorkspaceCreateParams;
use store::{Database, Scope, Store, StoreError, Wake};
use test_postgres::{Options, test_cluster};

use crate::engine::wakes::heard;
use crate::fixture::{Engine, assert_unavailable, run};
use crate::params::text;

// SQLite continues to write to the open file descriptor. Those writes would be acknowledged and lost.
#[test]
fn a_moved_sqlite_file_is_not_written() {
    run(Engine::Sqlite, async |given| {
        let Database::Sqlite(path) = &given.database else { unreachable!() };
        given.save(&given.root(), "before").await;
        let away = path.with_extension("away");
        std::fs::rename(path, &away).unwrap();
        assert_unavailable(given.store.save_document(text(&given.root(), "lost"), None).await);
        assert_unavailable(given.store.create_folder(&given.workspace, None, "lost", None).await);
        assert_unavailable(given.store.ping().await);
        std::fs::rename(&away, path).unwrap();
        given.store.ping().await.unwrap();
        assert_eq!(given.save(&given.root(), "after").await.version, Version(2));
    });
}

// What is saved into a damaged file may be lost, and what is read of it may be wrong.
#[test]
fn a_damaged_sqlite_file_is_read_but_not_written_to() {
    use std::os::unix::fs::FileExt as _;
    run(Engine::Sqlite, async |given| {
        let Database::Sqlite(path) = &given.database else { unreachable!() };
        for number in 0..60 {
            given.save(&given.root(), &format!("{number}{}", "x".repeat(20_000))).await;
        }
        given.store.close().await;
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let pages = file.metadata().unwrap().len() / 4096;
        // The pages of the texts, far behind those of the schema.
        for page in (pages / 2..pages).step_by(3) {
            file.write_all_at(&[0xAB; 4096], page * 4096).unwrap();
        }
        let store = Store::open(&given.database).await.unwrap();
        let refused = store.save_document(text(&given.root(), "lost"), None).await;
        assert!(refused.as_ref().unwrap_err().to_string().contains("is damaged"), "{refused:?}");
        assert_unavailable(refused);
        assert_unavailable(store.ping().await);
        assert!(store.sequence(&given.workspace).await.is_ok());
        store.close().await;
    });
}

// The write-ahead log of the old file would be applied to the new one and damage it.
#[test]
fn a_sqlite_file_that_was_replaced_is_not_written_to() {
    run(Engine::Sqlite, async |given| {
        let Database::Sqlite(path) = &given.database else { unreachable!() };
        let away = path.with_extension("away");
        std::fs::rename(path, &away).unwrap();
        std::fs::copy(&away, path).unwrap();
        assert_unavailable(given.store.save_document(text(&given.root(), "lost"), None).await);
    });
}

// A reader that connects again must not create an empty database at the old path.
#[test]
fn reading_while_a_sqlite_file_is_away_does_no_harm() {
    run(Engine::Sqlite, async |given| {
        let Database::Sqlite(path) = &given.database else { unreachable!() };
        let document = given.save(&given.root(), "text").await;
        let away = path.with_extension("away");
        std::fs::rename(path, &away).unwrap();
        // More concurrent requests than open connections, so that the store must open some while the server is down.
        let mut reads = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let store = given.store.clone();
            let root = given.root();
            reads.spawn(async move { store.document(&root).await });
        }
        for read in reads.join_all().await {
            match read {
                Ok((read, _)) => assert_eq!(read.as_ref(), Some(&document)),
                error => assert_unavailable(error),
            }
        }
        assert!(!path.exists());
        std::fs::rename(&away, path).unwrap();
        for _ in 0..20 {
            assert_eq!(given.document(&given.root()).await.as_ref(), Some(&document));
        }
    });
}

#[test]
fn a_sqlite_file_that_another_process_keeps_locked_is_unavailable() {
    run(Engine::Sqlite, async |given| {
        let other = given.connection().await;
        other.execute("BEGIN; UPDATE workspace SET name = 'locked'").await.unwrap();
        assert_unavailable(given.store.save_document(text(&given.root(), "text"), None).await);
        assert_eq!(given.document(&given.root()).await, None);
        other.execute("ROLLBACK").await.unwrap();
        assert_eq!(given.save(&given.root(), "text").await.version, Version(1));
        other.close().await;
    });
}

// A wrong path in the configuration must not destroy the file that it names.
#[test]
fn a_file_that_is_no_database_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreword.db");
    let content = "this is no database, but it may be something that somebody needs\n".repeat(100);
    std::fs::write(&path, &content).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let opened = runtime.block_on(Store::open(&Database::Sqlite(path.clone())));
    assert!(matches!(opened.err(), Some(StoreError::Database(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
}

/// A file system of a few megabytes, unmounted with the value.
struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts a disk.
    // `None` if mounting is not allowed.
    fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(directory.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self { directory })
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Takes all remaining space.
    fn fill(&self) -> PathBuf {
        let filler = self.path().join("filler");
        let mut file = std::fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &[b'x'; 4096]).is_ok() {}
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

// On a full disk SQLite may roll back a whole transaction on its own, including jobs that had succeeded.
#[test]
fn a_full_disk_loses_nothing_that_sqlite_acknowledged() {
    use std::io::Write as _;
    let Some(disk) = SmallDisk::mount("4m") else {
        let _ = writeln!(std::io::stderr(), "mounting is not allowed here: skipping the test of a full disk");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&Database::Sqlite(disk.path().join("foreword.db"))).await.unwrap();
        let new = WorkspaceCreateParams { name: "main".to_owned(), ..WorkspaceCreateParams::default() };
        let root = Scope::root(store.create_workspace(new, None).await.unwrap().id);
        store.save_document(text(&root, "before"), None).await.unwrap();
        let filler = disk.fill();
        let mut acknowledged = vec!["before".to_owned()];
        let error = loop {
            let content = format!("{} {}", acknowledged.len(), "x".repeat(60_000));
            match store.save_document(text(&root, &content), None).await {
                Ok(_) => acknowledged.push(content),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::DiskFull), "{error:?}");
        assert_state(&store, &root, &acknowledged).await;
        std::fs::remove_file(filler).unwrap();
        store.save_document(text(&root, "after"), None).await.unwrap();
        acknowledged.push("after".to_owned());
        assert_state(&store, &root, &acknowledged).await;
        store.close().await;
    });
}

// Saves that share a commit are each either acknowledged and stored, or neither.
#[test]
fn a_full_disk_loses_no_acknowledged_write() {
    use std::io::Write as _;
    let Some(disk) = SmallDisk::mount("6m") else {
        let _ = writeln!(std::io::stderr(), "mounting is not allowed here: skipping the test of a full disk");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&Database::Sqlite(disk.path().join("foreword.db"))).await.unwrap();
        let new = WorkspaceCreateParams { name: "main".to_owned(), ..WorkspaceCreateParams::default() };
        let workspace = store.create_workspace(new, None).await.unwrap().id;
        let mut scopes = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let folder = store.create_folder(&workspace, None, name, None).await.unwrap();
            scopes.push(Scope::folder(workspace.clone(), folder.id));
        }
        let filler = disk.fill();
        let mut acknowledged = vec![0; scopes.len()];
        let mut refused = 0;
        while refused == 0 {
            let mut saves = tokio::task::JoinSet::new();
            for (author, scope) in scopes.iter().enumerate() {
                let store = store.clone();
                let save = text(scope, &format!("{} {}", acknowledged[author], "x".repeat(30_000)));
                saves.spawn(async move { (author, store.save_document(save, None).await) });
            }
            for (author, saved) in saves.join_all().await {
                match saved {
                    Ok(_) => acknowledged[author] += 1,
                    Err(StoreError::DiskFull) => refused += 1,
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
        for (scope, saves) in scopes.iter().zip(&acknowledged) {
            let history = store.history(scope, 500, None).await.unwrap();
            assert_eq!(history.len(), *saves);
        }
        std::fs::remove_file(filler).unwrap();
        for scope in &scopes {
            store.save_document(text(scope, "after"), None).await.unwrap();
        }
        let seq = store.sequence(&workspace).await.unwrap().0;
        // For each scope: its folder, the appearance of its document, and the later save.
        assert_eq!(seq, 1 + (3 * scopes.len() + acknowledged.iter().sum::<usize>()) as u64);
        store.close().await;
    });
}

/// Checks that a scope has had exactly these texts, and that its workspace's log has exactly these saves.
async fn assert_state(store: &Store, root: &Scope, texts: &[String]) {
    let document = store.document(root).await.unwrap().0.unwrap();
    assert_eq!(document.content, *texts.last().unwrap());
    let history = store.history(root, 500, None).await.unwrap();
    assert_eq!(history.len(), texts.len());
    let seq = store.sequence(&root.workspace_id).await.unwrap();
    // And the creation of the workspace, and the appearance of its document.
    assert_eq!(seq.0, u64::try_from(texts.len()).unwrap() + 2);
}

// Servers are restarted for updates, and gateways must not have to be restarted with them.
#[test]
fn postgres_restarts_need_no_reopening() {
    let Some(cluster) = test_cluster(Options::default()) else { return };
    let database = Database::Postgres(cluster.create_database().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&database).await.unwrap();
        let another = Store::open(&database).await.unwrap();
        let new = WorkspaceCreateParams { name: "main".to_owned(), ..WorkspaceCreateParams::default() };
        let root = Scope::root(store.create_workspace(new, None).await.unwrap().id);
        store.save_document(text(&root, "before"), None).await.unwrap();
        let mut wakes = another.wakes();

        cluster.stop().unwrap();
        let (saved, read, answered, opened) = tokio::join!(
            store.save_document(text(&root, "lost"), None),
            store.document(&root),
            store.ping(),
            Store::open(&database),
        );
        assert_unavailable(saved);
        assert_unavailable(read);
        assert_unavailable(answered);
        assert_unavailable(opened);

        cluster.start_again().unwrap();
        let saved = store.save_document(text(&root, "after"), None).await.unwrap();
        assert_eq!(saved.version, Version(2));
        heard(&mut wakes, &Wake::Everything).await;
        store.save_document(text(&root, "later"), None).await.unwrap();
        heard(&mut wakes, &Wake::Workspace(root.workspace_id.clone())).await;
        store.close().await;
        another.close().await;
    });
}
