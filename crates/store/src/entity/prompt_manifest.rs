//! The table `prompt_manifest`: what the prompt of each round of a turn was made of.

use protocol::Timestamp;
use sea_orm::entity::prelude::*;

use crate::{PromptManifest, StoreError};

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "prompt_manifest")]
pub(crate) struct Model {
    pub(crate) workspace_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) turn_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) round: i64,
    /// JSON.
    pub(crate) manifest: String,
    pub(crate) fingerprint: String,
    pub(crate) created_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {
    #[sea_orm(belongs_to = "super::turn::Entity", from = "Column::TurnId", to = "super::turn::Column::Id")]
    Turn,
}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for PromptManifest {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        Ok(PromptManifest {
            turn_id: super::id(row.turn_id)?,
            round: u32::try_from(row.round).unwrap_or(u32::MAX),
            manifest: super::json("prompt_manifest.manifest", &row.manifest)?,
            fingerprint: row.fingerprint,
            created_at: Timestamp::from_milliseconds(row.created_at),
        })
    }
}
