//! Comparison of agents in a directory: the files of each agent side by side, and its losses.

use gpui_kit::component::button::{Button, ButtonVariants as _};
use gpui_kit::component::input::{Input, InputEvent, InputState};
use gpui_kit::component::scroll::ScrollableElement as _;
use gpui_kit::component::{ActiveTheme as _, Sizable as _, h_flex, v_flex};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, Context, Entity, FocusHandle, Focusable, SharedString, Subscription, Task, Window, div, rems,
};
use protocol::compare::{ComparedAgent, ComparedFile, Comparison};
use protocol::method::{InstructionsCompare, InstructionsCompareParams};
use protocol::{Outcome, ReadingTime};

use super::parts::{self, Loaded};
use crate::hidden;
use crate::session::{Session, SessionEvent};
use crate::strings::views as strings;

/// Widths of the columns in units of the font size, so that they grow with it.
const FILE_WIDTH: f32 = 16.;
const AGENT_WIDTH: f32 = 7.;

pub struct CompareView {
    session: Entity<Session>,
    focus: FocusHandle,
    path: Entity<InputState>,
    reading: Entity<InputState>,
    comparison: Loaded<Comparison>,
    /// Running request; a new one replaces and cancels it.
    loading: Option<Task<()>>,
    _subscriptions: Vec<Subscription>,
}

impl CompareView {
    pub fn new(session: Entity<Session>, window: &mut Window, cx: &mut Context<Self>) -> Self {
        let path = cx.new(|cx| InputState::new(window, cx).placeholder(strings::compare::PATH));
        let reading = cx.new(|cx| InputState::new(window, cx).placeholder(strings::compare::READING));
        let mut subscriptions =
            vec![cx.subscribe(&session, |this: &mut Self, _, event: &SessionEvent, cx| match event {
                SessionEvent::Workspaces | SessionEvent::Reload => this.load(cx),
                // Files on the disk cause no notifications, so a result is kept until the user compares
                // again. Only a missing one is loaded after a reconnect.
                SessionEvent::Link
                    if this.comparison.ready().is_none() && this.session.read(cx).link().is_connected() =>
                {
                    this.load(cx);
                }
                _ => {}
            })];
        for input in [&path, &reading] {
            subscriptions.push(cx.subscribe(input, |this: &mut Self, _, event: &InputEvent, cx| {
                if matches!(event, InputEvent::PressEnter { .. }) {
                    this.load(cx);
                }
            }));
        }
        let focus = cx.focus_handle();
        let mut view = Self {
            session,
            focus,
            path,
            reading,
            comparison: Loaded::Loading,
            loading: None,
            _subscriptions: subscriptions,
        };
        view.load(cx);
        view
    }

    pub fn comparison(&self) -> Option<&Comparison> {
        self.comparison.ready()
    }

    pub fn is_loading(&self) -> bool {
        self.comparison == Loaded::Loading
    }

    /// Compares agents in another directory of the workspace.
    pub fn set_path(&mut self, path: &str, window: &mut Window, cx: &mut Context<Self>) {
        self.path.update(cx, |input, cx| input.set_value(path.to_owned(), window, cx));
        self.load(cx);
    }

    pub fn load(&mut self, cx: &mut Context<Self>) {
        let session = self.session.read(cx);
        let Some(workspace) = session.workspace() else { return };
        // The gateway would refuse the request with the same advice, after a round trip.
        if workspace.root_path.is_none() {
            self.comparison = Loaded::Failed(strings::compare::NO_ROOT.to_owned());
            cx.notify();
            return;
        }
        let typed = |input: &Entity<InputState>| {
            let text = input.read(cx).value().trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let params = InstructionsCompareParams {
            workspace_id: workspace.id.clone(),
            path: typed(&self.path),
            reading: typed(&self.reading),
            agents: None,
        };
        let call = session.gateway().call::<InstructionsCompare>(params);
        self.comparison = Loaded::Loading;
        self.loading = Some(cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| {
                this.comparison = answer.into();
                cx.notify();
            })
            .ok();
        }));
    }
}

/// Returns the files that at least one agent considers, in order of first appearance.
pub fn files(comparison: &Comparison) -> Vec<(&str, ReadingTime)> {
    let mut files: Vec<(&str, ReadingTime)> = Vec::new();
    for file in comparison.agents.iter().flat_map(|agent| &agent.files) {
        if file.outcome != Outcome::Absent && !files.contains(&(file.path.as_str(), file.when)) {
            files.push((file.path.as_str(), file.when));
        }
    }
    files
}

/// Returns an agent's outcome for a file in words, so that nothing depends on color alone.
pub fn outcome(agent: &ComparedAgent, path: &str, when: ReadingTime) -> String {
    let Some(file) = agent.files.iter().find(|file| file.path == path && file.when == when) else {
        return "·".to_owned();
    };
    // The wire name is used, so that new outcomes of the protocol are displayed without a change here.
    let name = match serde_json::to_value(file.outcome) {
        Ok(serde_json::Value::String(name)) => name.replace('_', " "),
        _ => String::new(),
    };
    match file.outcome {
        Outcome::Used => format!("✓ {}", file.tokens),
        Outcome::Truncated => format!("✂ {} of {}", file.kept_bytes, file.bytes),
        _ => format!("✗ {name}"),
    }
}

fn is_loss(file: Option<&ComparedFile>) -> bool {
    // A file of another agent is not a loss: this agent would never read it.
    file.is_some_and(|file| file.kept_bytes < file.bytes && file.outcome != Outcome::Ignored)
}

impl CompareView {
    fn table(comparison: &Comparison, cx: &App) -> impl IntoElement + use<> {
        let cell = |text: SharedString| {
            div().w(rems(AGENT_WIDTH)).flex_none().px_1().overflow_hidden().whitespace_nowrap().child(text)
        };
        let first = |text: SharedString| {
            div().w(rems(FILE_WIDTH)).flex_none().px_1().overflow_hidden().whitespace_nowrap().child(text)
        };
        let line = || h_flex().border_b_1().border_color(cx.theme().border).py_0p5().text_sm();
        let heading = line()
            .font_weight(gpui_kit::FontWeight::SEMIBOLD)
            .child(first(strings::compare::FILE.into()))
            .children(comparison.agents.iter().map(|agent| cell(agent.agent.clone().into())));
        let root = format!("{}/", comparison.path);
        let rows = files(comparison).into_iter().enumerate().map(|(index, (path, when))| {
            let shown = hidden::name(path.strip_prefix(&root).unwrap_or(path));
            // A file can occur twice: once at the start and once when a tool reads below it.
            let mark = if when == ReadingTime::Reading { " ↓" } else { "" };
            let cells = comparison.agents.iter().enumerate().map(|(column, agent)| {
                let file = agent.files.iter().find(|file| file.path == path && file.when == when);
                let text = outcome(agent, path, when);
                let words = parts::words(SharedString::from(format!("cell-{index}-{column}")), text);
                let words = if is_loss(file) { words.text_color(cx.theme().danger) } else { words };
                div().w(rems(AGENT_WIDTH)).flex_none().px_1().child(words)
            });
            line().child(first(format!("{shown}{mark}").into())).children(cells.collect::<Vec<_>>())
        });
        let tokens = line().child(first(strings::compare::TOKENS.into())).children(
            comparison.agents.iter().map(|agent| cell(agent.tokens.to_string().into())).collect::<Vec<_>>(),
        );
        let lost = line().child(first(strings::compare::LOST.into())).children(
            comparison
                .agents
                .iter()
                .enumerate()
                .map(|(column, agent)| {
                    let text = strings::compare::lost(agent.lost_bytes);
                    let words = parts::words(("lost", column), text);
                    let words =
                        if agent.lost_bytes > 0 { words.text_color(cx.theme().danger) } else { words };
                    div().w(rems(AGENT_WIDTH)).flex_none().px_1().child(words)
                })
                .collect::<Vec<_>>(),
        );
        v_flex().child(heading).children(rows.collect::<Vec<_>>()).child(tokens).child(lost)
    }
}

impl Focusable for CompareView {
    fn focus_handle(&self, _: &App) -> FocusHandle {
        self.focus.clone()
    }
}

impl Render for CompareView {
    fn render(&mut self, _: &mut Window, cx: &mut Context<Self>) -> impl IntoElement {
        let content = match &self.comparison {
            Loaded::Loading => parts::placeholder(strings::LOADING, cx),
            Loaded::Failed(error) => {
                let retry = Button::new("retry").on_click(cx.listener(|this, _, _, cx| this.load(cx)));
                parts::problem(error, retry, cx)
            }
            Loaded::Ready(comparison) if files(comparison).is_empty() => {
                parts::placeholder(strings::compare::NO_FILES, cx)
            }
            Loaded::Ready(comparison) => {
                let mut sentences = comparison.differences.clone();
                if sentences.is_empty() {
                    sentences.push(strings::compare::NO_DIFFERENCES.to_owned());
                }
                let sentences = sentences
                    .into_iter()
                    .enumerate()
                    .map(|(index, text)| parts::words(("difference", index), hidden::visible(&text)))
                    .collect::<Vec<_>>();
                div().flex_1().min_h_0().child(
                    v_flex()
                        .p_4()
                        .gap_3()
                        .child(parts::words("path", hidden::name(&comparison.path)))
                        .child(Self::table(comparison, cx))
                        .children(sentences)
                        .overflow_scrollbar(),
                )
            }
        };
        let compare = Button::new("compare")
            .small()
            .primary()
            .label(strings::compare::COMPARE)
            .tooltip(strings::compare::COMPARE_TIP)
            .on_click(cx.listener(|this, _, _, cx| this.load(cx)));
        v_flex()
            .id("compare")
            .text_sm()
            .track_focus(&self.focus)
            .size_full()
            .child(
                parts::heading(strings::compare::TITLE, cx)
                    .child(
                        Input::new(&self.path)
                            .id("compare-path")
                            .aria_label(strings::compare::PATH)
                            .w(rems(14.)),
                    )
                    .child(
                        Input::new(&self.reading)
                            .id("compare-reading")
                            .aria_label(strings::compare::READING)
                            .w(rems(14.)),
                    )
                    .child(compare),
            )
            .child(content)
    }
}
