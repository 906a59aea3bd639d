//! Access tokens: digests of random secrets with a name, a role and optionally a workspace.

use std::collections::HashSet;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{
    AccessToken, AuditEvent, ContentHash, ErrorSubject, Role, Timestamp, TokenId, TurnId, WorkspaceId,
};
use subtle::ConstantTimeEq as _;

use crate::change_log::Wake;
use crate::column::{Value, enum_str, values};
use crate::connection::{Columns, MAX_ROWS, Tx, numbered};
use crate::validation;
use crate::{Store, StoreError, audit};

/// The columns that [`read_token`] reads.
macro_rules! token_columns {
    () => {
        "id, name, role, workspace_id, created_at, created_by, expires_at, revoked_at"
    };
}

fn read_token(row: &mut Columns<'_>) -> Result<AccessToken, StoreError> {
    Ok(AccessToken {
        id: row.next()?,
        name: row.next()?,
        role: row.next()?,
        workspace_id: row.next()?,
        created_at: row.next()?,
        created_by: row.next()?,
        expires_at: row.next()?,
        revoked_at: row.next()?,
    })
}

/// Properties of a new token.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Name, unique among tokens that are not revoked.
    pub name: String,
    pub role: Role,
    /// The only workspace it gives access to; `None` for all.
    pub workspace_id: Option<WorkspaceId>,
    pub expires_at: Option<Timestamp>,
    /// Digest of its secret, from [`hash_secret`].
    pub secret_sha256: String,
}

/// Returns the stored form of a secret.
// A plain digest is enough for 32 random bytes, which cannot be guessed from a dictionary.
pub fn hash_secret(secret: &str) -> String {
    ContentHash::of(secret).to_string()
}

impl Store {
    pub fn create_token<'a>(
        &'a self,
        new: NewToken,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<AccessToken, StoreError>> {
        Box::pin(async move {
            const INSERT: &str =
                "INSERT INTO access_token (id, name, role, workspace_id, secret_sha256, created_at,
            created_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING";
            validation::check_signature(&new.name)?;
            if new.expires_at.is_some_and(|at| at <= self.now()) {
                let reason = "must be a time to come".to_owned();
                return Err(StoreError::InvalidValue { field: "expires_at", reason });
            }
            let actor = actor.map(str::to_owned);
            self.write(async move |tx: &mut Tx<'_>| {
                if let Some(workspace_id) = &new.workspace_id {
                    tx.sequence(workspace_id).await?;
                }
                let token = AccessToken {
                    id: TokenId::new(),
                    name: new.name,
                    role: new.role,
                    workspace_id: new.workspace_id,
                    created_at: tx.now(),
                    created_by: actor,
                    expires_at: new.expires_at,
                    revoked_at: None,
                };
                let role = enum_str(token.role);
                let values = values![
                    &token.id,
                    &token.name,
                    &role,
                    token.workspace_id.as_ref(),
                    &new.secret_sha256,
                    token.created_at,
                    &token.created_by,
                    token.expires_at,
                ];
                // ON CONFLICT and not a query before: two tokens with one name may be created at the same time.
                if tx.execute(INSERT, values).await? == 0 {
                    return Err(StoreError::AlreadyExists { what: ErrorSubject::Token, name: token.name });
                }
                let event = AuditEvent::TokenCreated {
                    token_id: token.id.clone(),
                    name: token.name.clone(),
                    role: token.role,
                    expires_at: token.expires_at,
                };
                audit::record(tx, token.created_by.as_deref(), token.workspace_id.as_ref(), event).await?;
                Ok(token)
            })
            .await
        })
    }

    /// Returns all tokens, oldest first, including revoked ones.
    pub fn tokens(&self) -> BoxFuture<'_, Result<Vec<AccessToken>, StoreError>> {
        const ALL: &str = concat!("SELECT ", token_columns!(), " FROM access_token ORDER BY id");
        self.read(async |tx: &mut Tx<'_>| tx.all(ALL, &[], |mut row| read_token(&mut row)).await).boxed()
    }

    /// Returns the token with this digest, even if it is revoked.
    pub fn token_by_secret<'a>(
        &'a self,
        secret_sha256: &'a str,
    ) -> BoxFuture<'a, Result<Option<AccessToken>, StoreError>> {
        const BY_SECRET: &str = concat!(
            "SELECT ",
            token_columns!(),
            ", secret_sha256 FROM access_token WHERE secret_sha256 = $1"
        );
        let secret_sha256 = secret_sha256.to_owned();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&secret_sha256];
            let read = |mut row: Columns<'_>| Ok((read_token(&mut row)?, row.next::<String>()?));
            let found = tx.one_by_key(BY_SECRET, values, read).await?;
            // The index has already compared the digests; the comparison in constant time does not rely on that.
            let same = |stored: &str| bool::from(stored.as_bytes().ct_eq(secret_sha256.as_bytes()));
            Ok(found.filter(|(_, stored)| same(stored)).map(|(token, _)| token))
        })
        .boxed()
    }

    /// Returns the token with this name that is not revoked.
    pub fn token_by_name<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<AccessToken, StoreError>> {
        Box::pin(async move {
            const BY_NAME: &str = concat!(
                "SELECT ",
                token_columns!(),
                " FROM access_token WHERE name = $1 AND revoked_at IS NULL"
            );
            // No token has such a name, and PostgreSQL rejects a zero byte with an obscure error.
            if name.contains('\0') {
                return Err(StoreError::not_found(ErrorSubject::Token, name));
            }
            let name = name.to_owned();
            self.read(async move |tx: &mut Tx<'_>| {
                let found = tx.one_by_key(BY_NAME, values![&name], |mut row| read_token(&mut row)).await?;
                found.ok_or_else(|| StoreError::not_found(ErrorSubject::Token, &name))
            })
            .await
        })
    }

    /// Returns those of some tokens that are no longer valid at `now`: revoked, expired or unknown.
    pub fn invalid_tokens(
        &self,
        tokens: Vec<TokenId>,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<HashSet<TokenId>, StoreError>> {
        let read = async move |tx: &mut Tx<'_>| {
            let mut invalid: HashSet<TokenId> = tokens.iter().cloned().collect();
            for some in tokens.chunks(MAX_ROWS) {
                let sql = format!(
                    "SELECT id FROM access_token WHERE revoked_at IS NULL
                        AND (expires_at IS NULL OR expires_at > $1) AND id IN ({})",
                    numbered(2, some.len())
                );
                let mut values: Vec<Value<'_>> = vec![now.into()];
                values.extend(some.iter().map(Value::from));
                for valid in tx.all(sql, &values, |mut row| row.next::<TokenId>()).await? {
                    invalid.remove(&valid);
                }
            }
            Ok(invalid)
        };
        self.read(read).boxed()
    }

    /// Returns running turns of all workspaces whose token is no longer valid at `now`.
    pub fn turns_of_invalid_tokens(
        &self,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Vec<(WorkspaceId, TurnId)>, StoreError>> {
        // By the token's id, because its name may have been given to another token.
        const TURNS: &str = "SELECT turn.workspace_id, turn.id FROM turn
            JOIN access_token ON access_token.id = turn.token_id
            WHERE turn.status = 'running' AND turn.stop_requested_at IS NULL
                AND (access_token.revoked_at IS NOT NULL OR access_token.expires_at <= $1)";
        let read = async move |tx: &mut Tx<'_>| {
            tx.all(TURNS, values![now], |mut row| Ok((row.next()?, row.next()?))).await
        };
        self.read(read).boxed()
    }

    pub fn revoke_token<'a>(
        &'a self,
        token_id: &'a TokenId,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<AccessToken, StoreError>> {
        const BY_ID: &str = concat!("SELECT ", token_columns!(), " FROM access_token WHERE id = $1");
        let token_id = token_id.clone();
        let actor = actor.map(str::to_owned);
        self.write(async move |tx: &mut Tx<'_>| {
            let found = tx.one_by_key(BY_ID, values![&token_id], |mut row| read_token(&mut row)).await?;
            let token = found.ok_or_else(|| StoreError::not_found(ErrorSubject::Token, &token_id))?;
            if token.revoked_at.is_some() {
                return Ok(token);
            }
            revoke(tx, token, actor.as_deref()).await
        })
        .boxed()
    }
}

/// Revokes a valid token and records it in the audit log.
async fn revoke(tx: &mut Tx<'_>, token: AccessToken, actor: Option<&str>) -> Result<AccessToken, StoreError> {
    let revoked_at = Some(tx.now());
    let revoke = "UPDATE access_token SET revoked_at = $1, revoked_by = $2 WHERE id = $3";
    tx.execute(revoke, values![revoked_at, actor, &token.id]).await?;
    let event = AuditEvent::TokenRevoked { token_id: token.id.clone(), name: token.name.clone() };
    audit::record(tx, actor, token.workspace_id.as_ref(), event).await?;
    tx.wake(Wake::Tokens);
    Ok(AccessToken { revoked_at, ..token })
}

/// Revokes all valid tokens.
pub(crate) async fn revoke_all(tx: &mut Tx<'_>, actor: &str) -> Result<(), StoreError> {
    const VALID: &str =
        concat!("SELECT ", token_columns!(), " FROM access_token WHERE revoked_at IS NULL ORDER BY id");
    for token in tx.all(VALID, values![], |mut row| read_token(&mut row)).await? {
        revoke(tx, token, Some(actor)).await?;
    }
    Ok(())
}
