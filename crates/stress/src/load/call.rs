//! Kinds of calls, their frequency and their implementation.

use chance::Chance;
use client::{Client, ClientError};
use protocol::method::{
    DocumentGet, DocumentResolveForThread, DocumentResolveForThreadParams, DocumentSave, DocumentSaveParams,
    DocumentScopeParams, PromptPreview, PromptPreviewParams, ThreadTree, ThreadTreeParams, TurnExplain,
    TurnGetParams, TurnManifest, TurnStart, TurnStartParams,
};
use protocol::notification::{Notification as _, TurnCancelled, TurnCompleted, TurnFailed};
use protocol::{SaveReason, ThreadId, TurnId};
use serde::Deserialize;

use crate::load::stage::LoadedWorkspace;
use crate::load::tally::Problem;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    Save,
    Effective,
    Document,
    Tree,
    Preview,
    Manifest,
    Explain,
    Turn,
}

impl CallKind {
    /// Kind, display name, and percentage of all calls.
    pub const TABLE: &'static [(CallKind, &'static str, usize)] = &[
        (CallKind::Save, "save of 2 KB", 20),
        (CallKind::Effective, "effective document of a thread", 26),
        (CallKind::Document, "document of a folder", 20),
        (CallKind::Tree, "part of a tree", 14),
        (CallKind::Preview, "prompt of the next turn", 8),
        (CallKind::Manifest, "manifests of a turn", 6),
        (CallKind::Explain, "explanation of a turn", 4),
        (CallKind::Turn, "turn of two rounds, to its end", 2),
    ];

    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the percentage of calls that are turns.
    pub(crate) fn turn_share() -> usize {
        Self::TABLE.iter().filter(|(kind, ..)| *kind == CallKind::Turn).map(|(.., share)| share).sum()
    }

    /// Draws a kind other than a turn according to the table.
    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let mut drawn = chance.below(100 - Self::turn_share());
        for (kind, _, share) in Self::TABLE {
            match drawn.checked_sub(*share) {
                Some(rest) => drawn = rest,
                None => return *kind,
            }
        }
        CallKind::Save
    }
}

/// Makes a call other than a turn.
pub(crate) async fn call(
    client: &Client,
    kind: CallKind,
    place: &LoadedWorkspace,
    chance: &mut Chance,
) -> Result<(), Problem> {
    let workspace_id = place.workspace_id.clone();
    let folder_id = Some(chance.pick(&place.folders).clone());
    let thread_id = chance.pick(&place.threads).clone();
    match kind {
        CallKind::Save => {
            let params = DocumentSaveParams {
                workspace_id,
                folder_id,
                content: workload::text(chance.below(100_000_000) as u64),
                expected_version: None,
                save_reason: Some(SaveReason::Autosave),
                message: None,
            };
            client.call::<DocumentSave>(&params).await?;
        }
        CallKind::Effective => {
            let params = DocumentResolveForThreadParams { workspace_id, thread_id };
            client.call::<DocumentResolveForThread>(&params).await?;
        }
        CallKind::Document => {
            client.call::<DocumentGet>(&DocumentScopeParams { workspace_id, folder_id }).await?;
        }
        CallKind::Tree => {
            let part = ThreadTreeParams { folder_id, depth: Some(1), thread_limit: Some(20), workspace_id };
            client.call::<ThreadTree>(&part).await?;
        }
        CallKind::Preview => {
            let params = PromptPreviewParams::new(workspace_id, thread_id);
            client.call::<PromptPreview>(&params).await?;
        }
        CallKind::Manifest => {
            client
                .call::<TurnManifest>(&TurnGetParams { workspace_id, turn_id: place.newest_turn()? })
                .await?;
        }
        CallKind::Explain => {
            client
                .call::<TurnExplain>(&TurnGetParams { workspace_id, turn_id: place.newest_turn()? })
                .await?;
        }
        CallKind::Turn => return Err(Problem::Turn("one that needs a subscriber")),
    }
    Ok(())
}

/// Starts a turn and waits for its end. The client must be subscribed to the workspace.
pub(crate) async fn ask(
    client: &mut Client,
    place: &LoadedWorkspace,
    thread_id: &ThreadId,
) -> Result<(), Problem> {
    let params = TurnStartParams::new(&place.workspace_id, thread_id, "What do the notes say?");
    let turn_id = client.call::<TurnStart>(&params).await?.turn.id;
    let ended = end_of(client, &turn_id).await?;
    if ended != TurnCompleted::NAME {
        return Err(Problem::Turn(ended));
    }
    // Only completed turns have manifests and explanations for other clients to read.
    place.remember(turn_id);
    Ok(())
}

/// Waits for the end of a turn and returns the name of the notification that announced it.
async fn end_of(client: &mut Client, turn_id: &TurnId) -> Result<&'static str, Problem> {
    #[derive(Deserialize)]
    struct Of {
        turn_id: TurnId,
    }
    while let Some(notification) = client.notification().await {
        // Other clients run turns in the same workspace, so the end of another turn may arrive first.
        let ends = [TurnCompleted::NAME, TurnFailed::NAME, TurnCancelled::NAME];
        let Some(end) = ends.into_iter().find(|name| *name == notification.method) else { continue };
        let of = serde_json::from_str::<Of>(notification.params.get());
        if of.is_ok_and(|of| of.turn_id == *turn_id) {
            return Ok(end);
        }
    }
    Err(ClientError::Lost.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_drawn_with_their_listed_frequency() {
        assert_eq!(CallKind::TABLE.iter().map(|(.., share)| share).sum::<usize>(), 100);
        let mut chance = Chance::new(1);
        let drawn: Vec<CallKind> = (0..10_000).map(|_| CallKind::draw(&mut chance)).collect();
        for (kind, name, share) in CallKind::TABLE {
            let count = drawn.iter().filter(|it| *it == kind).count();
            let expected = if *kind == CallKind::Turn { 0 } else { share * 10_000 / 98 };
            assert!(count.abs_diff(expected) <= expected / 5, "{name}: {count}, {expected} expected");
        }
    }
}
