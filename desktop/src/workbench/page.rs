//! Pages of the main area.

use client::Scope;
use gpui_kit::prelude::*;
use gpui_kit::{AnyElement, App, Context, Entity, FocusHandle, Focusable as _, Window};
use protocol::{ThreadId, WorkspaceId};

use super::Workbench;
use crate::document::DocumentEditor;
use crate::gateways::GatewaysView;
use crate::session::{PageId, Session, Subject};
use crate::views::{CompareView, EffectiveView, HistoryView, PromptView, ThreadView};

/// An open page and its workspace.
pub(super) struct Page {
    place: PageId,
    workspace_id: Option<WorkspaceId>,
    view: PageView,
}

pub(super) enum PageView {
    Document(Entity<DocumentEditor>),
    History(Entity<HistoryView>),
    Effective(Entity<EffectiveView>),
    Thread(Entity<ThreadView>),
    Prompt(Entity<PromptView>),
    Compare(Entity<CompareView>),
    Gateways(Entity<GatewaysView>),
}

impl Page {
    pub(super) fn of_document(editor: Entity<DocumentEditor>, cx: &App) -> Self {
        let scope = editor.read(cx).scope().clone();
        let workspace_id = editor.read(cx).workspace_id().clone();
        Self {
            place: PageId::Document(scope),
            workspace_id: Some(workspace_id),
            view: PageView::Document(editor),
        }
    }

    /// Opens a page other than a document, which the workbench opens itself.
    pub(super) fn open(
        session: &Entity<Session>,
        place: PageId,
        window: &mut Window,
        cx: &mut Context<Workbench>,
    ) -> Option<Self> {
        let shared = session.clone();
        let workbench = cx.weak_entity();
        let view = match place.clone() {
            PageId::Document(_) => return None,
            PageId::History(scope) => {
                PageView::History(cx.new(|cx| HistoryView::new(shared, scope, window, cx)))
            }
            PageId::Effective(subject) => {
                PageView::Effective(cx.new(|cx| EffectiveView::new(shared, subject, window, cx)))
            }
            PageId::Thread(id) => PageView::Thread(cx.new(|cx| ThreadView::new(shared, id, window, cx))),
            PageId::Prompt(id) => PageView::Prompt(cx.new(|cx| PromptView::new(shared, id, window, cx))),
            PageId::Compare => PageView::Compare(cx.new(|cx| CompareView::new(shared, window, cx))),
            PageId::Gateways => {
                PageView::Gateways(cx.new(|cx| GatewaysView::new(shared, workbench, window, cx)))
            }
        };
        let workspace_id = match place {
            // The page of gateways belongs to no workspace and stays open when another one is chosen.
            PageId::Gateways => None,
            _ => session.read(cx).workspace_id().cloned(),
        };
        Some(Self { place, workspace_id, view })
    }

    pub(super) fn place(&self) -> &PageId {
        &self.place
    }

    /// Returns the workspace of the page.
    pub(super) fn workspace_id(&self) -> Option<&WorkspaceId> {
        self.workspace_id.as_ref()
    }

    pub(super) fn document(&self) -> Option<&Entity<DocumentEditor>> {
        match &self.view {
            PageView::Document(editor) => Some(editor),
            _ => None,
        }
    }

    /// Returns the scope whose document is shown.
    pub(super) fn scope(&self) -> Option<Scope> {
        match &self.place {
            PageId::Document(scope) | PageId::History(scope) | PageId::Effective(Subject::Scope(scope)) => {
                Some(scope.clone())
            }
            _ => None,
        }
    }

    pub(super) fn subject(&self) -> Option<Subject> {
        match &self.place {
            PageId::Document(scope) | PageId::History(scope) => Some(Subject::Scope(scope.clone())),
            PageId::Thread(id) | PageId::Prompt(id) => Some(Subject::Thread(id.clone())),
            _ => None,
        }
    }

    pub(super) fn thread(&self) -> Option<ThreadId> {
        match &self.place {
            PageId::Thread(id) | PageId::Prompt(id) | PageId::Effective(Subject::Thread(id)) => {
                Some(id.clone())
            }
            _ => None,
        }
    }

    pub(super) fn focus_handle(&self, cx: &App) -> FocusHandle {
        match &self.view {
            PageView::Document(view) => view.focus_handle(cx),
            PageView::History(view) => view.focus_handle(cx),
            PageView::Effective(view) => view.focus_handle(cx),
            PageView::Thread(view) => view.focus_handle(cx),
            PageView::Prompt(view) => view.focus_handle(cx),
            PageView::Compare(view) => view.focus_handle(cx),
            PageView::Gateways(view) => view.focus_handle(cx),
        }
    }

    pub(super) fn draw(&self) -> AnyElement {
        match &self.view {
            PageView::Document(view) => view.clone().into_any_element(),
            PageView::History(view) => view.clone().into_any_element(),
            PageView::Effective(view) => view.clone().into_any_element(),
            PageView::Thread(view) => view.clone().into_any_element(),
            PageView::Prompt(view) => view.clone().into_any_element(),
            PageView::Compare(view) => view.clone().into_any_element(),
            PageView::Gateways(view) => view.clone().into_any_element(),
        }
    }
}
