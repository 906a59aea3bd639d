//! A thread that is far longer than what can be sent of it.

use std::time::Duration;

use agent::SessionStart;

use crate::fixture::World;

/// How many turns are completed.
const TURNS: u64 = 10_000;
/// How many of them are read to be sent.
const READ: u64 = 201;

/// Completes turns as if gateways had, all in one statement: one by one they would take minutes.
fn complete_turns(world: &World, workspace: &str, thread: &str) {
    let database = rusqlite::Connection::open(world.path("foreword.db")).unwrap();
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
                 '{{"message":{{"role":"{role}","blocks":[{{"type":"text","text":"text ' || n || '"}}]}}}}', n FROM numbers"#,
            id(1 + ordinal),
            id(1)
        );
        database.execute(&items, [workspace]).unwrap();
    }
}

#[tokio::test]
async fn of_ten_thousand_turns_no_more_are_read_than_could_be_sent() {
    let world = World::new().await;
    let request = world.thread().await;
    complete_turns(&world, request.workspace_id.as_str(), request.thread_id.as_str());

    let (workspace, thread) = (&request.workspace_id, &request.thread_id);
    let history = world.store.stored_history(workspace, thread, TURNS + 1, READ).await.unwrap();
    assert_eq!(history.items.len() as u64, 2 * READ);
    assert_eq!(history.items[0].0, TURNS - READ + 1, "the newest ones");

    let preview = world.agent().preview(&request, SessionStart::Thread).await.unwrap();
    assert_eq!(preview.sizes.history.unwrap().turns, READ, "by whoever asks");
}
