//! Access tokens.

use protocol::{AccessToken, Role, TokenId, WorkspaceId};
use store::{NewToken, Store, StoreError, hash_secret};

use crate::fixture::assert_not_found;

fn new_token(name: &str, secret: &str) -> NewToken {
    NewToken {
        name: name.to_owned(),
        role: Role::Editor,
        workspace_id: None,
        expires_at: None,
        secret_sha256: hash_secret(secret),
    }
}

async fn make(store: &Store, name: &str, secret: &str) -> AccessToken {
    store.create_token(new_token(name, secret), Some("ada")).await.unwrap()
}

#[track_caller]
fn assert_taken<T>(result: Result<T, StoreError>, taken: &str) {
    match result {
        Err(StoreError::AlreadyExists { what: protocol::ErrorSubject::Token, name }) => {
            assert_eq!(name, taken)
        }
        Err(error) => panic!("the name is not what was wrong: {error:?}"),
        Ok(_) => panic!("the name was free"),
    }
}

both_databases!(a_token_is_found_by_its_digest_and_by_its_name, async |given| {
    for role in Role::ALL {
        let new = NewToken { role, ..new_token(role.as_str(), &format!("secret {role}")) };
        let made = given.store.create_token(new, Some("ada")).await.unwrap();
        assert_eq!((made.role, made.created_by.as_deref(), made.revoked_at), (role, Some("ada"), None));
        let digest = hash_secret(&format!("secret {role}"));
        assert_eq!(given.store.token_by_secret(&digest).await.unwrap().as_ref(), Some(&made));
        assert_eq!(given.store.token_by_name(role.as_str()).await.unwrap(), made);
    }
});

// A copy of the database must not give access to the gateway.
both_databases!(the_secret_itself_is_not_stored, async |given| {
    make(&given.store, "token", "secret").await;
    assert_eq!(given.store.token_by_secret("secret").await.unwrap(), None);
    assert_eq!(given.column("SELECT secret_sha256 FROM access_token").await, [hash_secret("secret")]);
});

both_databases!(an_unknown_digest_name_or_id_is_not_found, async |given| {
    assert_eq!(given.store.token_by_secret(&hash_secret("x")).await.unwrap(), None);
    for name in ["nobody", "", "a\0b"] {
        assert_not_found(given.store.token_by_name(name).await, "token", name);
    }
    let unknown = TokenId::new();
    assert_not_found(given.store.revoke_token(&unknown, None).await, "token", &unknown);
});

both_databases!(a_name_is_unique_among_tokens_that_are_not_revoked, async |given| {
    let first = make(&given.store, "ci", "one").await;
    assert_taken(given.store.create_token(new_token("ci", "two"), None).await, "ci");
    assert_eq!(given.store.tokens().await.unwrap(), [first]);
    make(&given.store, "CI", "three").await;
});

// Rotating a token keeps its name. Records refer to tokens by id where the difference matters.
both_databases!(a_name_is_free_again_after_its_token_was_revoked, async |given| {
    let first = make(&given.store, "ci", "one").await;
    given.store.revoke_token(&first.id, None).await.unwrap();
    let second = make(&given.store, "ci", "two").await;
    assert_eq!(given.store.token_by_name("ci").await.unwrap(), second);
    assert_taken(given.store.create_token(new_token("ci", "three"), None).await, "ci");
});

both_databases!(a_revoked_token_has_its_time, async |given| {
    let made = make(&given.store, "ci", "secret").await;
    let revoked = given.store.revoke_token(&made.id, Some("bob")).await.unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(AccessToken { revoked_at: None, ..revoked.clone() }, made);
    let found = given.store.token_by_secret(&hash_secret("secret")).await.unwrap();
    assert_eq!(found.as_ref(), Some(&revoked));
    assert_not_found(given.store.token_by_name("ci").await, "token", "ci");
    assert_eq!(given.column("SELECT revoked_by FROM access_token").await, ["bob"]);
});

both_databases!(a_token_is_revoked_once, async |given| {
    let made = make(&given.store, "ci", "secret").await;
    let revoked = given.store.revoke_token(&made.id, Some("bob")).await.unwrap();
    assert_eq!(given.store.revoke_token(&made.id, Some("eve")).await.unwrap(), revoked);
    assert_eq!(given.column("SELECT revoked_by FROM access_token").await, ["bob"]);
});

both_databases!(tokens_are_listed_oldest_first_with_the_revoked_ones, async |given| {
    let first = make(&given.store, "first", "one").await;
    let second = make(&given.store, "second", "two").await;
    let first = given.store.revoke_token(&first.id, None).await.unwrap();
    assert_eq!(given.store.tokens().await.unwrap(), [first, second]);
});

both_databases!(a_token_may_be_bound_to_a_workspace_that_exists, async |given| {
    let bound = NewToken { workspace_id: Some(given.workspace.clone()), ..new_token("bound", "one") };
    let made = given.store.create_token(bound, None).await.unwrap();
    assert_eq!(made.workspace_id.as_ref(), Some(&given.workspace));
    let unknown = WorkspaceId::new();
    let bound = NewToken { workspace_id: Some(unknown.clone()), ..new_token("other", "two") };
    assert_not_found(given.store.create_token(bound, None).await, "workspace", &unknown);
});

both_databases!(of_tokens_made_at_once_with_one_name_one_is_made, async |given| {
    let tries = (0..8).map(|number| {
        let store = given.store.clone();
        tokio::spawn(async move { store.create_token(new_token("ci", &number.to_string()), None).await })
    });
    let mut made = 0;
    for handle in tries.collect::<Vec<_>>() {
        match handle.await.unwrap() {
            Ok(_) => made += 1,
            refused => assert_taken(refused, "ci"),
        }
    }
    assert_eq!(made, 1);
});
