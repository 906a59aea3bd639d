//! Authentication: maps tokens to actors and re-checks them on every call.

pub(crate) mod counts;
pub(crate) mod owner;
pub(crate) mod per_token;
pub(crate) mod secret;

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use protocol::{
    AccessToken, AuthenticationFailure, Role, STDIO_ACTOR, Timestamp, TokenId, TokenReach, WorkspaceId,
};
use store::{Store, StoreError, hash_secret};

use crate::access::counts::AccessCounts;
use crate::console::sessions::SessionKey;

/// Lifetime of a cached token lookup. A revocation usually invalidates the cache sooner; this bounds the delay if the
/// wake was lost.
const CACHED_FOR: Duration = Duration::from_secs(2);

/// Identity behind a call.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// Name recorded in `created_by` and similar fields.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The only workspace the actor may access; `None` for all.
    pub(crate) workspace_id: Option<WorkspaceId>,
    /// End of the token's validity.
    pub(crate) expires_at: Option<Timestamp>,
    /// Token presented by the client; `None` for stdio, which needs none.
    pub(crate) token_id: Option<TokenId>,
    pub(crate) secret_sha256: Option<String>,
    /// Session of the console through which the token is used; `None` for all other clients.
    pub(crate) console_session: Option<SessionKey>,
}

impl Actor {
    /// Returns the actor for the parent process on the other end of stdio.
    pub(crate) fn stdio() -> Self {
        Self {
            name: STDIO_ACTOR.to_owned(),
            role: Role::Owner,
            workspace_id: None,
            expires_at: None,
            token_id: None,
            secret_sha256: None,
            console_session: None,
        }
    }

    /// Returns true once the token has expired.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    pub(crate) fn reach(&self) -> TokenReach {
        if self.workspace_id.is_none() { TokenReach::Everything } else { TokenReach::Workspace }
    }

    /// Returns true if the actor may access `workspace_id`.
    pub(crate) fn reaches(&self, workspace_id: &WorkspaceId) -> bool {
        self.workspace_id.as_ref().is_none_or(|bound| bound == workspace_id)
    }
}

pub(crate) struct Authenticator {
    store: Store,
    cache: Mutex<TokenCache>,
    counts: AccessCounts,
    flushing: tokio::sync::Mutex<()>,
}

/// A rejected secret.
struct Refused {
    reason: AuthenticationFailure,
    /// The token the secret belonged to, if it was valid once.
    token: Option<Box<AccessToken>>,
}

/// Recent token lookups by digest of the secret.
#[derive(Default)]
struct TokenCache {
    tokens: HashMap<String, (Instant, AccessToken)>,
    /// Number of invalidations. A lookup that started before the latest one is not cached.
    invalidations: u64,
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

    /// Returns the actor for a secret; `None` if the secret is missing or invalid.
    pub(crate) async fn authenticate(
        &self,
        secret: Option<&str>,
        source: IpAddr,
    ) -> Result<Option<Actor>, StoreError> {
        let Some(secret) = secret else {
            self.counts.record_rejection(source, AuthenticationFailure::Missing, None, self.store.now());
            return Ok(None);
        };
        // Only the digest is kept: neither the cache nor the database ever holds a secret that could be used to log in.
        self.authenticate_digest(Some(&hash_secret(secret)), source).await
    }

    /// Returns the actor for the digest of a secret. `None` as a digest is a code or session that does not exist.
    pub(crate) async fn authenticate_digest(
        &self,
        digest: Option<&str>,
        source: IpAddr,
    ) -> Result<Option<Actor>, StoreError> {
        let Some(digest) = digest else {
            self.counts.record_rejection(source, AuthenticationFailure::Unknown, None, self.store.now());
            return Ok(None);
        };
        match self.look_up(digest).await? {
            Ok(token) => {
                self.counts.record_login(&token, self.store.now());
                Ok(Some(Actor {
                    name: token.name,
                    role: token.role,
                    workspace_id: token.workspace_id,
                    expires_at: token.expires_at,
                    token_id: Some(token.id),
                    secret_sha256: Some(digest.to_owned()),
                    console_session: None,
                }))
            }
            Err(Refused { reason, token }) => {
                self.counts.record_rejection(source, reason, token.as_deref(), self.store.now());
                Ok(None)
            }
        }
    }

    /// Returns true while the actor's token is still valid.
    pub(crate) async fn is_still_valid(&self, actor: &Actor) -> Result<bool, StoreError> {
        match &actor.secret_sha256 {
            None => Ok(true),
            Some(digest) => Ok(self.look_up(digest).await?.is_ok()),
        }
    }

    /// Like [`Self::is_still_valid`], and counts the call in the audit.
    pub(crate) async fn may_call(&self, actor: &Actor) -> Result<bool, StoreError> {
        let Some(digest) = &actor.secret_sha256 else { return Ok(true) };
        let token = self.look_up(digest).await?;
        token.iter().for_each(|token| self.counts.record_call(token, self.store.now()));
        Ok(token.is_ok())
    }

    /// Counts a call that was rejected because of the actor's role or workspace.
    pub(crate) fn count_forbidden(&self, actor: &Actor) {
        self.counts.record_forbidden(actor, self.store.now());
    }

    /// Writes pending audit counts to the database.
    pub(crate) async fn flush_counts(&self) -> Result<(), StoreError> {
        // Flushes run one at a time. If two overlapped, the one with the older counts could be written last and win.
        let _flushing = self.flushing.lock().await;
        let pending = self.counts.take_to_write(self.store.now());
        self.store.record_audit(pending.entries.clone()).await?;
        pending.confirm();
        Ok(())
    }

    /// Invalidates all cached tokens.
    pub(crate) fn invalidate(&self) {
        let mut cache = self.cache.lock();
        cache.tokens.clear();
        cache.invalidations += 1;
    }

    async fn look_up(&self, digest: &str) -> Result<Result<AccessToken, Refused>, StoreError> {
        let asked_at = Instant::now();
        // The count is taken before the database is queried. If a revocation arrives in the meantime, the result may be
        // older than the revocation and must not enter the cache.
        let invalidations = {
            let cache = self.cache.lock();
            if let Some((at, token)) = cache.tokens.get(digest)
                && at.elapsed() < CACHED_FOR
            {
                // Checked again, because a cached token may have expired since it was looked up.
                return Ok(self.check(token.clone()));
            }
            cache.invalidations
        };
        let found = self.store.token_by_secret(digest).await?;
        let unknown = Refused { reason: AuthenticationFailure::Unknown, token: None };
        let token = found.ok_or(unknown).and_then(|token| self.check(token));
        let mut cache = self.cache.lock();
        match &token {
            Ok(token) if cache.invalidations == invalidations => {
                // The lifetime counts from the start of the lookup, so a slow database does not extend it.
                cache.tokens.insert(digest.to_owned(), (asked_at, token.clone()));
            }
            // Unknown secrets are not cached, so that guessing cannot exhaust memory.
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
}
