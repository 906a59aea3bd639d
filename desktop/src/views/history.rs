//! Revisions of a document: their list, the difference between any two, and restoring one.

use std::collections::HashMap;

use client::{ClientError, Failure, Scope};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::diff::{Diff, DiffFile, DiffMode, DiffState};
use gpui_kit::component::scroll::ScrollableElement as _;
use gpui_kit::component::{ActiveTheme as _, Selectable as _, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, Context, Entity, FocusHandle, Focusable, KeyDownEvent, SharedString, Subscription, Window, div, px,
};
use protocol::method::{
    DocumentHistory, DocumentHistoryParams, DocumentRestore, DocumentRestoreParams, DocumentRevision,
    DocumentRevisionParams,
};
use protocol::notification::{DocumentChanged, Notification as _};
use protocol::{ErrorKind, RevisionReason, RevisionSummary, Version, WorkspaceId};

use super::parts::{self, Loaded};
use crate::hidden;
use crate::session::{Session, SessionEvent};
use crate::strings::views as strings;

/// Direction of an arrow key in the list.
#[derive(Debug, Clone, Copy)]
enum Direction {
    Newer,
    Older,
}

/// Revisions per request.
const PAGE: u32 = 50;

pub struct HistoryView {
    session: Entity<Session>,
    scope: Scope,
    focus: FocusHandle,
    revisions: Loaded<Vec<RevisionSummary>>,
    has_older: bool,
    selected: Option<Version>,
    /// Version to compare with. `None` for the one before the selected version.
    base: Option<Version>,
    texts: HashMap<Version, String>,
    diff: Entity<DiffState>,
    /// The two versions in the shown difference.
    shown: Option<(Option<Version>, Version)>,
    is_side_by_side: bool,
    message: Option<SharedString>,
    _subscription: Subscription,
}

impl HistoryView {
    pub fn new(session: Entity<Session>, scope: Scope, _: &mut Window, cx: &mut Context<Self>) -> Self {
        let subscription =
            cx.subscribe(&session, |this: &mut Self, _, event: &SessionEvent, cx| match event {
                SessionEvent::Notification(notification) if notification.method == DocumentChanged::NAME => {
                    let change = serde_json::from_str::<DocumentChanged>(notification.params.get());
                    if change.is_ok_and(|change| change.folder_id == this.scope) {
                        this.load(cx);
                    }
                }
                SessionEvent::Link if this.session.read(cx).link().is_connected() => {
                    this.message = None;
                    this.load(cx);
                }
                SessionEvent::Reload => this.load(cx),
                _ => {}
            });
        let mut view = Self {
            session,
            scope,
            focus: cx.focus_handle(),
            revisions: Loaded::Loading,
            has_older: false,
            selected: None,
            base: None,
            texts: HashMap::new(),
            diff: cx.new(|cx| DiffState::new([], cx)),
            shown: None,
            is_side_by_side: false,
            message: None,
            _subscription: subscription,
        };
        view.load(cx);
        view
    }

    /// Returns the loaded revisions, newest first.
    pub fn revisions(&self) -> &[RevisionSummary] {
        self.revisions.ready().map_or(&[], Vec::as_slice)
    }

    pub fn is_loaded(&self) -> bool {
        self.revisions.ready().is_some()
    }

    pub fn selected(&self) -> Option<Version> {
        self.selected
    }

    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Returns the two versions in the shown difference; the first is `None` before version 1.
    pub fn shown(&self) -> Option<(Option<Version>, Version)> {
        self.shown
    }

    fn workspace_id(&self, cx: &App) -> Option<WorkspaceId> {
        self.session.read(cx).workspace_id().cloned()
    }

    fn load(&mut self, cx: &mut Context<Self>) {
        self.load_before(None, cx);
    }

    fn load_before(&mut self, before: Option<Version>, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let params =
            DocumentHistoryParams { workspace_id, folder_id: self.scope.clone(), limit: Some(PAGE), before };
        let call = self.session.read(cx).gateway().call::<DocumentHistory>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await.map(|answer| answer.revisions);
            this.update(cx, |this, cx| this.loaded(before, answer, cx)).ok();
        })
        .detach();
    }

    fn loaded(
        &mut self,
        before: Option<Version>,
        answer: Result<Vec<RevisionSummary>, ClientError>,
        cx: &mut Context<Self>,
    ) {
        match answer {
            Ok(mut page) => {
                let is_full = page.len() == PAGE as usize;
                let mut known = match std::mem::replace(&mut self.revisions, Loaded::Loading) {
                    Loaded::Ready(known) => known,
                    Loaded::Loading | Loaded::Failed(_) => Vec::new(),
                };
                if before.is_some() || known.is_empty() {
                    self.has_older = is_full;
                    known.append(&mut page);
                } else {
                    // A reload returns the newest page. Older revisions that were loaded before stay in the
                    // list, because revisions never change.
                    let newest = known.first().map(|revision| revision.version);
                    page.retain(|revision| Some(revision.version) > newest);
                    page.append(&mut known);
                    known = page;
                }
                let newest = known.first().map(|revision| revision.version);
                self.revisions = Loaded::Ready(known);
                if self.selected.is_none()
                    && let Some(newest) = newest
                {
                    self.select(newest, cx);
                }
            }
            // The loaded revisions stay on the screen.
            Err(error) if self.revisions.ready().is_some() => self.message = Some(error.to_string().into()),
            Err(error) => self.revisions = Loaded::Failed(error.to_string()),
        }
        cx.notify();
    }

    /// Shows the changes up to a version.
    pub fn select(&mut self, version: Version, cx: &mut Context<Self>) {
        self.selected = Some(version);
        // A base at or after the selection would turn the difference around: additions would look like
        // removals.
        if self.base.is_some_and(|base| base >= version) {
            self.base = None;
        }
        self.compare(cx);
    }

    /// Shows the difference from a version to the selected one.
    pub fn compare_from(&mut self, version: Version, cx: &mut Context<Self>) {
        self.base = Some(version);
        // The same in the other direction: choosing a newer base moves the selection to the newest version.
        if self.selected.is_none_or(|selected| selected <= version) {
            self.selected = self.revisions().first().map(|revision| revision.version);
        }
        self.compare(cx);
    }

    /// Selects the next revision of the list.
    fn step(&mut self, step: Direction, cx: &mut Context<Self>) {
        let revisions = self.revisions();
        let at = revisions.iter().position(|revision| Some(revision.version) == self.selected);
        let next = match (at, step) {
            (None, _) => 0,
            (Some(at), Direction::Newer) => at.saturating_sub(1),
            (Some(at), Direction::Older) => at + 1,
        };
        if let Some(version) = revisions.get(next).map(|revision| revision.version) {
            self.select(version, cx);
        }
    }

    fn from(&self) -> Option<Version> {
        let selected = self.selected?;
        let before = self.revisions().iter().map(|revision| revision.version);
        self.base.or_else(|| before.filter(|version| *version < selected).max())
    }

    fn compare(&mut self, cx: &mut Context<Self>) {
        let Some(selected) = self.selected else { return };
        let from = self.from();
        // Texts are loaded on demand and kept. A document may have thousands of revisions, and a revision
        // never changes.
        let missing: Vec<Version> =
            from.into_iter().chain([selected]).filter(|version| !self.texts.contains_key(version)).collect();
        if missing.is_empty() {
            self.show(from, selected, cx);
        }
        for version in missing {
            self.load_text(version, cx);
        }
        cx.notify();
    }

    fn load_text(&mut self, version: Version, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let params = DocumentRevisionParams { workspace_id, folder_id: self.scope.clone(), version };
        let call = self.session.read(cx).gateway().call::<DocumentRevision>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| {
                match answer {
                    Ok(answer) => {
                        // The selection may have changed while the text was loading, so the difference is
                        // computed for the current one, and only once both texts are there.
                        this.texts.insert(version, answer.revision.content);
                        let from = this.from();
                        let has = |version: &Version| this.texts.contains_key(version);
                        if let Some(selected) = this.selected
                            && has(&selected)
                            && from.as_ref().is_none_or(has)
                        {
                            this.show(from, selected, cx);
                        }
                    }
                    Err(error) => this.message = Some(error.to_string().into()),
                }
                cx.notify();
            })
            .ok();
        })
        .detach();
    }

    fn show(&mut self, from: Option<Version>, to: Version, cx: &mut Context<Self>) {
        let text = |version: Version| hidden::text(self.texts.get(&version).map_or("", String::as_str));
        let old = from.map(text).unwrap_or_default();
        let patch = diff::LineDiff::new(&old, &text(to)).unified("AGENTS.md", "AGENTS.md");
        // The widget only takes patches as text. This one was made a line above, so parsing cannot fail in
        // practice; if it does, an empty difference is better than a crash.
        let files = DiffFile::parse(&patch).unwrap_or_default();
        self.diff.update(cx, |diff, cx| diff.set_files(files, cx));
        self.shown = Some((from, to));
    }

    /// Restores the selected version. Refused if a version that is not in the list is current.
    pub fn restore(&mut self, cx: &mut Context<Self>) {
        let (Some(workspace_id), Some(version)) = (self.workspace_id(cx), self.selected) else { return };
        let newest = self.revisions().first();
        // Without an expected version the gateway would overwrite a save that this list does not show yet. An
        // archived scope has no document, so there the expected version is 0.
        let expected_version = newest.map(|newest| match newest.save_reason {
            RevisionReason::Archive => Version(0),
            _ => newest.version,
        });
        let params = DocumentRestoreParams {
            workspace_id,
            folder_id: self.scope.clone(),
            version,
            expected_version,
            message: None,
        };
        let call = self.session.read(cx).gateway().call::<DocumentRestore>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| {
                this.message = Some(match answer {
                    Ok(answer) => strings::history::restored(version.0, answer.doc.version.0).into(),
                    Err(error) if error.kind() == Some(ErrorKind::VersionConflict) => {
                        let ClientError::Refused(refused) = &error else { return };
                        let actual = refused.data.as_ref().and_then(|data| data.actual).unwrap_or_default();
                        strings::history::conflict(actual).into()
                    }
                    Err(error) => Failure::from(&error).message.into(),
                });
                this.load(cx);
                cx.notify();
            })
            .ok();
        })
        .detach();
    }

    fn set_side_by_side(&mut self, is_side_by_side: bool, cx: &mut Context<Self>) {
        self.is_side_by_side = is_side_by_side;
        let mode = if is_side_by_side { DiffMode::Split } else { DiffMode::Unified };
        self.diff.update(cx, |diff, cx| diff.set_mode(mode, cx));
        cx.notify();
    }

    fn row(&self, revision: &RevisionSummary, cx: &Context<Self>) -> impl IntoElement + use<> {
        let version = revision.version;
        let id = usize::try_from(version.0).unwrap_or(usize::MAX);
        let is_base = self.from() == Some(version);
        v_flex()
            .w_full()
            .gap_0p5()
            .child(
                h_flex()
                    .w_full()
                    .child(
                        Button::new(("revision", id))
                            .ghost()
                            .small()
                            .flex_1()
                            .label(label(revision))
                            .selected(self.selected == Some(version))
                            .tooltip(strings::history::COMPARE_TIP)
                            .on_click(cx.listener(move |this, _, _, cx| this.select(version, cx))),
                    )
                    .child(
                        Button::new(("base", id))
                            .ghost()
                            .small()
                            .label("↕")
                            .accessibility_label(strings::history::BASE)
                            .selected(is_base)
                            .tooltip(strings::history::BASE_TIP)
                            .on_click(cx.listener(move |this, _, _, cx| this.compare_from(version, cx))),
                    ),
            )
            .children(
                revision
                    .message
                    .as_ref()
                    .map(|message| div().pl_4().child(parts::quiet(hidden::visible(message), cx))),
            )
    }

    fn comparison(&self, cx: &Context<Self>) -> impl IntoElement + use<> {
        let Some((from, to)) = self.shown else { return parts::placeholder(strings::LOADING, cx) };
        let from_name = from.map_or_else(
            || strings::history::BEFORE_FIRST.to_owned(),
            |from| strings::history::version(from.0),
        );
        let is_same = self.diff.read(cx).files().is_empty();
        v_flex()
            .flex_1()
            .h_full()
            .min_w_0()
            .child(
                h_flex()
                    .p_2()
                    .gap_2()
                    .child(parts::words("compared", strings::history::between(&from_name, to.0)).flex_1())
                    .child(
                        Button::new("side-by-side")
                            .small()
                            .label(strings::history::SIDE_BY_SIDE)
                            .selected(self.is_side_by_side)
                            .on_click(cx.listener(|this, _, _, cx| {
                                this.set_side_by_side(!this.is_side_by_side, cx);
                            })),
                    )
                    .child(
                        Button::new("restore")
                            .small()
                            .primary()
                            .label(strings::history::restore(to.0))
                            .tooltip(strings::history::RESTORE_TIP)
                            .on_click(cx.listener(|this, _, _, cx| this.restore(cx))),
                    ),
            )
            .children(self.message.clone().map(|message| parts::words("message", message).px_2().pb_2()))
            .child(if is_same {
                parts::placeholder(strings::history::SAME, cx).into_any_element()
            } else {
                div().flex_1().min_h_0().child(Diff::new(&self.diff).header_visible(false)).into_any_element()
            })
    }
}

fn label(revision: &RevisionSummary) -> String {
    use strings::history as words;
    let reason = match (revision.save_reason, revision.restored_from) {
        (RevisionReason::Autosave, _) => words::AUTOSAVE.to_owned(),
        (RevisionReason::Manual, _) => words::SAVED.to_owned(),
        (RevisionReason::Archive, _) => words::ARCHIVED.to_owned(),
        (RevisionReason::Restore, Some(from)) => words::restored_from(from.0),
        (RevisionReason::Restore, None) => words::RESTORED.to_owned(),
    };
    let by = hidden::name(revision.saved_by.as_deref().unwrap_or(words::UNKNOWN_ACTOR));
    format!("{}  {}  {by}  {reason}", revision.version.0, parts::minute(revision.saved_at))
}

impl Focusable for HistoryView {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl Render for HistoryView {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let content =
            match &self.revisions {
                Loaded::Loading => parts::placeholder(strings::LOADING, cx),
                Loaded::Failed(error) => {
                    let retry = Button::new("retry").on_click(cx.listener(|this, _, _, cx| this.load(cx)));
                    parts::problem(error, retry, cx)
                }
                Loaded::Ready(revisions) if revisions.is_empty() => {
                    parts::placeholder(strings::history::EMPTY, cx)
                }
                Loaded::Ready(revisions) => {
                    let rows: Vec<_> = revisions.iter().map(|revision| self.row(revision, cx)).collect();
                    let last = revisions.last().map(|revision| revision.version);
                    let older = last.filter(|_| self.has_older).map(|last| {
                        Button::new("older")
                            .small()
                            .label(strings::history::OLDER)
                            .on_click(cx.listener(move |this, _, _, cx| this.load_before(Some(last), cx)))
                    });
                    h_flex()
                        .flex_1()
                        .min_h_0()
                        .items_start()
                        .child(div().w(px(380.)).h_full().flex_none().child(
                            v_flex().p_2().gap_1().children(rows).children(older).overflow_y_scrollbar(),
                        ))
                        .child(div().w(px(1.)).h_full().bg(cx.theme().border))
                        .child(self.comparison(cx))
                }
            };
        let title = strings::history::title(&self.session.read(cx).path_of(&self.scope));
        v_flex()
            .id("history")
            .text_sm()
            .track_focus(&self.focus)
            .on_key_down(cx.listener(
                |this, event: &KeyDownEvent, _, cx| match event.keystroke.key.as_str() {
                    "up" => this.step(Direction::Newer, cx),
                    "down" => this.step(Direction::Older, cx),
                    _ => {}
                },
            ))
            .size_full()
            .child(parts::heading(title, cx))
            .child(content)
    }
}
