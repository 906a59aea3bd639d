//! `foreword folder`.

use client::{TreeModel, TreeNode};
use protocol::Folder as FolderRecord;
use protocol::method::{
    FolderCreate, FolderCreateParams, FolderDelete, FolderDeletedResult, FolderGet, FolderGetParams,
    FolderMove, FolderMoveParams, FolderRename, FolderRenameParams, FolderRestore, ThreadTree,
    ThreadTreeParams,
};
use serde_json::json;

use crate::arguments::{Folder, InWorkspace};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::table;

pub(crate) async fn run(context: Context, command: Folder) -> Result<Exit, Failure> {
    let output = context.output;
    let client = context.connect().await?;
    let workspace = async |scope: &InWorkspace| context.workspace(&client, scope).await.map(|found| found.id);
    match command {
        Folder::Create { name, parent, scope } => {
            let workspace_id = workspace(&scope).await?;
            let parent_folder_id = match parent {
                Some(parent) => context.folder_or_root(&client, &workspace_id, &parent).await?,
                None => None,
            };
            let params = FolderCreateParams { workspace_id, parent_folder_id, name };
            let result = client.call::<FolderCreate>(&params).await?;
            output.data(&result, || format!("{}\n", result.folder.id))?;
            output.note(format!("made folder `{}`", result.folder.name));
        }
        Folder::List { scope } => {
            let workspace_id = workspace(&scope).await?;
            let result = client.call::<ThreadTree>(&ThreadTreeParams::without_threads(workspace_id)).await?;
            let folders = result.folders.clone();
            let tree = TreeModel::from(result);
            output.data(&json!({ "folders": folders }), || {
                let folders = tree.nodes().into_iter().filter_map(|(_, node)| match node {
                    TreeNode::Folder(folder) => Some(vec![tree.path(&folder.id), folder.id.to_string()]),
                    _ => None,
                });
                table(&["path", "id"], folders)
            })?;
        }
        Folder::Get { folder, scope } => {
            let workspace_id = workspace(&scope).await?;
            let folder_id = context.folder(&client, &workspace_id, &folder).await?;
            let result = client.call::<FolderGet>(&FolderGetParams { workspace_id, folder_id }).await?;
            output.data(&result, || describe(&result.folder))?;
        }
        Folder::Rename { folder, name, scope } => {
            let workspace_id = workspace(&scope).await?;
            let folder_id = context.folder(&client, &workspace_id, &folder).await?;
            let params = FolderRenameParams { workspace_id, folder_id, name };
            let result = client.call::<FolderRename>(&params).await?;
            output.data(&result, || describe(&result.folder))?;
        }
        Folder::Move { folder, to, scope } => {
            let workspace_id = workspace(&scope).await?;
            let folder_id = context.folder(&client, &workspace_id, &folder).await?;
            let parent_folder_id = context.folder_or_root(&client, &workspace_id, &to).await?;
            let params = FolderMoveParams { workspace_id, folder_id, parent_folder_id };
            let result = client.call::<FolderMove>(&params).await?;
            output.data(&result, || describe(&result.folder))?;
        }
        Folder::Delete { folder, scope } => {
            let workspace_id = workspace(&scope).await?;
            let folder_id = context.folder(&client, &workspace_id, &folder).await?;
            let params = FolderGetParams { workspace_id, folder_id };
            let result = client.call::<FolderDelete>(&params).await?;
            output.data(&result, String::new)?;
            output.note(format!(
                "deleted folder `{folder}`; what it held is now in its parent; \
                 `foreword folder restore {}` brings it back",
                params.folder_id
            ));
        }
        Folder::Deleted { scope } => {
            let folders = context.deleted_folders(&client, &workspace(&scope).await?).await?;
            let result = FolderDeletedResult { folders: folders.iter().cloned().collect() };
            output.data(&result, || {
                let rows = folders.iter().map(|deleted| {
                    let document = match &deleted.doc {
                        Some(doc) => format!("{} characters", doc.char_count),
                        None => "-".to_owned(),
                    };
                    let (deleted_at, id) = (deleted.deleted_at.to_string(), deleted.folder.id.to_string());
                    vec![folders.path(deleted), deleted_at, document, id]
                });
                table(&["path", "deleted", "document", "id"], rows)
            })?;
        }
        Folder::Restore { folder, scope } => {
            let workspace_id = workspace(&scope).await?;
            let folder_id = context.deleted_folder(&client, &workspace_id, &folder).await?.folder.id;
            let result = client.call::<FolderRestore>(&FolderGetParams { workspace_id, folder_id }).await?;
            output.data(&result, || describe(&result.folder))?;
            let document = match &result.doc {
                Some(doc) => format!("with its document, now version {}", doc.version),
                None => "it had no document".to_owned(),
            };
            output.note(format!("restored folder `{folder}`; {document}"));
            for warning in &result.warnings {
                output.note(&warning.message);
            }
        }
    }
    Ok(Exit::Done)
}

fn describe(folder: &FolderRecord) -> String {
    let parent = folder.parent_folder_id.as_ref().map_or("/", |parent| parent.as_str());
    format!(
        "name     {}\nid       {}\nparent   {parent}\ncreated  {}\nupdated  {}\n",
        folder.name, folder.id, folder.created_at, folder.updated_at
    )
}
