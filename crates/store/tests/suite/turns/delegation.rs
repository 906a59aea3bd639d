//! Delegated threads and turns.

use protocol::{TokenUsage, Turn, TurnStatus};
use store::{FinishTurn, NewChildThread, Store, TurnActor, TurnEnd};

use crate::fixture::{Fixture, OWNER, minute, new_turn};

async fn child(given: &Fixture, parent: &Turn, title: &str) -> Turn {
    let new = NewChildThread {
        workspace_id: given.workspace.clone(),
        parent_thread_id: parent.thread_id.clone(),
        parent_turn_id: parent.id.clone(),
        title: title.to_owned(),
        inherits_document: false,
    };
    let thread = given.store.create_child_thread(new, None).await.unwrap();
    let actor = TurnActor { parent_turn_id: Some(parent.id.clone()), ..TurnActor::default() };
    let start = new_turn(&given.workspace, &thread.id);
    given.store.create_turn(start, minute(), None, actor).await.unwrap()
}

async fn end(store: &Store, turn: &Turn, input: u64) {
    let usage = Some(TokenUsage { input, ..TokenUsage::default() });
    let finish = FinishTurn { usage, ..FinishTurn::new(TurnEnd::Completed { session: None }) };
    store.finish_turn(&turn.workspace_id, &turn.id, OWNER, finish, None).await.unwrap();
}

both_databases!(children_know_their_parents_and_take_nobodys_place, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let folder = given.folder(None, "f").await;
    let thread = given.thread(Some(&folder), "parent").await;
    let parent = store.create_turn(new_turn(workspace, &thread), minute(), Some(1), None).await.unwrap();
    let one = child(given, &parent, "one").await;
    let two = child(given, &one, "two").await;
    let kept = store.thread(workspace, &one.thread_id).await.unwrap();
    assert_eq!(
        (kept.parent_thread_id.as_ref(), kept.parent_turn_id.as_ref()),
        (Some(&thread), Some(&parent.id))
    );
    assert_eq!((kept.folder_id.as_ref(), kept.inherits_document), (Some(&folder), false));
    for (thread_id, depth) in [(&thread, 0), (&one.thread_id, 1), (&two.thread_id, 2)] {
        assert_eq!(store.thread_depth(workspace, thread_id).await.unwrap(), depth);
    }
    let below = store.delegated_turns(workspace, &parent.id).await.unwrap();
    assert_eq!(below, [one.clone(), two.clone()]);
    assert_eq!(store.delegated_turns(workspace, &two.id).await.unwrap(), []);
    assert_eq!(store.running_turns(Some(workspace)).await.unwrap(), 1);
    let other = given.thread(None, "other").await;
    store.create_turn(new_turn(workspace, &other), minute(), Some(2), None).await.unwrap();
    assert_eq!(store.latest_turns(workspace, 10).await.unwrap().len(), 2);
    let tree = given.tree().await;
    let of_tree = tree.threads.iter().find(|found| found.id == one.thread_id).unwrap();
    assert_eq!(of_tree.parent_turn_id.as_ref(), Some(&parent.id));
});

both_databases!(what_children_cost_is_counted_once, async |given| {
    let store = &given.store;
    let workspace = &given.workspace;
    let thread = given.thread(None, "parent").await;
    let parent = store.create_turn(new_turn(workspace, &thread), minute(), None, None).await.unwrap();
    let one = child(given, &parent, "one").await;
    let since = parent.created_at;
    end(store, &one, 5).await;
    assert_eq!(store.usage_since(workspace, since).await.unwrap().input, 5);
    // The parent's own usage is 7, and the child's is added to it.
    end(store, &parent, 12).await;
    assert_eq!(store.usage_since(workspace, since).await.unwrap().input, 12);
    let kept = store.turn(workspace, &one.id).await.unwrap();
    assert_eq!(kept.status, TurnStatus::Completed);
});
