//! Editor of a scope's own document. It draws the state of [`client::Editing`] and feeds it with keystrokes,
//! answers of the gateway and the time.

mod conflict;
mod find;
mod inherited;
mod status;

use std::time::Instant;

use client::{
    ClientError, DraftChange, Editing, EditingCall, EditingStatus, Failure, RequestNumber, Save, Scope,
};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::input::{Editor, EditorState, InputEvent};
use gpui_kit::component::{
    ActiveTheme as _, Icon, Sizable as _, h_flex, h_resizable, resizable_panel, v_flex, v_resizable,
};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, ClipboardItem, Context, Entity, FocusHandle, Focusable, SharedString, Subscription, Task, Window,
    div, px,
};
use protocol::method::{DocumentGet, DocumentSave, DocumentSaveParams, DocumentScopeParams};
use protocol::notification::{DocumentChanged, Notification as _};
use protocol::{ErrorKind, Method, WorkspaceId};

use self::find::FindBar;
use self::inherited::Inherited;
use crate::actions::{self, *};
use crate::hidden;
use crate::icons::IconName;
use crate::notices;
use crate::session::{PageId, Session, SessionEvent, Subject};
use crate::state::drafts::DraftFile;
use crate::strings::{self, editor as words};

pub struct DocumentEditor {
    session: Entity<Session>,
    workspace_id: WorkspaceId,
    scope: Scope,
    editing: Editing,
    editor: Entity<EditorState>,
    /// Epoch of the text in the editor widget.
    epoch: u64,
    draft: Option<DraftFile>,
    /// Reason why drafts cannot be kept.
    draft_problem: Option<String>,
    inherited: Inherited,
    show_inherited: bool,
    find: FindBar,
    was_connected: bool,
    timer: Option<Task<()>>,
    _subscriptions: Vec<Subscription>,
}

impl Focusable for DocumentEditor {
    fn focus_handle(&self, cx: &App) -> FocusHandle {
        self.editor.focus_handle(cx)
    }
}

impl DocumentEditor {
    /// Opens the document of a scope, which need not exist.
    pub fn new(
        session: Entity<Session>,
        workspace_id: WorkspaceId,
        scope: Scope,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) -> Self {
        let editor = cx.new(|cx| {
            EditorState::new(window, cx)
                .language("markdown")
                .line_number(true)
                .soft_wrap(true)
                .folding(false)
                .searchable(false)
                .placeholder(words::PLACEHOLDER)
        });
        let subscriptions = vec![
            cx.subscribe_in(&editor, window, Self::on_input),
            cx.subscribe_in(&session, window, Self::on_session),
        ];
        let shared = session.read(cx);
        let (draft, mut draft_problem) = match (shared.instance(), shared.drafts()) {
            (Some(instance), Ok(drafts)) => (Some(drafts.of(instance, &workspace_id, &scope)), None),
            (_, Err(problem)) => (None, Some(problem.to_owned())),
            (None, Ok(_)) => (None, None),
        };
        // The draft is loaded before the document. Its base version decides later if the gateway's text is a
        // conflict.
        let mut problems = Vec::new();
        let left = draft.as_ref().and_then(|file| match file.load(&mut problems) {
            Ok(left) => left,
            Err(error) => {
                draft_problem = Some(error.to_string());
                None
            }
        });
        let was_connected = shared.link().is_connected();
        for problem in problems {
            notices::problem(&problem.to_string(), window, cx);
        }
        let mut this = Self {
            session,
            workspace_id,
            scope,
            editing: Editing::open(left),
            editor,
            epoch: 0,
            draft,
            draft_problem,
            inherited: Inherited::default(),
            show_inherited: true,
            find: FindBar::new(window, cx),
            was_connected,
            timer: None,
            _subscriptions: subscriptions,
        };
        if !was_connected {
            this.editing.disconnected();
        }
        // A draft of an earlier run is shown immediately, even if the gateway cannot be reached.
        this.show_text(window, cx);
        this.load_inherited(cx);
        this.proceed(window, cx);
        this
    }

    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    pub fn workspace_id(&self) -> &WorkspaceId {
        &self.workspace_id
    }

    pub fn editing(&self) -> &Editing {
        &self.editing
    }

    /// Returns the text of the state machine.
    pub fn text(&self) -> &str {
        self.editing.text()
    }

    /// Returns the text of the editor widget, which must be the same.
    pub fn shown_text(&self, cx: &App) -> SharedString {
        self.editor.read(cx).value()
    }

    /// Saves immediately because the user switches to something else.
    pub fn leave(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        self.input(window, cx, |editing, now| editing.leave(now));
    }

    /// Returns true if the editor can be dropped without losing text.
    pub fn is_settled(&self) -> bool {
        self.editing.is_settled()
    }

    fn on_input(
        &mut self,
        editor: &Entity<EditorState>,
        event: &InputEvent,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) {
        match event {
            InputEvent::Change => {
                let text = editor.read(cx).value().to_string();
                self.input(window, cx, |editing, now| editing.edit(text, now));
            }
            InputEvent::Blur => self.leave(window, cx),
            _ => {}
        }
    }

    fn on_session(
        &mut self,
        session: &Entity<Session>,
        event: &SessionEvent,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) {
        match event {
            SessionEvent::Link => {
                // The event is sent for every change of the state, such as a new reason of the same failure.
                // Only the transitions matter to the state machine.
                let connected = session.read(cx).link().is_connected();
                if connected != self.was_connected {
                    self.was_connected = connected;
                    if connected {
                        self.editing.reconnected(cx.background_executor().now());
                        self.load_inherited(cx);
                    } else {
                        self.editing.disconnected();
                    }
                    self.proceed(window, cx);
                }
            }
            SessionEvent::Reload => {
                // The log has a gap, so a save of another client may have gone unnoticed. A reconnect makes
                // the state machine fetch the document again, with the text that is being typed kept.
                self.editing.disconnected();
                self.editing.reconnected(cx.background_executor().now());
                self.load_inherited(cx);
                self.proceed(window, cx);
            }
            SessionEvent::Notification(notification) if notification.method == DocumentChanged::NAME => {
                let Ok(change) = serde_json::from_str::<DocumentChanged>(notification.params.get()) else {
                    return;
                };
                if change.workspace_id != self.workspace_id {
                    return;
                }
                // Documents above this one matter only for the inherited pane.
                if change.folder_id == self.scope {
                    self.editing.remote_changed(change.summary.as_ref());
                    self.proceed(window, cx);
                } else if change.effective_changed {
                    self.load_inherited(cx);
                }
            }
            _ => {}
        }
    }

    /// Processes the state after an input: draft, requests, timer, text.
    fn proceed(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let now = cx.background_executor().now();
        // The draft comes first: if the program crashes during a request, the text is already on the disk.
        self.keep_draft();
        while let Some(request) = self.editing.poll(now) {
            match request.call {
                EditingCall::Save(save) => self.send(request.number, save, window, cx),
                EditingCall::Fetch => self.fetch(request.number, window, cx),
            }
        }
        self.timer = self.editing.wake_at().map(|at| {
            let pause = at.saturating_duration_since(now);
            cx.spawn_in(window, async move |this, cx| {
                cx.background_executor().timer(pause).await;
                this.update_in(cx, |this, window, cx| this.proceed(window, cx)).ok();
            })
        });
        // The epoch changes only when the text came from elsewhere. Replacing the text after each keystroke
        // would move the caret and break the undo history.
        if self.editing.text_epoch() != self.epoch {
            self.epoch = self.editing.text_epoch();
            self.show_text(window, cx);
        }
        cx.notify();
    }

    /// Replaces the text in the editor widget and keeps caret and scroll position.
    fn show_text(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let text = SharedString::from(self.editing.text().to_owned());
        self.editor.update(cx, |editor, cx| {
            if editor.value() == text {
                return;
            }
            let position = editor.cursor_position();
            let scroll = editor.scroll_offset();
            editor.set_value(text, window, cx);
            editor.set_cursor_position(position, window, cx);
            editor.set_scroll_offset(scroll, cx);
        });
    }

    fn keep_draft(&mut self) {
        let Some(change) = self.editing.take_draft_change() else { return };
        let Some(file) = &self.draft else { return };
        let written = match change {
            DraftChange::Keep(draft) => file.keep(&draft),
            DraftChange::Forget => file.forget(),
        };
        self.draft_problem = written.err().map(|error| error.to_string());
    }

    // Each request carries a number, so that a late answer to an older save is not mistaken for that of a
    // newer one.
    fn send(&mut self, number: RequestNumber, save: Save, window: &mut Window, cx: &mut Context<Self>) {
        let params = DocumentSaveParams {
            workspace_id: self.workspace_id.clone(),
            folder_id: self.scope.clone(),
            content: save.content,
            expected_version: Some(save.expected_version),
            save_reason: Some(save.reason),
            message: None,
        };
        self.request::<DocumentSave>(params, window, cx, move |editing, answer, now| match answer {
            Ok(result) => editing.saved(number, &result.doc, now),
            Err(ClientError::Refused(error)) if error.kind() == Some(ErrorKind::VersionConflict) => {
                let current = error.data.and_then(|data| data.current);
                editing.conflicted(number, current.as_deref(), now);
            }
            Err(error) => editing.failed(number, Failure::from(&error), now),
        });
    }

    fn fetch(&mut self, number: RequestNumber, window: &mut Window, cx: &mut Context<Self>) {
        let params =
            DocumentScopeParams { workspace_id: self.workspace_id.clone(), folder_id: self.scope.clone() };
        self.request::<DocumentGet>(params, window, cx, move |editing, answer, now| match answer {
            Ok(result) => editing.fetched(number, result.explicit.as_ref(), now),
            Err(error) => editing.failed(number, Failure::from(&error), now),
        });
    }

    /// Calls a method and passes the answer to the state machine.
    fn request<M: Method>(
        &mut self,
        params: M::Params,
        window: &mut Window,
        cx: &mut Context<Self>,
        report: impl FnOnce(&mut Editing, Result<M::Result, ClientError>, Instant) + 'static,
    ) where
        M::Params: Send + Sync + 'static,
        M::Result: Send + 'static,
    {
        let call = self.session.read(cx).gateway().call::<M>(params);
        cx.spawn_in(window, async move |this, cx| {
            let answer = call.await;
            this.update_in(cx, |this, window, cx| {
                this.input(window, cx, |editing, now| report(editing, answer, now));
            })
            .ok();
        })
        .detach();
    }

    /// Feeds the state machine and processes its new state.
    fn input(
        &mut self,
        window: &mut Window,
        cx: &mut Context<Self>,
        input: impl FnOnce(&mut Editing, Instant),
    ) {
        let now = cx.background_executor().now();
        input(&mut self.editing, now);
        self.proceed(window, cx);
    }

    fn take_remote(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        if let Some(given_up) = self.editing.take_remote() {
            // The discarded text exists nowhere else, so the clipboard keeps it for a change of mind.
            cx.write_to_clipboard(ClipboardItem::new_string(given_up));
            notices::done(strings::conflict::GIVEN_UP, window, cx);
        }
        self.choose(window, cx, |_, _| {});
    }

    /// Ends a conflict and returns the focus to the text.
    fn choose(
        &mut self,
        window: &mut Window,
        cx: &mut Context<Self>,
        choice: impl FnOnce(&mut Editing, Instant),
    ) {
        self.input(window, cx, choice);
        self.editor.focus_handle(cx).focus(window, cx);
    }

    fn is_in_conflict(&self) -> bool {
        matches!(self.editing.status(), EditingStatus::Conflict)
    }

    fn archive(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let key = client::RowKey::Document(self.scope.clone());
        let session = self.session.clone();
        let place = session.read(cx).path_of(&self.scope);
        use strings::dialogs as questions;
        crate::dialogs::confirm(
            questions::archive_document(&place),
            questions::ARCHIVE_DOCUMENT,
            questions::ARCHIVE,
            window,
            cx,
            move |_, cx| session.update(cx, |session, cx| session.remove_row(&key, cx)),
        );
    }

    fn header(&self, cx: &mut Context<Self>) -> impl IntoElement {
        let session = self.session.read(cx);
        let workspace =
            session.workspace().map(|workspace| hidden::name(&workspace.name)).unwrap_or_default();
        let path = match &self.scope {
            Some(_) => format!("{workspace} / {} / ", session.path_of(&self.scope)),
            None => format!("{workspace} / "),
        };
        let button = |id: &'static str, icon: IconName, tip: &'static str| {
            Button::new(id).ghost().small().icon(Icon::new(icon)).tooltip(tip)
        };
        let scope = self.scope.clone();
        let history = scope.clone();
        let effective = scope;
        h_flex()
            .px_4()
            .py_2()
            .gap_1()
            .border_b_1()
            .border_color(cx.theme().border)
            .child(
                h_flex()
                    .flex_1()
                    .overflow_hidden()
                    .text_sm()
                    .child(div().text_color(cx.theme().muted_foreground).truncate().child(path))
                    .child(
                        div()
                            .flex_shrink_0()
                            .font_weight(gpui_kit::FontWeight::MEDIUM)
                            .child(strings::DOCUMENT),
                    ),
            )
            .child(
                button("find", IconName::Search, strings::keys::FIND)
                    .on_click(cx.listener(|this, _, window, cx| this.open_find(window, cx))),
            )
            .child(button("history", IconName::FileClock, strings::sidebar::HISTORY).on_click(cx.listener(
                move |this, _, _, cx| {
                    let place = PageId::History(history.clone());
                    this.session.update(cx, |session, cx| session.open(place, cx));
                },
            )))
            .child(button("effective", IconName::Layers, strings::sidebar::EFFECTIVE).on_click(cx.listener(
                move |this, _, _, cx| {
                    let place = PageId::Effective(Subject::Scope(effective.clone()));
                    this.session.update(cx, |session, cx| session.open(place, cx));
                },
            )))
            .child(
                button("archive", IconName::Archive, strings::sidebar::ARCHIVE)
                    .on_click(cx.listener(|this, _, window, cx| this.archive(window, cx))),
            )
            .child(
                button("toggle-inherited", IconName::PanelRight, strings::keys::INHERITED)
                    .toggled(self.show_inherited)
                    .on_click(cx.listener(|this, _, _, cx| {
                        this.show_inherited = !this.show_inherited;
                        cx.notify();
                    })),
            )
    }
}

impl Render for DocumentEditor {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let loading = matches!(self.editing.status(), EditingStatus::Loading);
        let editor =
            Editor::new(&self.editor).aria_label(words::TEXT).readonly(loading).appearance(false).size_full();
        let main =
            v_flex().size_full().children(self.find_bar(cx)).child(div().flex_1().min_h_0().child(editor));
        let body = if self.is_in_conflict() {
            // The editor stays visible and focused. A conflict can appear in the middle of a word, and the
            // rest of it must not be lost or trigger a button.
            v_resizable("document-conflict")
                .child(resizable_panel().size(px(420.)).child(self.conflict_view(cx)))
                .child(resizable_panel().child(main))
                .into_any_element()
        } else if self.show_inherited {
            h_resizable("document-panels")
                .child(resizable_panel().child(main))
                .child(
                    resizable_panel()
                        .size(px(320.))
                        .size_range(px(200.)..px(640.))
                        .child(self.inherited_pane(cx)),
                )
                .into_any_element()
        } else {
            main.into_any_element()
        };
        v_flex()
            .id("document")
            .key_context(actions::DOCUMENT)
            .size_full()
            .on_action(cx.listener(|this, _: &SaveNow, window, cx| {
                this.input(window, cx, |editing, now| editing.save(now));
            }))
            .on_action(cx.listener(|this, _: &Find, window, cx| this.open_find(window, cx)))
            .on_action(cx.listener(|this, _: &FindNext, _, cx| this.find_next(cx)))
            .on_action(cx.listener(|this, _: &FindPrevious, _, cx| this.find_previous(cx)))
            .on_action(cx.listener(|this, _: &CloseFind, window, cx| this.close_find(window, cx)))
            .on_action(cx.listener(|this, _: &TakeRemote, window, cx| this.take_remote(window, cx)))
            .on_action(cx.listener(|this, _: &OverwriteRemote, window, cx| {
                this.choose(window, cx, |editing, now| editing.overwrite_remote(now));
            }))
            .on_action(cx.listener(|this, _: &TakeMerge, window, cx| {
                this.choose(window, cx, |editing, now| editing.take_merge(now));
            }))
            .on_action(cx.listener(|this, _: &ArchiveDocument, window, cx| this.archive(window, cx)))
            .on_action(cx.listener(|this, _: &ToggleInherited, _, cx| {
                this.show_inherited = !this.show_inherited;
                cx.notify();
            }))
            .child(self.header(cx))
            .child(div().flex_1().min_h_0().child(body))
            .child(self.status_line(cx))
    }
}
