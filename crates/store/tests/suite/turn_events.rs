//! What is told of a turn while it runs: with what it is told of, by who runs it, and only then.

use protocol::notification::TurnStarted;
use protocol::{Sequence, SystemReminderType};
use serde_json::json;
use store::{NewTurnItem, SaveManifest, StoreError, Turn, TurnEnd, TurnEvent, Wake};

use crate::fixture::{Fixture, OWNER, Told, assert_invalid, assert_invalid_state, lease, new_turn};
use crate::wakes::heard;

fn started(call_id: &str) -> TurnEvent {
    TurnEvent::ToolStarted { call_id: call_id.to_owned(), tool: "bash".to_owned() }
}

fn every_event() -> Vec<TurnEvent> {
    vec![
        TurnEvent::ManifestKept { round: 1 },
        started("call-1"),
        TurnEvent::ApprovalRequested { call_id: "call-1".to_owned(), tool: "bash".to_owned() },
        TurnEvent::ToolFinished {
            call_id: "call-1".to_owned(),
            tool: "bash".to_owned(),
            is_error: true,
            reminders: vec![SystemReminderType::AgentsResolvePaths, SystemReminderType::ToolOutputTrimmed],
        },
        TurnEvent::ContextCompressing,
        TurnEvent::ContextCompressed { through: 3, summarised: true },
    ]
}

fn item(kind: &str) -> NewTurnItem {
    NewTurnItem { kind: kind.to_owned(), content: json!("text") }
}

/// The events as the log tells them after a sequence number.
fn told(given: &Fixture, turn: &Turn, since: Sequence, events: Vec<TurnEvent>) -> Vec<Told> {
    let of_turn = |seq| TurnStarted {
        seq: Sequence(seq),
        workspace_id: given.workspace.clone(),
        thread_id: turn.thread_id.clone(),
        turn_id: turn.id.clone(),
    };
    (since.0 + 1..).zip(events).map(|(seq, event)| Told::Event(event, of_turn(seq))).collect()
}

both_databases!(every_event_is_told_in_order_and_wakes, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let mut wakes = given.store.wakes();
    given.store.log_turn_events(&given.workspace, &turn.id, OWNER, every_event()).await.unwrap();
    heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, every_event()));
    assert_eq!(given.seq().await, Sequence(seq.0 + 6));
});

both_databases!(events_are_told_under_the_name_of_who_asked, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given.store.create_turn(&given.workspace, new_turn(&thread), Some("ada")).await.unwrap();
    given.store.log_turn_events(&given.workspace, &turn.id, OWNER, every_event()).await.unwrap();
    let actors = given.column("SELECT coalesce(actor, '') FROM change_log ORDER BY seq DESC LIMIT 6").await;
    assert_eq!(actors, ["ada"; 6]);
});

both_databases!(without_events_nothing_is_told, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let seq = given.seq().await;
    given.store.log_turn_events(&given.workspace, &turn, OWNER, Vec::new()).await.unwrap();
    given.store.add_turn_items(&given.workspace, &turn, OWNER, vec![item("message")], vec![]).await.unwrap();
    assert_eq!(given.seq().await, seq);
    assert_eq!(given.told_after(seq).await, []);
});

both_databases!(only_who_runs_a_turn_tells_of_it_and_only_while_it_runs, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let seq = given.seq().await;
    for events in [every_event(), Vec::new()] {
        assert_invalid_state(given.store.log_turn_events(&given.workspace, &turn, "gateway-2", events).await);
    }
    assert_eq!(given.seq().await, seq);
    given.finish(&turn, TurnEnd::Completed).await.unwrap();
    let seq = given.seq().await;
    for events in [every_event(), Vec::new()] {
        assert_invalid_state(given.store.log_turn_events(&given.workspace, &turn, OWNER, events).await);
    }
    assert_eq!(given.seq().await, seq);
    assert_eq!(given.told_after(seq).await, []);
});

both_databases!(items_and_events_are_one_change, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let add = async |owner: &str, kind: &str| {
        let events = vec![started("call-1"), started("call-2")];
        given.store.add_turn_items(&given.workspace, &turn.id, owner, vec![item(kind)], events).await
    };
    assert_invalid(add(OWNER, "").await, "kind");
    assert_invalid_state(add("gateway-2", "message").await);
    assert_eq!(given.seq().await, seq);
    let added = add(OWNER, "message").await.unwrap();
    assert_eq!(given.store.turn_items(&given.workspace, &turn.id).await.unwrap(), added);
    let events = vec![started("call-1"), started("call-2")];
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, events));
});

both_databases!(a_manifest_is_told_of_once, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let events = || vec![TurnEvent::ManifestKept { round: 2 }];
    let save = async |fingerprint: &str| {
        let save = SaveManifest { round: 2, manifest: json!({}), fingerprint: fingerprint.to_owned() };
        given.store.save_manifest(&given.workspace, &turn.id, OWNER, save, events()).await
    };
    let saved = save("a").await.unwrap();
    assert_eq!(save("a").await.unwrap(), saved);
    assert_invalid_state(save("b").await);
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, events()));
});

both_databases!(telling_of_a_turn_and_failing_it_never_wait_for_each_other, async |given| {
    let another = given.another_store().await;
    for round in 0..40 {
        let thread = given.thread(None, "thread").await;
        let new = store::NewTurn { lease: lease(OWNER, -1000), ..new_turn(&thread) };
        let turn = given.store.create_turn(&given.workspace, new, None).await.unwrap();
        let tell = |store: &store::Store, events: Vec<TurnEvent>| {
            let (store, workspace, turn) = (store.clone(), given.workspace.clone(), turn.id.clone());
            let items = vec![item("message"); 50];
            tokio::spawn(async move { store.add_turn_items(&workspace, &turn, OWNER, items, events).await })
        };
        let adding =
            [tell(&another, every_event()), tell(&another, vec![]), tell(&given.store, every_event())];
        let now = protocol::Timestamp::now();
        given.store.fail_expired_turns(now, 10, &[], &json!("abandoned")).await.unwrap();
        for add in adding {
            match add.await.unwrap() {
                Ok(_) | Err(StoreError::InvalidState(_)) => {}
                Err(error) => panic!("round {round}: {error:?}"),
            }
        }
    }
    another.close().await;
});
