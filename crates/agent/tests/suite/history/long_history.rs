//! A thread far longer than what fits into a request.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agent::{AgentSettings, SessionStart};
use protocol::{ThreadId, TurnStatus, WorkspaceId};
use scripted_model::Answer;
use serde_json::Value;
use store::Database;

use crate::conversation::Conversation;
use crate::fixture::World;

/// Number of completed turns.
const TURNS: u64 = 10_000;
/// Number of turns that are loaded for a request.
const READ: u64 = 201;

/// Completes turns with one SQL statement, because running them one by one would take minutes. Each message names its
/// role, its turn's number, and `more`.
fn complete_turns(database: &Path, workspace: &WorkspaceId, thread: &ThreadId, more: &str) {
    let workspace = workspace.as_str();
    let thread = thread.as_str();
    let database = rusqlite::Connection::open(database).unwrap();
    database.busy_timeout(Duration::from_secs(5)).unwrap();
    let id = |kind: u8| format!("printf('%08x-0000-7000-800{kind}-%012x', n, n)");
    let numbers = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {TURNS})"
    );
    let turns = format!(
        "INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, created_at, finished_at)
         {numbers} SELECT {}, ?1, ?2, n, 'completed', 'question ' || n, n, n FROM numbers",
        id(1)
    );
    assert_eq!(database.execute(&turns, [workspace, thread]).unwrap() as u64, TURNS);
    for (ordinal, role) in [(1, "user"), (2, "assistant")] {
        let items = format!(
            r#"INSERT INTO turn_item (id, workspace_id, turn_id, ordinal, kind, content, created_at)
             {numbers} SELECT {}, ?1, {}, {ordinal}, 'message',
                 '{{"message":{{"role":"{role}","blocks":[{{"type":"text","text":"{role} ' || n || '.{more}"}}]}}}}', n FROM numbers"#,
            id(1 + ordinal),
            id(1)
        );
        database.execute(&items, [workspace]).unwrap();
    }
}

#[tokio::test]
async fn only_sendable_turns_are_loaded() {
    let world = World::new().await;
    let request = world.thread().await;
    complete_turns(&world.path("foreword.db"), &request.scope.workspace_id, &request.scope.thread_id, "");

    let workspace = &request.scope.workspace_id;
    let thread = &request.scope.thread_id;
    let history = world.store.stored_history(workspace, thread, TURNS + 1, READ).await.unwrap();
    assert_eq!(history.items.len() as u64, 2 * READ);
    assert_eq!(history.items[0].0, TURNS - READ + 1, "the newest ones");

    let preview = world.agent().preview(&request, SessionStart::Thread).await.unwrap();
    assert_eq!(preview.sizes.history.unwrap().turns, READ, "by whoever asks");
}

fn asks_for_a_summary(body: &Value) -> bool {
    body["system"].to_string().contains("Summarise the conversation")
}

/// Counts how often a request contains each question, by its number.
fn questions(body: &Value, counted: &mut BTreeMap<u64, u32>) {
    for rest in body["messages"].to_string().split("user ").skip(1) {
        if let Some(Ok(number)) = rest.split_once('.').map(|(number, _)| number.parse()) {
            *counted.entry(number).or_default() += 1;
        }
    }
}

#[tokio::test]
async fn every_old_turn_is_sent_or_summarised() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreword.db");
    let conversation = Conversation::chat_on(&Database::Sqlite(path.clone()), directory, []).await;
    complete_turns(&path, &conversation.workspace_id, &conversation.thread_id, "");
    conversation.model.answer_by(|request| {
        Answer::text(if asks_for_a_summary(&request.body) { "All of it so far." } else { "Yes." })
    });
    let view = conversation.ask("Still there?").await;
    assert_eq!(view.turn.status, TurnStatus::Completed, "{:?}", view.turn.error);
    let mut counted = BTreeMap::new();
    let requests = conversation.model.requests();
    requests.iter().for_each(|request| questions(&request.body, &mut counted));
    // Exactly once: a turn in both places would be sent twice, one in neither would be lost.
    let wrong: Vec<u64> = (1..=TURNS).filter(|number| counted.get(number) != Some(&1)).collect();
    assert_eq!(wrong, [0; 0], "neither sent nor summarised, or both");
    let last = &requests.last().unwrap().body;
    assert!(last["messages"][0].to_string().contains("All of it so far."));
    assert!(last["messages"].as_array().unwrap().len() <= 201);

    // The first turn has caught up with the backlog, so the next one summarises nothing.
    conversation.ask("And now?").await;
    assert_eq!(conversation.model.requests().len(), requests.len() + 1);
}

/// Maximum number of requests for summaries per turn.
const MAX_REQUESTS: usize = 32;

#[tokio::test]
async fn the_next_turn_continues_an_unfinished_backlog() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreword.db");
    let database = Database::Sqlite(path.clone());
    let small = |settings: &mut AgentSettings| {
        settings.turns.max_context_tokens = 8_000;
        settings.turns.response_reserve_tokens = 1_000;
    };
    let conversation = Conversation::chat_set(&database, directory, [], [], small).await;
    let words = " some more words".repeat(8);
    complete_turns(&path, &conversation.workspace_id, &conversation.thread_id, &words);
    conversation.model.answer_by(|request| {
        Answer::text(if asks_for_a_summary(&request.body) { "All of it so far." } else { "Yes." })
    });
    let mut summarised = BTreeMap::new();
    let mut turns = 0;
    loop {
        turns += 1;
        let view = conversation.ask("Still there?").await;
        assert_eq!(view.turn.status, TurnStatus::Completed, "{:?}", view.turn.error);
        let bodies = conversation.model.take_requests().into_iter().map(|request| request.body);
        let (summaries, asked): (Vec<Value>, Vec<Value>) = bodies.partition(asks_for_a_summary);
        summaries.iter().for_each(|body| questions(body, &mut summarised));
        let mut sent = BTreeMap::new();
        questions(&asked[0], &mut sent);
        let missing: Vec<u64> = (1..=TURNS)
            .filter(|number| !summarised.contains_key(number) && !sent.contains_key(number))
            .collect();
        let first = asked[0]["messages"][0].to_string();
        assert!(first.contains("All of it so far."), "{first}");
        // Exactly the turns that are neither sent nor summarised must be reported as missing.
        let is_said =
            first.contains("The turns between this summary and what follows could not be summarised");
        assert_eq!(
            (is_said, is_said),
            (!missing.is_empty(), summaries.len() == MAX_REQUESTS),
            "turn {turns}"
        );
        let explained = conversation.agent.explain(&conversation.workspace_id, &view.turn.id).await.unwrap();
        let history = explained.history.unwrap();
        let after = history.missing_after.unwrap_or(history.left_out_through);
        assert_eq!((after + 1..=history.left_out_through).collect::<Vec<_>>(), missing, "turn {turns}");
        if missing.is_empty() {
            break;
        }
    }
    assert!((3..100).contains(&turns), "{turns} turns");
}
