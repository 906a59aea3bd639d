//! Changes of the tree by the user. The displayed tree changes only through the gateway's notifications.

use client::RowKey;
use gpui_kit::Context;
use protocol::method::{
    DocumentArchive, DocumentArchiveParams, FolderCreate, FolderCreateParams, FolderDelete, FolderGetParams,
    FolderMove, FolderMoveParams, FolderRename, FolderRenameParams, ThreadArchive, ThreadCreate,
    ThreadCreateParams, ThreadGetParams, ThreadMove, ThreadMoveParams, ThreadRename, ThreadRenameParams,
    WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::{FolderId, ThreadMode};

use super::{PageId, Session};

impl Session {
    pub fn create_workspace(&mut self, name: String, root_path: Option<String>, cx: &mut Context<Self>) {
        let params = WorkspaceCreateParams { name, root_path, agents: None };
        self.request::<WorkspaceCreate>(params, cx, |this, answer, cx| {
            // Notifications arrive only for the followed workspace, so the new one is added to the list here.
            let id = answer.workspace.id.clone();
            this.workspaces.push(answer.workspace);
            this.open_workspace(&id, cx);
        });
    }

    pub fn create_folder(&mut self, parent: Option<FolderId>, name: String, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id().cloned() else { return };
        // The parent is expanded, because a new folder in a collapsed one would be invisible.
        let above = parent.clone();
        let params = FolderCreateParams { workspace_id, parent_folder_id: parent, name };
        self.request::<FolderCreate>(params, cx, move |this, answer, cx| {
            this.change_tree(cx, |tree| {
                if let Some(above) = &above {
                    tree.expand(above);
                }
                tree.select(Some(RowKey::Folder(answer.folder.id)));
            });
        });
    }

    pub fn create_thread(
        &mut self,
        folder_id: Option<FolderId>,
        title: String,
        mode: ThreadMode,
        cx: &mut Context<Self>,
    ) {
        let Some(workspace_id) = self.workspace_id().cloned() else { return };
        let above = folder_id.clone();
        let params = ThreadCreateParams { workspace_id, folder_id, title, mode };
        self.request::<ThreadCreate>(params, cx, move |this, answer, cx| {
            let id = answer.thread.id;
            this.change_tree(cx, |tree| {
                if let Some(above) = &above {
                    tree.expand(above);
                }
                tree.select(Some(RowKey::Thread(id.clone())));
            });
            this.open(PageId::Thread(id), cx);
        });
    }

    pub fn rename_row(&mut self, key: &RowKey, name: String, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id().cloned() else { return };
        match key.clone() {
            RowKey::Folder(folder_id) => {
                let params = FolderRenameParams { workspace_id, folder_id, name };
                self.request::<FolderRename>(params, cx, |_, _, _| {});
            }
            RowKey::Thread(thread_id) => {
                let params = ThreadRenameParams { workspace_id, thread_id, title: name };
                self.request::<ThreadRename>(params, cx, |_, _, _| {});
            }
            RowKey::Document(_) | RowKey::More(_) => {}
        }
    }

    /// Moves a folder or a thread into a folder, or to the root.
    pub fn move_row(&mut self, key: &RowKey, target: Option<FolderId>, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id().cloned() else { return };
        // The gateway would refuse these moves with an error, but dropping a row where it already is should
        // do nothing.
        if !self.tree.as_ref().is_some_and(|tree| tree.can_move(key, &target)) {
            return;
        }
        match key.clone() {
            RowKey::Folder(folder_id) => {
                let params = FolderMoveParams { workspace_id, folder_id, parent_folder_id: target };
                self.request::<FolderMove>(params, cx, |_, _, _| {});
            }
            RowKey::Thread(thread_id) => {
                let params = ThreadMoveParams { workspace_id, thread_id, folder_id: target };
                self.request::<ThreadMove>(params, cx, |_, _, _| {});
            }
            RowKey::Document(_) | RowKey::More(_) => {}
        }
    }

    /// Deletes a folder, archives a thread or a document.
    pub fn remove_row(&mut self, key: &RowKey, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id().cloned() else { return };
        match key.clone() {
            RowKey::Folder(folder_id) => {
                let params = FolderGetParams { workspace_id, folder_id };
                self.request::<FolderDelete>(params, cx, |_, _, _| {});
            }
            RowKey::Thread(thread_id) => {
                let params = ThreadGetParams { workspace_id, thread_id };
                self.request::<ThreadArchive>(params, cx, |_, _, _| {});
            }
            RowKey::Document(folder_id) => {
                let params = DocumentArchiveParams { workspace_id, folder_id, expected_version: None };
                self.request::<DocumentArchive>(params, cx, |_, _, _| {});
            }
            RowKey::More(_) => {}
        }
    }
}
