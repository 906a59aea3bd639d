//! Manifests: the composition of the prompt in each round of a turn.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;

use protocol::prompt::{PromptManifest, RoundManifest};
use protocol::{Timestamp, TurnId, WorkspaceId};

use crate::column::{from_json, to_json, values};
use crate::connection::{Columns, Statement, Tx};
use crate::turns::turn;
use crate::validation;
use crate::{Store, StoreError};

/// A manifest in its stored form.
// Most rounds have the manifest of an earlier one and only refer to it.
enum StoredManifest {
    SameAs(u32),
    Own(Box<PromptManifest>),
}

fn read_manifest(mut row: Columns<'_>) -> Result<(u32, StoredManifest), StoreError> {
    let (round, text): (u32, String) = (row.next()?, row.next()?);
    let same = text.strip_prefix(r#"{"same_as_round":"#).and_then(|rest| rest.strip_suffix('}'));
    let stored = match same.and_then(|round| round.parse().ok()) {
        Some(round) => StoredManifest::SameAs(round),
        None => StoredManifest::Own(from_json("manifest", &text)?),
    };
    Ok((round, stored))
}

/// Resolves references between rounds.
// A round only refers to earlier ones, which come first.
fn resolve(stored: Vec<(u32, StoredManifest)>) -> Result<Vec<RoundManifest>, StoreError> {
    let mut manifests: BTreeMap<u32, PromptManifest> = BTreeMap::new();
    for (round, stored) in stored {
        let manifest = match stored {
            StoredManifest::Own(manifest) => *manifest,
            StoredManifest::SameAs(earlier) => {
                let same = manifests.get(&earlier).cloned();
                let lost = format!("round {round} refers to round {earlier}, which is not kept");
                same.ok_or_else(|| StoreError::unreadable("manifest", lost))?
            }
        };
        manifests.insert(round, manifest);
    }
    Ok(manifests.into_iter().map(|(round, manifest)| RoundManifest { round, manifest }).collect())
}

impl Store {
    /// Returns the manifests of a turn, by round.
    pub fn manifests<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        turn_id: &'a TurnId,
    ) -> BoxFuture<'a, Result<Vec<RoundManifest>, StoreError>> {
        let workspace_id = workspace_id.clone();
        let turn_id = turn_id.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let manifests = find(tx, &workspace_id, &turn_id).await?;
            if manifests.is_empty() {
                turn::find_or_missing(tx, &workspace_id, &turn_id).await?;
            }
            Ok(manifests)
        })
        .boxed()
    }
}

async fn find(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
) -> Result<Vec<RoundManifest>, StoreError> {
    let select =
        "SELECT round, manifest FROM prompt_manifest WHERE workspace_id = $1 AND turn_id = $2 ORDER BY round";
    resolve(tx.all(select, values![workspace_id, turn_id], read_manifest).await?)
}

/// A manifest in its stored form.
#[derive(Clone)]
pub(crate) struct ManifestRow {
    manifest: RoundManifest,
    text: String,
}

pub(crate) fn prepare(manifest: RoundManifest) -> Result<ManifestRow, StoreError> {
    validation::check("fingerprint", manifest.manifest.fingerprints.full.as_str())?;
    Ok(ManifestRow { text: to_json(&manifest.manifest)?, manifest })
}

/// The effect of inserting a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    New,
    Before,
}

/// Inserts the manifest of a round.
// A manifest that an earlier round of the turn has is stored as a reference.
pub(crate) async fn insert(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    row: &ManifestRow,
) -> Result<Inserted, StoreError> {
    let Statement { sql, values } = insert_statement(workspace_id, turn_id, row, tx.now());
    if tx.execute(sql, &values).await? == 1 {
        return Ok(Inserted::New);
    }
    // The round has a manifest already. The same one is a repeated request; another one would contradict what was sent.
    if find(tx, workspace_id, turn_id).await?.contains(&row.manifest) {
        return Ok(Inserted::Before);
    }
    Err(StoreError::InvalidState(format!(
        "round {} of turn `{turn_id}` has another manifest already",
        row.manifest.round
    )))
}

/// Builds the INSERT, which writes no row if the round already has a manifest.
pub(crate) fn insert_statement<'a>(
    workspace_id: &'a WorkspaceId,
    turn_id: &'a TurnId,
    row: &'a ManifestRow,
    now: Timestamp,
) -> Statement<'a> {
    const INSERT: &str = "INSERT INTO prompt_manifest (workspace_id, turn_id, round, manifest, fingerprint,
            created_at)
        VALUES ($1, $2, $3, coalesce((SELECT '{\"same_as_round\":' || min(p.round) || '}' FROM prompt_manifest p
                WHERE p.turn_id = $2 AND p.round < $3 AND p.fingerprint = $5 AND p.manifest = $4), $4),
            $5, $6)
        ON CONFLICT (turn_id, round) DO NOTHING";
    let RoundManifest { round, manifest } = &row.manifest;
    let fingerprint = &manifest.fingerprints.full;
    let values = values![workspace_id, turn_id, *round, &row.text, fingerprint, now].to_vec();
    Statement { sql: INSERT.into(), values }
}
