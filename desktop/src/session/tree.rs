//! Feeds the tree of the open workspace with the parts it requests and with notifications.

use std::ops::Range;
use std::time::Instant;

use client::{ClientError, Failure, LiveTree, Notification, Scope, TreeRequest};
use gpui_kit::Context;
use protocol::method::{FolderGet, ThreadGet, ThreadList, ThreadTree};
use protocol::notification::{DocumentChanged, Notification as _, TreeChange, TreeChanged};
use protocol::{ErrorKind, Method};

use super::Session;
use crate::hidden;
use crate::strings;

impl Session {
    pub fn tree(&self) -> Option<&LiveTree> {
        self.tree.as_ref()
    }

    /// Changes the tree, sends its requests and redraws it.
    pub fn change_tree(&mut self, cx: &mut Context<Self>, change: impl FnOnce(&mut LiveTree)) {
        let Some(tree) = &mut self.tree else { return };
        change(tree);
        self.feed_tree(cx);
        cx.notify();
    }

    /// Notes the visible rows.
    pub fn shown(&mut self, rows: Range<usize>, cx: &mut Context<Self>) {
        if let Some(tree) = &mut self.tree {
            tree.shown(rows);
            self.feed_tree(cx);
        }
    }

    /// Returns the displayed path of a scope.
    pub fn path_of(&self, scope: &Scope) -> String {
        match (&self.tree, scope) {
            (Some(tree), Some(_)) => hidden::name(&tree.path(scope).join(" / ")).to_string(),
            _ => strings::ROOT.to_owned(),
        }
    }

    pub fn has_document(&self, scope: &Scope) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.document(scope).is_some())
    }

    pub(super) fn start_tree(&mut self, cx: &mut Context<Self>) {
        // Following starts only when the first part of the tree has arrived: its sequence number is where the
        // notifications have to begin.
        self.tree = self.workspace.as_ref().map(|workspace| LiveTree::new(workspace.id.clone()));
        self.followed = false;
        self.feed_tree(cx);
    }

    pub(super) fn reload_tree(&mut self, cx: &mut Context<Self>) {
        if let Some(tree) = &mut self.tree {
            tree.reload();
            self.followed = false;
            self.feed_tree(cx);
        }
    }

    /// Retries failed loads after a reconnect or on request of the user.
    pub fn resume_tree(&mut self, cx: &mut Context<Self>) {
        if let Some(tree) = &mut self.tree {
            tree.retry();
            self.feed_tree(cx);
        }
    }

    pub(super) fn note_change(&mut self, notification: &Notification, cx: &mut Context<Self>) {
        let Some(tree) = &mut self.tree else { return };
        let open = self.workspace.as_ref().map(|workspace| &workspace.id);
        let params = notification.params.get();
        if notification.method == TreeChanged::NAME {
            match serde_json::from_str::<TreeChanged>(params) {
                Ok(change) if Some(&change.workspace_id) == open => {
                    tree.tree_changed(&change);
                    // Names and roots of workspaces are in the list, not in the tree.
                    if is_about_workspace(change.reason) {
                        self.load_workspaces(cx);
                    }
                }
                _ => return,
            }
        } else if notification.method == DocumentChanged::NAME {
            match serde_json::from_str::<DocumentChanged>(params) {
                Ok(change) if Some(&change.workspace_id) == open => tree.document_changed(&change),
                _ => return,
            }
        } else {
            return;
        }
        self.feed_tree(cx);
    }

    /// Sends the requests of the tree and sets its timer.
    fn feed_tree(&mut self, cx: &mut Context<Self>) {
        let now = cx.background_executor().now();
        while let Some(request) = self.tree.as_mut().and_then(|tree| tree.poll(now)) {
            match &request {
                TreeRequest::Part(params) => {
                    let asked = params.clone();
                    self.fetch::<ThreadTree>(request, asked.clone(), cx, move |tree, part| {
                        tree.part_loaded(&asked, part);
                    });
                }
                TreeRequest::Page(params) => {
                    let asked = params.clone();
                    self.fetch::<ThreadList>(request, asked.clone(), cx, move |tree, page| {
                        tree.page_loaded(&asked, page);
                    });
                }
                TreeRequest::Folder(params) => {
                    let asked = params.clone();
                    let id = params.folder_id.clone();
                    self.fetch::<FolderGet>(request, asked, cx, move |tree, answer| {
                        tree.folder_loaded(&id, Some(answer.folder));
                    });
                }
                TreeRequest::Thread(params) => {
                    let asked = params.clone();
                    let id = params.thread_id.clone();
                    self.fetch::<ThreadGet>(request, asked, cx, move |tree, answer| {
                        tree.thread_loaded(&id, Some(answer.thread));
                    });
                }
            }
        }
        self.tree_timer = self.tree.as_ref().and_then(LiveTree::wake_at).map(|at| {
            let pause = at.saturating_duration_since(now);
            cx.spawn(async move |this, cx| {
                cx.background_executor().timer(pause).await;
                this.update(cx, |this, cx| this.feed_tree(cx)).ok();
            })
        });
    }

    fn fetch<M: Method>(
        &mut self,
        request: TreeRequest,
        params: M::Params,
        cx: &mut Context<Self>,
        loaded: impl FnOnce(&mut LiveTree, M::Result) + 'static,
    ) where
        M::Params: Send + Sync + 'static,
        M::Result: Send + 'static,
    {
        let workspace_id = self.workspace_id().cloned();
        let call = self.gateway.call::<M>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| {
                // The user may have opened another workspace meanwhile, whose tree must not get this answer.
                if this.workspace_id() != workspace_id.as_ref() {
                    return;
                }
                let Some(tree) = &mut this.tree else { return };
                match answer {
                    Ok(result) => loaded(tree, result),
                    Err(error) => {
                        request_failed(tree, &request, &error, cx.background_executor().now());
                    }
                }
                this.follow_tree();
                this.feed_tree(cx);
                cx.notify();
            })
            .ok();
        })
        .detach();
    }

    /// Follows the workspace from the sequence number of its tree.
    fn follow_tree(&mut self) {
        // Subscribing before the tree is loaded could apply a change that the tree already contains;
        // subscribing without the number could miss one that happened in between.
        if self.followed {
            return;
        }
        let seq = self.tree.as_ref().and_then(LiveTree::seq);
        if let (Some(workspace), Some(seq)) = (&self.workspace, seq) {
            self.gateway.follow(workspace.id.clone(), seq);
            self.followed = true;
        }
    }
}

fn is_about_workspace(change: TreeChange) -> bool {
    use TreeChange::{WorkspaceArchived, WorkspaceCreated, WorkspaceRestored, WorkspaceUpdated};
    matches!(change, WorkspaceArchived | WorkspaceCreated | WorkspaceRestored | WorkspaceUpdated)
}

// A folder or thread that vanished before its details were loaded is not an error: the tree just drops it.
fn request_failed(tree: &mut LiveTree, request: &TreeRequest, error: &ClientError, now: Instant) {
    let gone = error.kind() == Some(ErrorKind::NotFound);
    match request {
        TreeRequest::Folder(params) if gone => tree.folder_loaded(&params.folder_id, None),
        TreeRequest::Thread(params) if gone => tree.thread_loaded(&params.thread_id, None),
        request if gone => tree.place_gone(request),
        request => tree.request_failed(request, Failure::from(error), now),
    }
}
