//! `foreword folder`.

use client::{Client, FolderRow, LiveTree, TreeRowKind};
use protocol::method::{
    DocumentGet, DocumentScopeParams, FolderCreate, FolderCreateParams, FolderDelete, FolderDeletedResult,
    FolderGet, FolderGetParams, FolderMove, FolderMoveParams, FolderRename, FolderRenameParams,
    FolderRestore, ThreadTree, ThreadTreeParams,
};
use protocol::{Folder as FolderRecord, WorkspaceId};
use serde_json::json;

use crate::arguments::Folder;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::table;
use crate::output::terminal::time;

pub(crate) async fn run(context: Context, command: Folder) -> Result<Exit, Failure> {
    let client = context.connect().await?;
    let scope = match &command {
        Folder::Create { scope, .. }
        | Folder::List { scope }
        | Folder::Get { scope, .. }
        | Folder::Rename { scope, .. }
        | Folder::Move { scope, .. }
        | Folder::Delete { scope, .. }
        | Folder::Deleted { scope }
        | Folder::Restore { scope, .. } => scope,
    };
    let workspace_id = context.workspace(&client, scope).await?.id;
    let folders = Folders { context, client, workspace_id };
    match command {
        Folder::Create { name, parent, .. } => folders.create(name, parent.as_deref()).await?,
        Folder::List { .. } => folders.list().await?,
        Folder::Get { folder, .. } => folders.get(&folder).await?,
        Folder::Rename { folder, name, .. } => folders.rename(&folder, name).await?,
        Folder::Move { folder, to, .. } => folders.move_to(&folder, &to).await?,
        Folder::Delete { folder, yes, .. } => {
            let consent = if yes { Consent::Given } else { Consent::Ask };
            return folders.delete(&folder, consent).await;
        }
        Folder::Deleted { .. } => folders.list_deleted().await?,
        Folder::Restore { folder, .. } => folders.restore(&folder).await?,
    }
    Ok(Exit::Done)
}

/// True if the user has already confirmed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Ask,
}

/// Folder commands of one workspace.
struct Folders {
    context: Context,
    client: Client,
    workspace_id: WorkspaceId,
}

impl Folders {
    async fn find(&self, folder: &str) -> Result<FolderGetParams, Failure> {
        let workspace_id = self.workspace_id.clone();
        let folder_id = self.context.folder(&self.client, &workspace_id, folder).await?;
        Ok(FolderGetParams { workspace_id, folder_id })
    }

    async fn create(&self, name: String, parent: Option<&str>) -> Result<(), Failure> {
        let workspace_id = self.workspace_id.clone();
        let parent_folder_id = match parent {
            Some(parent) => self.context.folder_or_root(&self.client, &workspace_id, parent).await?,
            None => None,
        };
        let params = FolderCreateParams { workspace_id, parent_folder_id, name };
        let result = self.client.call::<FolderCreate>(&params).await?;
        self.context.output.data(&result, || format!("{}\n", result.folder.id))?;
        self.context.output.note(format!("created folder `{}`", result.folder.name));
        Ok(())
    }

    async fn list(&self) -> Result<(), Failure> {
        let params = ThreadTreeParams::without_threads(self.workspace_id.clone());
        let result = self.client.call::<ThreadTree>(&params).await?;
        let folders = result.folders.clone();
        let tree = LiveTree::of(result, None);
        self.context.output.data(&json!({ "folders": folders }), || {
            let folders = tree.rows().filter_map(|row| match row.kind {
                TreeRowKind::Folder(FolderRow { folder, .. }) => {
                    Some(vec![tree.folder_path(&folder.id), folder.id.to_string()])
                }
                _ => None,
            });
            table(&["path", "id"], folders)
        })?;
        Ok(())
    }

    async fn get(&self, folder: &str) -> Result<(), Failure> {
        let result = self.client.call::<FolderGet>(&self.find(folder).await?).await?;
        self.context.output.data(&result, || describe(&result.folder))?;
        Ok(())
    }

    async fn rename(&self, folder: &str, name: String) -> Result<(), Failure> {
        let FolderGetParams { workspace_id, folder_id } = self.find(folder).await?;
        let params = FolderRenameParams { workspace_id, folder_id, name };
        let result = self.client.call::<FolderRename>(&params).await?;
        self.context.output.data(&result, String::new)?;
        self.context.output.note(format!("renamed folder `{folder}` to `{}`", result.folder.name));
        Ok(())
    }

    async fn move_to(&self, folder: &str, to: &str) -> Result<(), Failure> {
        let FolderGetParams { workspace_id, folder_id } = self.find(folder).await?;
        let parent_folder_id = self.context.folder_or_root(&self.client, &workspace_id, to).await?;
        let params = FolderMoveParams { workspace_id, folder_id, parent_folder_id };
        let result = self.client.call::<FolderMove>(&params).await?;
        self.context.output.data(&result, String::new)?;
        self.context.output.note(format!("moved folder `{}` to `{to}`", result.folder.name));
        Ok(())
    }

    async fn delete(&self, folder: &str, consent: Consent) -> Result<Exit, Failure> {
        let params = self.find(folder).await?;
        let FolderGetParams { workspace_id, folder_id } = params.clone();
        let scope = DocumentScopeParams { workspace_id, folder_id: Some(folder_id) };
        // Deleting a folder archives its document too, so the question mentions it.
        let document = self.client.call::<DocumentGet>(&scope).await?.explicit;
        let archives = document.map_or_else(String::new, |document| {
            format!(
                " and archives its document (version {}, {} characters)",
                document.version, document.char_count
            )
        });
        let question =
            format!("This deletes folder `{folder}`{archives}; its content moves to its parent. Continue?");
        // Without a terminal, as in a script, the command itself is the confirmation.
        if consent == Consent::Ask && confirm(&question) == Some(false) {
            self.context.output.note("nothing was deleted");
            return Ok(Exit::CheckFailed);
        }
        let result = self.client.call::<FolderDelete>(&params).await?;
        self.context.output.data(&result, String::new)?;
        let archived = if archives.is_empty() { "" } else { " and archived its document" };
        self.context.output.note(format!(
            "deleted folder `{folder}`{archived}; what it held is now in its parent; \
             `foreword folder restore {}` brings it back",
            params.folder_id
        ));
        Ok(Exit::Done)
    }

    async fn list_deleted(&self) -> Result<(), Failure> {
        let folders = self.context.deleted_folders(&self.client, &self.workspace_id).await?;
        let result =
            FolderDeletedResult { folders: folders.iter().map(|(deleted, _)| deleted.clone()).collect() };
        self.context.output.data(&result, || {
            let rows = folders.iter().map(|(deleted, path)| {
                let document = match &deleted.doc {
                    Some(doc) => format!("{} characters", doc.char_count),
                    None => "-".to_owned(),
                };
                let deleted_at = time(deleted.deleted_at);
                let id = deleted.folder.id.to_string();
                vec![path.clone(), deleted_at, document, id]
            });
            table(&["path", "deleted", "document", "id"], rows)
        })?;
        Ok(())
    }

    async fn restore(&self, folder: &str) -> Result<(), Failure> {
        let workspace_id = self.workspace_id.clone();
        let folder_id = self.context.deleted_folder(&self.client, &workspace_id, folder).await?.folder.id;
        let result = self.client.call::<FolderRestore>(&FolderGetParams { workspace_id, folder_id }).await?;
        self.context.output.data(&result, String::new)?;
        let document = match &result.doc {
            Some(doc) => format!(" with its document, now version {}", doc.version),
            None => "; it had no document".to_owned(),
        };
        self.context.output.note(format!("restored folder `{folder}`{document}"));
        for warning in &result.warnings {
            self.context.output.note(&warning.message);
        }
        Ok(())
    }
}

fn describe(folder: &FolderRecord) -> String {
    let parent = folder.parent_folder_id.as_ref().map_or("/", |parent| parent.as_str());
    format!(
        "name     {}\nid       {}\nparent   {parent}\ncreated  {}\nupdated  {}\n",
        folder.name,
        folder.id,
        time(folder.created_at),
        time(folder.updated_at)
    )
}
