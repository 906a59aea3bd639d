//! The number of database statements of a turn.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use scripted_model::Answer;
use store::Database;

use crate::conversation::Conversation;

/// Statements and commits of a chat turn with one round whose prompt is known.
const MAX_STATEMENTS: u64 = 18;
const MAX_TRANSACTIONS: u64 = 3;

#[tokio::test]
async fn a_chat_turn_of_one_round_costs_three_commits() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(directory.path().join("foreword.db"));
    let chat = Conversation::chat_on(&database, directory, []).await;
    for _ in 0..3 {
        chat.model.answer(Answer::text("yes"));
    }
    // The first turn stores the prompt's texts, so only the second one shows the usual cost.
    chat.ask("Is it so?").await;
    chat.ask("Really?").await;
    let before = chat.store.statements();
    chat.run("Sure?").await;
    let after = chat.store.statements();
    let statements = after.statements - before.statements;
    let transactions = after.transactions - before.transactions;
    assert!(statements <= MAX_STATEMENTS, "{statements} statements");
    assert!(transactions <= MAX_TRANSACTIONS, "{transactions} transactions");
}

/// Returns the statements of a turn since its model was last asked.
async fn statements_after_the_answer(tokens_per_day: Option<NonZeroU64>) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(directory.path().join("foreword.db"));
    let chat = Conversation::chat_set(&database, directory, [], [], |settings| {
        settings.turns.limits.tokens_per_day = tokens_per_day;
    })
    .await;
    let before = Arc::new(AtomicU64::new(0));
    let store = chat.store.clone();
    let asked = Arc::clone(&before);
    chat.model.answer_by(move |_| {
        asked.store(store.statements().statements, Ordering::SeqCst);
        Answer::text("yes")
    });
    chat.run("Is it so?").await;
    chat.store.statements().statements - before.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_finished_answer_skips_the_token_limit() {
    // The daily limit is checked only before the model is asked again, so this turn must not check it. Otherwise a
    // short database outage would cost the answer, while writing the end is retried until it succeeds.
    let without_limit = statements_after_the_answer(None).await;
    assert_eq!(statements_after_the_answer(NonZeroU64::new(1_000_000)).await, without_limit);
}
