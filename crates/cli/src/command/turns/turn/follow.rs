//! A turn that runs, followed to its end.

mod approvals;
mod connection;
mod delegated;
mod render;

use std::collections::HashSet;
use std::time::Duration;

use client::{Client, ClientError};
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, TurnCancel, TurnGet, TurnGetParams, TurnGetResult,
    TurnPageParams, TurnStart, TurnStartParams, TurnWatch, TurnWatchResult,
};
use protocol::notification::{
    ContextCompressed, ContextCompressing, Notification as _, TurnApprovalRequested, TurnCancelled,
    TurnCompleted, TurnDelta, TurnFailed, TurnManifestKept, TurnRetrying, TurnToolFinished, TurnToolStarted,
};
use protocol::turn::TurnStep;
use protocol::{
    MessageRole, Method, Sequence, Turn, TurnApproval, TurnError, TurnId, TurnStatus, WorkspaceId,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::approval::{Policy, Questions, Reply, Standing};
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
pub(super) struct Live<'a> {
    context: &'a Context,
    output: Output,
    client: Client,
    workspace_id: WorkspaceId,
    turn_id: TurnId,
    /// Last change received, to resume from after a lost connection.
    cursor: Sequence,
    stop: StopSignals,
    /// Number of stop signals received.
    interrupts: u32,
    is_cancelling: bool,
    interest: Interest,
    answer: Answer,
    policy: Policy,
    questions: Questions,
    /// Standing approvals until the turn ends.
    standing: HashSet<Standing>,
    /// Delegated turns, recursively, in the order in which they started.
    delegated: Vec<TurnId>,
    /// Last known records of the delegated turns.
    delegated_turns: Vec<Turn>,
    /// Notes held back while a question is being asked.
    held_back: Vec<String>,
    /// Known steps of the turn.
    steps: Vec<TurnStep>,
    /// True once the first prompt was checked for missing tools.
    is_prompt_known: bool,
    /// Reminders that were already printed.
    told: HashSet<render::Place>,
    /// Time limit for reconnecting.
    patience: Duration,
    /// Progress shown while nothing arrives.
    progress: Progress,
    /// The workspace's directory, the base of printed paths.
    root: Option<String>,
}

/// Subject of a notification.
#[derive(Deserialize)]
struct NotificationSubject {
    seq: Option<Sequence>,
    workspace_id: Option<WorkspaceId>,
    turn_id: Option<TurnId>,
    /// For a starting turn, the turn that delegated work to it.
    parent_turn_id: Option<TurnId>,
}

/// Turn that a notification is about.
enum About {
    This,
    /// A delegated turn, by its number from 1.
    Delegated(usize),
    Other,
}

/// The user's relation to the turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interest {
    /// The user started the turn, so a stop signal cancels it.
    Asked,
    /// The user only watches, so a stop signal ends watching.
    Watches,
}

/// Next input: a notification, an answer of the user, or a stop signal.
enum Heard {
    Notification(Option<rpc::Notification>),
    Reply(Reply),
    Stop,
}

/// The next step after an input.
enum Next {
    More,
    End(Exit),
}

impl<'a> Live<'a> {
    /// Subscribes and then starts the turn, so that none of its notifications is missed.
    pub(super) async fn start(
        context: &'a Context,
        client: Client,
        stop: StopSignals,
        policy: Policy,
        params: TurnStartParams,
    ) -> Result<Self, Failure> {
        let workspace_id = params.workspace_id.clone();
        let mut live = Self::new(context, client, stop, policy, workspace_id.clone());
        let subscription = EventsSubscribeParams { workspace_id, since: None };
        // The position at the time of the subscription. A lost connection resumes from here, even if no
        // notification arrived.
        live.cursor = live.call::<EventsSubscribe>(&subscription).await?.seq;
        live.begin(&params).await?;
        Ok(live)
    }

    /// Watches a turn started elsewhere until it ends.
    pub(super) async fn watch(
        context: &'a Context,
        client: Client,
        stop: StopSignals,
        params: TurnGetParams,
        root: Option<String>,
    ) -> Result<Exit, Failure> {
        let workspace_id = params.workspace_id.clone();
        // The command that started the turn asks for approval; this one only reports it.
        let mut live = Self::new(context, client, stop, Policy::Elsewhere, workspace_id.clone());
        live.root = root;
        live.turn_id = params.turn_id.clone();
        live.interest = Interest::Watches;
        // Subscribe before loading the turn, so that its end is not missed in between.
        let subscription = EventsSubscribeParams { workspace_id, since: None };
        live.cursor = live.call::<EventsSubscribe>(&subscription).await?.seq;
        let TurnWatchResult { turn, text, next_index, approvals, delegated } =
            live.call::<TurnWatch>(&params).await?;
        live.delegated.extend(delegated.into_iter().map(|turn| turn.id));
        let end = match turn.status {
            TurnStatus::Running => None,
            TurnStatus::Completed => Some(TurnCompleted::NAME),
            TurnStatus::Failed => Some(TurnFailed::NAME),
            TurnStatus::Cancelled => Some(TurnCancelled::NAME),
        };
        // The turn has already ended, and no notification about that will follow.
        if let Some(method) = end {
            return live.end(method).await;
        }
        if live.output.is_json() {
            let waiting =
                json!({ "event": TurnWatch::NAME, "turn": turn, "text": text, "approvals": approvals });
            live.output.json(&waiting)?;
        } else {
            // Print earlier reminders now or never: later they would seem to belong to newer events.
            live.tell_so_far().await?;
            print(&shown(&live.answer.join(&text, next_index)))?;
        }
        // These approvals were requested before this command subscribed, so no notification will announce them.
        for approval in &approvals {
            live.tell_how_to_approve(approval);
        }
        live.follow().await
    }

    /// Prints paths relative to the workspace's directory.
    pub(super) fn below(self, root: Option<String>) -> Self {
        Self { root, ..self }
    }

    fn new(
        context: &'a Context,
        client: Client,
        stop: StopSignals,
        policy: Policy,
        workspace_id: WorkspaceId,
    ) -> Self {
        Live {
            context,
            output: context.output,
            client,
            workspace_id,
            // A placeholder that no notification can match until the gateway has assigned the real id.
            turn_id: TurnId::new(),
            cursor: Sequence(0),
            stop,
            interrupts: 0,
            is_cancelling: false,
            interest: Interest::Asked,
            answer: Answer::here(),
            policy,
            questions: Questions::default(),
            standing: HashSet::new(),
            delegated: Vec::new(),
            delegated_turns: Vec::new(),
            held_back: Vec::new(),
            steps: Vec::new(),
            is_prompt_known: false,
            told: HashSet::new(),
            patience: connection::PATIENCE,
            progress: Progress::paused(context.output, WAITING),
            root: None,
        }
    }

    /// Starts the turn, which may have to wait for another one. A waiting turn is dropped with its connection.
    async fn begin(&mut self, params: &TurnStartParams) -> Result<(), Failure> {
        // The call stays open for as long as the thread is busy, so signals must be noticed beside it.
        let mut started = std::pin::pin!(self.client.call::<TurnStart>(params));
        let mut soon = std::pin::pin!(tokio::time::sleep(BEGINS_WITHIN));
        let mut is_waiting = false;
        loop {
            // After one signal the answer is awaited, because a turn that starts right now must be known to be
            // cancelled. A turn that is waiting for another one is dropped with its connection, so leaving is safe
            // then.
            match (self.interrupts, is_waiting) {
                (0, _) | (1, false) => {}
                (_, true) => return Err(Failure::new(Exit::Failed, "stopped before the turn began")),
                (_, false) => {
                    let message = "left before the turn had begun; it may begin all the same";
                    return Err(Failure::new(Exit::Failed, message));
                }
            }
            tokio::select! {
                started = &mut started => {
                    self.turn_id = started?.turn.id;
                    return Ok(());
                }
                () = &mut soon, if !is_waiting => {
                    is_waiting = true;
                    if self.interrupts == 0 {
                        self.output.note("waiting for the running turn of this thread to end");
                    }
                }
                () = self.stop.next() => self.interrupts += 1,
            }
        }
    }

    /// Prints events until the turn has ended.
    pub(super) async fn follow(mut self) -> Result<Exit, Failure> {
        let exit = self.hear_all().await;
        if exit.is_err() {
            // The error is printed on its own line, so end any partial line first.
            self.questions.break_line(self.output);
            print(&self.answer.end(None))?;
        }
        exit
    }

    async fn hear_all(&mut self) -> Result<Exit, Failure> {
        loop {
            // A second signal leaves in any case. A user who only watches leaves with the first one, because the turn
            // belongs to another command.
            let is_leaving = self.interrupts > 0 && self.interest == Interest::Watches;
            if self.interrupts > 1 || is_leaving {
                return Err(self.left());
            }
            if self.interrupts > 0 && !self.is_cancelling {
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
            let heard = tokio::select! {
                notification = self.client.notification() => Heard::Notification(notification),
                reply = self.questions.next() => Heard::Reply(reply),
                () = self.stop.next() => Heard::Stop,
            };
            // Everything printed from here on would otherwise end up on the progress line.
            self.progress.pause();
            match heard {
                Heard::Notification(Some(notification)) => {
                    let next = self.hear(&notification.method, notification.params.get()).await?;
                    if let Next::End(exit) = next {
                        return Ok(exit);
                    }
                }
                Heard::Notification(None) => self.reconnect().await?,
                Heard::Reply(reply) => self.reply(reply).await?,
                Heard::Stop => self.interrupts += 1,
            }
        }
    }

    /// Calls a method while counting stop signals. A second signal abandons the answer.
    async fn call<M: Method>(&mut self, params: &M::Params) -> Result<M::Result, ClientError> {
        let mut answer = std::pin::pin!(self.client.call::<M>(params));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                () = self.stop.next() => self.interrupts += 1,
            }
            // The answer is abandoned as if the connection had been lost. Callers that would reconnect check the
            // number of interrupts first.
            if self.interrupts > 1 {
                return Err(ClientError::Lost);
            }
        }
    }

    /// Returns the current turn.
    async fn get(&mut self) -> Result<TurnGetResult, Failure> {
        self.get_after(None).await
    }

    /// Loads new steps and pending approvals. Loading the whole turn after every call would take quadratic time.
    async fn catch_up(&mut self) -> Result<Vec<TurnApproval>, Failure> {
        let known = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let TurnGetResult { steps, approvals, delegated, .. } = self.get_after(Some(known)).await?;
        self.steps.extend(steps);
        self.delegated_turns = delegated;
        Ok(approvals)
    }

    /// Loads the turn and its later steps, reconnecting as often as necessary.
    async fn get_after(&mut self, after: Option<u32>) -> Result<TurnGetResult, Failure> {
        let workspace_id = self.workspace_id.clone();
        let turn_id = self.turn_id.clone();
        let mut params = TurnPageParams { workspace_id, turn_id, after };
        let mut whole: Option<TurnGetResult> = None;
        loop {
            let page = match self.call::<TurnGet>(&params).await {
                Err(_) if self.interrupts > 1 => return Err(self.left()),
                // Reading has no side effects, so it is simply repeated over the new connection.
                Err(error) if error.is_transient() => {
                    self.reconnect().await?;
                    continue;
                }
                answer => answer?,
            };
            params.after = page.next;
            let is_last = page.next.is_none();
            match &mut whole {
                Some(whole) => whole.append(page),
                None => whole = Some(page),
            }
            if let Some(whole) = whole.take_if(|_| is_last) {
                return Ok(whole);
            }
        }
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        self.is_cancelling = true;
        self.note("stopping the turn (once more to leave at once)");
        let params = TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id: self.turn_id.clone() };
        match self.call::<TurnCancel>(&params).await {
            Err(_) if self.interrupts > 1 => Err(self.left()),
            Err(error) if error.is_transient() => {
                self.reconnect().await?;
                // It is unknown whether the first request arrived, and cancelling twice is harmless.
                self.is_cancelling = false;
                Ok(())
            }
            answer => answer.map(|_| ()).map_err(Failure::from),
        }
    }

    async fn hear(&mut self, method: &str, params: &str) -> Result<Next, Failure> {
        match self.about(params) {
            About::This => {}
            About::Delegated(number) => return self.hear_delegated(number, method, params).await,
            About::Other => return Ok(Next::More),
        }
        // Only the end of this turn ends the command, not the end of a delegated one.
        if matches!(method, TurnCompleted::NAME | TurnFailed::NAME | TurnCancelled::NAME) {
            return self.end(method).await.map(Next::End);
        }
        if self.print_notification(method, params)? == Reader::Gone {
            self.tell_unread();
            return Ok(Next::End(Exit::Done));
        }
        // Nothing else may arrive until the activity ends, so the progress line names it.
        self.progress.say(describe_activity(method, params));
        self.tell(method, params).await?;
        Ok(Next::More)
    }

    /// Records the position in the log, whatever the notification is about.
    fn about(&mut self, params: &str) -> About {
        let Ok(subject) = serde_json::from_str::<NotificationSubject>(params) else { return About::Other };
        // Every change in the workspace moves the position, so that a reconnection does not replay the changes of
        // other turns.
        if let Some(seq) = subject.seq.filter(|_| subject.workspace_id.as_ref() == Some(&self.workspace_id)) {
            self.cursor = seq;
        }
        let Some(turn_id) = subject.turn_id else { return About::Other };
        if turn_id == self.turn_id {
            return About::This;
        }
        // Work may be delegated by this turn or by one of its delegated turns. The position in the list is the
        // number shown to the user, so it must not change.
        if let Some(parent) = subject.parent_turn_id
            && (parent == self.turn_id || self.delegated.contains(&parent))
            && !self.delegated.contains(&turn_id)
        {
            self.delegated.push(turn_id.clone());
        }
        let index = self.delegated.iter().position(|known| *known == turn_id);
        index.map_or(About::Other, |index| About::Delegated(index + 1))
    }

    fn print_notification(&mut self, method: &str, params: &str) -> Result<Reader, Failure> {
        match method {
            _ if self.output.is_json() => self.print_event(method, params),
            TurnDelta::NAME => self.print_delta(params),
            _ => Ok(Reader::Listening),
        }
    }

    /// Prints notes about a notification. One that cannot be parsed comes from a newer gateway and is ignored.
    async fn tell(&mut self, method: &str, params: &str) -> Result<(), Failure> {
        match method {
            TurnManifestKept::NAME => {
                self.tell_missing_tools().await?;
                self.tell_opening().await?;
            }
            TurnToolFinished::NAME => {
                if let Ok(finished) = serde_json::from_str(params) {
                    self.tell_tool(&finished).await?;
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

    fn print_delta(&mut self, params: &str) -> Result<Reader, Failure> {
        match serde_json::from_str::<TurnDelta>(params) {
            Ok(delta) => print(&shown(&self.answer.take(&delta))),
            Err(_) => Ok(Reader::Listening),
        }
    }

    /// Prints the rest of the answer, the usage and the outcome.
    async fn end(&mut self, method: &str) -> Result<Exit, Failure> {
        // The final record has the whole answer, even if deltas were lost on the way.
        let result = self.get().await?;
        let turn = &result.turn;
        if self.output.is_json() {
            self.output.json(&json!({ "event": method, "turn": turn }))?;
        } else {
            self.questions.break_line(self.output);
            self.tell_held_back();
            print(&shown(&self.answer.end(turn.answer.as_deref())))?;
            self.steps = result.steps.clone();
            self.tell_reminders(|_| true);
        }
        // The last message of the model decides, because an earlier one that was cut off has been continued.
        let is_cut =
            result.steps.iter().rfind(|step| step.role == MessageRole::Assistant).is_some_and(|it| it.cut);
        if is_cut && turn.status == TurnStatus::Completed {
            self.speak();
            self.output.warning("the answer was cut off at its maximum length", Some("ask to go on with it"));
        }
        let spent = describe_spent(turn).map(|spent| format!(", tokens: {spent}")).unwrap_or_default();
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
