//! A turn that somebody looks at while it runs: what was said and done so far, what is being said, and what waits for a
//! decision.
//!
//! Pure: it is fed with answers and notifications, and [`WatchedTurn::poll`] says what to ask for. Pieces of the answer are
//! counted, so that one that is missing is noticed and the text so far asked for again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::method::{TurnGetResult, TurnWatchResult};
use protocol::notification::{
    Notification, TurnApprovalDecided, TurnApprovalRequested, TurnCancelled, TurnCompleted, TurnDelta,
    TurnFailed, TurnManifestKept, TurnRetrying, TurnStarted, TurnToolFinished, TurnToolStarted,
};
use protocol::turn::{TurnReminder, TurnStep, TurnToolResult};
use protocol::{MessageRole, ToolCall, Turn, TurnApproval, TurnId, TurnStatus};
use serde::Deserialize;

use crate::{Failure, RequestNumber, backoff};

/// How often a turn is looked at that another gateway runs, which sends no pieces of its answer.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What to ask the gateway for, and how to report what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRequest {
    /// Its number, which the report names.
    pub number: RequestNumber,
    /// What to ask for.
    pub call: TurnCall,
}

/// What to ask the gateway for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnCall {
    /// `turn/watch`: the text so far, and what follows it.
    Watch,
    /// `turn/get`: the steps after so many.
    Steps {
        /// How many are known.
        after: u32,
    },
}

/// Something to draw, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnItem<'a> {
    /// What the user said.
    Asked(&'a str),
    /// What the model said.
    Said(&'a str),
    /// What the model is saying.
    Saying(&'a str),
    /// A tool was called.
    Call {
        /// The call.
        call: &'a ToolCall,
        /// How far it is.
        state: CallState,
        /// What the tool answered.
        result: Option<&'a TurnToolResult>,
    },
    /// What the model was told besides.
    Reminder(&'a TurnReminder),
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It waits for somebody to decide.
    Waiting,
    /// It runs, or will.
    Running,
    /// It was answered.
    Done,
    /// It failed or was denied.
    Failed,
    /// The turn ended without its answer.
    Abandoned,
}

/// A turn that somebody looks at.
#[derive(Debug, Clone)]
pub struct WatchedTurn {
    turn_id: TurnId,
    turn: Option<Turn>,
    /// The answer so far, as the pieces put it together.
    text: String,
    /// The piece that comes next; none: no pieces are expected.
    next_index: Option<u64>,
    /// Pieces that came before the text they follow.
    early: BTreeMap<u64, String>,
    steps: Vec<TurnStep>,
    approvals: Vec<TurnApproval>,
    decided: Vec<TurnApproval>,
    children: Vec<Turn>,
    retrying: Option<TurnRetrying>,
    wants_watch: bool,
    wants_steps: bool,
    /// The request whose answer is awaited. One that was given up may be answered all the same.
    under_way: Option<TurnRequest>,
    last_request: RequestNumber,
    is_offline: bool,
    looks_again_at: Option<Instant>,
    failures: u32,
    problem: Option<String>,
}

/// What a notification is about, as far as it says.
#[derive(Deserialize)]
struct Subject {
    turn_id: TurnId,
    /// Of a turn that begins, the one that delegated work to it.
    parent_turn_id: Option<TurnId>,
}

impl WatchedTurn {
    /// A turn of which nothing but its id is known.
    pub fn new(turn_id: TurnId) -> Self {
        Self {
            turn_id,
            turn: None,
            text: String::new(),
            next_index: None,
            early: BTreeMap::new(),
            steps: Vec::new(),
            approvals: Vec::new(),
            decided: Vec::new(),
            children: Vec::new(),
            retrying: None,
            wants_watch: true,
            wants_steps: true,
            under_way: None,
            last_request: RequestNumber::default(),
            is_offline: false,
            looks_again_at: None,
            failures: 0,
            problem: None,
        }
    }

    /// A turn as a list or `turn/start` has it. One that has ended is only read.
    pub fn of(turn: Turn) -> Self {
        let wants_watch = turn.status == TurnStatus::Running;
        Self { wants_watch, turn: Some(turn.clone()), ..Self::new(turn.id) }
    }

    /// The turn's id.
    pub fn id(&self) -> &TurnId {
        &self.turn_id
    }

    /// The turn as it was last heard of.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// Whether it runs, as far as is known.
    pub fn is_running(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| turn.status == TurnStatus::Running)
    }

    /// Calls that wait for a decision, those of delegated turns among them.
    pub fn approvals(&self) -> &[TurnApproval] {
        &self.approvals
    }

    /// Calls that were decided about.
    pub fn decided(&self) -> &[TurnApproval] {
        &self.decided
    }

    /// The turns that it delegated work to, and theirs.
    pub fn children(&self) -> &[Turn] {
        &self.children
    }

    /// That the provider is asked again, and when.
    pub fn retrying(&self) -> Option<&TurnRetrying> {
        self.retrying.as_ref()
    }

    /// Why the last request failed.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// What to ask the gateway for now.
    pub fn poll(&mut self, now: Instant) -> Option<TurnRequest> {
        if self.is_offline || self.under_way.is_some() {
            return None;
        }
        if let Some(at) = self.looks_again_at {
            if at > now {
                return None;
            }
            self.looks_again_at = None;
            self.wants_steps = true;
        }
        let call = if self.wants_watch {
            self.wants_watch = false;
            TurnCall::Watch
        } else if self.wants_steps {
            self.wants_steps = false;
            TurnCall::Steps { after: u32::try_from(self.steps.len()).unwrap_or(u32::MAX) }
        } else {
            return None;
        };
        self.under_way = Some(TurnRequest { number: self.last_request.next(), call });
        self.under_way
    }

    /// When to call [`poll`](Self::poll) although nothing happened.
    pub fn wake_at(&self) -> Option<Instant> {
        self.looks_again_at.filter(|_| !self.is_offline && self.under_way.is_none())
    }

    /// The answer of `turn/watch`.
    pub fn watched(&mut self, number: RequestNumber, answer: TurnWatchResult, now: Instant) {
        if self.awaited(number) != Some(TurnCall::Watch) {
            return;
        }
        self.answered();
        let TurnWatchResult { turn, text, next_index, approvals, delegated } = answer;
        let is_running = turn.status == TurnStatus::Running;
        (self.turn, self.approvals, self.children) = (Some(turn), approvals, delegated);
        if next_index.is_some() || text.len() >= self.text.len() {
            self.text = text;
        }
        self.next_index = next_index;
        self.take_early();
        // What was said and done before, or between the last look and now.
        self.wants_steps = true;
        if is_running && next_index.is_none() {
            self.looks_again_at = Some(now);
        }
    }

    /// The answer of `turn/get`.
    pub fn steps_loaded(&mut self, number: RequestNumber, answer: TurnGetResult, now: Instant) {
        let Some(TurnCall::Steps { after }) = self.awaited(number) else { return };
        self.answered();
        let TurnGetResult { turn, steps, next, approvals, decided, delegated } = answer;
        self.steps.truncate(after as usize);
        self.steps.extend(steps);
        for decision in decided {
            self.decided.retain(|known| known.request.call_id != decision.request.call_id);
            self.decided.push(decision);
        }
        let is_running = turn.status == TurnStatus::Running;
        if !is_running {
            self.retrying = None;
            self.next_index = None;
            self.early.clear();
        }
        (self.turn, self.approvals, self.children) = (Some(turn), approvals, delegated);
        self.wants_steps |= next.is_some();
        if is_running && self.next_index.is_none() && !self.wants_watch {
            self.looks_again_at = Some(now + LOOK_EVERY);
        }
    }

    /// A request failed.
    pub fn request_failed(&mut self, number: RequestNumber, failure: Failure, now: Instant) {
        match self.awaited(number) {
            Some(TurnCall::Watch) => self.wants_watch = true,
            Some(TurnCall::Steps { .. }) => self.wants_steps = true,
            None => return,
        }
        self.under_way = None;
        self.failures += 1;
        self.problem = Some(failure.message);
        if failure.is_transient {
            self.looks_again_at = Some(now + backoff::pause(self.failures));
        } else {
            (self.wants_watch, self.wants_steps) = (false, false);
        }
    }

    /// What the request with this number asked for; none when it was given up.
    fn awaited(&self, number: RequestNumber) -> Option<TurnCall> {
        self.under_way.filter(|request| request.number == number).map(|request| request.call)
    }

    fn answered(&mut self) {
        self.under_way = None;
        self.failures = 0;
        self.problem = None;
    }

    /// The connection is gone: pieces of the answer are missed from here on.
    pub fn disconnected(&mut self) {
        self.is_offline = true;
        self.under_way = None;
        self.next_index = None;
        self.early.clear();
    }

    /// The connection is back.
    pub fn reconnected(&mut self) {
        self.is_offline = false;
        self.looks_again_at = None;
        self.wants_watch = self.is_running();
        self.wants_steps = true;
    }

    /// A notification of the gateway; false when it is not about this turn or one that it delegated work to.
    pub fn notification(&mut self, method: &str, params: &str) -> bool {
        let Ok(subject) = serde_json::from_str::<Subject>(params) else { return false };
        let is_family =
            |id: &TurnId| *id == self.turn_id || self.children.iter().any(|child| child.id == *id);
        if subject.turn_id != self.turn_id {
            // Of a child only what is waiting and how far it is are shown: the next look at this turn says both.
            let is_child =
                is_family(&subject.turn_id) || subject.parent_turn_id.as_ref().is_some_and(is_family);
            let is_news = [
                TurnStarted::NAME,
                TurnApprovalRequested::NAME,
                TurnApprovalDecided::NAME,
                TurnCompleted::NAME,
                TurnFailed::NAME,
                TurnCancelled::NAME,
            ];
            self.wants_steps |= is_child && is_news.contains(&method);
            return is_child;
        }
        match method {
            TurnDelta::NAME => {
                if let Ok(delta) = serde_json::from_str(params) {
                    self.delta(delta);
                }
            }
            TurnRetrying::NAME => self.retrying = serde_json::from_str(params).ok(),
            TurnToolStarted::NAME
            | TurnToolFinished::NAME
            | TurnApprovalRequested::NAME
            | TurnApprovalDecided::NAME
            | TurnManifestKept::NAME
            | TurnCompleted::NAME
            | TurnFailed::NAME
            | TurnCancelled::NAME => self.wants_steps = true,
            _ => {}
        }
        true
    }

    /// A piece of the answer.
    pub fn delta(&mut self, delta: TurnDelta) {
        if delta.turn_id != self.turn_id {
            return;
        }
        self.retrying = None;
        self.early.insert(delta.index, delta.text);
        self.take_early();
        // A piece is missing: only the text so far has it. Before the first answer there is nothing to compare with.
        if self.next_index.is_some() && !self.early.is_empty() {
            self.wants_watch = true;
        }
    }

    /// Appends the pieces that follow the text.
    fn take_early(&mut self) {
        let Some(next) = &mut self.next_index else { return };
        while let Some(piece) = self.early.first_entry() {
            if *piece.key() > *next {
                break;
            }
            let is_next = *piece.key() == *next;
            let text = piece.remove();
            if is_next {
                self.text.push_str(&text);
                *next += 1;
            }
        }
    }

    /// What is being said and is in no step yet.
    pub fn live_text(&self) -> &str {
        if !self.is_running() && !self.steps.is_empty() {
            return "";
        }
        let mut rest = self.text.as_str();
        for step in self.steps.iter().filter(|step| step.role == MessageRole::Assistant) {
            if step.text.trim().is_empty() {
                continue;
            }
            let said = rest.trim_start_matches('\n');
            match said.strip_prefix(step.text.trim_start_matches('\n')) {
                Some(after) => rest = after,
                // The step is newer than the pieces that have come.
                None if step.text.starts_with(said) => return "",
                None => return rest,
            }
        }
        rest.trim_start_matches('\n')
    }

    /// All that there is to draw, in its order.
    pub fn items(&self) -> Vec<TurnItem<'_>> {
        let mut items = Vec::new();
        if self.steps.is_empty()
            && let Some(turn) = &self.turn
        {
            items.push(TurnItem::Asked(&turn.input));
        }
        let results: BTreeMap<&str, &TurnToolResult> =
            self.steps.iter().flat_map(|step| &step.results).map(|it| (it.call_id.as_str(), it)).collect();
        for step in &self.steps {
            match step.role {
                MessageRole::User if !step.text.is_empty() => items.push(TurnItem::Asked(&step.text)),
                MessageRole::Assistant if !step.text.trim().is_empty() => {
                    items.push(TurnItem::Said(&step.text))
                }
                _ => {}
            }
            items.extend(step.reminders.iter().map(TurnItem::Reminder));
            for call in &step.calls {
                let result = results.get(call.id.as_str()).copied();
                items.push(TurnItem::Call { call, state: self.call_state(call, result), result });
                items.extend(result.into_iter().flat_map(|result| &result.reminders).map(TurnItem::Reminder));
            }
        }
        let live = self.live_text();
        if !live.is_empty() {
            items.push(TurnItem::Saying(live));
        }
        items
    }

    fn call_state(&self, call: &ToolCall, result: Option<&TurnToolResult>) -> CallState {
        match result {
            Some(result) if result.is_error => CallState::Failed,
            Some(_) => CallState::Done,
            None if !self.is_running() => CallState::Abandoned,
            None if self.waits(&call.id) => CallState::Waiting,
            None => CallState::Running,
        }
    }

    fn waits(&self, call_id: &str) -> bool {
        let mut own = self.approvals.iter().filter(|approval| approval.turn_id.is_none());
        own.any(|approval| approval.request.call_id == call_id)
    }
}
