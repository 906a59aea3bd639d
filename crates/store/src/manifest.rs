//! Manifests: what the prompt of each round of a turn was made of.

use protocol::{ThreadId, Timestamp, TurnId, WorkspaceId};
use serde_json::Value;

use crate::column::values;
use crate::on::{Columns, On};
use crate::turn_event::TurnEvent;
use crate::{Store, StoreError, name, thread, turn};

/// The columns that [`read_manifest`] reads, of a table that is called `m`.
macro_rules! manifest_columns {
    () => {
        "m.turn_id, m.round, m.manifest, m.fingerprint, m.created_at"
    };
}

fn read_manifest(mut row: Columns<'_>) -> Result<PromptManifest, StoreError> {
    Ok(PromptManifest {
        turn_id: row.next()?,
        round: row.next()?,
        manifest: row.next()?,
        fingerprint: row.next()?,
        created_at: row.next()?,
    })
}

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
        check(&save)?;
        let (workspace, turn) = (workspace_id.clone(), turn_id.clone());
        self.write_turn(workspace_id, turn_id, owner, events, async move |on: &mut On<'_>| {
            insert(on, &workspace, &turn, save).await
        })
        .await
    }

    /// The manifests of a turn, by round.
    pub async fn manifests(
        &self,
        workspace_id: &WorkspaceId,
        turn_id: &TurnId,
    ) -> Result<Vec<PromptManifest>, StoreError> {
        const MANIFESTS: &str = concat!(
            "SELECT ",
            manifest_columns!(),
            " FROM prompt_manifest m WHERE m.workspace_id = $1 AND m.turn_id = $2 ORDER BY m.round"
        );
        let (workspace_id, turn_id) = (workspace_id.clone(), turn_id.clone());
        self.read(async move |on: &mut On<'_>| {
            let manifests = on.all(MANIFESTS, values![&workspace_id, &turn_id], read_manifest).await?;
            if manifests.is_empty() {
                turn::find_or_missing(on, &workspace_id, &turn_id).await?;
            }
            Ok(manifests)
        })
        .await
    }

    /// A thread's newest manifest, or the newest of the turns whose ordinal is below `before`.
    pub async fn latest_manifest(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        before: Option<u64>,
    ) -> Result<Option<PromptManifest>, StoreError> {
        const LATEST: &str = concat!(
            "SELECT ",
            manifest_columns!(),
            " FROM prompt_manifest m JOIN turn ON turn.id = m.turn_id
            WHERE turn.workspace_id = $1 AND turn.thread_id = $2 AND turn.ordinal < $3
            ORDER BY turn.ordinal DESC, m.round DESC LIMIT 1"
        );
        let (workspace_id, thread_id) = (workspace_id.clone(), thread_id.clone());
        self.read(async move |on: &mut On<'_>| {
            let before = before.unwrap_or(u64::MAX);
            let values = values![&workspace_id, &thread_id, before];
            let found = on.one_by_key(LATEST, values, read_manifest).await?;
            if found.is_none() {
                thread::find_or_missing(on, &workspace_id, &thread_id).await?;
            }
            Ok(found)
        })
        .await
    }
}

pub(crate) fn check(save: &SaveManifest) -> Result<(), StoreError> {
    name::check("fingerprint", &save.fingerprint)
}

pub(crate) async fn insert(
    on: &mut On<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    save: SaveManifest,
) -> Result<PromptManifest, StoreError> {
    const INSERT: &str = "INSERT INTO prompt_manifest (workspace_id, turn_id, round, manifest, fingerprint,
        created_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (turn_id, round) DO NOTHING";
    const PRESENT: &str = concat!(
        "SELECT ",
        manifest_columns!(),
        " FROM prompt_manifest m WHERE m.turn_id = $1 AND m.round = $2"
    );
    let SaveManifest { round, manifest, fingerprint } = save;
    let created_at = Timestamp::now();
    let text = manifest.to_string();
    let values = values![workspace_id, turn_id, round, &text, &fingerprint, created_at];
    if on.execute(INSERT, values).await? == 1 {
        return Ok(PromptManifest { turn_id: turn_id.clone(), round, manifest, fingerprint, created_at });
    }
    match on.one_by_key(PRESENT, values![turn_id, round], read_manifest).await? {
        Some(present) if present.fingerprint == fingerprint && present.manifest == manifest => {
            on.discard();
            Ok(present)
        }
        _ => Err(StoreError::InvalidState(format!(
            "round {round} of turn `{turn_id}` has another manifest already"
        ))),
    }
}
