//! Access tokens: digests of random secrets, with a name, a role and perhaps a workspace.

use protocol::{AccessToken, ContentHash, Role, Timestamp, TokenId, WorkspaceId};
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
};
use subtle::ConstantTimeEq as _;

use crate::change::Wake;
use crate::entity::access_token;
use crate::error::is_unique_violation;
use crate::only::Only as _;
use crate::{Store, StoreError, name};

/// What a new token has.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Its name, unique among tokens that are not revoked.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// The only workspace it may touch.
    pub workspace_id: Option<WorkspaceId>,
    /// Digest of its secret, from [`hash_secret`].
    pub secret_sha256: String,
}

/// What is stored of a secret. A plain digest is enough for 32 random bytes.
pub fn hash_secret(secret: &str) -> String {
    ContentHash::of(secret).to_string()
}

impl Store {
    /// Makes a token.
    pub async fn create_token(&self, new: NewToken, actor: Option<&str>) -> Result<AccessToken, StoreError> {
        name::check("name", &new.name)?;
        if let Some(workspace_id) = &new.workspace_id {
            self.sequence(workspace_id).await?;
        }
        let row = access_token::Model {
            id: TokenId::new().to_string(),
            name: new.name,
            role: new.role.to_string(),
            workspace_id: new.workspace_id.map(String::from),
            secret_sha256: new.secret_sha256,
            created_at: Timestamp::now().milliseconds(),
            created_by: actor.map(str::to_owned),
            revoked_at: None,
            revoked_by: None,
        };
        let transaction = self.begin_write().await?;
        let inserted = access_token::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(&transaction)
            .await;
        match inserted {
            Err(error) if is_unique_violation(&error) => {
                Err(StoreError::AlreadyExists { what: "token", name: row.name })
            }
            Err(error) => Err(error.into()),
            Ok(_) => {
                transaction.commit().await?;
                row.try_into()
            }
        }
    }

    /// All tokens, oldest first, revoked ones too.
    pub async fn tokens(&self) -> Result<Vec<AccessToken>, StoreError> {
        let rows =
            access_token::Entity::find().order_by_asc(access_token::Column::Id).all(self.readers()).await?;
        rows.into_iter().map(AccessToken::try_from).collect()
    }

    /// The token with this digest, a revoked one too.
    pub async fn token_by_secret(&self, secret_sha256: &str) -> Result<Option<AccessToken>, StoreError> {
        let row = access_token::Entity::find()
            .filter(access_token::Column::SecretSha256.eq(secret_sha256))
            .only(self.readers())
            .await?;
        row.filter(|row| bool::from(row.secret_sha256.as_bytes().ct_eq(secret_sha256.as_bytes())))
            .map(AccessToken::try_from)
            .transpose()
    }

    /// The token with this name that is not revoked.
    pub async fn token_by_name(&self, name: &str) -> Result<AccessToken, StoreError> {
        // No token can have such a name, and PostgreSQL does not even take the question.
        if name.contains('\0') {
            return Err(StoreError::not_found("token", name));
        }
        let row = access_token::Entity::find()
            .filter(access_token::Column::Name.eq(name))
            .filter(access_token::Column::RevokedAt.is_null())
            .only(self.readers())
            .await?;
        row.ok_or_else(|| StoreError::not_found("token", name))?.try_into()
    }

    /// Revokes a token.
    pub async fn revoke_token(
        &self,
        token_id: &TokenId,
        actor: Option<&str>,
    ) -> Result<AccessToken, StoreError> {
        let transaction = self.begin_write().await?;
        let row = access_token::Entity::find_by_id(token_id.as_str())
            .only(&transaction)
            .await?
            .ok_or_else(|| StoreError::not_found("token", token_id))?;
        if row.revoked_at.is_some() {
            return row.try_into();
        }
        let update = access_token::ActiveModel {
            id: Set(row.id.clone()),
            revoked_at: Set(Some(Timestamp::now().milliseconds())),
            revoked_by: Set(actor.map(str::to_owned)),
            ..Default::default()
        };
        let row = update.update(&transaction).await?;
        transaction.commit().await?;
        self.wake(Wake::Tokens);
        row.try_into()
    }
}
