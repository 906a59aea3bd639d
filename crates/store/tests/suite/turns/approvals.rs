//! Approvals: requested by the turn's owner, decided once, by anyone, in time.

use protocol::notification::TurnStarted;
use protocol::{ApprovalRequest, ContentHash, HowDecided, Timestamp, Turn, TurnApproval};
use serde_json::{Map, json};
use store::{ApprovalAnswer, StoreError, TurnEnd, TurnEvent, Wake};

use crate::engine::wakes::{another_that_listens, heard};
use crate::fixture::{
    Engine, Fixture, OWNER, Told, assert_ended, assert_invalid, assert_invalid_state, assert_not_found,
    assert_not_holder, completed, from_now, run,
};

/// Returns a request and its deadline.
fn approval(call_id: &str, milliseconds: i64) -> (ApprovalRequest, Timestamp) {
    let request = ApprovalRequest {
        call_id: call_id.to_owned(),
        tool: "bash".to_owned(),
        arguments: Map::from_iter([("command".to_owned(), json!("a secret\u{0}"))]),
        paths: Vec::new(),
        cwd: None,
        digest: Some(ContentHash::of(call_id)),
        diff: Some("+a secret".to_owned()),
        new_file: false,
        replaces_lines: Some(2),
        rule: "permissions.shell = ask".to_owned(),
        identity: false,
        sandbox: None,
    };
    (request, from_now(milliseconds))
}

fn is_allowed(approval: &TurnApproval) -> bool {
    approval.decision.as_ref().is_some_and(|decision| decision.allowed)
}

async fn begin(given: &Fixture) -> Turn {
    given.turn(&given.thread(None, "thread").await).await
}

async fn request(given: &Fixture, turn: &Turn, new: (ApprovalRequest, Timestamp)) -> TurnApproval {
    given.store.request_approval(&given.workspace, &turn.id, OWNER, new.0, new.1).await.unwrap()
}

fn said(allow: bool, actor: Option<&str>) -> ApprovalAnswer {
    ApprovalAnswer { allow, actor: actor.map(str::to_owned), ..ApprovalAnswer::default() }
}

async fn answer(given: &Fixture, turn: &Turn, call: &str, allow: bool) -> Result<TurnApproval, StoreError> {
    given.store.answer_approval(&given.workspace, &turn.id, call, said(allow, Some("ada"))).await
}

async fn approvals(given: &Fixture, turn: &Turn) -> Vec<TurnApproval> {
    given.store.approvals(&given.workspace, &turn.id).await.unwrap()
}

both_databases!(an_approval_is_stored_in_full_and_logged_without_content, async |given| {
    let turn = begin(given).await;
    let seq = given.seq().await;
    let new = approval("call-1", 60_000);
    let asked = request(given, &turn, new.clone()).await;
    let (question, expires_at) = new;
    assert_eq!((&asked.request, asked.expires_at, &asked.decision), (&question, expires_at, &None));
    assert_eq!(approvals(given, &turn).await, [asked]);
    let ApprovalRequest { call_id, tool, digest, new_file, replaces_lines, .. } = question;
    let event = TurnEvent::ApprovalRequested { call_id, tool, digest, new_file, replaces_lines };
    let workspace_id = given.workspace.clone();
    let thread_id = turn.thread_id;
    let turn_id = turn.id;
    let of_turn = TurnStarted { seq: seq.next(), workspace_id, thread_id, turn_id, parent_turn_id: None };
    assert_eq!(given.told_after(seq).await, [Told::Event(event, of_turn)]);
    let changes = given.store.changes_after(&given.workspace, seq, 100).await.unwrap();
    assert!(changes.iter().all(|change| !change.body.contains("secret")));
});

both_databases!(approvals_are_listed_oldest_first, async |given| {
    let turn = begin(given).await;
    assert_eq!(approvals(given, &turn).await, []);
    let other = given.turn(&given.thread(None, "other").await).await;
    request(given, &other, approval("other", 60_000)).await;
    for call in ["c", "a", "b"] {
        request(given, &turn, approval(call, 60_000)).await;
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let calls: Vec<_> =
        approvals(given, &turn).await.into_iter().map(|approval| approval.request.call_id).collect();
    assert_eq!(calls, ["c", "a", "b"]);
});

both_databases!(only_the_owner_of_a_running_turn_requests_approval, async |given| {
    let turn = begin(given).await;
    let ask = async |owner: &str, call: &str| {
        let (question, expires_at) = approval(call, 60_000);
        given.store.request_approval(&given.workspace, &turn.id, owner, question, expires_at).await
    };
    let seq = given.seq().await;
    assert_not_holder(ask("gateway-2", "call").await);
    for bad in ["", "a\0b"] {
        assert_invalid(ask(OWNER, bad).await, "call_id");
    }
    assert_eq!(given.seq().await, seq);
    given.finish(&turn.id, completed()).await.unwrap();
    assert_ended(ask(OWNER, "call").await);
    assert_eq!(approvals(given, &turn).await, []);
});

both_databases!(a_decision_is_stored_and_logged_with_its_author, async |given| {
    let turn = begin(given).await;
    for (call, allow) in [("yes", true), ("no", false)] {
        let asked = request(given, &turn, approval(call, 60_000)).await;
        let seq = given.seq().await;
        let mut wakes = given.store.wakes();
        let decided = answer(given, &turn, call, allow).await.unwrap();
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
        let decision = decided.decision.clone().unwrap();
        assert_eq!((decision.allowed, decision.decided_by.as_deref()), (allow, Some("ada")));
        assert!(decision.decided_at >= asked.requested_at);
        assert_eq!(TurnApproval { decision: None, ..decided.clone() }, asked);
        assert!(approvals(given, &turn).await.contains(&decided));
        let event =
            TurnEvent::ApprovalDecided { call_id: call.to_owned(), tool: "bash".to_owned(), decision };
        let workspace_id = given.workspace.clone();
        let thread_id = turn.thread_id.clone();
        let of_turn = TurnStarted {
            seq: seq.next(),
            workspace_id,
            thread_id,
            turn_id: turn.id.clone(),
            parent_turn_id: None,
        };
        assert_eq!(given.told_after(seq).await, [Told::Event(event, of_turn)]);
        // Repeating a decision is not logged again.
        answer(given, &turn, call, allow).await.unwrap();
        assert_eq!(given.seq().await, seq.next());
    }
});

// A person decides about what is on the screen. If the call has changed since, the decision must not apply to
// it.
both_databases!(a_decision_about_a_changed_request_is_rejected, async |given| {
    let turn = begin(given).await;
    request(given, &turn, approval("call", 60_000)).await;
    let about = async |digest: &str, how: HowDecided| {
        let digest = Some(ContentHash::of(digest));
        let answer = ApprovalAnswer { digest, how, ..said(true, Some("ada")) };
        given.store.answer_approval(&given.workspace, &turn.id, "call", answer).await
    };
    assert_invalid_state(about("another", HowDecided::Asked).await);
    assert_eq!(approvals(given, &turn).await[0].decision, None);
    let kept = about("call", HowDecided::Standing).await.unwrap().decision.unwrap();
    assert_eq!(kept.how, HowDecided::Standing);
    assert_eq!(approvals(given, &turn).await[0].decision, Some(kept));
    // A decision is valid only for the request that it was made about.
    assert_invalid_state(about("another", HowDecided::Standing).await);
    request(given, &turn, approval("call", 60_000)).await;
    assert_eq!(about("call", HowDecided::Flag).await.unwrap().decision.unwrap().how, HowDecided::Flag);
});

both_databases!(an_expired_request_is_denied_once, async |given| {
    let turn = begin(given).await;
    request(given, &turn, approval("late", 0)).await;
    let expire = |call| given.store.expire_approval(&given.workspace, &turn.id, OWNER, call);
    let expired = expire("late").await.unwrap();
    let decision = expired.decision.clone().unwrap();
    assert_eq!((decision.allowed, decision.decided_by, decision.how), (false, None, HowDecided::Expired));
    assert_eq!(expire("late").await.unwrap(), expired);
    assert_invalid_state(answer(given, &turn, "late", true).await);
    let filter = store::AuditFilter { limit: 9, ..store::AuditFilter::default() };
    let audited = given.store.audit_entries(filter).await.unwrap();
    assert_eq!(audited.iter().map(|entry| entry.actor.as_deref()).collect::<Vec<_>>(), [Some("gateway")]);
    // A decision that was in time counts.
    request(given, &turn, approval("answered", 60_000)).await;
    answer(given, &turn, "answered", true).await.unwrap();
    assert!(is_allowed(&expire("answered").await.unwrap()));
});

both_databases!(a_decision_is_final, async |given| {
    let turn = begin(given).await;
    for (call, allow) in [("yes", true), ("no", false)] {
        request(given, &turn, approval(call, 60_000)).await;
        let decided = answer(given, &turn, call, allow).await.unwrap();
        let again =
            given.store.answer_approval(&given.workspace, &turn.id, call, said(allow, Some("eve"))).await;
        assert_eq!(again.unwrap(), decided);
        assert_invalid_state(answer(given, &turn, call, !allow).await);
        assert!(approvals(given, &turn).await.contains(&decided));
    }
    given.finish(&turn.id, completed()).await.unwrap();
    assert!(is_allowed(&answer(given, &turn, "yes", true).await.unwrap()));
});

// Two people may decide differently at the same time, and the call runs at most once.
both_databases!(one_of_two_decisions_counts, async |given| {
    let another = given.another_store().await;
    let turn = begin(given).await;
    for round in 0..30 {
        let call = format!("call-{round}");
        request(given, &turn, approval(&call, 60_000)).await;
        let decide = |store: &store::Store, allow: bool| {
            let store = store.clone();
            let workspace = given.workspace.clone();
            let turn = turn.id.clone();
            let call = call.clone();
            tokio::spawn(
                async move { store.answer_approval(&workspace, &turn, &call, said(allow, None)).await },
            )
        };
        let yes = decide(&given.store, true);
        let no = decide(&another, false);
        match (yes.await.unwrap(), no.await.unwrap()) {
            (Ok(won), Err(StoreError::InvalidState(_))) | (Err(StoreError::InvalidState(_)), Ok(won)) => {
                assert!(approvals(given, &turn).await.contains(&won));
            }
            both => panic!("round {round}: {both:?}"),
        }
    }
    another.close().await;
});

both_databases!(a_call_that_is_asked_for_again_is_undecided, async |given| {
    let turn = begin(given).await;
    request(given, &turn, approval("call", 60_000)).await;
    let (question, expires_at) = approval("call", 70_000);
    let question = ApprovalRequest { tool: "second".to_owned(), ..question };
    let second = request(given, &turn, (question, expires_at)).await;
    assert_eq!(approvals(given, &turn).await, [second]);
    answer(given, &turn, "call", false).await.unwrap();
    let third = request(given, &turn, approval("call", 80_000)).await;
    assert_eq!(approvals(given, &turn).await, [third]);
    assert!(is_allowed(&answer(given, &turn, "call", true).await.unwrap()));
});

both_databases!(what_was_never_asked_for_is_not_found, async |given| {
    let turn = begin(given).await;
    let other = given.turn(&given.thread(None, "other").await).await;
    request(given, &other, approval("call", 60_000)).await;
    assert_not_found(answer(given, &turn, "call", true).await, "approval", "call");
    assert_invalid(answer(given, &turn, "a\0b", true).await, "call_id");
    assert_eq!(approvals(given, &other).await[0].decision, None);
});

both_databases!(what_is_over_cannot_be_decided, async |given| {
    let turn = begin(given).await;
    let late = request(given, &turn, approval("late", -1)).await;
    assert_invalid_state(answer(given, &turn, "late", true).await);
    let open = request(given, &turn, approval("open", 60_000)).await;
    given.finish(&turn.id, TurnEnd::Cancelled).await.unwrap();
    for allow in [true, false] {
        assert_ended(answer(given, &turn, "open", allow).await);
    }
    let kept = approvals(given, &turn).await;
    assert!(kept.len() == 2 && kept.contains(&late) && kept.contains(&open), "{kept:?}");
});

#[test]
fn on_postgres_a_decision_wakes_another_store() {
    run(Engine::Postgres, async |given| {
        let turn = begin(given).await;
        request(given, &turn, approval("call", 60_000)).await;
        let (another, mut wakes) = another_that_listens(given).await;
        answer(given, &turn, "call", true).await.unwrap();
        heard(&mut wakes, &Wake::Workspace(given.workspace.clone())).await;
        assert!(is_allowed(&another.approvals(&given.workspace, &turn.id).await.unwrap()[0]));
        another.close().await;
    });
}
