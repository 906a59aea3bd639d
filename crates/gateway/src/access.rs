//! Who is calling, and whether they still may.

pub(crate) mod counts;
pub(crate) mod owner;
pub(crate) mod secret;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agent::Reach;
use protocol::{AccessToken, AuthenticationFailure, Role, STDIO_ACTOR, Timestamp, TokenId, WorkspaceId};
use store::{Store, StoreError, hash_secret};

use crate::access::counts::AccessCounts;

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
    /// The token that they have shown; none for stdio, which needs none.
    pub(crate) token_id: Option<TokenId>,
    /// Digest of the token's secret.
    pub(crate) secret_sha256: Option<String>,
}

impl Actor {
    /// The parent process on the other end of stdio.
    pub(crate) fn stdio() -> Self {
        Self {
            name: STDIO_ACTOR.to_owned(),
            role: Role::Owner,
            workspace_id: None,
            expires_at: None,
            token_id: None,
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
    counts: AccessCounts,
    flushing: tokio::sync::Mutex<()>,
}

/// Why a secret opens nothing.
struct Refused {
    reason: AuthenticationFailure,
    /// The token that it opened before.
    token: Option<Box<AccessToken>>,
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
        Self {
            store,
            cache: Mutex::default(),
            counts: AccessCounts::default(),
            flushing: tokio::sync::Mutex::default(),
        }
    }

    /// Who a secret belongs to; none when it opens nothing, or when there is none.
    pub(crate) async fn authenticate(
        &self,
        secret: Option<&str>,
        source: IpAddr,
    ) -> Result<Option<Actor>, StoreError> {
        let Some(secret) = secret else {
            self.counts.turned_away(source, AuthenticationFailure::Missing, None, self.store.now());
            return Ok(None);
        };
        let digest = hash_secret(secret);
        match self.look_up(&digest).await? {
            Ok(token) => {
                self.counts.came_in(&token, self.store.now());
                Ok(Some(Actor {
                    name: token.name,
                    role: token.role,
                    workspace_id: token.workspace_id,
                    expires_at: token.expires_at,
                    token_id: Some(token.id),
                    secret_sha256: Some(digest),
                }))
            }
            Err(Refused { reason, token }) => {
                self.counts.turned_away(source, reason, token.as_deref(), self.store.now());
                Ok(None)
            }
        }
    }

    /// Whether somebody who was let in may stay.
    pub(crate) async fn is_still_valid(&self, actor: &Actor) -> Result<bool, StoreError> {
        match &actor.secret_sha256 {
            None => Ok(true),
            Some(digest) => Ok(self.look_up(digest).await?.is_ok()),
        }
    }

    /// The same for somebody who makes a call, which is counted.
    pub(crate) async fn may_call(&self, actor: &Actor) -> Result<bool, StoreError> {
        let Some(digest) = &actor.secret_sha256 else { return Ok(true) };
        let token = self.look_up(digest).await?;
        token.iter().for_each(|token| self.counts.called(token, self.store.now()));
        Ok(token.is_ok())
    }

    /// Counts that a call was none that its caller may make.
    pub(crate) fn count_forbidden(&self, actor: &Actor) {
        self.counts.forbidden(actor, self.store.now());
    }

    /// Writes down what was counted.
    pub(crate) async fn flush_counts(&self) -> Result<(), StoreError> {
        // One after another: of two at once, the older counts could be written last.
        let _flushing = self.flushing.lock().await;
        let pending = self.counts.take_to_write(self.store.now());
        self.store.record_audit(pending.entries.clone()).await?;
        pending.written();
        Ok(())
    }

    /// Forgets all tokens: they may have changed.
    pub(crate) fn forget(&self) {
        let mut cache = self.lock();
        cache.tokens.clear();
        cache.forgotten += 1;
    }

    async fn look_up(&self, digest: &str) -> Result<Result<AccessToken, Refused>, StoreError> {
        let asked_at = Instant::now();
        let forgotten = {
            let cache = self.lock();
            if let Some((at, token)) = cache.tokens.get(digest)
                && at.elapsed() < CACHED_FOR
            {
                return Ok(self.check(token.clone()));
            }
            cache.forgotten
        };
        let found = self.store.token_by_secret(digest).await?;
        let unknown = Refused { reason: AuthenticationFailure::Unknown, token: None };
        let token = found.ok_or(unknown).and_then(|token| self.check(token));
        let mut cache = self.lock();
        match &token {
            Ok(token) if cache.forgotten == forgotten => {
                cache.tokens.insert(digest.to_owned(), (asked_at, token.clone()));
            }
            // Only what exists is remembered, so that guesses do not fill the memory.
            _ => drop(cache.tokens.remove(digest)),
        }
        Ok(token)
    }

    fn check(&self, token: AccessToken) -> Result<AccessToken, Refused> {
        let reason = if token.revoked_at.is_some() {
            AuthenticationFailure::Revoked
        } else if token.expires_at.is_some_and(|at| at <= self.store.now()) {
            AuthenticationFailure::Expired
        } else {
            return Ok(token);
        };
        Err(Refused { reason, token: Some(Box::new(token)) })
    }

    fn lock(&self) -> MutexGuard<'_, TokenCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
