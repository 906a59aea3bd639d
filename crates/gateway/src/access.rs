//! Who is calling, and whether they still may.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::Reach;
use protocol::{AccessToken, Role, Timestamp, WorkspaceId};
use store::{Store, StoreError, hash_secret};

/// How long an answer of the database about a token is trusted. A revocation usually arrives sooner; this bounds the
/// time when the wake was lost.
const CACHED_FOR: Duration = Duration::from_secs(2);

/// Who makes a call.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// What is written into `created_by` and its like.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The only workspace they may touch.
    pub(crate) workspace_id: Option<WorkspaceId>,
    /// When they have to leave.
    pub(crate) expires_at: Option<Timestamp>,
    /// Digest of the token's secret; none for stdio, which needs none.
    pub(crate) secret_sha256: Option<String>,
}

impl Actor {
    /// The parent process on the other end of stdio.
    pub(crate) fn stdio() -> Self {
        Self {
            name: "stdio".to_owned(),
            role: Role::Owner,
            workspace_id: None,
            expires_at: None,
            secret_sha256: None,
        }
    }

    /// Whether their token's time is over.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Whether everything is within reach, or one workspace.
    pub(crate) fn reach(&self) -> Reach {
        if self.workspace_id.is_none() { Reach::Everything } else { Reach::Workspace }
    }

    /// Whether a workspace is within reach.
    pub(crate) fn reaches(&self, workspace_id: &WorkspaceId) -> bool {
        self.workspace_id.as_ref().is_none_or(|bound| bound == workspace_id)
    }
}

/// Knows which tokens are valid.
pub(crate) struct Authenticator {
    store: Store,
    cache: Mutex<TokenCache>,
}

/// What the database said about tokens not long ago.
#[derive(Default)]
struct TokenCache {
    tokens: HashMap<String, (Instant, AccessToken)>,
    /// Counts how often everything was forgotten: an answer to an older question is not kept.
    forgotten: u64,
}

impl Authenticator {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, cache: Mutex::default() }
    }

    /// Who a secret belongs to; none when it opens nothing.
    pub(crate) async fn authenticate(&self, secret: &str) -> Result<Option<Actor>, StoreError> {
        let digest = hash_secret(secret);
        let token = self.look_up(&digest).await?;
        Ok(token.map(|token| Actor {
            name: token.name,
            role: token.role,
            workspace_id: token.workspace_id,
            expires_at: token.expires_at,
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

    /// Forgets all tokens: they may have changed.
    pub(crate) fn forget(&self) {
        let mut cache = self.lock();
        cache.tokens.clear();
        cache.forgotten += 1;
    }

    async fn look_up(&self, digest: &str) -> Result<Option<AccessToken>, StoreError> {
        let asked_at = Instant::now();
        let forgotten = {
            let cache = self.lock();
            if let Some((at, token)) = cache.tokens.get(digest)
                && at.elapsed() < CACHED_FOR
            {
                return Ok(Some(token.clone()).filter(|token| self.is_valid(token)));
            }
            cache.forgotten
        };
        let token = self.store.token_by_secret(digest).await?.filter(|token| self.is_valid(token));
        let mut cache = self.lock();
        match &token {
            Some(token) if cache.forgotten == forgotten => {
                cache.tokens.insert(digest.to_owned(), (asked_at, token.clone()));
            }
            // Only what exists is remembered, so that guesses do not fill the memory.
            _ => drop(cache.tokens.remove(digest)),
        }
        Ok(token)
    }

    fn is_valid(&self, token: &AccessToken) -> bool {
        token.revoked_at.is_none() && token.expires_at.is_none_or(|at| at > self.store.now())
    }

    fn lock(&self) -> MutexGuard<'_, TokenCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
