//! Stored state of a gateway, read through the protocol.

use client::{Client, ClientError};
use protocol::method::{
    DocumentHistory, DocumentHistoryParams, DocumentRevision, DocumentRevisionParams, DocumentSave,
    DocumentSaveParams, EventsSubscribe, EventsSubscribeParams, FolderCreate, FolderCreateParams,
};
use protocol::{ContentHash, FolderId, SaveReason, Sequence, Version, WorkspaceId};

use super::PATIENCE;

/// Makes a folder at the root.
pub(crate) async fn folder(client: &Client, workspace_id: &WorkspaceId, name: &str) -> FolderId {
    let params = FolderCreateParams {
        workspace_id: workspace_id.clone(),
        parent_folder_id: None,
        name: name.to_owned(),
    };
    client.call::<FolderCreate>(&params).await.expect("make a folder").folder.id
}

/// Saves a text over any version and returns the new version.
pub(crate) async fn save(
    client: &Client,
    workspace_id: &WorkspaceId,
    folder_id: &FolderId,
    text: &str,
) -> Result<Version, ClientError> {
    let params = DocumentSaveParams {
        workspace_id: workspace_id.clone(),
        folder_id: Some(folder_id.clone()),
        content: text.to_owned(),
        expected_version: None,
        save_reason: Some(SaveReason::Autosave),
        message: None,
    };
    Ok(client.call::<DocumentSave>(&params).await?.doc.version)
}

/// The texts of all versions of a folder's document, from version 1 on. Fails where a version is missing, or where a
/// text is not the one that was hashed when it was saved.
pub(crate) async fn all_revisions(
    client: &Client,
    workspace_id: &WorkspaceId,
    folder_id: &FolderId,
) -> Vec<String> {
    let mut versions = Vec::new();
    loop {
        let params = DocumentHistoryParams {
            workspace_id: workspace_id.clone(),
            folder_id: Some(folder_id.clone()),
            limit: Some(500),
            before: versions.last().copied(),
        };
        let page = client.call::<DocumentHistory>(&params).await.expect("history").revisions;
        if page.is_empty() {
            break;
        }
        versions.extend(page.into_iter().map(|revision| revision.version));
    }
    versions.reverse();
    let gapless: Vec<Version> = (1..=versions.len() as u64).map(Version).collect();
    assert_eq!(versions, gapless);
    let mut texts = Vec::new();
    for version in versions {
        let params = DocumentRevisionParams {
            workspace_id: workspace_id.clone(),
            folder_id: Some(folder_id.clone()),
            version,
        };
        let revision = client.call::<DocumentRevision>(&params).await.expect("revision").revision;
        assert_eq!(revision.summary.content_sha256, ContentHash::of(&revision.content), "version {version}");
        texts.push(revision.content);
    }
    texts
}

/// All changes of a workspace as method and parameters. Fails where a sequence number is missing or out of order.
pub(crate) async fn all_events(client: &mut Client, workspace_id: &WorkspaceId) -> Vec<(String, String)> {
    let params = EventsSubscribeParams {
        workspace_id: workspace_id.clone(),
        since: Some(Sequence(0)),
        instance: None,
    };
    let newest = client.call::<EventsSubscribe>(&params).await.expect("subscribe").seq;
    let mut events = Vec::new();
    while (events.len() as u64) < newest.0 {
        let event = tokio::time::timeout(PATIENCE, client.notification()).await;
        let event = event.expect("an event in time").expect("a connection");
        #[derive(serde::Deserialize)]
        struct Place {
            seq: u64,
        }
        let place: Place = serde_json::from_str(event.params.get()).expect("a place");
        assert_eq!(place.seq, events.len() as u64 + 1);
        events.push((event.method, event.params.get().to_owned()));
    }
    events
}
