//! The owner's token: made on first start, so that the local command works without being told anything.

use std::sync::Arc;

use agent::blocking;
use protocol::Role;
use secrecy::ExposeSecret as _;
use store::{NewToken, Store, StoreError, hash_secret};

use crate::access::secret;
use crate::storage::data_directory::{DataDirectory, DataDirectoryError};

/// Why there is no owner's token.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] DataDirectoryError),
    /// The database could not be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system has no randomness to give.
    #[error("the system gave no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// Makes sure that the token in the data directory opens this database.
pub(crate) async fn ensure(directory: &Arc<DataDirectory>, store: &Store) -> Result<(), OwnerError> {
    let reading = Arc::clone(directory);
    if let Some(secret) = blocking(move || reading.read_owner_token()).await? {
        let digest = hash_secret(secret.expose_secret());
        match store.token_by_secret(&digest).await? {
            Some(token) if token.revoked_at.is_some() => {
                tracing::warn!(
                    "the token in {} is revoked; delete the file and restart to get a new one",
                    directory.owner_token().display()
                );
                return Ok(());
            }
            Some(_) => return Ok(()),
            // Another database than last time: the same file has to open it too.
            None => return create(store, digest).await,
        }
    }
    renew(directory, store).await
}

/// Makes a token and puts it in the place of the one in the data directory.
pub(crate) async fn renew(directory: &Arc<DataDirectory>, store: &Store) -> Result<(), OwnerError> {
    let secret = secret::generate()?;
    create(store, hash_secret(secret.expose_secret())).await?;
    let writing = Arc::clone(directory);
    Ok(blocking(move || writing.keep_owner_token(&secret)).await?)
}

async fn create(store: &Store, secret_sha256: String) -> Result<(), OwnerError> {
    let new = |name: String| NewToken {
        name,
        role: Role::Owner,
        workspace_id: None,
        expires_at: None,
        secret_sha256: secret_sha256.clone(),
    };
    match store.create_token(new("owner".to_owned()), None).await {
        // Several gateways on one database each have a data directory, and so an owner's token, of their own.
        Err(StoreError::AlreadyExists { .. }) => {
            store.create_token(new(format!("owner-{}", &secret_sha256[..12])), None).await?;
        }
        created => drop(created?),
    }
    Ok(())
}
