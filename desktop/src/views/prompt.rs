//! The prompt of a thread's next turn: its sections with their sources, and the reason why a provider's cache
//! breaks.

use client::ClientError;
use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::scroll::ScrollableElement as _;
use gpui_kit::component::{ActiveTheme as _, Selectable as _, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, Context, Entity, FocusHandle, Focusable, Hsla, Subscription, Task, Window, div, px, relative,
};
use protocol::method::{
    PromptDiff, PromptDiffParams, PromptDiffResult, PromptPreview, PromptPreviewParams, PromptResult,
    TurnList, TurnListParams,
};
use protocol::notification::{DocumentChanged, Notification as _, TurnCompleted};
use protocol::prompt::{PromptChange, PromptManifestSection, PromptSource, Stability};
use protocol::{ThreadId, WorkspaceId};

use super::parts::{self, Loaded};
use crate::bridge::Gateway;
use crate::hidden;
use crate::session::{Session, SessionEvent};
use crate::strings::views as strings;

/// The prompt and its difference from that of the last turn.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptInspection {
    pub prompt: PromptResult,
    /// Number of the last turn and the difference from its prompt.
    pub since: Option<(u64, PromptDiffResult)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptTab {
    Sections,
    Text,
}

pub struct PromptView {
    session: Entity<Session>,
    thread_id: ThreadId,
    focus: FocusHandle,
    inspected: Loaded<PromptInspection>,
    shows: PromptTab,
    /// Running request; a new one replaces and cancels it.
    loading: Option<Task<()>>,
    _subscription: Subscription,
}

impl PromptView {
    pub fn new(
        session: Entity<Session>,
        thread_id: ThreadId,
        _: &mut Window,
        cx: &mut Context<Self>,
    ) -> Self {
        let subscription =
            cx.subscribe(&session, |this: &mut Self, _, event: &SessionEvent, cx| match event {
                SessionEvent::Notification(notification)
                    // Any document above the thread can change the prompt, and finding out needs the same
                    // request.
                    if [DocumentChanged::NAME, TurnCompleted::NAME]
                        .contains(&notification.method.as_str()) =>
                {
                    this.load(cx);
                }
                SessionEvent::Link if this.session.read(cx).link().is_connected() => this.load(cx),
                SessionEvent::Reload => this.load(cx),
                _ => {}
            });
        let mut view = Self {
            session,
            thread_id,
            focus: cx.focus_handle(),
            inspected: Loaded::Loading,
            shows: PromptTab::Sections,
            loading: None,
            _subscription: subscription,
        };
        view.load(cx);
        view
    }

    pub fn inspected(&self) -> Option<&PromptInspection> {
        self.inspected.ready()
    }

    fn load(&mut self, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.session.read(cx).workspace_id().cloned() else { return };
        let gateway = self.session.read(cx).gateway().clone();
        let thread_id = self.thread_id.clone();
        self.loading = Some(cx.spawn(async move |this, cx| {
            let answer = inspect(&gateway, workspace_id, thread_id).await;
            this.update(cx, |this, cx| {
                // A failed reload keeps the last prompt on the screen.
                if answer.is_ok() || this.inspected.ready().is_none() {
                    this.inspected = answer.into();
                }
                cx.notify();
            })
            .ok();
        }));
    }

    fn show(&mut self, shows: PromptTab, cx: &mut Context<Self>) {
        self.shows = shows;
        cx.notify();
    }
}

async fn inspect(
    gateway: &Gateway,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
) -> Result<PromptInspection, ClientError> {
    let params = PromptPreviewParams {
        workspace_id: workspace_id.clone(),
        thread_id: thread_id.clone(),
        cwd: None,
        input: None,
        context: None,
        skills: Vec::new(),
        fresh: false,
    };
    let prompt = gateway.call::<PromptPreview>(params).await?;
    let params = TurnListParams {
        workspace_id: workspace_id.clone(),
        thread_id: Some(thread_id.clone()),
        limit: Some(1),
        before: None,
    };
    let last = gateway.call::<TurnList>(params).await?.turns.pop();
    let since = match last {
        None => None,
        Some(turn) => {
            let params = PromptDiffParams {
                workspace_id,
                thread_id,
                turn_id: turn.id,
                other_turn_id: None,
                cwd: None,
                fresh: false,
            };
            // A turn that failed before its first round has no prompt, and then the comparison fails. The
            // prompt itself is still worth showing.
            gateway.call::<PromptDiff>(params).await.ok().map(|diff| (turn.ordinal, diff))
        }
    };
    Ok(PromptInspection { prompt, since })
}

/// Explains in sentences why the next request cannot reuse all of the last one.
pub fn explain(since: Option<&(u64, PromptDiffResult)>) -> Vec<String> {
    let Some((turn, diff)) = since else { return vec![strings::prompt::NO_TURN.to_owned()] };
    let blame = &diff.blame;
    let Some(first) = &blame.first_difference else {
        return vec![strings::prompt::unchanged(*turn, blame.kept_tokens)];
    };
    let how = match first.change {
        PromptChange::Edited => strings::prompt::EDITED,
        PromptChange::Added => strings::prompt::ADDED,
        PromptChange::Removed => strings::prompt::REMOVED,
    };
    let mut sentences = vec![
        strings::prompt::changed(*turn, blame.kept_tokens, blame.lost_tokens),
        strings::prompt::breaks(&first.section_id, how, first.line),
    ];
    if !first.sources_before.is_empty() || !first.sources_after.is_empty() {
        sentences
            .push(strings::prompt::because(&sources(&first.sources_before), &sources(&first.sources_after)));
    }
    sentences.push(if blame.lost_prefix_tokens == 0 {
        strings::prompt::KEPT_PREFIX.to_owned()
    } else {
        strings::prompt::lost_prefix(blame.lost_prefix_tokens)
    });
    sentences
}

fn sources(sources: &[PromptSource]) -> String {
    if sources.is_empty() {
        return strings::prompt::NOTHING.to_owned();
    }
    sources.iter().map(source).collect::<Vec<_>>().join(", ")
}

fn source(source: &PromptSource) -> String {
    let mut text = source.kind.to_string().replace('_', " ");
    // A path is more helpful than an id, and both together would fill the line.
    for part in [&source.path, &source.id].into_iter().flatten().take(1) {
        text.push(' ');
        text.push_str(part);
    }
    if let Some(version) = source.version {
        text.push_str(&format!(" version {version}"));
    }
    text
}

impl PromptView {
    fn section(
        &self,
        index: usize,
        section: &PromptManifestSection,
        largest: u64,
        cx: &App,
    ) -> impl IntoElement {
        let (colour, mark, stability): (Hsla, _, _) = match section.stability {
            Stability::Stable => (cx.theme().chart_1, "▮", strings::prompt::STABLE),
            Stability::Session => (cx.theme().chart_3, "▯", strings::prompt::SESSION),
            Stability::Turn => (cx.theme().chart_5, "▱", strings::prompt::TURN),
        };
        #[expect(clippy::cast_precision_loss, reason = "a bar is a few hundred pixels long")]
        let share = section.tokens as f32 / largest.max(1) as f32;
        let mut notes = vec![strings::prompt::size(section.tokens, section.chars)];
        notes.extend(section.truncated.then(|| strings::prompt::CUT.to_owned()));
        notes.extend(section.said_earlier.then(|| strings::prompt::SAID_EARLIER.to_owned()));
        let label = format!("{mark} {}: {}", section.id, notes.join(", "));
        v_flex()
            .gap_0p5()
            .child(
                h_flex()
                    .gap_2()
                    .child(parts::words(("section", index), label).flex_1())
                    .child(parts::quiet(stability, cx)),
            )
            .child(
                div()
                    .w_full()
                    .h(px(6.))
                    .rounded(px(3.))
                    .bg(cx.theme().muted)
                    .child(div().h_full().rounded(px(3.)).bg(colour).w(relative(share.clamp(0.005, 1.)))),
            )
            .child(parts::quiet(hidden::visible(&sources(&section.sources)), cx))
    }

    fn sections(&self, inspected: &PromptInspection, cx: &App) -> impl IntoElement {
        let manifest = &inspected.prompt.manifest;
        // Bars are relative to the largest section: relative to the whole, most of them would be invisible.
        let largest = manifest.sections.iter().map(|section| section.tokens).max().unwrap_or_default();
        let size = inspected.prompt.sizes.as_ref().map(|sizes| {
            strings::prompt::request(
                sizes.request_tokens,
                sizes.window_tokens,
                sizes.prompt_tokens,
                sizes.tool_tokens,
            )
        });
        let explained = explain(inspected.since.as_ref());
        let rows: Vec<_> = manifest
            .sections
            .iter()
            .enumerate()
            .map(|(index, section)| self.section(index, section, largest, cx))
            .collect();
        let diagnostics: Vec<_> = manifest
            .diagnostics
            .iter()
            .enumerate()
            .map(|(index, diagnostic)| {
                let text = format!("⚠ {}: {}", diagnostic.code.name(), diagnostic.message);
                parts::words(("diagnostic", index), hidden::visible(&text)).text_color(cx.theme().warning)
            })
            .collect();
        let fine = diagnostics.is_empty().then(|| parts::quiet(strings::prompt::NO_DIAGNOSTICS, cx));
        v_flex()
            .p_4()
            .gap_3()
            .children(size.map(|size| parts::words("size", size)))
            .child(
                v_flex().gap_1().children(
                    explained
                        .into_iter()
                        .enumerate()
                        .map(|(index, text)| parts::words(("cache", index), hidden::visible(&text))),
                ),
            )
            .children(rows)
            .children(diagnostics)
            .children(fine)
    }
}

impl Focusable for PromptView {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl Render for PromptView {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let content = match &self.inspected {
            Loaded::Loading => parts::placeholder(strings::LOADING, cx),
            Loaded::Failed(error) => {
                let retry = Button::new("retry").on_click(cx.listener(|this, _, _, cx| this.load(cx)));
                parts::problem(error, retry, cx)
            }
            Loaded::Ready(inspected) => {
                let inner = match self.shows {
                    PromptTab::Sections => v_flex().child(self.sections(inspected, cx)),
                    PromptTab::Text => {
                        v_flex().p_4().child(parts::code("prompt-text", &inspected.prompt.full_text, cx))
                    }
                };
                div().flex_1().min_h_0().child(inner.overflow_y_scrollbar())
            }
        };
        let tab = |id: &'static str, label, tip, shows| {
            Button::new(id)
                .small()
                .ghost()
                .label(label)
                .tooltip(tip)
                .selected(self.shows == shows)
                .on_click(cx.listener(move |this, _, _, cx| this.show(shows, cx)))
        };
        let sections =
            tab("sections", strings::prompt::SECTIONS, strings::prompt::SECTIONS_TIP, PromptTab::Sections);
        let text = tab("text", strings::prompt::TEXT, strings::prompt::TEXT_TIP, PromptTab::Text);
        v_flex()
            .id("prompt")
            .text_sm()
            .track_focus(&self.focus)
            .size_full()
            .child(parts::heading(strings::prompt::TITLE, cx).child(sections).child(text))
            .child(content)
    }
}
