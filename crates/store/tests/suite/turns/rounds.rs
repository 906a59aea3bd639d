//! The statements of a turn: its subject, its history, the start of a round, and the end with the answer.

use protocol::{Sequence, TokenUsage, Turn, Version};
use store::{BeginRound, FinishTurn, PromptText, Statements, TurnEnd, TurnEvent};

use crate::fixture::{
    Fixture, OWNER, Told, assert_ended, assert_invalid, assert_invalid_state, assert_not_found,
    assert_not_holder, completed, failed, from_now, manifest, message, minute, new_turn,
};
use crate::turns::hook_runs::run_of;

fn round(turn: &Turn) -> BeginRound {
    BeginRound {
        hook_runs: vec![run_of(turn, "hook", from_now(0))],
        items: vec![message("context"), message("question")],
        texts: vec![PromptText::new("stable"), PromptText::new("session"), PromptText::new("stable")],
        manifest: manifest(1, "f"),
        events: vec![TurnEvent::ManifestKept { round: 1 }],
    }
}

/// Returns what is stored of a turn: items, manifests, hook runs.
async fn kept(given: &Fixture, turn: &Turn) -> (Vec<u64>, usize, usize) {
    let items = given.store.turn_items(&given.workspace, &turn.id).await.unwrap();
    let manifests = given.store.manifests(&given.workspace, &turn.id).await.unwrap();
    let runs = given.store.hook_runs(&given.workspace, &turn.id).await.unwrap();
    (items.iter().map(|item| item.ordinal).collect(), manifests.len(), runs.len())
}

both_databases!(a_subject_is_a_workspace_a_thread_and_its_place, async |given| {
    let folder = given.folder(None, "folder").await;
    let loose = given.thread(None, "loose").await;
    let placed = given.thread(Some(&folder), "placed").await;
    for thread in [&loose, &placed] {
        let subject = given.store.turn_subject(&given.workspace, thread).await.unwrap();
        assert_eq!(subject.workspace, given.store.workspace(&given.workspace).await.unwrap());
        assert_eq!(subject.thread, given.store.thread(&given.workspace, thread).await.unwrap());
    }
    let nowhere = "nowhere".parse().unwrap();
    let elsewhere = given.another_workspace().await;
    assert_not_found(given.store.turn_subject(&given.workspace, &nowhere).await, "thread", "nowhere");
    assert_not_found(given.store.turn_subject(&elsewhere, &placed).await, "thread", &placed);
    let unknown = "unknown".parse().unwrap();
    assert_not_found(given.store.turn_subject(&unknown, &placed).await, "workspace", "unknown");
});

both_databases!(a_round_begins_with_all_that_is_kept_of_it, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let before = given.seq().await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, round(&turn)).await.unwrap();
    assert_eq!(given.store.manifests(&given.workspace, &turn.id).await.unwrap(), [manifest(1, "f")]);
    assert_eq!(kept(given, &turn).await, (vec![1, 2], 1, 1));
    let texts = [PromptText::new("stable").sha256, PromptText::new("session").sha256];
    assert_eq!(given.store.prompt_texts(&given.workspace, &texts).await.unwrap().len(), 2);
    let told = given.told_after(before).await;
    assert!(matches!(told.as_slice(), [Told::Event(TurnEvent::ManifestKept { round: 1 }, _)]), "{told:?}");
    let second = BeginRound {
        hook_runs: vec![],
        items: vec![message("retry")],
        manifest: manifest(2, "f"),
        ..round(&turn)
    };
    given.store.begin_round(&given.workspace, &turn.id, OWNER, second).await.unwrap();
    assert_eq!(kept(given, &turn).await, (vec![1, 2, 3], 2, 1));
});

// A gateway that gets no response repeats the write.
both_databases!(beginning_a_round_again_changes_nothing, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, round(&turn)).await.unwrap();
    let seq = given.seq().await;
    given.store.begin_round(&given.workspace, &turn.id, OWNER, round(&turn)).await.unwrap();
    assert_eq!((kept(given, &turn).await, given.seq().await), ((vec![1, 2], 1, 1), seq));
    let other = BeginRound { manifest: manifest(1, "another"), ..round(&turn) };
    assert_invalid_state(given.store.begin_round(&given.workspace, &turn.id, OWNER, other).await);
    assert_eq!((kept(given, &turn).await, given.seq().await), ((vec![1, 2], 1, 1), seq));
});

// The manifest proves what was sent to the model, so a round without one must have nothing else either.
both_databases!(a_round_that_is_refused_leaves_no_trace, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    let seq = given.seq().await;
    let begin = |owner, round| given.store.begin_round(&given.workspace, &turn.id, owner, round);
    assert_not_holder(begin("gateway-2", round(&turn)).await);
    let mut foreign = round(&turn);
    foreign.hook_runs[0].turn_id = Some("another".parse().unwrap());
    assert_invalid(begin(OWNER, foreign).await, "hook_runs");
    let mut changed = round(&turn);
    changed.texts[0].content.push('!');
    assert_invalid(begin(OWNER, changed).await, "sha256");
    given.finish(&turn.id, completed()).await.unwrap();
    assert_ended(begin(OWNER, round(&turn)).await);
    assert_eq!(kept(given, &turn).await, (vec![], 0, 0));
    assert_eq!(given.seq().await, seq.next());
});

both_databases!(the_last_items_are_added_with_the_end_once, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.turn(&thread).await;
    let usage = Some(TokenUsage { output: 1, ..TokenUsage::default() });
    let end = |end: TurnEnd| {
        let finish = FinishTurn { usage, items: vec![message("answer")], ..FinishTurn::new(end) };
        given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, Some("ada"))
    };
    let first = end(completed()).await.unwrap();
    let seq = given.seq().await;
    // The response was lost, and the caller retries.
    assert_eq!(end(completed()).await.unwrap(), first);
    assert_eq!((kept(given, &turn).await, given.seq().await), ((vec![1], 0, 0), seq));
    assert_ended(end(failed()).await);
    assert_eq!(kept(given, &turn).await, (vec![1], 0, 0));
    let history = given.store.stored_history(&given.workspace, &thread, 2, 100).await.unwrap();
    assert_eq!((history.context, history.items.len()), (None, 1));
    assert_eq!(given.store.stored_history(&given.workspace, &thread, 1, 100).await.unwrap().items, []);
    given.store.save_thread_context(&given.workspace, &thread, 1, Some("short"), Version(0)).await.unwrap();
    let history = given.store.stored_history(&given.workspace, &thread, 9, 100).await.unwrap();
    assert_eq!((history.context.unwrap().through, history.items), (1, vec![]));
});

/// Runs a question and its answer like a gateway.
async fn question_and_answer(given: &Fixture, thread: &protocol::ThreadId) -> Statements {
    let before = given.store.statements();
    let subject = given.store.turn_subject(&given.workspace, thread).await.unwrap();
    let turn =
        given.store.create_turn(new_turn(&given.workspace, thread), minute(), None, None).await.unwrap();
    given.store.resolve_for_thread(&given.workspace, thread).await.unwrap();
    given.store.stored_history(&given.workspace, thread, turn.ordinal, 100).await.unwrap();
    given.store.begin_round(&given.workspace, &turn.id, OWNER, round(&turn)).await.unwrap();
    let finish = FinishTurn { items: vec![message("answer")], ..FinishTurn::new(completed()) };
    let finished = given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await;
    assert_eq!(finished.unwrap().thread_id, subject.thread.id);
    let after = given.store.statements();
    Statements {
        statements: after.statements - before.statements,
        transactions: after.transactions - before.transactions,
    }
}

// A bound on the cost of every turn. On a remote server each statement that is not joined is a round trip under
// a lock.
both_databases!(a_question_and_its_answer_take_eighteen_statements_in_three_transactions, async |given| {
    let thread = given.thread(None, "thread").await;
    given.save(&given.root(), "text").await;
    for _ in 0..3 {
        let used = question_and_answer(given, &thread).await;
        assert!(used.statements <= 18 && used.transactions == 3, "{used:?}");
    }
    assert!(given.seq().await > Sequence(9));
});

both_databases!(what_a_thread_asked_for_is_kept_with_the_turn_that_completed, async |given| {
    let thread = given.thread(None, "thread").await;
    let other = given.thread(None, "other").await;
    let asked = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let end = async |end: TurnEnd, names: Option<Vec<String>>| {
        let turn = given.turn(&thread).await;
        let finish = FinishTurn { requested_tools: names, ..FinishTurn::new(end) };
        given.store.finish_turn(&given.workspace, &turn.id, OWNER, finish, None).await.unwrap();
        given.store.requested_tools(&given.workspace, &thread).await.unwrap()
    };
    assert_eq!(end(completed(), None).await, asked(&[]));
    assert_eq!(end(TurnEnd::Cancelled, Some(asked(&["lost"]))).await, asked(&[]));
    assert_eq!(end(completed(), Some(asked(&["b", "a"]))).await, asked(&["b", "a"]));
    assert_eq!(end(completed(), None).await, asked(&["b", "a"]));
    assert_eq!(end(completed(), Some(asked(&["b", "a", "c"]))).await, asked(&["b", "a", "c"]));
    assert_eq!(given.store.requested_tools(&given.workspace, &other).await.unwrap(), asked(&[]));
    let elsewhere = given.another_workspace().await;
    assert_eq!(given.store.requested_tools(&elsewhere, &thread).await.unwrap(), asked(&[]));
});
