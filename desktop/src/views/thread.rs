//! A thread: messages, tool calls, reminders and pending approvals.

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

/// Distance in pixels that still counts as the end of a thread.
const NEAR_END: f32 = 80.;

/// Turns per request.
const PAGE: u32 = 20;

pub struct ThreadView {
    session: Entity<Session>,
    thread_id: ThreadId,
    thread: Loaded<Thread>,
    /// Loaded turns, oldest first.
    turns: VecDeque<WatchedTurn>,
    has_earlier: bool,
    input: Entity<TextareaState>,
    is_sending: bool,
    /// Long tool results that are expanded.
    whole_results: HashSet<SharedString>,
    /// Turn and call of the first pending approval in the last frame.
    // A key decides about this call and not about the first one in the state: a new approval may have arrived
    // since the last frame, and the user must not decide about a call that was not on the screen.
    first_question: Option<(TurnId, String)>,
    message: Option<SharedString>,
    scroll: ScrollHandle,
    /// Wakes a turn at the time it requested.
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
            cx.subscribe(&session, Self::on_session),
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

    /// Returns the loaded turns, oldest first.
    pub fn turns(&self) -> impl Iterator<Item = &WatchedTurn> {
        self.turns.iter()
    }

    pub fn input(&self) -> &Entity<TextareaState> {
        &self.input
    }

    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Returns all pending approvals with the turn that decides about them.
    pub fn waiting(&self) -> Vec<(TurnId, &TurnApproval)> {
        // Approvals of delegated turns are listed in their parent but must be sent to the child, which
        // `turn_id` names.
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

    fn on_session(&mut self, _: Entity<Session>, event: &SessionEvent, cx: &mut Context<Self>) {
        match event {
            SessionEvent::Notification(notification) => {
                let params = notification.params.get();
                let mut is_ours = false;
                for turn in &mut self.turns {
                    is_ours |= turn.notification(&notification.method, params);
                }
                if !is_ours && notification.method == TurnStarted::NAME {
                    // Another client started a turn in this thread.
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
                    // Deltas are not in the log. Each running turn is watched again and gets the answer so
                    // far as a whole.
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
                    // None of the newest turns is known, so there were more than one page since the last
                    // load. Keeping the old ones would leave a gap in the middle of the conversation.
                    self.turns.clear();
                }
                if before.is_some() || self.turns.is_empty() {
                    self.has_earlier = is_full;
                }
                // The gateway lists turns newest first, and `put` sorts them.
                for turn in turns {
                    self.put(turn);
                }
                if before.is_none() {
                    self.scroll.scroll_to_bottom();
                }
                self.drive(cx);
            }
            // The line at the bottom shows this, and the turns are requested again after the reconnect.
            Err(ClientError::Lost | ClientError::NotConnected) => {}
            Err(error) => self.message = Some(Failure::from(&error).message.into()),
        }
        cx.notify();
    }

    /// Inserts a turn in order unless it is already known.
    fn put(&mut self, turn: Turn) {
        // A known turn may be further along through notifications than the listed copy, so it is not
        // replaced.
        if self.turns.iter().any(|known| known.id() == &turn.id) {
            return;
        }
        let ordinal = |known: &WatchedTurn| known.turn().map_or(u64::MAX, |turn| turn.ordinal);
        let at =
            self.turns.iter().position(|known| ordinal(known) > turn.ordinal).unwrap_or(self.turns.len());
        self.turns.insert(at, WatchedTurn::of(turn));
    }

    /// Keeps the end of the thread in view if it was in view.
    fn follow_end(&self) {
        // A user who scrolled up is reading earlier text, and a streamed answer must not pull it away.
        let below = self.scroll.max_offset().y + self.scroll.offset().y;
        if below <= px(NEAR_END) {
            self.scroll.scroll_to_bottom();
        }
    }

    /// Sends the requests of all turns and sets the timer.
    fn drive(&mut self, cx: &mut Context<Self>) {
        self.follow_end();
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let now = cx.background_executor().now();
        let wanted: Vec<(TurnId, TurnRequest)> =
            self.turns.iter_mut().filter_map(|turn| Some((turn.id().clone(), turn.poll(now)?))).collect();
        for (turn_id, request) in wanted {
            self.send_request(workspace_id.clone(), turn_id, request, cx);
        }
        self.timer = self.turns.iter().filter_map(WatchedTurn::wake_at).min().map(|at| {
            let pause = at.saturating_duration_since(now);
            cx.spawn(async move |this, cx| {
                cx.background_executor().timer(pause).await;
                this.update(cx, |this, cx| this.drive(cx)).ok();
            })
        });
    }

    fn send_request(
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
                // The turn may be gone if the list was cleared meanwhile because of a gap.
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

    /// Sends the typed message.
    pub fn send(&mut self, window: &mut Window, cx: &mut Context<Self>) {
        let text = self.input.read(cx).value().to_string();
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        // Without the flag, a double Ctrl+Enter would start two turns before the first answer arrives.
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
                        // The field is cleared only if the user did not continue typing. After a failure the
                        // message stays.
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

    /// Cancels the running turn.
    pub fn cancel(&mut self, cx: &mut Context<Self>) {
        let Some(turn_id) = self.running().map(|turn| turn.id().clone()) else { return };
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let params = TurnGetParams { workspace_id, turn_id };
        let call = self.session.read(cx).gateway().call::<TurnCancel>(params);
        self.report(async move { call.await.map(|_| ()) }, cx);
    }

    /// Decides about the first approval on the screen.
    fn decide_first(&mut self, allow: bool, cx: &mut Context<Self>) {
        if let Some((turn_id, call_id)) = self.first_question.clone() {
            self.decide(turn_id, &call_id, allow, cx);
        }
    }

    /// Expands or collapses a long tool result.
    fn toggle_result(&mut self, id: &SharedString, cx: &mut Context<Self>) {
        if !self.whole_results.remove(id) {
            self.whole_results.insert(id.clone());
        }
        cx.notify();
    }

    /// Decides about a pending call.
    pub fn decide(&mut self, turn_id: TurnId, call_id: &str, allow: bool, cx: &mut Context<Self>) {
        let waiting = self.waiting();
        let found = waiting.iter().find(|(turn, it)| *turn == turn_id && it.request.call_id == call_id);
        let Some(digest) = found.map(|(_, approval)| approval.request.digest.clone()) else { return };
        let Some(workspace_id) = self.workspace_id(cx) else { return };
        let call_id = call_id.to_owned();
        // The digest covers everything that was shown. If the call changed since, the gateway refuses the
        // decision.
        let how = HowDecided::Asked;
        let params = TurnApproveParams { workspace_id, turn_id, call_id, allow, digest, how };
        let call = self.session.read(cx).gateway().call::<TurnApprove>(params);
        self.report(async move { call.await.map(|_| ()) }, cx);
    }

    /// Waits for an answer and shows a failure; successes arrive as notifications.
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
    /// Focuses the message field, which most visitors need.
    fn focus_handle(&self, cx: &App) -> FocusHandle {
        self.input.focus_handle(cx)
    }
}
