//! Forgetting: an item's text disappears from all records of its use, and from nothing else.

use protocol::message::{AttachedEffects, Block, Message, MessageNote, ToolResult, TurnItem, TurnMessage};
use protocol::prompt::{PromptManifestSection, PromptRole, PromptSource, PromptSourceKind, Stability};
use protocol::turn::ExplainedHistory;
use protocol::{
    ApprovalRequest, AuditEvent, CallEffects, ContentHash, MEMORY_SOURCE, MemoryItem, MemoryRemoved,
    MemoryStatus, ToolCall, Turn, Version,
};
use store::{AuditFilter, BeginRound, Database, MemoryView, PromptText, WordMatch};

use crate::fixture::{Fixture, OWNER, bare_round, completed, from_now};
use crate::memory::remember;

const SECRET: &str = "the code is swordfish";
const SECTION: &str = "## Memory Recall\n- fact: the code is swordfish";

fn view(given: &Fixture) -> MemoryView {
    MemoryView { workspace_id: given.workspace.clone(), owner: None, thread_id: None }
}

/// Returns a round whose prompt contains an item.
fn recalling(round: u32, item: &MemoryItem) -> BeginRound {
    let mut begin = bare_round(round, "f");
    begin.manifest.manifest.sections.push(PromptManifestSection {
        id: "memory_recall".to_owned(),
        stability: Stability::Turn,
        chars: 1,
        tokens: 1,
        sha256: ContentHash::of(SECTION),
        truncated: false,
        role: PromptRole::System,
        said_earlier: false,
        sources: vec![PromptSource {
            id: Some(item.id.to_string()),
            ..PromptSource::new(PromptSourceKind::Other(MEMORY_SOURCE.to_owned()), None)
        }],
    });
    begin.texts = vec![PromptText::new(SECTION), PromptText::new("another section")];
    let note = MessageNote::new("memory_recall", SECTION);
    begin.items =
        vec![TurnItem::Message(TurnMessage::opening("what is the code? swordfish?", None, vec![note]))];
    begin
}

/// Returns a call that carried an item, its result, and a following message.
fn called(item: &MemoryItem) -> Vec<TurnItem> {
    let call = |id: &str, text: &str| ToolCall {
        id: id.to_owned(),
        name: "memory_remember".to_owned(),
        arguments: format!(r#"{{"text":"{text}"}}"#),
    };
    let calls = vec![Block::ToolCall(call("c1", SECRET)), Block::ToolCall(call("c2", "something else"))];
    let results =
        Message::results([ToolResult::new("c1", SECRET), ToolResult::new("c2", "swordfish from elsewhere")]);
    let effects = CallEffects { memory: vec![item.id.clone()], ..CallEffects::default() };
    let effects = vec![AttachedEffects { call_id: "c1".to_owned(), effects }];
    vec![
        TurnItem::Message(TurnMessage::new(Message::assistant(calls))),
        TurnItem::Message(TurnMessage { effects, ..TurnMessage::new(results) }),
        TurnItem::Message(TurnMessage::new(Message::assistant(vec![Block::text("It is swordfish.")]))),
    ]
}

async fn add(given: &Fixture, turn: &Turn, items: Vec<TurnItem>) {
    given.store.add_turn_items(&given.workspace, &turn.id, OWNER, &items, Vec::new()).await.unwrap();
}

/// Returns all that is stored of a turn, as text.
async fn stored(given: &Fixture, turn: &Turn) -> String {
    let of_turn =
        |table: &str, column: &str| format!("SELECT {column} FROM {table} WHERE turn_id = '{}'", turn.id);
    let mut all = given.column(&of_turn("turn_item", "content")).await;
    all.extend(given.column(&of_turn("turn_approval", "request")).await);
    all.extend(given.column("SELECT content FROM prompt_text ORDER BY sha256").await);
    all.join("\n")
}

async fn ask(given: &Fixture, turn: &Turn) {
    let arguments = serde_json::json!({ "text": SECRET });
    let request = ApprovalRequest {
        call_id: "c1".to_owned(),
        tool: "memory_remember".to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
        paths: Vec::new(),
        cwd: None,
        digest: None,
        diff: None,
        new_file: false,
        replaces_lines: None,
        rule: "permissions.write = ask".to_owned(),
        identity: false,
        sandbox: None,
    };
    let asked = given.store.request_approval(&given.workspace, &turn.id, OWNER, request, from_now(60_000));
    asked.await.unwrap();
}

fn context(summary: &str) -> ExplainedHistory {
    ExplainedHistory {
        left_out_through: 1,
        summarised: true,
        missing_after: None,
        summary: Some(summary.to_owned()),
        turns: 0,
        entries: 0,
        tokens: 1,
        budget_tokens: 9,
    }
}

/// Returns the actor and the counts of a deletion, from the audit log.
async fn forgotten_by(given: &Fixture, item: &MemoryItem) -> Vec<(Option<String>, MemoryRemoved)> {
    let entries =
        given.store.audit_entries(AuditFilter { limit: 9, ..AuditFilter::default() }).await.unwrap();
    let about = entries.into_iter().filter_map(|entry| match entry.event {
        AuditEvent::MemoryForgotten { item_id, removed, .. } if item_id == item.id => {
            Some((entry.actor, removed))
        }
        _ => None,
    });
    about.collect()
}

both_databases!(what_carried_an_item_is_purged_and_nothing_else, async |given| {
    let item = remember(given, SECRET).await;
    let turn = given.turn(&given.thread(None, "thread").await).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
    ask(given, &turn).await;
    add(given, &turn, called(&item)).await;
    given.finish(&turn.id, completed()).await.unwrap();

    let forgotten = given.store.forget_memory(&view(given), &item.id, Some("ada")).await.unwrap();
    assert_eq!((forgotten.item.status, forgotten.item.text), (MemoryStatus::Deleted, None));
    let removed = MemoryRemoved { prompt_texts: 1, openings: 1, calls: 1, summaries: 0 };
    assert_eq!(forgotten.removed, removed);
    let left = stored(given, &turn).await;
    assert!(!left.contains(SECRET), "{left}");
    // The user's words, another call and the model's own sentence remain.
    for kept in
        ["what is the code? swordfish?", "swordfish from elsewhere", "It is swordfish.", "another section"]
    {
        assert!(left.contains(kept), "{kept}: {left}");
    }
    assert_eq!(left.matches("purged").count(), 2, "{left}");

    let digest = ContentHash::of(SECTION);
    assert_eq!(
        given.store.prompt_texts(&given.workspace, std::slice::from_ref(&digest)).await.unwrap().len(),
        0
    );
    assert!(given.store.is_purged(&given.workspace, &digest).await.unwrap());
    assert!(!given.store.is_purged(&given.workspace, &ContentHash::of("another section")).await.unwrap());
    let words = memory::QueryTerms::of("swordfish");
    assert_eq!(given.store.search_memory(&view(given), &words, WordMatch::All, 9).await.unwrap(), []);

    // The actor is recorded, and forgetting again changes nothing.
    let again = given.store.forget_memory(&view(given), &item.id, Some("bob")).await.unwrap();
    assert_eq!(again.removed, MemoryRemoved::default());
    assert_eq!(forgotten_by(given, &item).await, [(Some("ada".to_owned()), removed)]);
});

// The turn recalled an item before it was forgotten, and records that only now.
both_databases!(what_is_written_after_the_forgetting_is_purged_too, async |given| {
    let item = remember(given, SECRET).await;
    let turn = given.turn(&given.thread(None, "thread").await).await;
    given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
    add(given, &turn, called(&item)).await;
    let left = stored(given, &turn).await;
    assert!(!left.contains(SECRET), "{left}");
    assert!(given.store.is_purged(&given.workspace, &ContentHash::of(SECTION)).await.unwrap());
});

both_databases!(summaries_that_it_was_part_of_are_forgotten, async |given| {
    let item = remember(given, SECRET).await;
    let (thread, other) = (given.thread(None, "thread").await, given.thread(None, "other").await);
    let turn = given.turn(&thread).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
    given.finish(&turn.id, completed()).await.unwrap();
    for thread in [&thread, &other] {
        let saved =
            given.store.save_thread_context(&given.workspace, thread, 1, Some("swordfish"), Version(0));
        saved.await.unwrap().unwrap();
    }
    let later = given.turn(&thread).await;
    add(given, &later, vec![TurnItem::Context(context("swordfish"))]).await;
    assert!(stored(given, &later).await.contains("swordfish"));
    let forgotten = given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    assert_eq!(forgotten.removed.summaries, 1);
    let anew = given.context(&thread).await.unwrap();
    assert_eq!((anew.summary, anew.through, anew.version), (None, 0, Version(2)));
    assert_eq!(given.context(&other).await.unwrap().summary.as_deref(), Some("swordfish"));
    assert!(!stored(given, &later).await.contains("swordfish"));
});

// A turn has read a summary, then something in it is forgotten, then the turn stores what it has read.
both_databases!(a_context_that_is_written_after_the_forgetting_has_no_summary, async |given| {
    let item = remember(given, SECRET).await;
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
    given.finish(&turn.id, completed()).await.unwrap();
    let saved =
        given.store.save_thread_context(&given.workspace, &thread, 1, Some("of swordfish"), Version(0));
    saved.await.unwrap().unwrap();
    let later = given.turn(&thread).await;
    given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    let context = context("of swordfish");
    let mut begin = bare_round(1, "f");
    begin.items = vec![TurnItem::Context(context.clone())];
    given.store.begin_round(&given.workspace, &later.id, OWNER, begin).await.unwrap();
    add(given, &later, vec![TurnItem::Context(context)]).await;
    let left = stored(given, &later).await;
    assert!(left.contains("\"left_out_through\":1") && !left.contains("swordfish"), "{left}");
});

/// Creates as many turns as several batches have, in two threads, all with the same item.
async fn told_often(given: &Fixture, item: &MemoryItem) -> Vec<Turn> {
    let threads = [given.thread(None, "one").await, given.thread(None, "two").await];
    let mut turns = Vec::new();
    for number in 0..70 {
        let turn = given.turn(&threads[number % 2]).await;
        given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, item)).await.unwrap();
        given.finish(&turn.id, completed()).await.unwrap();
        turns.push(turn);
    }
    turns
}

both_databases!(an_item_of_many_turns_goes_from_all_of_them, async |given| {
    let item = remember(given, SECRET).await;
    let turns = told_often(given, &item).await;
    let forgotten = given.store.forget_memory(&view(given), &item.id, Some("ada")).await.unwrap();
    let removed = MemoryRemoved { prompt_texts: 1, openings: 70, calls: 0, summaries: 0 };
    assert_eq!(forgotten.removed, removed);
    for turn in &turns {
        assert!(!stored(given, turn).await.contains(SECRET));
    }
    assert_eq!(given.column("SELECT item_id FROM memory_purge").await.len(), 0);
    assert_eq!(forgotten_by(given, &item).await, [(Some("ada".to_owned()), removed)]);
});

// Marks the item, purges one batch, and stops like a killed gateway.
both_databases!(a_purge_that_was_interrupted_is_brought_to_its_end, async |given| {
    let item = remember(given, SECRET).await;
    let turns = told_often(given, &item).await;
    let connection = given.connection().await;
    let forgotten = "UPDATE memory_item SET status = 'deleted', text = NULL, text_sha256 = NULL";
    connection.execute(forgotten).await.unwrap();
    let started = format!(
        "INSERT INTO memory_purge (item_id, workspace_id, actor, after_turn, removed, updated_at) VALUES
            ('{}', '{}', 'ada', '', '{{\"prompt_texts\":0,\"openings\":0,\"calls\":0,\"summaries\":0}}', 1)",
        item.id, given.workspace
    );
    connection.execute(&started).await.unwrap();
    connection.close().await;
    assert!(stored(given, &turns[69]).await.contains(SECRET));
    assert_eq!(given.store.resume_purges().await.unwrap(), 1);
    for turn in &turns {
        assert!(!stored(given, turn).await.contains(SECRET));
    }
    let by = forgotten_by(given, &item).await;
    assert_eq!(
        by.iter().map(|(actor, removed)| (actor.as_deref(), removed.openings)).collect::<Vec<_>>(),
        [(Some("ada"), 70)]
    );
    assert_eq!(given.store.resume_purges().await.unwrap(), 0);
});

both_databases!(an_item_that_nothing_carried_goes_alone, async |given| {
    let item = remember(given, SECRET).await;
    let other = remember(given, "other").await;
    let forgotten = given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    assert_eq!(forgotten.removed, MemoryRemoved::default());
    assert_eq!(given.store.memory(&view(given), &other.id).await.unwrap(), other);
    // Neither the text nor a digest from which it could be guessed.
    let left = given
        .column("SELECT coalesce(text, '') || coalesce(text_sha256, '') FROM memory_item ORDER BY id")
        .await;
    assert_eq!(left[0], "");
});

// The same text makes the same section, and so the same digest.
both_databases!(what_is_remembered_again_is_not_purged_any_more, async |given| {
    let thread = given.thread(None, "thread").await;
    let item = remember(given, SECRET).await;
    let turn = given.turn(&thread).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
    given.finish(&turn.id, completed()).await.unwrap();
    given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    let again = remember(given, SECRET).await;
    let turn = given.turn(&thread).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &again)).await.unwrap();
    let digest = ContentHash::of(SECTION);
    assert!(!given.store.is_purged(&given.workspace, &digest).await.unwrap());
    let kept = given.store.prompt_texts(&given.workspace, std::slice::from_ref(&digest)).await.unwrap();
    assert_eq!(kept.get(&digest).map(String::as_str), Some(SECTION));
    given.store.forget_memory(&view(given), &again.id, None).await.unwrap();
    assert!(given.store.is_purged(&given.workspace, &digest).await.unwrap());
});

// A caller reads a thread to summarize it, something in it is forgotten, and then the caller saves the summary.
both_databases!(a_summary_in_the_making_cannot_be_saved_over_a_forgetting, async |given| {
    let thread = given.thread(None, "thread").await;
    let save = async |through: u64, expected: u64| {
        let saved = given.store.save_thread_context(
            &given.workspace,
            &thread,
            through,
            Some("swordfish"),
            Version(expected),
        );
        saved.await.unwrap()
    };
    let recalled = async || {
        let item = remember(given, SECRET).await;
        let turn = given.turn(&thread).await;
        given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
        given.finish(&turn.id, completed()).await.unwrap();
        item
    };
    // First without an earlier summary.
    let item = recalled().await;
    given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    assert_eq!(save(1, 0).await, None);
    // Then with one that is to be replaced.
    let version = given.context(&thread).await.unwrap().version;
    let version = save(1, version.0).await.unwrap().version;
    let item = recalled().await;
    given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    assert_eq!(save(2, version.0).await, None);
    let kept = given.context(&thread).await.unwrap();
    assert_eq!((kept.through, kept.summary.as_deref()), (1, Some("swordfish")));
});

/// Returns the content of all files of an SQLite database.
fn bytes(given: &Fixture) -> Option<Vec<u8>> {
    let Database::Sqlite(path) = &given.database else { return None };
    let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap().to_str().unwrap()));
    Some([std::fs::read(path).unwrap(), std::fs::read(log).unwrap_or_default()].concat())
}

both_databases!(what_is_forgotten_is_not_in_the_files_either, async |given| {
    // Longer than a page, so that whole pages become free.
    let long = format!("{} begins and ends swordfish", "so it goes on ".repeat(1_000));
    let item = remember(given, &long).await;
    let turn = given.turn(&given.thread(None, "thread").await).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, recalling(1, &item)).await.unwrap();
    add(given, &turn, called(&item)).await;
    let has = |files: &[u8], words: &str| files.windows(words.len()).any(|here| here == words.as_bytes());
    if let Some(files) = bytes(given) {
        assert!(has(&files, "ends swordfish") && has(&files, SECRET));
    }
    given.store.forget_memory(&view(given), &item.id, None).await.unwrap();
    if let Some(files) = bytes(given) {
        assert!(!has(&files, "ends swordfish") && !has(&files, "so it goes on") && !has(&files, SECRET));
    }
});
