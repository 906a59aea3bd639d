//! The kinds of calls, how often each is made, and how.

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

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Save,
    Effective,
    Document,
    Tree,
    Preview,
    Manifest,
    Explain,
    Turn,
}

impl Kind {
    /// Each kind, what it is called, and how many of a hundred calls it is.
    pub const TABLE: &'static [(Kind, &'static str, usize)] = &[
        (Kind::Save, "save of 2 KB", 20),
        (Kind::Effective, "effective document of a thread", 26),
        (Kind::Document, "document of a folder", 20),
        (Kind::Tree, "part of a tree", 14),
        (Kind::Preview, "prompt of the next turn", 8),
        (Kind::Manifest, "manifests of a turn", 6),
        (Kind::Explain, "explanation of a turn", 4),
        (Kind::Turn, "turn of two rounds, to its end", 2),
    ];

    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// How many of a hundred calls are turns.
    pub(crate) fn turn_share() -> usize {
        Self::TABLE.iter().filter(|(kind, ..)| *kind == Kind::Turn).map(|(.., share)| share).sum()
    }

    /// One that is no turn, as often as it should be.
    pub(crate) fn at_random(chance: &mut Chance) -> Self {
        let mut drawn = chance.below(100 - Self::turn_share());
        for (kind, _, share) in Self::TABLE {
            match drawn.checked_sub(*share) {
                Some(rest) => drawn = rest,
                None => return *kind,
            }
        }
        Kind::Save
    }
}

/// Makes a call that is no turn.
pub(crate) async fn call(
    client: &Client,
    kind: Kind,
    place: &LoadedWorkspace,
    chance: &mut Chance,
) -> Result<(), Problem> {
    let workspace_id = place.workspace_id.clone();
    let folder_id = Some(chance.pick(&place.folders).clone());
    let thread_id = chance.pick(&place.threads).clone();
    match kind {
        Kind::Save => {
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
        Kind::Effective => {
            let params = DocumentResolveForThreadParams { workspace_id, thread_id };
            client.call::<DocumentResolveForThread>(&params).await?;
        }
        Kind::Document => {
            client.call::<DocumentGet>(&DocumentScopeParams { workspace_id, folder_id }).await?;
        }
        Kind::Tree => {
            let part = ThreadTreeParams { folder_id, depth: Some(1), thread_limit: Some(20), workspace_id };
            client.call::<ThreadTree>(&part).await?;
        }
        Kind::Preview => {
            let params =
                PromptPreviewParams { workspace_id, thread_id, cwd: None, input: None, fresh: false };
            client.call::<PromptPreview>(&params).await?;
        }
        Kind::Manifest => {
            client
                .call::<TurnManifest>(&TurnGetParams { workspace_id, turn_id: place.newest_turn()? })
                .await?;
        }
        Kind::Explain => {
            client
                .call::<TurnExplain>(&TurnGetParams { workspace_id, turn_id: place.newest_turn()? })
                .await?;
        }
        Kind::Turn => return Err(Problem::Turn("one that needs a subscriber")),
    }
    Ok(())
}

/// Asks the model, as a client that has subscribed to the workspace, and waits for the turn's end.
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
    place.remember(turn_id);
    Ok(())
}

/// How a turn ends: the name of the notification that says so.
async fn end_of(client: &mut Client, turn_id: &TurnId) -> Result<&'static str, Problem> {
    #[derive(Deserialize)]
    struct Of {
        turn_id: TurnId,
    }
    while let Some(notification) = client.notification().await {
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
    fn kinds_are_drawn_as_often_as_the_table_says() {
        assert_eq!(Kind::TABLE.iter().map(|(.., share)| share).sum::<usize>(), 100);
        let mut chance = Chance::new(1);
        let drawn: Vec<Kind> = (0..10_000).map(|_| Kind::at_random(&mut chance)).collect();
        for (kind, name, share) in Kind::TABLE {
            let count = drawn.iter().filter(|it| *it == kind).count();
            let expected = if *kind == Kind::Turn { 0 } else { share * 10_000 / 98 };
            assert!(count.abs_diff(expected) <= expected / 5, "{name}: {count}, {expected} expected");
        }
    }
}
