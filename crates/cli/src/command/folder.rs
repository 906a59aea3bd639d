//! `foreword folder`.

use client::{TreeModel, TreeNode};
use protocol::Folder as FolderRecord;
use protocol::method::{
    FolderCreate, FolderCreateParams, FolderDelete, FolderGet, FolderGetParams, FolderMove, FolderMoveParams,
    FolderRename, FolderRenameParams, ThreadTree, ThreadTreeParams,
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
            let result = client.call::<FolderDelete>(&FolderGetParams { workspace_id, folder_id }).await?;
            output.data(&result, String::new)?;
            output.note(format!("deleted folder `{folder}`; what it held is now in its parent"));
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
