//! The owner's token, created on first start so that local commands work without configuration.

use std::sync::Arc;

use agent::blocking;
use protocol::Role;
use secrecy::ExposeSecret as _;
use store::{NewToken, Store, StoreError, hash_secret};

use crate::access::secret;
use crate::storage::data_directory::{DataDirectory, DataDirectoryError};

#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    #[error(transparent)]
    File(#[from] DataDirectoryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the system gave no random bytes: {0}")]
    Random(#[from] getrandom::Error),
}

/// Ensures that the token file in the data directory grants access to this database.
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
            // The data directory was used with another database before: register the existing token here, because
            // commands keep reading it from the same file.
            None => return create(store, digest).await,
        }
    }
    renew(directory, store).await
}

/// Creates an owner's token and writes it to the data directory.
pub(crate) async fn renew(directory: &Arc<DataDirectory>, store: &Store) -> Result<(), OwnerError> {
    let secret = secret::generate()?;
    // Registered before it is written: a token file that the database does not know would lock out local commands.
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
        // Each gateway of a shared database has its own data directory and therefore its own owner's token.
        Err(StoreError::AlreadyExists { .. }) => {
            store.create_token(new(format!("owner-{}", &secret_sha256[..12])), None).await?;
        }
        created => drop(created?),
    }
    Ok(())
}
