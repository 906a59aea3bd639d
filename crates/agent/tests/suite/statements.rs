//! What a turn asks of the database.

use scripted_model::Answer;

use crate::conversation::Conversation;

/// Statements and commits of a chat turn of one round whose prompt is known.
const MAX_STATEMENTS: u64 = 18;
const MAX_TRANSACTIONS: u64 = 3;

#[tokio::test]
async fn a_chat_turn_of_one_round_costs_three_commits() {
    let chat = Conversation::chat([]).await;
    for _ in 0..3 {
        chat.model.answer(Answer::text("yes"));
    }
    // The first turn brings the prompt's texts, and the second finds a completed one.
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
