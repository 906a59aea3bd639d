//! The table `prompt_text`: the texts of prompts, once each, by digest.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "prompt_text")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) workspace_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) sha256: String,
    pub(crate) content: String,
    pub(crate) chars: i64,
    /// May lag behind the truth, so that using a text does not always mean writing.
    pub(crate) last_used_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
