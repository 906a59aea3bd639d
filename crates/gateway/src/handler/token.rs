//! `token/…`.

use protocol::error::{ErrorKind, ErrorObject, ErrorSubject};
use protocol::method::{
    TokenCreateParams, TokenCreateResult, TokenListParams, TokenListResult, TokenResult, TokenRevokeParams,
};
use secrecy::ExposeSecret as _;
use store::{NewToken, StoreError, hash_secret};

use crate::access::secret;
use crate::error::{from_store, other_workspace};
use crate::router::Context;

pub(crate) async fn create(
    context: Context,
    params: TokenCreateParams,
) -> Result<TokenCreateResult, ErrorObject> {
    // The router rejects another workspace but not a missing one, which would mean all of them.
    if context.peer.actor.workspace_id.is_some() && params.workspace_id.is_none() {
        return Err(other_workspace(None));
    }
    let secret = secret::generate().map_err(|failure| {
        ErrorObject::new(ErrorKind::InternalError, format!("the system gave no random bytes: {failure}"))
    })?;
    let new = NewToken {
        name: params.name,
        role: params.role,
        workspace_id: params.workspace_id,
        expires_at: params.expires_at,
        secret_sha256: hash_secret(secret.expose_secret()),
    };
    let token = context.shared.store.create_token(new, context.actor()).await.map_err(from_store)?;
    Ok(TokenCreateResult { token, secret: secret.expose_secret().to_owned() })
}

pub(crate) async fn list(context: Context, _: TokenListParams) -> Result<TokenListResult, ErrorObject> {
    let mut tokens = context.shared.store.tokens().await.map_err(from_store)?;
    if let Some(bound) = &context.peer.actor.workspace_id {
        tokens.retain(|token| token.workspace_id.as_ref() == Some(bound));
    }
    Ok(TokenListResult { tokens })
}

pub(crate) async fn revoke(context: Context, params: TokenRevokeParams) -> Result<TokenResult, ErrorObject> {
    let store = &context.shared.store;
    let token = store.token_by_name(&params.name).await.map_err(from_store)?;
    let bound = context.peer.actor.workspace_id.as_ref();
    if bound.is_some() && token.workspace_id.as_ref() != bound {
        // Tokens outside the caller's workspace are reported as missing, so that their names do not leak.
        return Err(from_store(StoreError::NotFound { what: ErrorSubject::Token, id: params.name }));
    }
    let token = store.revoke_token(&token.id, context.actor()).await.map_err(from_store)?;
    // The wake about the revocation may arrive after the answer, and this gateway must refuse the token from now on.
    context.shared.access.invalidate();
    Ok(TokenResult { token })
}
