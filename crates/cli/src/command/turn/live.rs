//! A turn that runs, followed to its end.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::time::Duration;

use client::{Client, ClientError};
use protocol::method::{
    EventsSubscribe, EventsSubscribeParams, TurnApprove, TurnApproveParams, TurnCancel, TurnGet,
    TurnGetParams, TurnGetResult, TurnStart, TurnStartParams,
};
use protocol::notification::{
    ContextCompressed, ContextCompressing, Notification as _, TurnApprovalRequested, TurnCancelled,
    TurnCompleted, TurnDelta, TurnFailed, TurnManifestKept, TurnToolFinished,
};
use protocol::turn::TurnApproval;
use protocol::{Method, Sequence, TurnId, TurnStatus, WorkspaceId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::approval::{Policy, Questions, Reply, view};
use super::{describe_usage, steps};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{Output, Reader, one_line, print, shown};
use crate::signals::StopSignals;

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Characters of a tool's name.
const TOOL_WIDTH: usize = 100;

/// A turn that runs.
pub(super) struct Live<'a> {
    context: &'a Context,
    output: Output,
    client: Client,
    workspace_id: WorkspaceId,
    turn_id: TurnId,
    /// The last change that was heard of, to go on from after a lost connection.
    cursor: Sequence,
    stop: StopSignals,
    /// How often somebody asked to end.
    interrupts: u32,
    is_cancelling: bool,
    answer: Answer,
    /// Whether something was said after the last piece of the answer, so that its line has ended on the screen.
    has_spoken: bool,
    policy: Policy,
    questions: Questions,
    /// Whose reminders were told already: calls, and steps by their number.
    told_reminders: HashSet<String>,
}

/// What a notification is about, as far as it says.
#[derive(Deserialize)]
struct Subject {
    seq: Option<Sequence>,
    workspace_id: Option<WorkspaceId>,
    turn_id: Option<TurnId>,
}

/// Whether there is more to come.
enum Next {
    More,
    End(Exit),
}

impl<'a> Live<'a> {
    /// Subscribes, then begins the turn, so that nothing of it is missed.
    pub(super) async fn start(
        context: &'a Context,
        client: Client,
        stop: StopSignals,
        policy: Policy,
        params: TurnStartParams,
    ) -> Result<Self, Failure> {
        let workspace_id = params.workspace_id.clone();
        let mut live = Live {
            context,
            output: context.output,
            client,
            workspace_id: workspace_id.clone(),
            turn_id: TurnId::new(),
            cursor: Sequence(0),
            stop,
            interrupts: 0,
            is_cancelling: false,
            answer: Answer::default(),
            has_spoken: false,
            policy,
            questions: Questions::default(),
            told_reminders: HashSet::new(),
        };
        let subscription = EventsSubscribeParams { workspace_id, since: None };
        live.cursor = live.call::<EventsSubscribe>(&subscription).await?.seq;
        match live.call::<TurnStart>(&params).await {
            Err(_) if live.interrupts > 1 => {
                Err(Failure::new(Exit::Failed, "left before the turn had begun; it may begin all the same"))
            }
            answer => {
                live.turn_id = answer?.turn.id;
                Ok(live)
            }
        }
    }

    /// Tells what happens until the turn has ended.
    pub(super) async fn follow(mut self) -> Result<Exit, Failure> {
        let exit = self.hear_all().await;
        if exit.is_err() {
            // Why is said on a line of its own, and what was printed ends like every answer.
            print(&self.answer.end(None))?;
        }
        exit
    }

    async fn hear_all(&mut self) -> Result<Exit, Failure> {
        loop {
            if self.interrupts > 1 {
                return Err(self.left());
            }
            if self.interrupts > 0 && !self.is_cancelling {
                self.cancel().await?;
                continue;
            }
            let next = tokio::select! {
                notification = self.client.notification() => match notification {
                    Some(notification) => self.hear(&notification.method, notification.params.get()).await?,
                    None => {
                        self.reconnect().await?;
                        Next::More
                    }
                },
                reply = self.questions.next() => {
                    self.reply(reply).await?;
                    Next::More
                }
                () = self.stop.next() => {
                    self.interrupts += 1;
                    Next::More
                }
            };
            if let Next::End(exit) = next {
                return Ok(exit);
            }
        }
    }

    /// Calls a method, and counts who asks to end meanwhile; whoever insists does not wait for the answer.
    async fn call<M: Method>(&mut self, params: &M::Params) -> Result<M::Result, ClientError> {
        let mut answer = std::pin::pin!(self.client.call::<M>(params));
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                () = self.stop.next() => self.interrupts += 1,
            }
            if self.interrupts > 1 {
                return Err(ClientError::Lost);
            }
        }
    }

    /// The turn as it is now, however often the connection is lost.
    async fn get(&mut self) -> Result<TurnGetResult, Failure> {
        loop {
            let params =
                TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id: self.turn_id.clone() };
            match self.call::<TurnGet>(&params).await {
                Err(_) if self.interrupts > 1 => return Err(self.left()),
                Err(error) if error.is_passing() => self.reconnect().await?,
                answer => return Ok(answer?),
            }
        }
    }

    async fn cancel(&mut self) -> Result<(), Failure> {
        self.is_cancelling = true;
        self.note("stopping the turn (once more to leave at once)");
        let params = TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id: self.turn_id.clone() };
        match self.call::<TurnCancel>(&params).await {
            Err(_) if self.interrupts > 1 => Err(self.left()),
            Err(error) if error.is_passing() => {
                self.reconnect().await?;
                // Asked again: whether the first request arrived is not known.
                self.is_cancelling = false;
                Ok(())
            }
            answer => answer.map(|_| ()).map_err(Failure::from),
        }
    }

    /// Connects again and goes on after the last change. Pieces of the answer only came over the old connection.
    async fn reconnect(&mut self) -> Result<(), Failure> {
        self.answer.lose();
        self.note("the connection to the gateway was lost; connecting again");
        let mut pause = FIRST_PAUSE;
        loop {
            let connect = async {
                let client = Client::connect(&self.context.target()?).await?;
                let params = EventsSubscribeParams {
                    workspace_id: self.workspace_id.clone(),
                    since: Some(self.cursor),
                };
                client.call::<EventsSubscribe>(&params).await?;
                Ok::<_, Lost>(client)
            };
            tokio::select! {
                connected = connect => match connected {
                    Ok(client) => {
                        self.client = client;
                        return Ok(());
                    }
                    Err(Lost::Passing) => {}
                    Err(Lost::For(failure)) => return Err(failure),
                },
                () = self.stop.next() => return Err(self.left()),
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                () = self.stop.next() => return Err(self.left()),
            }
        }
    }

    fn left(&self) -> Failure {
        Failure::new(Exit::Failed, "left before the turn had ended").hint(format!(
            "`foreword{} turn show {}` says what became of it",
            self.context.repeated_flags, self.turn_id
        ))
    }

    /// Says something on a line of its own.
    fn note(&mut self, message: impl AsRef<str>) {
        self.speak();
        self.output.note(message);
    }

    /// Ends the line of the answer where it shares the screen; what is printed of the answer stays as it is.
    fn speak(&mut self) {
        let is_first = !std::mem::replace(&mut self.has_spoken, true);
        if is_first && self.answer.is_line_open() && std::io::stdout().is_terminal() {
            self.output.note("");
        }
    }

    async fn hear(&mut self, method: &str, params: &str) -> Result<Next, Failure> {
        let Ok(subject) = serde_json::from_str::<Subject>(params) else { return Ok(Next::More) };
        if let (Some(seq), true) = (subject.seq, subject.workspace_id.as_ref() == Some(&self.workspace_id)) {
            self.cursor = seq;
        }
        if subject.turn_id.as_ref() != Some(&self.turn_id) {
            return Ok(Next::More);
        }
        if matches!(method, TurnCompleted::NAME | TurnFailed::NAME | TurnCancelled::NAME) {
            return self.end(method).await.map(Next::End);
        }
        let reader = match self.output.is_json() {
            true => self.print_event(method, params)?,
            false if method == TurnDelta::NAME => self.print_delta(params)?,
            false => Reader::Listening,
        };
        if reader == Reader::Gone {
            // Nobody reads the answer here; it is kept all the same.
            return Ok(Next::End(Exit::Done));
        }
        match method {
            TurnManifestKept::NAME => self.tell_reminders().await?,
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
                if let Ok(compressed) = serde_json::from_str::<ContextCompressed>(params) {
                    let what = if compressed.summarised {
                        "a summary stands for"
                    } else {
                        "the model no longer reads"
                    };
                    self.note(format!("{what} turns 1 to {}", compressed.through));
                }
            }
            _ => {}
        }
        Ok(Next::More)
    }

    fn print_event(&self, method: &str, params: &str) -> Result<Reader, Failure> {
        let params: Map<String, Value> = serde_json::from_str(params).unwrap_or_default();
        let named = [("event".to_owned(), method.into())];
        self.output.json(&Map::from_iter(named.into_iter().chain(params)))
    }

    fn print_delta(&mut self, params: &str) -> Result<Reader, Failure> {
        match serde_json::from_str::<TurnDelta>(params) {
            Ok(delta) => {
                let text = self.answer.take(&delta);
                self.has_spoken &= text.is_empty();
                print(&shown(&text))
            }
            Err(_) => Ok(Reader::Listening),
        }
    }

    async fn tell_tool(&mut self, finished: &TurnToolFinished) -> Result<(), Failure> {
        self.questions.forget(self.output, &finished.call_id);
        if self.output.is_json() {
            return Ok(());
        }
        let turn = self.get().await?;
        let call = steps::calls(&turn.steps).find(|call| call.call_id == finished.call_id);
        let call = call.map_or_else(|| one_line(&finished.tool, TOOL_WIDTH), steps::describe_call);
        self.note(format!("tool {call} {}", if finished.is_error { "failed" } else { "ok" }));
        self.tell_new_reminders(&turn);
        Ok(())
    }

    async fn tell_reminders(&mut self) -> Result<(), Failure> {
        if !self.output.is_json() {
            let turn = self.get().await?;
            self.tell_new_reminders(&turn);
        }
        Ok(())
    }

    /// Notifications only say that there are some; what they are about is in the turn's steps.
    fn tell_new_reminders(&mut self, turn: &TurnGetResult) {
        for (number, step) in turn.steps.iter().enumerate() {
            let own = (!step.reminders.is_empty()).then(|| (format!("step {number}"), &step.reminders));
            let results =
                step.results.iter().map(|result| (format!("call {}", result.call_id), &result.reminders));
            for (whose, reminders) in own.into_iter().chain(results) {
                if self.told_reminders.insert(whose) {
                    for reminder in reminders {
                        self.note(format!("reminder {}", steps::describe_reminder(reminder)));
                    }
                }
            }
        }
    }

    async fn decide(&mut self, requested: &TurnApprovalRequested) -> Result<(), Failure> {
        let waiting = self.get().await?.approvals;
        // One that is not there any more was decided by somebody else.
        let Some(approval) = waiting.into_iter().find(|it| it.call_id == requested.call_id) else {
            return Ok(());
        };
        match self.policy {
            Policy::Allow | Policy::Deny => {
                let allow = self.policy == Policy::Allow;
                let (word, flag) = if allow { ("allowed", "allow") } else { ("refused", "deny") };
                self.note(format!("{word} {} (--{flag}-writes)", steps::describe_approval(&approval)));
                self.approve(approval.call_id, allow).await
            }
            Policy::Terminal => {
                self.speak();
                self.questions.ask(self.output, approval);
                Ok(())
            }
            Policy::Elsewhere => {
                self.tell_how_to_approve(&approval);
                Ok(())
            }
        }
    }

    fn tell_how_to_approve(&mut self, approval: &TurnApproval) {
        let message = format!(
            "{}\nwaiting until {}: `foreword{} turn approve {} {}` allows it, with --deny refuses it",
            view(approval).trim_start(),
            approval.expires_at,
            self.context.repeated_flags,
            self.turn_id,
            crate::shell::word(&approval.call_id)
        );
        self.note(message);
    }

    async fn reply(&mut self, reply: Reply) -> Result<(), Failure> {
        match reply {
            Reply::Decided { call_id, allow } => {
                self.approve(call_id, allow).await?;
                self.questions.answered(self.output);
            }
            Reply::NobodyThere(waiting) => {
                self.policy = Policy::Elsewhere;
                waiting.iter().for_each(|approval| self.tell_how_to_approve(approval));
            }
        }
        Ok(())
    }

    async fn approve(&mut self, call_id: String, allow: bool) -> Result<(), Failure> {
        let (workspace_id, turn_id) = (self.workspace_id.clone(), self.turn_id.clone());
        let params = TurnApproveParams { workspace_id, turn_id, call_id, allow };
        loop {
            return match self.call::<TurnApprove>(&params).await {
                Err(_) if self.interrupts > 1 => Err(self.left()),
                // Whether the decision arrived is not known, and saying it twice does no harm.
                Err(error) if error.is_passing() => {
                    self.reconnect().await?;
                    continue;
                }
                // It may have been decided elsewhere, or too late; the turn goes on either way.
                Err(ClientError::Refused(refused)) => {
                    self.output.warning(&refused.message, None);
                    Ok(())
                }
                answer => answer.map(|_| ()).map_err(Failure::from),
            };
        }
    }

    /// The rest of the answer, what it cost, and how it ended.
    async fn end(&mut self, method: &str) -> Result<Exit, Failure> {
        let result = self.get().await?;
        let turn = &result.turn;
        if self.output.is_json() {
            self.output.json(&json!({ "event": method, "turn": turn }))?;
        } else {
            print(&shown(&self.answer.end(turn.answer.as_deref())))?;
            self.has_spoken = true;
            self.tell_new_reminders(&result);
        }
        if let Some(usage) = &turn.usage {
            self.note(format!("tokens: {}", describe_usage(usage)));
        }
        match (turn.status, &turn.error) {
            (TurnStatus::Failed, Some(error)) => Err(Failure::told(Exit::Failed, &error.message)),
            (TurnStatus::Failed, None) => Err(Failure::new(Exit::Failed, "the turn failed")),
            (TurnStatus::Cancelled, _) => {
                self.note("the turn was cancelled");
                Ok(Exit::Failed)
            }
            _ => Ok(Exit::Done),
        }
    }
}

/// Why there is no connection.
enum Lost {
    /// Another try may succeed.
    Passing,
    /// Only somebody's doing something helps.
    For(Failure),
}

impl From<ClientError> for Lost {
    fn from(error: ClientError) -> Self {
        if error.is_passing() { Lost::Passing } else { Lost::For(error.into()) }
    }
}

impl From<Failure> for Lost {
    fn from(failure: Failure) -> Self {
        Lost::For(failure)
    }
}
