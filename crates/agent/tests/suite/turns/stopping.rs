//! Turns that end exactly while something is being written.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use agent::DOCUMENT_HOOK;
use futures_util::future::BoxFuture;
use protocol::{Timestamp, TurnStatus};
use scripted_model::{Answer, Wire};
use serde_json::json;
use store::{Database, Store};
use tokio::sync::Notify;
use tools::{RoundContext, ToolSource, Toolbox};

use crate::conversation::Conversation;
use crate::stage::{Setting, Stage};

/// A source that blocks all writers when it is asked, which is just before the round is recorded.
struct Holding {
    database: PathBuf,
    held: Mutex<Option<rusqlite::Connection>>,
    reached: Notify,
}

impl ToolSource for Holding {
    fn name(&self) -> &str {
        "holding"
    }

    fn offer<'a>(&'a self, _: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async {
            let connection = rusqlite::Connection::open(&self.database).unwrap();
            connection.busy_timeout(Duration::from_secs(5)).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            *self.held.lock().unwrap() = Some(connection);
            self.reached.notify_one();
            Toolbox::new()
        })
    }
}

#[tokio::test]
async fn a_write_in_flight_during_a_stop_happens_once() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("foreword.db");
    let held = Mutex::default();
    let reached = Notify::new();
    let source = Arc::new(Holding { database: database.clone(), held, reached });
    let sources = [Arc::clone(&source) as Arc<dyn ToolSource>];
    let chat = Conversation::chat_on(&Database::Sqlite(database), directory, sources).await;
    let written = || chat.store.statements().transactions;
    let before = written();
    let (turn_id, ended) = chat.start("once").await;
    source.reached.notified().await;
    // Creating the turn is one transaction, and the record of its round is the next. Once it has reached the store it
    // waits there for the lock.
    while written() < before + 2 {
        tokio::task::yield_now().await;
    }
    let agent = Arc::clone(&chat.agent);
    let stopping = tokio::spawn(async move { agent.shutdown(Duration::from_secs(1)).await });
    // All tasks share this thread, so after a few yields the stop has reached the turn.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    drop(source.held.lock().unwrap().take());
    stopping.await.unwrap();
    ended.notified().await;

    let turn = chat.store.turn(&chat.workspace_id, &turn_id).await.unwrap();
    assert_eq!(turn.status, TurnStatus::Failed);
    assert_eq!(
        chat.store.manifests(&chat.workspace_id, &turn_id).await.unwrap().len(),
        1,
        "it was being written"
    );
    let items = chat.store.turn_items(&chat.workspace_id, &turn_id).await.unwrap();
    let openings = items.iter().filter(|stored| format!("{:?}", stored.item).contains("once")).count();
    assert_eq!((items.len(), openings), (3, 1), "the history, the opening and the request: {items:#?}");
    let runs = chat.store.hook_runs(&chat.workspace_id, &turn_id).await.unwrap();
    assert_eq!(runs.iter().filter(|run| run.hook_id == DOCUMENT_HOOK).count(), 1);
}

/// A source that ends the turn from outside, so that its round can no longer be recorded.
#[derive(Default)]
struct Ending(OnceLock<Store>);

impl ToolSource for Ending {
    fn name(&self) -> &str {
        "ending"
    }

    fn offer<'a>(&'a self, _: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        Box::pin(async {
            let later = Timestamp::from_milliseconds(Timestamp::now().milliseconds() + 3_600_000);
            let gone = json!({ "kind": "interrupted", "message": "gone" });
            let gone: protocol::TurnError = serde_json::from_value(gone).unwrap();
            let failed = self.0.get().unwrap().fail_expired_turns(later, 1, &[], &gone).await.unwrap();
            assert_eq!(failed.len(), 1);
            Toolbox::new()
        })
    }
}

#[tokio::test]
async fn hook_runs_survive_a_round_that_cannot_be_recorded() {
    let source = Arc::new(Ending::default());
    let chat = Conversation::chat([Arc::clone(&source) as Arc<dyn ToolSource>]).await;
    source.0.set(chat.store.clone()).ok().unwrap();
    let turn_id = chat.run("go").await;
    chat.agent.shutdown(Duration::from_secs(1)).await;
    assert_eq!(chat.store.manifests(&chat.workspace_id, &turn_id).await.unwrap(), []);
    let runs = chat.store.hook_runs(&chat.workspace_id, &turn_id).await.unwrap();
    assert_eq!(runs.iter().filter(|run| run.hook_id == DOCUMENT_HOOK).count(), 1);
}

#[tokio::test]
async fn a_stopped_answer_is_paid_for() {
    for (wire, is_reported) in
        [(Wire::Anthropic, true), (Wire::Openai, false), (Wire::OpenaiCompatible, false)]
    {
        let stage = Stage::set(Setting { wire, ..Setting::default() }).await;
        let (answer, _release) = Answer::text("one two three four").in_deltas(4).held_after_events(5);
        stage.model.answer(answer);
        let turn = stage.start("count").await;
        stage
            .until(&turn, |answer| answer["turn"]["answer"].as_str().is_some_and(|text| text.contains("one")))
            .await;
        stage.cancel(&turn).await;
        let ended = stage.ended(&turn).await;
        assert_eq!(ended["turn"]["status"], "cancelled");
        let usage = &ended["turn"]["usage"];
        // Without a report, the input is what we count, and the output what was printed.
        let input = usage["input"].as_u64().unwrap();
        assert_eq!(input == 100, is_reported, "{wire:?}: {usage}");
        assert!(input > 50 && usage["output"].as_u64().unwrap() >= 1, "{wire:?}: {usage}");
    }
}
