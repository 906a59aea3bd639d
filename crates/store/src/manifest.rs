//! Manifests: what the prompt of each round of a turn was made of.

use protocol::{ThreadId, Timestamp, TurnId, WorkspaceId};
use sea_orm::{
    ColumnTrait, EntityTrait, IntoActiveModel, JoinType, QueryFilter, QueryOrder, QuerySelect,
    RelationTrait as _,
};
use serde_json::Value;

use crate::entity::{self, prompt_manifest, turn};
use crate::turn_event::TurnEvent;
use crate::{Store, StoreError, name};

/// A manifest as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptManifest {
    /// The turn.
    pub turn_id: TurnId,
    /// The round of the turn.
    pub round: u32,
    /// The manifest itself; never a prompt's text.
    pub manifest: Value,
    /// Digest of the full prompt.
    pub fingerprint: String,
    /// When it was saved.
    pub created_at: Timestamp,
}

/// A manifest to save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveManifest {
    /// The round of the turn.
    pub round: u32,
    /// The manifest itself.
    pub manifest: Value,
    /// Digest of the full prompt.
    pub fingerprint: String,
}

impl Store {
    /// Saves the manifest of a round of a turn that `owner` runs, and tells of the events.
    ///
    /// A round has one manifest: saving the same one again changes and tells nothing, another one is refused.
    pub async fn save_manifest(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
        owner: &str,
        save: SaveManifest,
        events: Vec<TurnEvent>,
    ) -> Result<PromptManifest, StoreError> {
        name::check("fingerprint", &save.fingerprint)?;
        let write = self.write_turn(workspace_id, turn_id, owner, events).await?;
        let key = (turn_id.to_string(), i64::from(save.round));
        if let Some(present) = prompt_manifest::Entity::find_by_id(key).one(write.transaction()).await? {
            let present = PromptManifest::try_from(present)?;
            if present.fingerprint == save.fingerprint && present.manifest == save.manifest {
                return Ok(present);
            }
            return Err(StoreError::InvalidState(format!(
                "round {} of turn `{turn_id}` has another manifest already",
                save.round
            )));
        }
        let row = prompt_manifest::Model {
            workspace_id: workspace_id.to_string(),
            turn_id: turn_id.to_string(),
            round: i64::from(save.round),
            manifest: save.manifest.to_string(),
            fingerprint: save.fingerprint,
            created_at: Timestamp::now().milliseconds(),
        };
        prompt_manifest::Entity::insert(row.clone().into_active_model())
            .exec_without_returning(write.transaction())
            .await?;
        write.commit().await?;
        row.try_into()
    }

    /// The manifests of a turn, by round.
    pub async fn manifests(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<PromptManifest>, StoreError> {
        let rows = prompt_manifest::Entity::find()
            .filter(prompt_manifest::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(prompt_manifest::Column::TurnId.eq(turn_id.as_str()))
            .order_by_asc(prompt_manifest::Column::Round)
            .all(self.readers())
            .await?;
        if rows.is_empty() {
            self.turn(workspace_id, turn_id).await?;
        }
        rows.into_iter().map(PromptManifest::try_from).collect()
    }

    /// A thread's newest manifest, or the newest of the turns whose ordinal is below `before`.
    pub async fn latest_manifest(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        before: Option<u64>,
    ) -> Result<Option<PromptManifest>, StoreError> {
        let mut query = prompt_manifest::Entity::find()
            .join(JoinType::InnerJoin, prompt_manifest::Relation::Turn.def())
            .filter(turn::Column::WorkspaceId.eq(workspace_id.as_str()))
            .filter(turn::Column::ThreadId.eq(thread_id.as_str()))
            .order_by_desc(turn::Column::Ordinal)
            .order_by_desc(prompt_manifest::Column::Round);
        if let Some(before) = before {
            query = query.filter(turn::Column::Ordinal.lt(entity::to_column(before)));
        }
        let row = query.one(self.readers()).await?;
        if row.is_none() {
            self.thread(workspace_id, thread_id).await?;
        }
        row.map(PromptManifest::try_from).transpose()
    }
}
