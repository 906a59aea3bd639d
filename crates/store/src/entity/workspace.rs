//! The table `workspace`.

use protocol::{Timestamp, Workspace};
use sea_orm::entity::prelude::*;

use crate::StoreError;

#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "workspace")]
pub(crate) struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) root_path: Option<String>,
    /// JSON of the protocol's `AgentsConfig`.
    pub(crate) agents: Option<String>,
    /// The newest sequence number of the workspace's change log.
    pub(crate) seq: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub(crate) enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl TryFrom<Model> for Workspace {
    type Error = StoreError;

    fn try_from(row: Model) -> Result<Self, StoreError> {
        let agents = match row.agents {
            Some(text) => Some(
                serde_json::from_str(&text)
                    .map_err(|error| StoreError::Database(format!("workspace.agents: {error}")))?,
            ),
            None => None,
        };
        Ok(Workspace {
            id: super::id(row.id)?,
            name: row.name,
            root_path: row.root_path,
            agents,
            created_at: Timestamp::from_milliseconds(row.created_at),
            updated_at: Timestamp::from_milliseconds(row.updated_at),
        })
    }
}
