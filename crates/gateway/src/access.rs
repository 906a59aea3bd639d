//! Who is calling, and whether they still may.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protocol::{AccessToken, Role, WorkspaceId};
use store::{Store, StoreError, hash_secret};

/// How long an answer of the database about a token is believed. A revocation is heard of sooner; this is for
/// the case that the word of it was lost.
const BELIEVED_FOR: Duration = Duration::from_secs(2);

/// Who makes a call.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// What is written into `created_by` and its like.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The only workspace they may touch.
    pub(crate) workspace_id: Option<WorkspaceId>,
    /// Digest of the token's secret; none for stdio, which needs none.
    pub(crate) secret_sha256: Option<String>,
}

impl Actor {
    /// The parent process on the other end of stdio.
    pub(crate) fn stdio() -> Self {
        Self { name: "stdio".to_owned(), role: Role::Owner, workspace_id: None, secret_sha256: None }
    }

    /// Whether a workspace is within reach.
    pub(crate) fn reaches(&self, workspace_id: &WorkspaceId) -> bool {
        self.workspace_id.as_ref().is_none_or(|bound| bound == workspace_id)
    }
}

/// Knows which tokens are valid.
pub(crate) struct Access {
    store: Store,
    believed: Mutex<Believed>,
}

/// What the database said about tokens not long ago.
#[derive(Default)]
struct Believed {
    tokens: HashMap<String, (Instant, AccessToken)>,
    /// Counts how often everything was forgotten: an answer to an older question is not believed.
    forgotten: u64,
}

impl Access {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, believed: Mutex::default() }
    }

    /// Who a secret belongs to; none when it opens nothing.
    pub(crate) async fn authenticate(&self, secret: &str) -> Result<Option<Actor>, StoreError> {
        let digest = hash_secret(secret);
        let token = self.look_up(&digest).await?;
        Ok(token.map(|token| Actor {
            name: token.name,
            role: token.role,
            workspace_id: token.workspace_id,
            secret_sha256: Some(digest),
        }))
    }

    /// Whether somebody who was let in may stay.
    pub(crate) async fn is_still_valid(&self, actor: &Actor) -> Result<bool, StoreError> {
        match &actor.secret_sha256 {
            None => Ok(true),
            Some(digest) => Ok(self.look_up(digest).await?.is_some()),
        }
    }

    /// Forgets what was believed: tokens may have changed.
    pub(crate) fn forget(&self) {
        let mut believed = self.lock();
        believed.tokens.clear();
        believed.forgotten += 1;
    }

    async fn look_up(&self, digest: &str) -> Result<Option<AccessToken>, StoreError> {
        let asked_at = Instant::now();
        let forgotten = {
            let believed = self.lock();
            if let Some((at, token)) = believed.tokens.get(digest)
                && at.elapsed() < BELIEVED_FOR
            {
                return Ok(Some(token.clone()));
            }
            believed.forgotten
        };
        let token = self.store.token_by_secret(digest).await?.filter(|token| token.revoked_at.is_none());
        let mut believed = self.lock();
        match &token {
            Some(token) if believed.forgotten == forgotten => {
                believed.tokens.insert(digest.to_owned(), (asked_at, token.clone()));
            }
            // Only what exists is remembered, so that guesses do not fill the memory.
            _ => drop(believed.tokens.remove(digest)),
        }
        Ok(token)
    }

    fn lock(&self) -> MutexGuard<'_, Believed> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
