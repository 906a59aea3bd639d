//! Three gateways on one PostgreSQL, one of them killed: no client misses, repeats or loses anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::{Client, ClientError, Target};
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, ThreadTree, ThreadTreeParams, WorkspaceCreate,
    WorkspaceCreateParams,
};
use protocol::{FolderId, Sequence, WorkspaceId};
use test_postgres::test_database;
use tokio::sync::watch;

use crate::support::{Machine, PATIENCE, Server, all_events, all_revisions, folder, save};

// Twice as many clients as gateways, so that every gateway serves both writers and followers and the killed
// one has some of each.
const WRITERS: usize = 6;
const FOLLOWERS: usize = 6;
const SAVES: usize = 40;

/// Addresses of the gateways; a client that loses one connects to the next.
#[derive(Clone)]
struct Places(Arc<Vec<Target>>);

impl Places {
    fn of(machines: &[Machine]) -> Self {
        let targets = machines.iter().map(|machine| {
            let located = machine.target().locate().unwrap();
            Target::Address { url: located.url, token: located.token }
        });
        Self(Arc::new(targets.collect()))
    }

    /// A connection to the gateway at a place, or to the next one that answers.
    async fn connect(&self, place: &mut usize) -> Client {
        for _ in 0..100 {
            match Client::connect(&self.0[*place % self.0.len()]).await {
                Ok(client) => return client,
                Err(_) => *place += 1,
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no gateway answers");
    }
}

/// Saves one text after another; a save whose answer was lost is tried again elsewhere.
async fn write(
    places: Places,
    mut place: usize,
    workspace_id: WorkspaceId,
    folder_id: FolderId,
    saved: Arc<AtomicUsize>,
) -> Vec<String> {
    let mut client = places.connect(&mut place).await;
    let mut texts = Vec::new();
    for number in 0..SAVES {
        let text = format!("save {number}");
        loop {
            // A repeated save with equal text is no new version. This is what makes a retry safe when only
            // the answer was lost.
            match save(&client, &workspace_id, &folder_id, &text).await {
                Ok(_) => break,
                Err(ClientError::Lost) => client = places.connect(&mut place).await,
                Err(error) => panic!("{error}"),
            }
        }
        saved.fetch_add(1, Ordering::Relaxed);
        texts.push(text);
    }
    texts
}

/// Follows the workspace from its start to a last change, which is announced later.
async fn follow(
    places: Places,
    mut place: usize,
    workspace_id: WorkspaceId,
    mut last: watch::Receiver<Option<Sequence>>,
) -> Vec<(Sequence, String)> {
    #[derive(serde::Deserialize)]
    struct Place {
        seq: Sequence,
    }
    let mut seen = Vec::new();
    let mut cursor = Sequence(0);
    loop {
        let mut client = places.connect(&mut place).await;
        let params =
            EventsSubscribeParams { workspace_id: workspace_id.clone(), since: Some(cursor), instance: None };
        match client.call::<EventsSubscribe>(&params).await {
            Ok(_) => {}
            Err(ClientError::Lost) => continue,
            Err(error) => panic!("{error}"),
        }
        loop {
            if last.borrow_and_update().is_some_and(|last| cursor >= last) {
                return seen;
            }
            let notification = tokio::select! {
                notification = client.notification() => notification,
                changed = last.changed() => {
                    changed.unwrap();
                    continue;
                }
            };
            // Nothing more comes from here: on to the next gateway, with the last number that was seen.
            let Some(notification) = notification else { break };
            cursor = serde_json::from_str::<Place>(notification.params.get()).unwrap().seq;
            seen.push((cursor, notification.params.get().to_owned()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_gateways_replace_a_killed_one_without_a_gap() {
    let Some(database) = test_database() else { return };
    let flags = format!("--database {}", database.url());
    let machines = [Machine::new(), Machine::new(), Machine::new()];
    let mut servers: Vec<Server> = machines.iter().map(|machine| machine.serve_with(&flags)).collect();
    let places = Places::of(&machines);

    let client = machines[0].client().await;
    let params = WorkspaceCreateParams { name: "demo".to_owned(), root_path: None, agents: None };
    let workspace_id = client.call::<WorkspaceCreate>(&params).await.unwrap().workspace.id;
    let mut folders = Vec::new();
    for writer in 0..WRITERS {
        folders.push(folder(&client, &workspace_id, &format!("folder {writer}")).await);
    }

    let (tell_last, last) = watch::channel(None);
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|place| tokio::spawn(follow(places.clone(), place, workspace_id.clone(), last.clone())))
        .collect();
    let saved = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = folders
        .iter()
        .enumerate()
        .map(|(place, folder_id)| {
            let workspace_id = workspace_id.clone();
            let folder_id = folder_id.clone();
            tokio::spawn(write(places.clone(), place, workspace_id, folder_id, Arc::clone(&saved)))
        })
        .collect();

    // A third of the saves happen before the kill, and the rest while clients move to the remaining
    // gateways.
    while saved.load(Ordering::Relaxed) < WRITERS * SAVES / 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    servers.remove(1).kill();

    let mut written = Vec::new();
    for writer in writers {
        written.push(tokio::time::timeout(PATIENCE, writer).await.expect("writers end").unwrap());
    }
    // The final number is known only after all writers have ended, so followers receive it through the
    // channel instead of counting changes themselves.
    let params = ThreadTreeParams::whole(workspace_id.clone());
    let newest = client.call::<ThreadTree>(&params).await.unwrap().seq;
    tell_last.send(Some(newest)).unwrap();

    // Every save made one change, also the one whose answer was lost: nothing was saved twice. Each writer's folder and its
    // document appeared once.
    assert_eq!(newest, Sequence((1 + 2 * WRITERS + WRITERS * SAVES) as u64));
    let gapless: Vec<Sequence> = (1..=newest.0).map(Sequence).collect();
    let mut told = Vec::new();
    for follower in followers {
        let seen = tokio::time::timeout(PATIENCE, follower).await.expect("followers end").unwrap();
        let (numbers, events): (Vec<Sequence>, Vec<String>) = seen.into_iter().unzip();
        assert_eq!(numbers, gapless);
        told.push(events);
    }
    assert!(told.iter().all(|events| events == &told[0]), "all are told the same");
    for (folder_id, texts) in folders.iter().zip(&written) {
        assert_eq!(&all_revisions(&client, &workspace_id, folder_id).await, texts);
    }

    // The one that was killed comes back and has missed nothing.
    let _server = machines[1].serve_with(&flags);
    let mut client = machines[1].client().await;
    let events: Vec<String> =
        all_events(&mut client, &workspace_id).await.into_iter().map(|(_, params)| params).collect();
    assert_eq!(events, told[0]);
}
