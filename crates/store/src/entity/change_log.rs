//! The table `change_log`: every change of a workspace, in order, as the notification that tells of it.

use sea_orm::entity::prelude::*;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "change_log")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) workspace_id: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) seq: i64,
    pub(crate) changed_at: i64,
    pub(crate) actor: Option<String>,
    /// The notification's method.
    pub(crate) method: String,
    /// The notification's parameters as JSON, without content.
    pub(crate) params: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}
