//! Manifests: one for each round, stored once.

use protocol::ThreadMode;
use protocol::TurnId;
use protocol::prompt::{RoundManifest, RoundRequest, ToolChoice};
use store::{BeginRound, StoreError};

use crate::fixture::{
    Fixture, OWNER, assert_ended, assert_invalid, assert_invalid_state, assert_not_holder, bare_round,
    completed, manifest,
};

async fn begin(given: &Fixture, turn: &TurnId, manifest: RoundManifest) -> Result<(), StoreError> {
    let round = BeginRound { manifest, ..bare_round(0, "") };
    given.store.begin_round(&given.workspace, turn, OWNER, round).await
}

async fn manifests(given: &Fixture, turn: &TurnId) -> Vec<RoundManifest> {
    given.store.manifests(&given.workspace, turn).await.unwrap()
}

both_databases!(a_turn_has_its_manifests_by_round, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    assert_eq!(manifests(given, &turn).await, []);
    begin(given, &turn, manifest(2, "b")).await.unwrap();
    begin(given, &turn, manifest(0, "a")).await.unwrap();
    assert_eq!(manifests(given, &turn).await, [manifest(0, "a"), manifest(2, "b")]);
});

both_databases!(the_same_manifest_again_changes_nothing_and_another_is_refused, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    begin(given, &turn, manifest(1, "a")).await.unwrap();
    begin(given, &turn, manifest(1, "a")).await.unwrap();
    assert_invalid_state(begin(given, &turn, manifest(1, "b")).await);
    assert_eq!(manifests(given, &turn).await, [manifest(1, "a")]);
});

both_databases!(rounds_with_the_same_manifest_store_it_once, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let mut last = manifest(4, "a");
    last.manifest.request = Some(RoundRequest {
        mode: ThreadMode::Agent,
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        notes: Vec::new(),
        hidden_tools: Vec::new(),
        requested_tools: Vec::new(),
    });
    let rounds = [manifest(1, "a"), manifest(2, "a"), manifest(3, "a"), last];
    for round in &rounds {
        begin(given, &turn, round.clone()).await.unwrap();
        begin(given, &turn, round.clone()).await.unwrap();
    }
    assert_eq!(manifests(given, &turn).await, rounds);
    let stored = given.column("SELECT manifest FROM prompt_manifest ORDER BY round").await;
    assert_eq!(stored[1..3], [r#"{"same_as_round":1}"#; 2]);
    assert!(stored[0].len() > 100 && stored[3].len() > 100, "{stored:?}");
});

both_databases!(only_the_owner_of_a_running_turn_saves_manifests, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let stranger = given.store.begin_round(&given.workspace, &turn, "gateway-2", bare_round(1, "a")).await;
    assert_not_holder(stranger);
    given.finish(&turn, completed()).await.unwrap();
    assert_ended(begin(given, &turn, manifest(1, "a")).await);
    assert_eq!(manifests(given, &turn).await, []);
});

both_databases!(a_fingerprint_is_one_word_or_none, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    for bad in ["", "a\0b"] {
        assert_invalid(begin(given, &turn, manifest(1, bad)).await, "fingerprint");
    }
});
