//! A thread: what was asked and answered, what tools did, what the model was told besides, and what waits for a decision.

mod approval;
mod drawing;

use std::collections::{HashSet, VecDeque};

use client::{ClientError, Failure, TurnCall, TurnRequest, WatchedTurn};
use gpui_kit::component::input::{InputEvent, TextareaState};
use gpui_kit::prelude::*;
use gpui_kit::{
    App, Context, Entity, FocusHandle, Focusable, ScrollHandle, SharedString, Subscription, Task, Window, px,
};
use protocol::method::{
    ThreadGet, ThreadGetParams, TurnApprove, TurnApproveParams, TurnCancel, TurnGet, TurnGetParams, TurnList,
    TurnListParams, TurnPageParams, TurnStart, TurnStartParams, TurnWatch,
};
use protocol::notification::{Notification as _, TurnStarted};
use protocol::{HowDecided, Thread, ThreadId, Turn, TurnApproval, TurnId, WorkspaceId};

use super::parts::Loaded;
use crate::session::{Session, SessionEvent};
use crate::strings::views as strings;

/// Pixels from the end of a thread that count as its end.
const NEAR_END: f32 = 80.;

/// Turns that are loaded at once.
const PAGE: u32 = 20;

pub struct ThreadView {
    session: Entity<Session>,
    thread_id: ThreadId,
    thread: Loaded<Thread>,
    /// Oldest first.
    turns: VecDeque<WatchedTurn>,
    has_earlier: bool,
    input: Entity<TextareaState>,
    is_sending: bool,
    /// Long answers of tools that are shown to their end.
    whole_results: HashSet<SharedString>,
    /// The turn and the call of the first question as it was drawn: a key must not answer one that nobody has seen.
    first_question: Option<(TurnId, String)>,
    message: Option<SharedString>,
    scroll: ScrollHandle,
    /// Wakes a turn that wants to be looked at again.
    timer: Option<Task<()>>,
    _subscriptions: Vec<Subscription>,
}

impl ThreadView {
    pub fn new(
        session: Entity<Session>,
        thread_id: ThreadId,
        window: &mut Window,
        cx: &mut Context<Self>,
    ) -> Self {
        let input = cx.new(|cx| {
            TextareaState::new(window, cx).auto_grow(2, 8).placeholder(strings::thread::PLACEHOLDER)
        });
        let subscriptions = vec![
            cx.subscribe(&session, Self::heard),
            cx.subscribe_in(&input, window, |this: &mut Self, _, event: &InputEvent, window, cx| {
                if let InputEvent::PressEnter { secondary: true, .. } = event {
                    this.send(window, cx);
                }
            }),
        ];
        let mut view = Self {
            session,
            thread_id,
            thread: Loaded::Loading,
            turns: VecDeque::new(),
            has_earlier: false,
            input,
            is_sending: false,
            whole_results: HashSet::new(),
            first_question: None,
            message: None,
            scroll: ScrollHandle::new(),
            timer: None,
            _subscriptions: subscriptions,
        };
        view.load(cx);
        view
    }

    /// The turns that are known, oldest first.
    pub fn turns(&self) -> impl Iterator<Item = &WatchedTurn> {
        self.turns.iter()
    }

    pub fn input(&self) -> &Entity<TextareaState> {
        &self.input
    }

    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Everything that waits for a decision, with the turn to answer.
    pub fn waiting(&self) -> Vec<(TurnId, &TurnApproval)> {
        let of = |turn: &'_ WatchedTurn| turn.id().clone();
        let all = self.turns.iter().flat_map(|turn| turn.approvals().iter().map(move |it| (of(turn), it)));
        all.map(|(turn, approval)| (approval.turn_id.clone().unwrap_or(turn), approval)).collect()
    }

    fn running(&self) -> Option<&WatchedTurn> {
        self.turns.iter().rev().find(|turn| turn.is_running())
    }

    fn workspace_id(&self, cx: &App) -> Option<WorkspaceId> {
        self.session.read(cx).workspace_id().cloned()
    }

    fn heard(&mut self, _: Entity<Session>, event: &SessionEvent, cx: &mut Context<Self>) {
        match event {
            SessionEvent::Notification(notification) => {
                let params = notification.params.get();
                let mut is_ours = false;
                for turn in &mut self.turns {
                    is_ours |= turn.notification(&notification.method, params);
                }
                if !is_ours && notification.method == TurnStarted::NAME {
                    // Somebody else asks here.
                    let started = serde_json::from_str::<TurnStarted>(params);
                    if started.is_ok_and(|started| started.thread_id == self.thread_id) {
                        self.load_turns(None, cx);
                    }
                }
                if is_ours {
                    self.drive(cx);
                    cx.notify();
                }
            }
            SessionEvent::Link => {
                if self.session.read(cx).link().is_connected() {
                    self.message = None;
                    self.turns.iter_mut().for_each(WatchedTurn::reconnected);
                    self.load(cx);
                } else {
                    self.turns.iter_mut().for_each(WatchedTurn::disconnected);
                }
                self.drive(cx);
                cx.notify();
            }
            SessionEvent::Reload => self.load(cx),
            _ => {}
        }
    }

    fn load(&mut self, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let params = ThreadGetParams { workspace_id, thread_id: self.thread_id.clone() };
        let call = self.session.read(cx).gateway().call::<ThreadGet>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await.map(|answer| answer.thread);
            this.update(cx, |this, cx| {
                if answer.is_ok() || this.thread.ready().is_none() {
                    this.thread = answer.into();
                }
                cx.notify();
            })
            .ok();
        })
        .detach();
        self.load_turns(None, cx);
    }

    fn load_turns(&mut self, before: Option<u64>, cx: &mut Context<Self>) {
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let thread_id = Some(self.thread_id.clone());
        let params = TurnListParams { workspace_id, thread_id, limit: Some(PAGE), before };
        let call = self.session.read(cx).gateway().call::<TurnList>(params);
        cx.spawn(async move |this, cx| {
            let answer = call.await.map(|answer| answer.turns);
            this.update(cx, |this, cx| this.turns_loaded(before, answer, cx)).ok();
        })
        .detach();
    }

    fn turns_loaded(
        &mut self,
        before: Option<u64>,
        answer: Result<Vec<Turn>, ClientError>,
        cx: &mut Context<Self>,
    ) {
        match answer {
            Ok(turns) => {
                let is_full = turns.len() == PAGE as usize;
                let is_known = |turn: &Turn| self.turns.iter().any(|known| known.id() == &turn.id);
                if before.is_none() && is_full && !turns.iter().any(is_known) {
                    // More was asked meanwhile than was listed: what is shown would have a hole.
                    self.turns.clear();
                }
                if before.is_some() || self.turns.is_empty() {
                    self.has_earlier = is_full;
                }
                // Newest first, so that those in front come last.
                for turn in turns {
                    self.put(turn);
                }
                if before.is_none() {
                    self.scroll.scroll_to_bottom();
                }
                self.drive(cx);
            }
            // Told by the line at the bottom; the turns are asked for again when the connection is back.
            Err(ClientError::Lost | ClientError::NotConnected) => {}
            Err(error) => self.message = Some(Failure::from(&error).message.into()),
        }
        cx.notify();
    }

    /// Puts a turn into its place, unless it is there.
    fn put(&mut self, turn: Turn) {
        if self.turns.iter().any(|known| known.id() == &turn.id) {
            return;
        }
        let ordinal = |known: &WatchedTurn| known.turn().map_or(u64::MAX, |turn| turn.ordinal);
        let at =
            self.turns.iter().position(|known| ordinal(known) > turn.ordinal).unwrap_or(self.turns.len());
        self.turns.insert(at, WatchedTurn::of(turn));
    }

    /// Whoever reads the end of the thread goes on reading the end of it.
    fn follow_end(&self) {
        let below = self.scroll.max_offset().y + self.scroll.offset().y;
        if below <= px(NEAR_END) {
            self.scroll.scroll_to_bottom();
        }
    }

    /// Asks for whatever the turns want, and sees to it that they are woken.
    fn drive(&mut self, cx: &mut Context<Self>) {
        self.follow_end();
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let now = cx.background_executor().now();
        let wanted: Vec<(TurnId, TurnRequest)> =
            self.turns.iter_mut().filter_map(|turn| Some((turn.id().clone(), turn.poll(now)?))).collect();
        for (turn_id, request) in wanted {
            self.ask(workspace_id.clone(), turn_id, request, cx);
        }
        self.timer = self.turns.iter().filter_map(WatchedTurn::wake_at).min().map(|at| {
            let pause = at.saturating_duration_since(now);
            cx.spawn(async move |this, cx| {
                cx.background_executor().timer(pause).await;
                this.update(cx, |this, cx| this.drive(cx)).ok();
            })
        });
    }

    fn ask(
        &mut self,
        workspace_id: WorkspaceId,
        turn_id: TurnId,
        request: TurnRequest,
        cx: &mut Context<Self>,
    ) {
        let gateway = self.session.read(cx).gateway().clone();
        cx.spawn(async move |this, cx| {
            enum Answer {
                Watched(protocol::method::TurnWatchResult),
                Steps(protocol::method::TurnGetResult),
            }
            let answer = match request.call {
                TurnCall::Watch => {
                    let params = TurnGetParams { workspace_id, turn_id: turn_id.clone() };
                    gateway.call::<TurnWatch>(params).await.map(Answer::Watched)
                }
                TurnCall::Steps { after } => {
                    let params =
                        TurnPageParams { workspace_id, turn_id: turn_id.clone(), after: Some(after) };
                    gateway.call::<TurnGet>(params).await.map(Answer::Steps)
                }
            };
            this.update(cx, |this, cx| {
                let now = cx.background_executor().now();
                let Some(turn) = this.turns.iter_mut().find(|turn| turn.id() == &turn_id) else { return };
                let number = request.number;
                match answer {
                    Ok(Answer::Watched(answer)) => turn.watched(number, answer, now),
                    Ok(Answer::Steps(answer)) => turn.steps_loaded(number, answer, now),
                    Err(error) => turn.request_failed(number, Failure::from(&error), now),
                }
                this.drive(cx);
                cx.notify();
            })
            .ok();
        })
        .detach();
    }

    /// Sends what is written.
    pub fn send(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let text = self.input.read(cx).value().to_string();
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        if text.trim().is_empty() || self.is_sending {
            return;
        }
        self.is_sending = true;
        self.message = None;
        let params = TurnStartParams::new(&workspace_id, &self.thread_id, text.clone());
        let call = self.session.read(cx).gateway().call::<TurnStart>(params);
        cx.spawn_in(window, async move |this, cx| {
            let answer = call.await;
            this.update_in(cx, |this, window, cx| {
                this.is_sending = false;
                match answer {
                    Ok(answer) => {
                        this.put(answer.turn);
                        // What was typed since stays; a message that was not taken stays whole.
                        if this.input.read(cx).value() == text {
                            this.input.update(cx, |input, cx| input.set_value("", window, cx));
                        }
                        this.scroll.scroll_to_bottom();
                        this.drive(cx);
                    }
                    Err(error) => this.message = Some(Failure::from(&error).message.into()),
                }
                cx.notify();
            })
            .ok();
        })
        .detach();
        cx.notify();
    }

    /// Stops the turn that runs.
    pub fn cancel(&mut self, cx: &mut Context<Self>) {
        let Some(turn_id) = self.running().map(|turn| turn.id().clone()) else { return };
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let params = TurnGetParams { workspace_id, turn_id };
        let call = self.session.read(cx).gateway().call::<TurnCancel>(params);
        self.report(async move { call.await.map(|_| ()) }, cx);
    }

    /// Decides about the first question that is on the screen.
    fn decide_first(&mut self, allow: bool, cx: &mut Context<Self>) {
        if let Some((turn_id, call_id)) = self.first_question.clone() {
            self.decide(turn_id, &call_id, allow, cx);
        }
    }

    /// Shows a long answer of a tool to its end, or its beginning again.
    fn toggle_result(&mut self, id: &SharedString, cx: &mut Context<Self>) {
        if !self.whole_results.remove(id) {
            self.whole_results.insert(id.clone());
        }
        cx.notify();
    }

    /// Decides about a call, which is named by the digest of what was shown.
    pub fn decide(&mut self, turn_id: TurnId, call_id: &str, allow: bool, cx: &mut Context<Self>) {
        let waiting = self.waiting();
        let found = waiting.iter().find(|(turn, it)| *turn == turn_id && it.request.call_id == call_id);
        let Some(digest) = found.map(|(_, approval)| approval.request.digest.clone()) else { return };
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let call_id = call_id.to_owned();
        let how = HowDecided::Asked;
        let params = TurnApproveParams { workspace_id, turn_id, call_id, allow, digest, how };
        let call = self.session.read(cx).gateway().call::<TurnApprove>(params);
        self.report(async move { call.await.map(|_| ()) }, cx);
    }

    /// Waits for an answer of which only a failure is shown: what it did is announced.
    fn report(
        &mut self,
        call: impl Future<Output = Result<(), ClientError>> + 'static,
        cx: &mut Context<Self>,
    ) {
        self.message = None;
        cx.spawn(async move |this, cx| {
            let answer = call.await;
            this.update(cx, |this, cx| {
                if let Err(error) = answer {
                    this.message = Some(Failure::from(&error).message.into());
                }
                cx.notify();
            })
            .ok();
        })
        .detach();
    }
}

impl Focusable for ThreadView {
    /// Whoever comes here most often wants to write.
    fn focus_handle(&self, cx: &App) -> FocusHandle {
        self.input.focus_handle(cx)
    }
}
