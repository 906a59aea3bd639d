//! Texts of prompts: stored once by digest, marked as used now and then, pruned by age.

use protocol::{ContentHash, WorkspaceId};
use store::PromptText;

use crate::fixture::{Fixture, assert_invalid, from_now, put_texts};

const MINUTE: i64 = 60_000;

fn texts(contents: &[&str]) -> Vec<PromptText> {
    contents.iter().map(|content| PromptText::new(*content)).collect()
}

async fn put(given: &Fixture, contents: &[&str]) {
    put_texts(&given.store, &given.workspace, texts(contents)).await.unwrap();
}

/// Returns those texts that are stored.
async fn kept(given: &Fixture, workspace: &WorkspaceId, contents: &[&str]) -> Vec<String> {
    let digests: Vec<_> = contents.iter().map(ContentHash::of).collect();
    let mut found = given.store.prompt_texts(workspace, &digests).await.unwrap();
    contents.iter().filter_map(|content| found.remove(&ContentHash::of(content))).collect()
}

/// Moves the last use of all texts some minutes into the past.
async fn age(given: &Fixture, minutes: i64) -> String {
    let used = from_now(-minutes * MINUTE).milliseconds();
    let connection = given.connection().await;
    let aged = format!("UPDATE prompt_text SET last_used_at = {used}");
    connection.execute(&aged).await.unwrap();
    connection.close().await;
    used.to_string()
}

async fn marks(given: &Fixture) -> Vec<String> {
    given.column("SELECT CAST(last_used_at AS TEXT) FROM prompt_text ORDER BY sha256").await
}

both_databases!(texts_are_found_by_their_digest, async |given| {
    let contents = ["", "one", "two\r\n✓\u{feff}", "two\n✓"];
    put(given, &contents).await;
    put(given, &["one", "one"]).await;
    assert_eq!(kept(given, &given.workspace, &contents).await, contents);
    assert_eq!(kept(given, &given.workspace, &["one", "unknown"]).await, ["one"]);
    assert_eq!(kept(given, &given.workspace, &[]).await, [""; 0]);
    assert_eq!(given.column("SELECT CAST(SUM(chars) AS TEXT) FROM prompt_text").await, ["15"]);
});

both_databases!(a_text_under_another_digest_is_refused_with_all_the_others, async |given| {
    let mut wrong = PromptText { sha256: ContentHash::of("other"), content: "text".to_owned() };
    let put = |texts| put_texts(&given.store, &given.workspace, texts);
    assert_invalid(put(vec![PromptText::new("good"), wrong.clone()]).await, "sha256");
    wrong.sha256 = ContentHash::from_stored(ContentHash::of("text").as_str().to_uppercase());
    assert_invalid(put(vec![wrong]).await, "sha256");
    assert_invalid(put(texts(&["a\0b"])).await, "content");
    assert_eq!(kept(given, &given.workspace, &["good", "text", "other"]).await, [""; 0]);
});

both_databases!(more_texts_than_one_statement_takes_are_put_as_one, async |given| {
    let many: Vec<_> = (0..1201).map(|number| number.to_string()).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    put(given, &many).await;
    assert_eq!(kept(given, &given.workspace, &many).await, many);
});

both_databases!(a_text_of_the_last_hour_is_not_marked_again, async |given| {
    put(given, &["text"]).await;
    let mark = age(given, 59).await;
    put(given, &["text"]).await;
    assert_eq!(marks(given).await, [mark]);
});

both_databases!(an_older_text_is_marked_as_used_now, async |given| {
    put(given, &["text"]).await;
    age(given, 61).await;
    let before = from_now(0).milliseconds();
    put(given, &["text", "new"]).await;
    for mark in marks(given).await {
        assert!(mark.parse::<i64>().unwrap() >= before);
    }
});

// Clocks of gateways differ, and an older mark would let a text that is in use be pruned.
both_databases!(a_mark_never_moves_back, async |given| {
    put(given, &["text"]).await;
    let mark = age(given, -120).await;
    put(given, &["text"]).await;
    assert_eq!(marks(given).await, [mark]);
});

both_databases!(pruning_keeps_what_was_used, async |given| {
    put(given, &["unused", "used"]).await;
    age(given, 120).await;
    put(given, &["used"]).await;
    assert_eq!(given.store.prune_prompt_texts(None, from_now(-180 * MINUTE)).await.unwrap(), 0);
    assert_eq!(given.store.prune_prompt_texts(None, from_now(-60 * MINUTE)).await.unwrap(), 1);
    assert_eq!(kept(given, &given.workspace, &["unused", "used"]).await, ["used"]);
    put(given, &["unused"]).await;
    assert_eq!(kept(given, &given.workspace, &["unused", "used"]).await, ["unused", "used"]);
});

both_databases!(workspaces_share_no_texts, async |given| {
    let elsewhere = given.another_workspace().await;
    put(given, &["text"]).await;
    assert_eq!(kept(given, &elsewhere, &["text"]).await, [""; 0]);
    put_texts(&given.store, &elsewhere, texts(&["text"])).await.unwrap();
    let soon = from_now(MINUTE);
    assert_eq!(given.store.prune_prompt_texts(Some(&elsewhere), soon).await.unwrap(), 1);
    assert_eq!(kept(given, &given.workspace, &["text"]).await, ["text"]);
    put_texts(&given.store, &elsewhere, texts(&["text"])).await.unwrap();
    assert_eq!(given.store.prune_prompt_texts(None, soon).await.unwrap(), 2);
});

// Gateways store the same system prompt at the same time; without a fixed order of rows they would deadlock.
both_databases!(the_same_texts_can_be_put_by_many_at_once, async |given| {
    let another = given.another_store().await;
    let mut putting = tokio::task::JoinSet::new();
    for round in 0..20_usize {
        let store = if round % 2 == 0 { given.store.clone() } else { another.clone() };
        let workspace = given.workspace.clone();
        let mut many: Vec<_> = (0..50).map(|number| PromptText::new(number.to_string())).collect();
        many.rotate_left(round);
        putting.spawn(async move { put_texts(&store, &workspace, many).await });
    }
    for put in putting.join_all().await {
        put.unwrap();
    }
    assert_eq!(marks(given).await.len(), 50);
    another.close().await;
});
