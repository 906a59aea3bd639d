//! The effective document of a folder or a thread, its origin, and the documents that it hides.

use client::{ClientError, Scope};
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::scroll::ScrollableElement as _;
use gpui_kit::component::{ActiveTheme as _, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{App, Context, Entity, FocusHandle, Focusable, Subscription, Task, Window, div};
use protocol::method::{
    DocumentResolveForFolder, DocumentScopeParams, ThreadGet, ThreadGetParams, ThreadTree, ThreadTreeParams,
    ThreadTreeResult,
};
use protocol::notification::{DocumentChanged, Notification as _, TreeChanged};
use protocol::{DocumentStatus, DocumentSummary, FolderId, ResolvedDocument, WorkspaceId};

use super::parts::{self, Loaded};
use crate::bridge::Gateway;
use crate::hidden;
use crate::session::{PageId, Session, SessionEvent, Subject};
use crate::strings::views as strings;

/// A document between a folder and the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub scope: Scope,
    /// Names of the folders from the root to its folder.
    pub path: Vec<String>,
    pub summary: DocumentSummary,
    pub status: CandidateStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateStatus {
    /// The nearest document with text.
    Applies,
    /// A document of only white space.
    Draft,
    /// A document behind the nearest one with text.
    Hidden,
}

/// The effective document and all candidates for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    pub resolved: Option<ResolvedDocument>,
    /// Nearest first.
    pub candidates: Vec<Candidate>,
}

pub struct EffectiveView {
    session: Entity<Session>,
    subject: Subject,
    focus: FocusHandle,
    effective: Loaded<Effective>,
    /// Running request; a new one replaces and cancels it.
    loading: Option<Task<()>>,
    _subscription: Subscription,
}

impl EffectiveView {
    pub fn new(session: Entity<Session>, subject: Subject, _: &mut Window, cx: &mut Context<Self>) -> Self {
        let subscription =
            cx.subscribe(&session, |this: &mut Self, _, event: &SessionEvent, cx| match event {
                // Moving or deleting a folder changes inheritance as much as a save does.
                SessionEvent::Notification(notification)
                    if [DocumentChanged::NAME, TreeChanged::NAME].contains(&notification.method.as_str()) =>
                {
                    this.load(cx);
                }
                SessionEvent::Link if this.session.read(cx).link().is_connected() => this.load(cx),
                SessionEvent::Reload => this.load(cx),
                _ => {}
            });
        let focus = cx.focus_handle();
        let effective = Loaded::Loading;
        let mut view =
            Self { session, subject, focus, effective, loading: None, _subscription: subscription };
        view.load(cx);
        view
    }

    pub fn effective(&self) -> Option<&Effective> {
        self.effective.ready()
    }

    fn load(&mut self, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.session.read(cx).workspace_id().cloned() else { return };
        let gateway = self.session.read(cx).gateway().clone();
        let subject = self.subject.clone();
        self.loading = Some(cx.spawn(async move |this, cx| {
            let answer = find(&gateway, workspace_id, subject).await;
            this.update(cx, |this, cx| {
                // A failure keeps the last result on the screen: while the connection is lost, it is still
                // useful.
                if answer.is_ok() || this.effective.ready().is_none() {
                    this.effective = answer.into();
                }
                cx.notify();
            })
            .ok();
        }));
    }
}

async fn find(
    gateway: &Gateway,
    workspace_id: WorkspaceId,
    subject: Subject,
) -> Result<Effective, ClientError> {
    let scope = match subject {
        Subject::Scope(scope) => scope,
        Subject::Thread(thread_id) => {
            let params = ThreadGetParams { workspace_id: workspace_id.clone(), thread_id };
            gateway.call::<ThreadGet>(params).await?.thread.folder_id
        }
    };
    let params = DocumentScopeParams { workspace_id: workspace_id.clone(), folder_id: scope.clone() };
    // The gateway decides which document applies. The tree is only used to explain the decision.
    let resolved = gateway.call::<DocumentResolveForFolder>(params).await?.effective;
    let tree = gateway.call::<ThreadTree>(ThreadTreeParams::without_threads(workspace_id)).await?;
    Ok(Effective { resolved, candidates: candidates(&scope, tree) })
}

/// Returns the documents from a scope up to the root with the status of each.
fn candidates(scope: &Scope, tree: ThreadTreeResult) -> Vec<Candidate> {
    let folder = |id: &FolderId| tree.folders.iter().find(|folder| folder.id == *id);
    // Scopes from here to the root, each with its name.
    let mut scopes: Vec<(Scope, Option<String>)> = Vec::new();
    let mut next = scope.clone();
    while let Some(found) = next.as_ref().and_then(folder) {
        scopes.push((next.clone(), Some(found.name.clone())));
        next = found.parent_folder_id.clone();
        // A broken gateway could send folders that are their own ancestors, and this loop would never end.
        if scopes.len() > tree.folders.len() {
            break;
        }
    }
    scopes.push((None, None));
    let mut is_found = false;
    let mut candidates = Vec::new();
    for (index, (scope, _)) in scopes.iter().enumerate() {
        // Folders without a document inherit and are not listed.
        let Some(summary) = tree.agents_docs.iter().find(|doc| doc.folder_id == *scope) else { continue };
        let status = match summary.status {
            DocumentStatus::Active if is_found => CandidateStatus::Hidden,
            DocumentStatus::Active => {
                is_found = true;
                CandidateStatus::Applies
            }
            DocumentStatus::Draft | DocumentStatus::Archived => CandidateStatus::Draft,
        };
        let path = scopes[index..].iter().rev().filter_map(|(_, name)| name.clone()).collect();
        candidates.push(Candidate { scope: scope.clone(), path, summary: summary.clone(), status });
    }
    candidates
}

fn place_name(path: &[String]) -> String {
    if path.is_empty() {
        strings::effective::ROOT.to_owned()
    } else {
        hidden::name(&path.join(" / ")).to_string()
    }
}

impl Focusable for EffectiveView {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl Render for EffectiveView {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let content = match &self.effective {
            Loaded::Loading => parts::placeholder(strings::LOADING, cx),
            Loaded::Failed(error) => {
                let retry = Button::new("retry").on_click(cx.listener(|this, _, _, cx| this.load(cx)));
                parts::problem(error, retry, cx)
            }
            Loaded::Ready(effective) => {
                let from = match &effective.resolved {
                    None => strings::effective::NONE.to_owned(),
                    Some(resolved) if resolved.inherited => {
                        strings::effective::inherited(&place_name(&resolved.source_path))
                    }
                    Some(_) => strings::effective::OWN.to_owned(),
                };
                let rows = effective.candidates.iter().enumerate().map(|(index, candidate)| {
                    let (mark, words) = match candidate.status {
                        CandidateStatus::Applies => ("●", strings::effective::APPLIES),
                        CandidateStatus::Draft => ("○", strings::effective::DRAFT),
                        CandidateStatus::Hidden => ("◌", strings::effective::HIDDEN),
                    };
                    let size =
                        strings::effective::size(candidate.summary.version.0, candidate.summary.char_count);
                    let scope = candidate.scope.clone();
                    let text = format!("{mark} {}: {words} ({size})", place_name(&candidate.path));
                    h_flex().gap_2().child(parts::words(("candidate", index), text).flex_1()).child(
                        Button::new(("open", index)).small().ghost().label(strings::OPEN).on_click(
                            cx.listener(move |this, _, _, cx| {
                                let place = PageId::Document(scope.clone());
                                this.session.update(cx, |session, cx| session.open(place, cx));
                            }),
                        ),
                    )
                });
                let text = effective.resolved.as_ref().map(|resolved| {
                    parts::code("text", &resolved.doc.content, cx).border_1().border_color(cx.theme().border)
                });
                div().flex_1().min_h_0().child(
                    v_flex()
                        .p_4()
                        .gap_3()
                        .child(parts::words("from", from))
                        .children(rows)
                        .children(text)
                        .overflow_y_scrollbar(),
                )
            }
        };
        let title = match &self.subject {
            Subject::Scope(scope) => strings::effective::title(&self.session.read(cx).path_of(scope)),
            Subject::Thread(_) => strings::effective::OF_THREAD.to_owned(),
        };
        v_flex()
            .id("effective")
            .text_sm()
            .track_focus(&self.focus)
            .size_full()
            .child(parts::heading(title, cx))
            .child(content)
    }
}
