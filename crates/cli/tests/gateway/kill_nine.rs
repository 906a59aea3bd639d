//! A gateway, or its database, that is killed in the middle of saves loses nothing that it has acknowledged.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::{Client, ClientError};
use protocol::method::{WorkspaceCreate, WorkspaceCreateParams};
use protocol::notification::{DocumentChanged, Notification as _};
use protocol::{FolderId, Version, WorkspaceId};
use test_postgres::{Options, test_cluster, test_database};
use tokio::task::JoinHandle;

use crate::support::{Machine, PATIENCE, all_events, all_revisions, finish, folder, save};

const CLIENTS: usize = 6;
// Several rounds, because a kill rarely hits the same moment twice and each recovery must also survive the
// next kill.
const ROUNDS: usize = 4;
/// Saves that are acknowledged before something is killed.
const SAVES: usize = 60;

/// Scopes to save in; several clients share a document.
struct Work {
    workspace_id: WorkspaceId,
    folders: Vec<FolderId>,
}

#[derive(Default)]
struct Record {
    /// Everything that was sent, acknowledged or not.
    sent: BTreeSet<String>,
    /// Saves that the gateway confirmed.
    acknowledged: BTreeMap<(FolderId, Version), String>,
}

/// Clients that save without a pause until their gateway is gone.
struct Clients {
    saved: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<Record>>,
}

impl Clients {
    async fn start(machine: &Machine, work: &Work, round: usize) -> Self {
        let saved = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for number in 0..CLIENTS {
            let client = machine.client().await;
            let workspace_id = work.workspace_id.clone();
            let folder_id = work.folders[number % work.folders.len()].clone();
            let name = format!("round {round}, client {number}");
            tasks.push(tokio::spawn(keep_saving(client, workspace_id, folder_id, name, Arc::clone(&saved))));
        }
        Self { saved, tasks }
    }

    /// Waits until so many more saves are acknowledged.
    async fn save(&self, more: usize) {
        let begun = Instant::now();
        let enough = self.saved.load(Ordering::Relaxed) + more;
        while self.saved.load(Ordering::Relaxed) < enough {
            assert!(begun.elapsed() < PATIENCE, "the clients cannot save");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until all have noticed that their gateway is gone.
    async fn end(self, record: &mut Record) {
        for task in self.tasks {
            let one = tokio::time::timeout(PATIENCE, task).await.expect("clients end").unwrap();
            // Each client must have had a save in progress. Otherwise the kill hit an idle gateway and the
            // round proves nothing.
            assert!(one.sent.len() > one.acknowledged.len(), "nothing was under way");
            record.sent.extend(one.sent);
            for (place, text) in one.acknowledged {
                let before = record.acknowledged.insert(place.clone(), text);
                assert_eq!(before, None, "{place:?} was given twice");
            }
        }
    }
}

async fn keep_saving(
    client: Client,
    workspace_id: WorkspaceId,
    folder_id: FolderId,
    name: String,
    saved: Arc<AtomicUsize>,
) -> Record {
    let mut record = Record::default();
    for number in 0.. {
        // Unique texts identify every save afterwards. Two kilobytes each make a write span more than one
        // page of the database.
        let text = format!("{name}, save {number}\n{}", "x".repeat(2000));
        // Recorded before the call: a save whose answer is lost may be in the database or not, and both are
        // correct.
        record.sent.insert(text.clone());
        match save(&client, &workspace_id, &folder_id, &text).await {
            Ok(version) => {
                record.acknowledged.insert((folder_id.clone(), version), text);
                saved.fetch_add(1, Ordering::Relaxed);
            }
            Err(ClientError::Lost) => break,
            // The database is away, the gateway is not.
            Err(error) if error.is_transient() => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("{error}"),
        }
    }
    record
}

impl Work {
    async fn prepare(machine: &Machine) -> Self {
        let client = machine.client().await;
        let params = WorkspaceCreateParams { name: "demo".to_owned(), root_path: None, agents: None };
        let workspace_id = client.call::<WorkspaceCreate>(&params).await.unwrap().workspace.id;
        let mut folders = Vec::new();
        for name in ["first", "second"] {
            folders.push(folder(&client, &workspace_id, name).await);
        }
        Self { workspace_id, folders }
    }

    /// Everything acknowledged is there, everything there was sent, and nothing is missing in between. Answers with
    /// the number of saves that are there.
    async fn check(&self, machine: &Machine, record: &Record) -> usize {
        let mut client = machine.client().await;
        let mut seen = BTreeSet::new();
        for folder_id in &self.folders {
            let texts = all_revisions(&client, &self.workspace_id, folder_id).await;
            for (version, text) in (1..).map(Version).zip(texts) {
                assert!(record.sent.contains(&text), "nobody sent what version {version} has");
                if let Some(acknowledged) = record.acknowledged.get(&(folder_id.clone(), version)) {
                    assert_eq!(&text, acknowledged, "version {version}");
                }
                assert!(seen.insert(text), "version {version} was saved twice");
            }
        }
        let lost = record.acknowledged.values().find(|text| !seen.contains(*text));
        assert_eq!(lost, None, "acknowledged and lost");
        let events = all_events(&mut client, &self.workspace_id).await;
        let saves = events.iter().filter(|(method, _)| method == DocumentChanged::NAME).count();
        assert_eq!(saves, seen.len(), "each save has its event");
        saves
    }
}

/// Kills a gateway again and again in the middle of saves.
async fn kill_gateways(machine: &Machine, flags: &str) {
    let mut server = machine.serve_with(flags);
    let work = Work::prepare(machine).await;
    let mut record = Record::default();
    for round in 0..ROUNDS {
        let clients = Clients::start(machine, &work, round).await;
        clients.save(SAVES).await;
        server.kill();
        // The clients end first, so that everything acknowledged is in the record before it is compared.
        clients.end(&mut record).await;
        server = machine.serve_with(flags);
        work.check(machine, &record).await;
    }
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_gateway_loses_nothing_on_sqlite() {
    let machine = Machine::new();
    kill_gateways(&machine, "").await;
    // Everything was read; where SQLite's own program is installed, it looks at the rest of the file, too.
    let script = "command -v sqlite3 >/dev/null || exit 99
        sqlite3 ../data/foreword.db 'PRAGMA integrity_check; PRAGMA foreign_key_check'";
    let said = finish(machine.shell(script), b"");
    assert!(said.code == Some(99) || said.out == "ok\n", "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_answers_accepted_saves() {
    let machine = Machine::new();
    let server = machine.serve();
    let work = Work::prepare(&machine).await;
    let mut record = Record::default();
    let clients = Clients::start(&machine, &work, 0).await;
    clients.save(SAVES).await;
    assert_eq!(server.stop("TERM").code(), Some(0));
    clients.end(&mut record).await;
    let _server = machine.serve();
    assert_eq!(work.check(&machine, &record).await, record.acknowledged.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_gateway_loses_nothing_on_postgresql() {
    let Some(database) = test_database() else { return };
    kill_gateways(&Machine::new(), &format!("--database {}", database.url())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_postgresql_loses_nothing_and_its_gateway_lives_on() {
    let Some(cluster) = test_cluster(Options::default()) else { return };
    let flags = format!("--database {}", cluster.create_database().unwrap());
    let machine = Machine::new();
    let server = machine.serve_with(&flags);
    let work = Work::prepare(&machine).await;
    let mut record = Record::default();
    let clients = Clients::start(&machine, &work, 0).await;
    // The second crash checks that the gateway also replaces the connections it opened after the first one.
    for _ in 0..2 {
        clients.save(SAVES).await;
        cluster.crash().unwrap();
        cluster.start_again().unwrap();
    }
    // The same gateway continues with the same connections; then everything disconnects together.
    clients.save(SAVES).await;
    cluster.crash().unwrap();
    server.kill();
    clients.end(&mut record).await;
    cluster.start_again().unwrap();
    let _server = machine.serve_with(&flags);
    work.check(&machine, &record).await;
}
