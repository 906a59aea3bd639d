//! Uses of memory items: written with what carries them, and followed when an item is forgotten.

use std::collections::{BTreeMap, BTreeSet};

use protocol::message::TurnItem;
use protocol::prompt::{PromptManifest, PromptSourceKind};
use protocol::{ContentHash, MEMORY_SOURCE, MemoryItemId, MemoryStatus, TurnId, WorkspaceId};

use crate::StoreError;
use crate::column::{Value, values};
use crate::connection::{Columns, MAX_ROWS, Tx, numbered};
use crate::memory::purge::{self, Carriers};

/// Something that carried an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Carrier {
    /// A section of a prompt, by the digest of its text.
    Section(ContentHash),
    /// A call, by its id.
    Call(String),
}

impl Carrier {
    fn kind(&self) -> &'static str {
        match self {
            Self::Section(_) => "section",
            Self::Call(_) => "call",
        }
    }

    fn place(&self) -> &str {
        match self {
            Self::Section(sha256) => sha256.as_str(),
            Self::Call(call_id) => call_id,
        }
    }

    pub(crate) fn read(row: &mut Columns<'_>) -> Result<Self, StoreError> {
        let (kind, place): (String, String) = (row.next()?, row.next()?);
        Ok(if kind == "section" { Self::Section(ContentHash::from_stored(place)) } else { Self::Call(place) })
    }
}

/// The items that a turn used, each with its carrier.
pub(crate) type Uses = BTreeSet<(MemoryItemId, Carrier)>;

/// Returns the items that the sections of a prompt name as sources.
pub(crate) fn of_manifest(manifest: &PromptManifest) -> Uses {
    let of_memory =
        |kind: &PromptSourceKind| matches!(kind, PromptSourceKind::Other(name) if name == MEMORY_SOURCE);
    let sections = manifest.sections.iter().flat_map(|section| {
        let sources = section.sources.iter().filter(|source| of_memory(&source.kind));
        let ids = sources.filter_map(|source| source.id.as_ref()?.parse().ok());
        ids.map(|id| (id, Carrier::Section(section.sha256.clone())))
    });
    sections.collect()
}

/// Returns the items that the calls of messages report as used.
pub(crate) fn of_items(items: &[TurnItem]) -> Uses {
    let messages = items.iter().filter_map(|item| match item {
        TurnItem::Message(message) => Some(message),
        TurnItem::Context(_) | TurnItem::Round(_) | TurnItem::Trimmed(_) | TurnItem::Request(_) => None,
    });
    let effects = messages.flat_map(|message| &message.effects);
    let used = effects.flat_map(|attached| {
        let ids = attached.effects.memory.iter();
        ids.map(|id| (id.clone(), Carrier::Call(attached.call_id.clone())))
    });
    used.collect()
}

/// Records the items that a turn used, and purges those that were forgotten meanwhile.
pub(crate) async fn record(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    uses: &Uses,
) -> Result<(), StoreError> {
    let ids: Vec<&MemoryItemId> =
        uses.iter().map(|(id, _)| id).collect::<BTreeSet<_>>().into_iter().collect();
    let mut found: BTreeMap<MemoryItemId, MemoryStatus> = BTreeMap::new();
    for batch in ids.chunks(MAX_ROWS) {
        // The lock orders this use and a concurrent deletion: either the purge finds the use, or the use finds the
        // deletion. The rows are locked by id, so that two turns cannot deadlock.
        let lock = if tx.is_postgres() { " ORDER BY id FOR SHARE" } else { "" };
        let select =
            format!("SELECT id, status FROM memory_item WHERE id IN ({}){lock}", numbered(1, batch.len()));
        let values: Vec<Value<'_>> = batch.iter().map(|id| Value::from(*id)).collect();
        found.extend(tx.all(select, &values, |mut row| Ok((row.next()?, row.next()?))).await?);
    }
    let known: Vec<&(MemoryItemId, Carrier)> = uses.iter().filter(|(id, _)| found.contains_key(id)).collect();
    if known.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<Value<'_>> = Vec::with_capacity(known.len() * 5);
    for (id, carrier) in &known {
        rows.extend_from_slice(values![id, workspace_id, turn_id, carrier.kind(), carrier.place()]);
    }
    let insert = "INSERT INTO memory_use (item_id, workspace_id, turn_id, kind, place) VALUES";
    tx.insert(insert, 5, &rows, "ON CONFLICT DO NOTHING").await?;
    let gone: Carriers = known
        .into_iter()
        .filter(|(id, _)| found.get(id) == Some(&MemoryStatus::Deleted))
        .map(|(_, carrier)| carrier.clone())
        .collect();
    // The purge of these items may have passed this turn already, so nothing else would remove their text.
    if !gone.is_empty() {
        let turn = (workspace_id.clone(), turn_id.clone());
        purge::purge_turns(tx, &BTreeMap::from([(turn, gone)])).await?;
    }
    Ok(())
}
