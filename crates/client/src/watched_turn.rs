//! State machine of a watched turn: completed steps, streamed text and pending approvals.
//!
//! The machine is pure: its owner feeds it answers and notifications, and [`WatchedTurn::poll`] returns the next request.
//! Deltas are numbered, so a gap is noticed and the text is requested again.

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

/// Polling interval for a turn of another gateway, which sends no deltas.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A request to the gateway and the number to report its result with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRequest {
    /// Number of the request.
    pub number: RequestNumber,
    /// Method to call.
    pub call: TurnCall,
}

/// A call to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnCall {
    /// `turn/watch`: the text so far, and deltas after it.
    Watch,
    /// `turn/get`: the steps after the known ones.
    Steps {
        /// Number of known steps.
        after: u32,
    },
}

/// An item of a turn, in display order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnItem<'a> {
    /// The user's input.
    Asked(&'a str),
    /// Text of the model.
    Said(&'a str),
    /// Text that the model is still writing.
    Saying(&'a str),
    /// A tool call.
    Call {
        /// The call.
        call: &'a ToolCall,
        /// State of the call.
        state: CallState,
        /// Result of the call.
        result: Option<&'a TurnToolResult>,
    },
    /// A reminder given to the model.
    Reminder(&'a TurnReminder),
}

/// State of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// Waiting for approval.
    Waiting,
    /// Running, or about to.
    Running,
    /// Completed.
    Done,
    /// Failed or denied.
    Failed,
    /// The turn ended without a result.
    Abandoned,
}

/// A turn that is being watched.
#[derive(Debug, Clone)]
pub struct WatchedTurn {
    turn_id: TurnId,
    turn: Option<Turn>,
    /// Text assembled from deltas.
    text: String,
    /// Index of the next delta. `None` if no deltas are expected.
    next_index: Option<u64>,
    /// Deltas that arrived before the text they continue.
    early: BTreeMap<u64, String>,
    steps: Vec<TurnStep>,
    approvals: Vec<TurnApproval>,
    decided: Vec<TurnApproval>,
    children: Vec<Turn>,
    retrying: Option<TurnRetrying>,
    wants_watch: bool,
    wants_steps: bool,
    /// The request in flight. An abandoned request may still be answered.
    in_flight: Option<TurnRequest>,
    last_request: RequestNumber,
    is_offline: bool,
    polls_at: Option<Instant>,
    failures: u32,
    problem: Option<String>,
}

/// Turn that a notification belongs to.
#[derive(Deserialize)]
struct Subject {
    turn_id: TurnId,
    /// For a starting turn, the turn that delegated work to it.
    parent_turn_id: Option<TurnId>,
}

impl WatchedTurn {
    /// Watches a turn of which only the id is known.
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
            in_flight: None,
            last_request: RequestNumber::default(),
            is_offline: false,
            polls_at: None,
            failures: 0,
            problem: None,
        }
    }

    /// Watches a turn from a list or from `turn/start`. A completed turn is only read.
    pub fn of(turn: Turn) -> Self {
        let wants_watch = turn.status == TurnStatus::Running;
        Self { wants_watch, turn: Some(turn.clone()), ..Self::new(turn.id) }
    }

    /// Returns the turn's id.
    pub fn id(&self) -> &TurnId {
        &self.turn_id
    }

    /// Returns the last known record of the turn.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// Returns true unless the turn is known to have ended.
    pub fn is_running(&self) -> bool {
        self.turn.as_ref().is_none_or(|turn| turn.status == TurnStatus::Running)
    }

    /// Returns the pending approvals, including those of delegated turns.
    pub fn approvals(&self) -> &[TurnApproval] {
        &self.approvals
    }

    /// Returns the decided approvals.
    pub fn decided(&self) -> &[TurnApproval] {
        &self.decided
    }

    /// Returns the delegated turns, recursively.
    pub fn children(&self) -> &[Turn] {
        &self.children
    }

    /// Returns the streamed text of all rounds.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the loaded steps.
    pub fn steps(&self) -> &[TurnStep] {
        &self.steps
    }

    /// Returns the pending retry of the provider request.
    pub fn retrying(&self) -> Option<&TurnRetrying> {
        self.retrying.as_ref()
    }

    /// Returns the error of the last request.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the next request.
    pub fn poll(&mut self, now: Instant) -> Option<TurnRequest> {
        if self.is_offline || self.in_flight.is_some() {
            return None;
        }
        // The timer is both the backoff after a failure and the polling interval. Only the backoff holds back requests:
        // the end of the turn may be announced between two polls and must be read before it is shown.
        match self.polls_at {
            Some(at) if at > now && self.failures > 0 => return None,
            Some(at) if at <= now => {
                self.polls_at = None;
                self.wants_steps = true;
            }
            _ => {}
        }
        // Watching goes first: deltas only arrive after it, and steps that are read later leave no gap before
        // them.
        let call = if self.wants_watch {
            self.wants_watch = false;
            TurnCall::Watch
        } else if self.wants_steps {
            self.wants_steps = false;
            TurnCall::Steps { after: u32::try_from(self.steps.len()).unwrap_or(u32::MAX) }
        } else {
            return None;
        };
        self.in_flight = Some(TurnRequest { number: self.last_request.next(), call });
        self.in_flight
    }

    /// Returns the time of the next [`poll`](Self::poll) if nothing happens before.
    pub fn wake_at(&self) -> Option<Instant> {
        self.polls_at.filter(|_| !self.is_offline && self.in_flight.is_none())
    }

    /// Reports the result of `turn/watch`.
    pub fn watched(&mut self, number: RequestNumber, answer: TurnWatchResult, now: Instant) {
        if self.awaited(number) != Some(TurnCall::Watch) {
            return;
        }
        self.answered();
        let TurnWatchResult { turn, text, next_index, approvals, delegated } = answer;
        let is_running = turn.status == TurnStatus::Running;
        self.turn = Some(turn);
        self.approvals = approvals;
        self.children = delegated;
        // Without deltas, the answer may be behind the text that was already streamed. Text on the screen must not
        // disappear again.
        if next_index.is_some() || text.len() >= self.text.len() {
            self.text = text;
        }
        self.next_index = next_index;
        self.append_early();
        // Steps may have been added before the turn was watched, or since the last look at it.
        self.wants_steps = true;
        // No index means that another gateway runs the turn. It sends no deltas here, so its steps are polled.
        if is_running && next_index.is_none() {
            self.polls_at = Some(now);
        }
    }

    /// Reports the result of `turn/get`.
    pub fn steps_loaded(&mut self, number: RequestNumber, answer: TurnGetResult, now: Instant) {
        let Some(TurnCall::Steps { after }) = self.awaited(number) else { return };
        self.answered();
        let TurnGetResult { turn, steps, next, approvals, decided, delegated } = answer;
        // The answer continues the steps known when the request was sent. Anything after them is replaced, not
        // repeated.
        self.steps.truncate(after as usize);
        self.steps.extend(steps);
        for decision in decided {
            self.decided.retain(|known| known.request.call_id != decision.request.call_id);
            self.decided.push(decision);
        }
        let is_running = turn.status == TurnStatus::Running;
        // No deltas follow the end of a turn. Without an index, a late one cannot request the text again.
        if !is_running {
            self.retrying = None;
            self.next_index = None;
            self.early.clear();
        }
        self.turn = Some(turn);
        self.approvals = approvals;
        self.children = delegated;
        self.wants_steps |= next.is_some();
        if is_running && self.next_index.is_none() && !self.wants_watch {
            self.polls_at = Some(now + POLL_INTERVAL);
        }
    }

    /// Reports a failed request.
    pub fn request_failed(&mut self, number: RequestNumber, failure: Failure, now: Instant) {
        match self.awaited(number) {
            Some(TurnCall::Watch) => self.wants_watch = true,
            Some(TurnCall::Steps { .. }) => self.wants_steps = true,
            None => return,
        }
        self.in_flight = None;
        self.failures += 1;
        self.problem = Some(failure.message);
        if failure.is_transient {
            self.polls_at = Some(now + backoff::pause(self.failures));
        } else {
            // The same request would fail again. A new connection requests everything anew.
            self.wants_watch = false;
            self.wants_steps = false;
        }
    }

    /// Returns the call of the request in flight. `None` if `number` belongs to an abandoned request.
    fn awaited(&self, number: RequestNumber) -> Option<TurnCall> {
        self.in_flight.filter(|request| request.number == number).map(|request| request.call)
    }

    fn answered(&mut self) {
        self.in_flight = None;
        // The answer is at least as new as the one that the next poll would have brought.
        self.polls_at = None;
        self.failures = 0;
        self.problem = None;
    }

    /// Reports the loss of the connection. Deltas are missed from now on.
    pub fn disconnected(&mut self) {
        self.is_offline = true;
        self.in_flight = None;
        // Deltas sent in the meantime are lost, so the text can only continue after a new `turn/watch`.
        self.next_index = None;
        self.early.clear();
    }

    /// Reports a new connection.
    pub fn reconnected(&mut self) {
        self.is_offline = false;
        self.polls_at = None;
        // A completed turn sends no deltas, but its steps may not have been loaded completely.
        self.wants_watch = self.is_running();
        self.wants_steps = true;
    }

    /// Applies a notification. Returns false if it is not about this turn or a delegated one.
    pub fn notification(&mut self, method: &str, params: &str) -> bool {
        let Ok(subject) = serde_json::from_str::<Subject>(params) else { return false };
        let is_in_family =
            |id: &TurnId| *id == self.turn_id || self.children.iter().any(|child| child.id == *id);
        if subject.turn_id != self.turn_id {
            // Only the state and approvals of a delegated turn are shown, and the next `turn/get` of this turn has both.
            let is_child =
                is_in_family(&subject.turn_id) || subject.parent_turn_id.as_ref().is_some_and(is_in_family);
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

    /// Applies a delta.
    pub fn delta(&mut self, delta: TurnDelta) {
        if delta.turn_id != self.turn_id {
            return;
        }
        self.retrying = None;
        self.early.insert(delta.index, delta.text);
        self.append_early();
        // A delta is missing, so only `turn/watch` has the full text. Before the first answer there is nothing to compare
        // with, because deltas may arrive before the text they continue.
        if self.next_index.is_some() && !self.early.is_empty() {
            self.wants_watch = true;
        }
    }

    /// Appends buffered deltas that continue the text.
    fn append_early(&mut self) {
        let Some(next) = &mut self.next_index else { return };
        while let Some(piece) = self.early.first_entry() {
            if *piece.key() > *next {
                break;
            }
            // A delta below the index is already part of the text and is dropped.
            let is_next = *piece.key() == *next;
            let text = piece.remove();
            if is_next {
                self.text.push_str(&text);
                *next += 1;
            }
        }
    }

    /// Returns the streamed text that no step contains yet.
    pub fn live_text(&self) -> &str {
        // The steps of a completed turn contain its whole answer. The streamed text is only needed while there are
        // none.
        if !self.is_running() && !self.steps.is_empty() {
            return "";
        }
        // The stream and the steps overlap, so text that is already shown as a step is removed from the front.
        let mut rest = self.text.as_str();
        for step in self.steps.iter().filter(|step| step.role == MessageRole::Assistant) {
            if step.text.trim().is_empty() {
                continue;
            }
            // Line breaks between steps differ between the stream and the record, so they are not compared.
            let said = rest.trim_start_matches('\n');
            match said.strip_prefix(step.text.trim_start_matches('\n')) {
                Some(after) => rest = after,
                // The step is newer than the deltas received so far.
                None if step.text.starts_with(said) => return "",
                None => return rest,
            }
        }
        rest.trim_start_matches('\n')
    }

    /// Returns all items in display order.
    pub fn items(&self) -> Vec<TurnItem<'_>> {
        let mut items = Vec::new();
        // The first step repeats the input, so it is shown separately only until the steps have been loaded.
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
        // Approvals of delegated turns are listed too, and their call ids may coincide with those of this turn.
        let mut own = self.approvals.iter().filter(|approval| approval.turn_id.is_none());
        own.any(|approval| approval.request.call_id == call_id)
    }
}
