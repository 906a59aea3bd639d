//! What the main area can show, and how each is opened.

use client::Scope;
use gpui_kit::prelude::*;
use gpui_kit::{AnyElement, App, Context, Entity, FocusHandle, Focusable as _, Window};
use protocol::{ThreadId, WorkspaceId};

use super::Workbench;
use crate::document::DocumentEditor;
use crate::gateways::GatewaysView;
use crate::session::{Place, Session, Subject};
use crate::views::{CompareView, EffectiveView, HistoryView, PromptView, ThreadView};

/// What is shown, and of which workspace it is.
pub(super) struct Page {
    place: Place,
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
        let (scope, workspace_id) = (editor.read(cx).scope().clone(), editor.read(cx).workspace_id().clone());
        Self {
            place: Place::Document(scope),
            workspace_id: Some(workspace_id),
            view: PageView::Document(editor),
        }
    }

    /// Opens anything but a document, of which the workbench takes care itself.
    pub(super) fn open(
        session: &Entity<Session>,
        place: Place,
        window: &mut Window,
        cx: &mut Context<Workbench>,
    ) -> Option<Self> {
        let (shared, workbench) = (session.clone(), cx.weak_entity());
        let view = match place.clone() {
            Place::Document(_) => return None,
            Place::History(scope) => {
                PageView::History(cx.new(|cx| HistoryView::new(shared, scope, window, cx)))
            }
            Place::Effective(subject) => {
                PageView::Effective(cx.new(|cx| EffectiveView::new(shared, subject, window, cx)))
            }
            Place::Thread(id) => PageView::Thread(cx.new(|cx| ThreadView::new(shared, id, window, cx))),
            Place::Prompt(id) => PageView::Prompt(cx.new(|cx| PromptView::new(shared, id, window, cx))),
            Place::Compare => PageView::Compare(cx.new(|cx| CompareView::new(shared, window, cx))),
            Place::Gateways => {
                PageView::Gateways(cx.new(|cx| GatewaysView::new(shared, workbench, window, cx)))
            }
        };
        let workspace_id = match place {
            Place::Gateways => None,
            _ => session.read(cx).workspace_id().cloned(),
        };
        Some(Self { place, workspace_id, view })
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The workspace that it belongs to.
    pub(super) fn workspace_id(&self) -> Option<&WorkspaceId> {
        self.workspace_id.as_ref()
    }

    pub(super) fn document(&self) -> Option<&Entity<DocumentEditor>> {
        match &self.view {
            PageView::Document(editor) => Some(editor),
            _ => None,
        }
    }

    /// The scope whose document it is about.
    pub(super) fn scope(&self) -> Option<Scope> {
        match &self.place {
            Place::Document(scope) | Place::History(scope) | Place::Effective(Subject::Scope(scope)) => {
                Some(scope.clone())
            }
            _ => None,
        }
    }

    pub(super) fn subject(&self) -> Option<Subject> {
        match &self.place {
            Place::Document(scope) | Place::History(scope) => Some(Subject::Scope(scope.clone())),
            Place::Thread(id) | Place::Prompt(id) => Some(Subject::Thread(id.clone())),
            _ => None,
        }
    }

    pub(super) fn thread(&self) -> Option<ThreadId> {
        match &self.place {
            Place::Thread(id) | Place::Prompt(id) | Place::Effective(Subject::Thread(id)) => Some(id.clone()),
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
