//! The audit log, and usage totals.

use protocol::message::TurnItem;
use protocol::method::{WorkspaceCreateParams, WorkspaceUpdateParams};
use protocol::round::RoundOutcome;
use protocol::{AuditEntry, AuditEntryId, AuditEvent, Role, Timestamp, TokenUsage};
use store::{AuditFilter, FinishTurn, NewToken, TurnEnd, hash_secret};

use crate::fixture::{OWNER, failure, from_now};

both_databases!(entries_are_listed_newest_first_and_filtered, async |given| {
    let token = |name: &str| NewToken {
        name: name.to_owned(),
        role: Role::Reader,
        workspace_id: (name == "bound").then(|| given.workspace.clone()),
        expires_at: None,
        secret_sha256: hash_secret(name),
    };
    for name in ["one", "bound", "two"] {
        given.store.create_token(token(name), Some("owner")).await.unwrap();
    }
    let list = async |filter: AuditFilter| given.store.audit_entries(filter).await.unwrap();
    let all = list(AuditFilter { limit: 10, ..AuditFilter::default() }).await;
    assert_eq!(all.len(), 3);
    assert!(all.is_sorted_by(|newer, older| newer.at >= older.at));
    assert!(all.iter().all(|entry| entry.actor.as_deref() == Some("owner")), "{all:?}");
    let before = Some(all[0].id.clone());
    let older = list(AuditFilter { before, limit: 1, ..AuditFilter::default() }).await;
    assert_eq!(older, all[1..2]);
    let workspace_id = Some(given.workspace.clone());
    let bound = list(AuditFilter { workspace_id, limit: 10, ..AuditFilter::default() }).await;
    assert_eq!(bound, all[1..2]);
    let since = Some(Timestamp::from_milliseconds(Timestamp::now().milliseconds() + 60_000));
    assert_eq!(list(AuditFilter { since, limit: 10, ..AuditFilter::default() }).await, []);
    // Writing an entry again replaces its counts.
    let again = AuditEntry { id: AuditEntryId::new(), ..all[0].clone() };
    for _ in 0..2 {
        given.store.record_audit(vec![again.clone()]).await.unwrap();
    }
    assert_eq!(list(AuditFilter { limit: 10, ..AuditFilter::default() }).await.len(), 4);
});

both_databases!(what_happens_to_a_workspace_is_listed, async |given| {
    let store = &given.store;
    let id = &given.workspace;
    let change = |root: Option<&str>, name: Option<&str>| WorkspaceUpdateParams {
        workspace_id: id.clone(),
        name: name.map(str::to_owned),
        root_path: root.map(str::to_owned),
        agents: None,
    };
    for params in [
        change(Some("/srv/one"), None),
        change(Some("/srv/one"), Some("renamed")),
        change(Some("/srv/two"), None),
    ] {
        store.update_workspace(params, Some("ada")).await.unwrap();
    }
    for _ in 0..2 {
        store.archive_workspace(id, Some("ada")).await.unwrap();
    }
    store.restore_workspace(id, Some("grace")).await.unwrap();
    let refused = store.update_workspace(change(Some("relative"), None), Some("ada")).await;
    assert!(refused.is_err(), "what is not done is not listed");

    let filter = AuditFilter { workspace_id: Some(id.clone()), limit: 10, ..AuditFilter::default() };
    let mut entries = store.audit_entries(filter).await.unwrap();
    entries.reverse();
    let one = Some("/srv/one".to_owned());
    let two = Some("/srv/two".to_owned());
    let name = || "renamed".to_owned();
    let expected = [
        ("ada", AuditEvent::WorkspaceRootChanged { from: None, to: one.clone() }),
        ("ada", AuditEvent::WorkspaceRootChanged { from: one, to: two }),
        ("ada", AuditEvent::WorkspaceArchived { name: name() }),
        ("grace", AuditEvent::WorkspaceRestored { name: name() }),
    ];
    let told: Vec<(&str, AuditEvent)> =
        entries.iter().map(|entry| (entry.actor.as_deref().unwrap(), entry.event.clone())).collect();
    assert_eq!(told, expected);

    let root_path = Some("/srv/new".to_owned());
    let new = WorkspaceCreateParams { name: "made with one".to_owned(), root_path, agents: None };
    let made = store.create_workspace(new, Some("ada")).await.unwrap();
    let filter = AuditFilter { workspace_id: Some(made.id), limit: 10, ..AuditFilter::default() };
    let [entry] = &store.audit_entries(filter).await.unwrap()[..] else { panic!("one entry") };
    let to = Some("/srv/new".to_owned());
    assert_eq!(entry.event, AuditEvent::WorkspaceRootChanged { from: None, to });
});

both_databases!(running_turns_count_with_those_that_have_ended, async |given| {
    let used = |input: u64| TokenUsage { input, output: 1, ..TokenUsage::default() };
    let since = Timestamp::from_milliseconds(Timestamp::now().milliseconds() - 60_000);
    let usage = async || given.store.usage_since(&given.workspace, since).await.unwrap();
    assert_eq!((usage().await, given.store.running_turns(None).await.unwrap()), (TokenUsage::default(), 0));
    let ended = given.turn(&given.thread(None, "ended").await).await;
    let running = given.turn(&given.thread(None, "running").await).await;
    for (turn, input) in [(&ended, 5), (&running, 7)] {
        let outcome = RoundOutcome { round: 1, usage: used(input), cache_marks: Vec::new(), cut: false };
        let items = [TurnItem::Round(outcome)];
        let added = given.store.add_turn_items(&given.workspace, &turn.id, OWNER, &items, Vec::new()).await;
        added.unwrap();
    }
    assert_eq!(usage().await.input, 12);
    for workspace in [None, Some(&given.workspace)] {
        assert_eq!(given.store.running_turns(workspace).await.unwrap(), 2);
    }
    let end = FinishTurn { usage: Some(used(5)), ..FinishTurn::new(TurnEnd::Cancelled) };
    given.store.finish_turn(&given.workspace, &ended.id, OWNER, end, None).await.unwrap();
    assert_eq!(usage().await.input, 12, "a turn that has ended is counted once");
    let failed = given.store.fail_expired_turns(from_now(3_600_000), 9, &[], &failure("abandoned")).await;
    assert_eq!(failed.unwrap()[0].usage, Some(used(7)), "and one whose gateway died as far as it had come");
    assert_eq!(usage().await.input, 12);
    let elsewhere = given.another_workspace().await;
    assert_eq!(given.store.running_turns(Some(&elsewhere)).await.unwrap(), 0);
});
