//! The table `access_token`: who may talk to the gateway; secrets only as digests.

use protocol::{AccessToken, Timestamp};
use sea_orm::entity::prelude::*;

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "access_token")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) workspace_id: Option<String>,
    pub(crate) secret_sha256: String,
    pub(crate) created_at: i64,
    pub(crate) created_by: Option<String>,
    pub(crate) revoked_at: Option<i64>,
    pub(crate) revoked_by: Option<String>,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for AccessToken {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(AccessToken {
            id: super::id(row.id)?,
            name: row.name,
            role: super::word(&row.role)?,
            workspace_id: row.workspace_id.map(super::id).transpose()?,
            created_at: Timestamp::from_milliseconds(row.created_at),
            created_by: row.created_by,
            revoked_at: row.revoked_at.map(Timestamp::from_milliseconds),
        })
    }
}
