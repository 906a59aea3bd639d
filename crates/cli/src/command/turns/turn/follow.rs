//! Follows a turn to its end: prints its answer and progress, and asks for approvals.

mod approvals;
mod connection;
mod delegated;
mod render;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use client::{Client, TurnCall, TurnRequest, Update, WatchedTurn, WorkspaceFollower};
use protocol::method::{
    TurnCancel, TurnGet, TurnGetParams, TurnPageParams, TurnStart, TurnStartParams, TurnWatch,
};
use protocol::notification::{
    ContextCompressed, ContextCompressing, Notification as _, TurnApprovalRequested, TurnCancelled,
    TurnCompleted, TurnFailed, TurnManifestKept, TurnRetrying, TurnToolFinished, TurnToolStarted,
};
use protocol::{MessageRole, Method as _, TurnError, TurnId, TurnStatus, WorkspaceId};
use rpc::Notification;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::approval::{Policy, Questions, Reply};
use super::describe_spent;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::progress::Progress;
use crate::output::{Output, Reader, one_line, print, shown};
use crate::signals::StopSignals;

/// A turn that has not started by now is waiting for another one to end.
const BEGINS_WITHIN: Duration = Duration::from_secs(1);

/// Progress message without a known activity.
const WAITING: &str = "waiting for the model";

/// Follows a running turn to its end.
pub(super) struct TurnFollower<'a> {
    context: &'a Context,
    output: Output,
    changes: WorkspaceFollower,
    /// Notifications that arrived while a call waited for a new connection.
    arrived: VecDeque<Notification>,
    workspace_id: WorkspaceId,
    turn: WatchedTurn,
    stop: Stop,
    answer: Answer,
    policy: Policy,
    questions: Questions,
    notes: render::Notes,
    /// Progress shown while nothing arrives.
    progress: Progress,
}

/// Stop signals. The first one cancels a turn that was started here.
struct Stop {
    signals: StopSignals,
    /// Number of signals received.
    count: u32,
    /// Number of signals that end the command without waiting for the turn.
    leaves_at: u32,
    is_cancelling: bool,
}

impl Stop {
    fn is_leaving(&self) -> bool {
        self.count >= self.leaves_at
    }
}

/// Turn that a notification is about.
#[derive(Deserialize)]
struct Subject {
    turn_id: TurnId,
}

/// Next input: an update, an answer of the user, a stop signal, or the time of the next request.
enum Heard {
    Update(Update),
    Reply(Reply),
    Stop,
    Due,
}

impl<'a> TurnFollower<'a> {
    /// Subscribes to the workspace. Doing so before a turn is started or loaded ensures that none of its notifications
    /// is missed.
    pub(super) async fn new(
        context: &'a Context,
        client: Client,
        signals: StopSignals,
        policy: Policy,
        workspace_id: WorkspaceId,
        root: Option<String>,
    ) -> Result<Self, Failure> {
        let target = context.target()?;
        let changes = WorkspaceFollower::over(client, target, workspace_id.clone(), None).await?;
        Ok(Self::over(context, changes, signals, policy, workspace_id, root))
    }

    fn over(
        context: &'a Context,
        changes: WorkspaceFollower,
        signals: StopSignals,
        policy: Policy,
        workspace_id: WorkspaceId,
        root: Option<String>,
    ) -> Self {
        Self {
            context,
            output: context.output,
            changes,
            arrived: VecDeque::new(),
            workspace_id,
            // A placeholder that no notification can match until the gateway has assigned the real id.
            turn: WatchedTurn::new(TurnId::new()),
            stop: Stop { signals, count: 0, leaves_at: 2, is_cancelling: false },
            answer: Answer::here(),
            policy,
            questions: Questions::default(),
            notes: render::Notes::below(root),
            progress: Progress::paused(context.output, WAITING),
        }
    }

    /// Starts a turn and follows it. The start may have to wait for another turn.
    pub(super) async fn start(mut self, params: &TurnStartParams) -> Result<Exit, Failure> {
        self.begin(params).await?;
        self.follow().await
    }

    /// Follows a turn that was started elsewhere.
    pub(super) async fn watch(mut self, turn_id: TurnId) -> Result<Exit, Failure> {
        self.turn = WatchedTurn::new(turn_id);
        // The turn belongs to another command, so it is not cancelled.
        self.stop.leaves_at = 1;
        self.catch_up().await?;
        let end = match self.turn.turn().map(|turn| turn.status) {
            Some(TurnStatus::Completed) => Some(TurnCompleted::NAME),
            Some(TurnStatus::Failed) => Some(TurnFailed::NAME),
            Some(TurnStatus::Cancelled) => Some(TurnCancelled::NAME),
            Some(TurnStatus::Running) | None => None,
        };
        // The turn has already ended, and no notification about that will follow.
        if let Some(method) = end {
            return self.end(method);
        }
        let approvals = self.turn.approvals().to_vec();
        if self.output.is_json() {
            let turn = self.turn.turn();
            let text = self.turn.text();
            let so_far =
                json!({ "event": TurnWatch::NAME, "turn": turn, "text": text, "approvals": approvals });
            self.output.json(&so_far)?;
        } else {
            // Print earlier reminders now or never: later they would seem to belong to newer events.
            self.tell_so_far();
            self.print_text()?;
        }
        // These approvals were requested before this command subscribed, so no notification will announce them.
        for approval in &approvals {
            self.tell_how_to_approve(approval);
        }
        self.follow().await
    }

    /// Starts the turn. A turn that waits for another one is dropped with its connection.
    async fn begin(&mut self, params: &TurnStartParams) -> Result<(), Failure> {
        // The call stays open for as long as the thread is busy, so signals must be noticed beside it.
        let mut started = std::pin::pin!(self.changes.call::<TurnStart>(params));
        let mut soon = std::pin::pin!(tokio::time::sleep(BEGINS_WITHIN));
        let mut is_waiting = false;
        loop {
            // After one signal the answer is awaited, because a turn that starts right now must be known to be
            // cancelled. A turn that is waiting for another one is dropped with its connection, so leaving is safe
            // then.
            match (self.stop.count, is_waiting) {
                (0, _) | (1, false) => {}
                (_, true) => return Err(Failure::new(Exit::Failed, "stopped before the turn began")),
                (_, false) => {
                    let message = "left before the turn had begun; it may begin all the same";
                    return Err(Failure::new(Exit::Failed, message));
                }
            }
            tokio::select! {
                started = &mut started => {
                    self.turn = WatchedTurn::of(started?.turn);
                    return Ok(());
                }
                () = &mut soon, if !is_waiting => {
                    is_waiting = true;
                    if self.stop.count == 0 {
                        self.output.note("waiting for the running turn of this thread to end");
                    }
                }
                () = self.stop.signals.next() => self.stop.count += 1,
            }
        }
    }

    /// Prints events until the turn has ended.
    async fn follow(mut self) -> Result<Exit, Failure> {
        let exit = self.hear_all().await;
        if exit.is_err() {
            // The error is printed on its own line, so end any partial line first.
            self.questions.break_line(self.output);
            print(&self.answer.end(None))?;
        }
        exit
    }

    async fn hear_all(&mut self) -> Result<Exit, Failure> {
        // Deltas arrive over this connection anyway; the steps and the text so far are loaded once.
        self.catch_up().await?;
        loop {
            if self.stop.is_leaving() {
                return Err(self.left());
            }
            if self.stop.count > 0 && !self.stop.is_cancelling {
                self.cancel().await?;
                continue;
            }
            // Notes and progress need a free line: not while a question is open or the answer's line is incomplete.
            if self.questions.is_asking() {
                self.questions.ask_again(self.output);
            } else {
                self.tell_held_back();
                if !self.answer.has_open_line() {
                    self.progress.resume();
                }
            }
            let heard = self.next().await?;
            // Everything printed from here on would otherwise end up on the progress line.
            self.progress.pause();
            let exit = match heard {
                Heard::Update(Update::Notification(notification)) => {
                    self.hear(&notification.method, notification.params.get()).await?
                }
                Heard::Update(Update::Disconnected) => {
                    self.reconnect(connection::PATIENCE).await?;
                    self.catch_up().await?;
                    self.print_text()?
                }
                Heard::Update(Update::Resumed) => None,
                Heard::Due => {
                    self.catch_up().await?;
                    None
                }
                Heard::Reply(reply) => {
                    self.reply(reply).await?;
                    None
                }
                Heard::Stop => {
                    self.stop.count += 1;
                    None
                }
            };
            if let Some(exit) = exit {
                return Ok(exit);
            }
        }
    }

    async fn next(&mut self) -> Result<Heard, Failure> {
        if let Some(notification) = self.arrived.pop_front() {
            return Ok(Heard::Update(Update::Notification(notification)));
        }
        let wake_at = self.turn.wake_at();
        let due = async {
            match wake_at {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            update = self.changes.next() => Ok(Heard::Update(update?)),
            reply = self.questions.next() => Ok(Heard::Reply(reply)),
            () = self.stop.signals.next() => Ok(Heard::Stop),
            () = due => Ok(Heard::Due),
        }
    }

    /// Sends the requests of the watched turn until nothing that was announced is missing.
    async fn catch_up(&mut self) -> Result<(), Failure> {
        while let Some(TurnRequest { number, call }) = self.turn.poll(Instant::now()) {
            match call {
                TurnCall::Watch => {
                    let answer = self.call::<TurnWatch>(&self.params()).await??;
                    self.turn.watched(number, answer, Instant::now());
                }
                TurnCall::Steps { after } => {
                    let params = TurnPageParams { after: Some(after), ..self.params().into() };
                    let answer = self.call::<TurnGet>(&params).await??;
                    self.turn.steps_loaded(number, answer, Instant::now());
                }
            }
        }
        Ok(())
    }

    fn params(&self) -> TurnGetParams {
        TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id: self.turn.id().clone() }
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        self.stop.is_cancelling = true;
        self.note("stopping the turn (once more to leave at once)");
        self.call::<TurnCancel>(&self.params()).await??;
        Ok(())
    }

    /// Handles a notification. Returns the exit code if the command ends with it.
    async fn hear(&mut self, method: &str, params: &str) -> Result<Option<Exit>, Failure> {
        let Ok(Subject { turn_id }) = serde_json::from_str(params) else { return Ok(None) };
        if !self.turn.notification(method, params) {
            return Ok(None);
        }
        let is_own = turn_id == *self.turn.id();
        // Only the end of this turn ends the command, not the end of a delegated one.
        if is_own && matches!(method, TurnCompleted::NAME | TurnFailed::NAME | TurnCancelled::NAME) {
            // The final record has the whole answer, even if deltas were lost on the way.
            self.catch_up().await?;
            return self.end(method).map(Some);
        }
        if self.output.is_json() && self.print_event(method, params)? == Reader::Gone {
            return Ok(Some(self.tell_unread()));
        }
        self.catch_up().await?;
        if !is_own {
            self.hear_delegated(&turn_id, method, params).await?;
            return Ok(None);
        }
        if let Some(exit) = self.print_text()? {
            return Ok(Some(exit));
        }
        // Nothing else may arrive until the activity ends, so the progress line names it.
        self.progress.say(describe_activity(method, params));
        self.tell(method, params).await?;
        Ok(None)
    }

    /// Prints notes about a notification. One that cannot be parsed comes from a newer gateway and is ignored.
    async fn tell(&mut self, method: &str, params: &str) -> Result<(), Failure> {
        match method {
            TurnManifestKept::NAME => {
                self.tell_missing_tools().await?;
                self.tell_opening();
            }
            TurnToolFinished::NAME => {
                if let Ok(finished) = serde_json::from_str(params) {
                    self.tell_tool(&finished);
                }
            }
            TurnApprovalRequested::NAME => {
                if let Ok(requested) = serde_json::from_str(params) {
                    self.decide(&requested).await?;
                }
            }
            ContextCompressing::NAME => self.note("earlier turns no longer fit; summarising them"),
            ContextCompressed::NAME => {
                if let Ok(compressed) = serde_json::from_str(params) {
                    self.tell_compressed(&compressed);
                }
            }
            TurnRetrying::NAME => {
                if let Ok(retrying) = serde_json::from_str(params) {
                    self.tell_retrying(&retrying);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn print_event(&self, method: &str, params: &str) -> Result<Reader, Failure> {
        let params: Map<String, Value> = serde_json::from_str(params).unwrap_or_default();
        // The name is a field beside the parameters, so that every line is a flat object.
        let named = [("event".to_owned(), method.into())];
        self.output.json(&Map::from_iter(named.into_iter().chain(params)))
    }

    /// Prints text that has arrived since the last time. Returns the exit code if nobody reads it.
    fn print_text(&mut self) -> Result<Option<Exit>, Failure> {
        if self.output.is_json() {
            return Ok(None);
        }
        let text = self.answer.take(self.turn.text());
        Ok((print(&shown(&text))? == Reader::Gone).then(|| self.tell_unread()))
    }

    /// Prints the rest of the answer, the usage and the outcome.
    fn end(&mut self, method: &str) -> Result<Exit, Failure> {
        let Some(turn) = self.turn.turn().cloned() else { return Err(self.left()) };
        if self.output.is_json() {
            self.output.json(&json!({ "event": method, "turn": turn }))?;
        } else {
            self.questions.break_line(self.output);
            self.tell_held_back();
            print(&shown(&self.answer.end(turn.answer.as_deref())))?;
            self.tell_reminders(|_| true);
        }
        // The last message of the model decides, because an earlier one that was cut off has been continued.
        let is_cut =
            self.turn.steps().iter().rfind(|it| it.role == MessageRole::Assistant).is_some_and(|it| it.cut);
        if is_cut && turn.status == TurnStatus::Completed {
            self.speak();
            self.output.warning("the answer was cut off at its maximum length", Some("ask to go on with it"));
        }
        let spent = describe_spent(&turn).map(|spent| format!(", tokens: {spent}")).unwrap_or_default();
        self.note(format!("turn {}{spent}", turn.ordinal));
        match (turn.status, &turn.error) {
            // The error of the turn is the result of the command, so it is printed and decides the exit code like any
            // other failure.
            (TurnStatus::Failed, Some(error)) => Err(failure(error)),
            (TurnStatus::Failed, None) => Err(Failure::new(Exit::Failed, "the turn failed")),
            (TurnStatus::Cancelled, _) => {
                self.note("the turn was cancelled");
                // A cancelled turn has no complete answer, so scripts must not take it for a success.
                Ok(Exit::Failed)
            }
            _ => Ok(Exit::Done),
        }
    }
}

/// Describes the current activity after a notification.
fn describe_activity(method: &str, params: &str) -> String {
    match method {
        TurnToolStarted::NAME => match serde_json::from_str::<TurnToolStarted>(params) {
            Ok(started) => format!("running {}", one_line(&started.tool, render::TOOL_WIDTH)),
            Err(_) => WAITING.to_owned(),
        },
        TurnApprovalRequested::NAME => "waiting for a decision".to_owned(),
        ContextCompressing::NAME => "waiting for a summary".to_owned(),
        _ => WAITING.to_owned(),
    }
}

/// Converts a turn's error into the command's failure.
fn failure(error: &TurnError) -> Failure {
    let failure = Failure::new(Exit::Failed, &*error.message).hints(error.hint.as_deref());
    if error.retryable { failure.hint("the same question may succeed later: ask again") } else { failure }
}
