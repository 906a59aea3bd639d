//! Events of a running turn: logged with their change, by the owner, and only while it runs.

use protocol::notification::TurnStarted;
use protocol::{Sequence, SystemReminderType, Turn};
use store::{BeginRound, StoreError, TurnEvent, Wake};

use crate::engine::wakes::heard;
use crate::fixture::{
    Fixture, OWNER, Told, assert_ended, assert_invalid_state, assert_not_holder, bare_round, completed,
    failure, lease, message, minute, new_turn, said,
};

fn started(call_id: &str) -> TurnEvent {
    TurnEvent::ToolStarted { call_id: call_id.to_owned(), tool: "bash".to_owned() }
}

fn every_event() -> Vec<TurnEvent> {
    vec![
        TurnEvent::ManifestKept { round: 1 },
        started("call-1"),
        TurnEvent::ApprovalRequested {
            call_id: "call-1".to_owned(),
            tool: "bash".to_owned(),
            digest: None,
            new_file: true,
            replaces_lines: None,
        },
        TurnEvent::ToolFinished {
            call_id: "call-1".to_owned(),
            tool: "bash".to_owned(),
            is_error: true,
            reminders: vec![SystemReminderType::AgentsResolvePaths, SystemReminderType::ToolOutputTrimmed],
            effects: protocol::CallEffects {
                sandbox: Some(protocol::SandboxLevel::Confined),
                protected_changes: vec![protocol::ProtectedChange {
                    path: "AGENTS.md".to_owned(),
                    change: protocol::FileChange::New,
                    undone: true,
                }],
                unwatched: true,
                memory: vec!["m".parse().unwrap()],
                memory_owner: Some("ada".to_owned()),
            },
        },
        TurnEvent::ContextCompressing {},
        TurnEvent::ContextCompressed { through: 3, summarised: true, missing_after: Some(2) },
    ]
}

/// Returns the logged events after a sequence number.
fn told(given: &Fixture, turn: &Turn, since: Sequence, events: Vec<TurnEvent>) -> Vec<Told> {
    let of_turn = |seq| TurnStarted {
        seq: Sequence(seq),
        workspace_id: given.workspace.clone(),
        thread_id: turn.thread_id.clone(),
        turn_id: turn.id.clone(),
        parent_turn_id: None,
    };
    (since.0 + 1..).zip(events).map(|(seq, event)| Told::Event(event, of_turn(seq))).collect()
}

both_databases!(events_are_logged_in_order_and_wake, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let mut wakes = given.store.wakes();
    given.store.log_turn_events(&given.workspace, &turn.id, OWNER, every_event()).await.unwrap();
    heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, every_event()));
    assert_eq!(given.seq().await, Sequence(seq.0 + 6));
});

both_databases!(events_have_the_turns_creator_as_author, async |given| {
    let thread = given.thread(None, "thread").await;
    let turn = given
        .store
        .create_turn(new_turn(&given.workspace, &thread), minute(), None, Some("ada"))
        .await
        .unwrap();
    given.store.log_turn_events(&given.workspace, &turn.id, OWNER, every_event()).await.unwrap();
    let actors = given.column("SELECT coalesce(actor, '') FROM change_log ORDER BY seq DESC LIMIT 6").await;
    assert_eq!(actors, ["ada"; 6]);
});

both_databases!(nothing_is_logged_without_events, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let seq = given.seq().await;
    given.store.log_turn_events(&given.workspace, &turn, OWNER, Vec::new()).await.unwrap();
    given.store.add_turn_items(&given.workspace, &turn, OWNER, &[message("text")], vec![]).await.unwrap();
    assert_eq!(given.seq().await, seq);
    assert_eq!(given.told_after(seq).await, []);
});

both_databases!(only_the_owner_of_a_running_turn_logs_events, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let seq = given.seq().await;
    for events in [every_event(), Vec::new()] {
        assert_not_holder(given.store.log_turn_events(&given.workspace, &turn, "gateway-2", events).await);
    }
    assert_eq!(given.seq().await, seq);
    given.finish(&turn, completed()).await.unwrap();
    let seq = given.seq().await;
    for events in [every_event(), Vec::new()] {
        assert_ended(given.store.log_turn_events(&given.workspace, &turn, OWNER, events).await);
    }
    assert_eq!(given.seq().await, seq);
    assert_eq!(given.told_after(seq).await, []);
});

// A model may call a tool by any name. PostgreSQL reads the body as JSON to add the thread, and rejects this one.
both_databases!(names_with_a_zero_byte_are_logged, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let call = || TurnEvent::ToolStarted { call_id: "call-1".to_owned(), tool: "a\0b".to_owned() };
    given.store.log_turn_events(&given.workspace, &turn.id, OWNER, vec![call()]).await.unwrap();
    given
        .store
        .add_turn_items(&given.workspace, &turn.id, OWNER, &[message("text")], vec![call()])
        .await
        .unwrap();
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, vec![call(), call()]));
});

both_databases!(items_and_events_are_one_change, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let add = async |owner: &str| {
        let events = vec![started("call-1"), started("call-2")];
        given.store.add_turn_items(&given.workspace, &turn.id, owner, &[message("text")], events).await
    };
    assert_not_holder(add("gateway-2").await);
    assert_eq!((given.items(&turn.id).await, given.seq().await), (vec![], seq));
    add(OWNER).await.unwrap();
    assert_eq!(given.items(&turn.id).await.iter().map(said).collect::<Vec<_>>(), ["text"]);
    let events = vec![started("call-1"), started("call-2")];
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, events));
});

both_databases!(a_manifest_is_logged_once, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await;
    let seq = given.seq().await;
    let events = || vec![TurnEvent::ManifestKept { round: 2 }];
    let save = async |fingerprint: &str| {
        let round = BeginRound { events: events(), ..bare_round(2, fingerprint) };
        given.store.begin_round(&given.workspace, &turn.id, OWNER, round).await
    };
    save("a").await.unwrap();
    save("a").await.unwrap();
    assert_invalid_state(save("b").await);
    assert_eq!(given.told_after(seq).await, told(given, &turn, seq, events()));
});

// The same for events, which take a sequence number and so lock the workspace too.
both_databases!(logging_and_failing_a_turn_never_deadlock, async |given| {
    let another = given.another_store().await;
    for round in 0..40 {
        let thread = given.thread(None, "thread").await;
        let new = new_turn(&given.workspace, &thread);
        let turn = given.store.create_turn(new, lease(OWNER, -1000), None, None).await.unwrap();
        let tell = |store: &store::Store, events: Vec<TurnEvent>| {
            let store = store.clone();
            let workspace = given.workspace.clone();
            let turn = turn.id.clone();
            let items = vec![message("text"); 50];
            tokio::spawn(async move { store.add_turn_items(&workspace, &turn, OWNER, &items, events).await })
        };
        let adding =
            [tell(&another, every_event()), tell(&another, vec![]), tell(&given.store, every_event())];
        let now = protocol::Timestamp::now();
        given.store.fail_expired_turns(now, 10, &[], &failure("abandoned")).await.unwrap();
        for add in adding {
            match add.await.unwrap() {
                Ok(()) | Err(StoreError::TurnEnded { .. }) => {}
                Err(error) => panic!("round {round}: {error:?}"),
            }
        }
    }
    another.close().await;
});
