//! Manifests: one a round, and the newest of a thread.

use protocol::TurnId;
use serde_json::json;
use store::{PromptManifest, SaveManifest, StoreError, TurnEnd};

use crate::fixture::{Fixture, OWNER, assert_invalid, assert_invalid_state};

fn manifest(round: u32, fingerprint: &str) -> SaveManifest {
    SaveManifest {
        round,
        manifest: json!({ "sections": [fingerprint] }),
        fingerprint: fingerprint.to_owned(),
    }
}

async fn save(given: &Fixture, turn: &TurnId, save: SaveManifest) -> Result<PromptManifest, StoreError> {
    given.store.save_manifest(&given.workspace, turn, OWNER, save, Vec::new()).await
}

both_databases!(a_turn_has_its_manifests_by_round, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    assert_eq!(given.store.manifests(&given.workspace, &turn).await.unwrap(), []);
    let second = save(given, &turn, manifest(2, "b")).await.unwrap();
    let first = save(given, &turn, manifest(0, "a")).await.unwrap();
    assert_eq!((first.round, first.fingerprint.as_str()), (0, "a"));
    assert_eq!(first.manifest, json!({ "sections": ["a"] }));
    assert_eq!(given.store.manifests(&given.workspace, &turn).await.unwrap(), [first, second]);
});

both_databases!(the_same_manifest_again_changes_nothing_and_another_is_refused, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let saved = save(given, &turn, manifest(1, "a")).await.unwrap();
    assert_eq!(save(given, &turn, manifest(1, "a")).await.unwrap(), saved);
    assert_invalid_state(save(given, &turn, manifest(1, "b")).await);
    assert_eq!(given.store.manifests(&given.workspace, &turn).await.unwrap(), [saved]);
});

both_databases!(a_manifest_is_saved_by_who_runs_the_turn_while_it_runs, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    let stranger =
        given.store.save_manifest(&given.workspace, &turn, "gateway-2", manifest(1, "a"), vec![]).await;
    assert_invalid_state(stranger);
    given.finish(&turn, TurnEnd::Completed).await.unwrap();
    assert_invalid_state(save(given, &turn, manifest(1, "a")).await);
    assert_eq!(given.store.manifests(&given.workspace, &turn).await.unwrap(), []);
});

both_databases!(a_fingerprint_is_one_word_or_none, async |given| {
    let turn = given.turn(&given.thread(None, "thread").await).await.id;
    for bad in ["", "a\0b"] {
        assert_invalid(save(given, &turn, manifest(1, bad)).await, "fingerprint");
    }
});

both_databases!(the_newest_manifest_is_of_the_newest_turn_that_has_one, async |given| {
    let thread = given.thread(None, "thread").await;
    let other = given.turn(&given.thread(None, "other").await).await.id;
    save(given, &other, manifest(9, "other")).await.unwrap();
    let newest = async |before| {
        let latest = given.store.latest_manifest(&given.workspace, &thread, before).await.unwrap();
        latest.map(|manifest| manifest.fingerprint)
    };
    assert_eq!(newest(None).await, None);
    for fingerprints in [vec!["1.1", "1.2"], vec![], vec!["3.1"], vec![]] {
        let turn = given.turn(&thread).await.id;
        for (round, fingerprint) in (1..).zip(fingerprints) {
            save(given, &turn, manifest(round, fingerprint)).await.unwrap();
        }
        given.finish(&turn, TurnEnd::Completed).await.unwrap();
    }
    for (before, expected) in [
        (None, Some("3.1")),
        (Some(u64::MAX), Some("3.1")),
        (Some(4), Some("3.1")),
        (Some(3), Some("1.2")),
        (Some(2), Some("1.2")),
        (Some(1), None),
        (Some(0), None),
    ] {
        assert_eq!(newest(before).await.as_deref(), expected, "{before:?}");
    }
});
