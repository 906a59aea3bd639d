//! Tests of a watched turn.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

use std::time::{Duration, Instant};

use client::{CallState, Failure, RequestNumber, TurnCall, TurnItem, TurnRequest, WatchedTurn};
use proptest::prelude::*;
use protocol::method::{TurnGetResult, TurnWatchResult};
use protocol::notification::TurnDelta;
use protocol::turn::{TurnStep, TurnToolResult};
use protocol::{MessageRole, Timestamp, ToolCall, Turn, TurnApproval, TurnId, TurnStatus};
use serde_json::json;

fn turn(status: TurnStatus) -> Turn {
    Turn {
        id: "t".parse().unwrap(),
        workspace_id: "w".parse().unwrap(),
        thread_id: "h".parse().unwrap(),
        ordinal: 1,
        status,
        input: "Fix it.".to_owned(),
        answer: None,
        model: None,
        cwd: None,
        error: None,
        usage: None,
        created_at: Timestamp::from_milliseconds(0),
        finished_at: None,
        created_by: None,
        parent_turn_id: None,
    }
}

fn delta(index: u64, text: &str) -> TurnDelta {
    TurnDelta { turn_id: "t".parse().unwrap(), index, text: text.to_owned() }
}

fn watch_answer(text: &str, next_index: Option<u64>) -> TurnWatchResult {
    let turn = turn(TurnStatus::Running);
    TurnWatchResult { turn, text: text.to_owned(), next_index, approvals: vec![], delegated: vec![] }
}

fn step(role: MessageRole, text: &str) -> TurnStep {
    TurnStep {
        role,
        text: text.to_owned(),
        calls: vec![],
        results: vec![],
        reminders: vec![],
        cut: false,
        created_at: Timestamp::from_milliseconds(0),
    }
}

fn get_answer(status: TurnStatus, steps: Vec<TurnStep>) -> TurnGetResult {
    TurnGetResult {
        turn: turn(status),
        steps,
        next: None,
        approvals: vec![],
        decided: vec![],
        delegated: vec![],
    }
}

fn approval(call_id: &str, turn_id: Option<&str>) -> TurnApproval {
    let mut value = json!({
        "call_id": call_id, "tool": "write_file", "arguments": {}, "paths": [], "rule": "permissions.write = ask",
        "requested_at": "2026-01-01T00:00:00.000Z", "expires_at": "2026-01-01T00:10:00.000Z",
    });
    if let Some(turn_id) = turn_id {
        value["turn_id"] = json!(turn_id);
    }
    serde_json::from_value(value).unwrap()
}

/// A watcher that reports results for its last request, which is right as long as none is abandoned.
#[derive(Clone)]
struct Watcher {
    turn: WatchedTurn,
    last: RequestNumber,
}

impl Watcher {
    fn new() -> Self {
        Self { turn: WatchedTurn::new("t".parse().unwrap()), last: RequestNumber::default() }
    }

    fn poll(&mut self, now: Instant) -> Option<TurnCall> {
        let request = self.turn.poll(now)?;
        self.last = request.number;
        Some(request.call)
    }

    fn watched(&mut self, answer: TurnWatchResult, now: Instant) {
        self.turn.watched(self.last, answer, now);
    }

    fn steps_loaded(&mut self, answer: TurnGetResult, now: Instant) {
        self.turn.steps_loaded(self.last, answer, now);
    }

    fn request_failed(&mut self, message: &str, is_transient: bool, now: Instant) {
        let failure = Failure { message: message.to_owned(), is_transient, is_outcome_unknown: false };
        self.turn.request_failed(self.last, failure, now);
    }
}

impl std::ops::Deref for Watcher {
    type Target = WatchedTurn;

    fn deref(&self) -> &WatchedTurn {
        &self.turn
    }
}

impl std::ops::DerefMut for Watcher {
    fn deref_mut(&mut self) -> &mut WatchedTurn {
        &mut self.turn
    }
}

/// Returns a watched turn with its text and steps loaded.
fn watched(text: &str, next_index: u64, now: Instant) -> Watcher {
    let mut turn = Watcher::new();
    assert_eq!(turn.poll(now), Some(TurnCall::Watch));
    turn.watched(watch_answer(text, Some(next_index)), now);
    assert_eq!(turn.poll(now), Some(TurnCall::Steps { after: 0 }));
    let steps = vec![step(MessageRole::User, "Fix it.")];
    turn.steps_loaded(get_answer(TurnStatus::Running, steps), now);
    assert_eq!(turn.poll(now), None);
    turn
}

#[test]
fn streamed_text_grows_by_deltas() {
    let now = Instant::now();
    let mut turn = watched("I will", 3, now);
    assert_eq!(turn.items(), [TurnItem::Asked("Fix it."), TurnItem::Saying("I will")]);
    // The text so far already contains this delta.
    turn.delta(delta(2, "twice"));
    turn.delta(delta(3, " look"));
    assert!(turn.notification("turn/delta", &json!({ "turn_id": "t", "index": 4, "text": "." }).to_string()));
    assert_eq!((turn.poll(now), turn.live_text()), (None, "I will look."));
}

#[test]
fn a_missing_delta_is_requested() {
    let now = Instant::now();
    let mut turn = watched("a", 1, now);
    turn.delta(delta(2, "c"));
    assert_eq!((turn.live_text(), turn.clone().poll(now)), ("a", Some(TurnCall::Watch)));
    turn.poll(now).unwrap();
    // This delta arrives before the answer and continues its text.
    turn.delta(delta(3, "d"));
    turn.watched(watch_answer("abc", Some(3)), now);
    assert_eq!(turn.live_text(), "abcd");
}

#[test]
fn deltas_that_arrive_before_the_answer_are_kept() {
    let now = Instant::now();
    let mut turn = Watcher::new();
    turn.delta(delta(0, "a"));
    turn.delta(delta(1, "b"));
    turn.poll(now).unwrap();
    turn.delta(delta(2, "c"));
    turn.watched(watch_answer("a", Some(1)), now);
    assert_eq!(turn.live_text(), "abc");
}

#[test]
fn calls_are_shown_with_their_results() {
    let now = Instant::now();
    let mut turn = watched("I write.", 1, now);
    let asked = json!({ "turn_id": "t", "call_id": "c2" }).to_string();
    assert!(turn.notification("turn/approval_requested", &asked));
    assert_eq!(turn.poll(now), Some(TurnCall::Steps { after: 1 }), "only what is new");
    let call =
        |id: &str| ToolCall { id: id.to_owned(), name: "write_file".to_owned(), arguments: "{}".to_owned() };
    let mut said = step(MessageRole::Assistant, "I write.");
    said.calls = vec![call("c1"), call("c2"), call("c3")];
    let mut results = step(MessageRole::Tool, "");
    let result = TurnToolResult {
        call_id: "c1".to_owned(),
        text: "done".to_owned(),
        is_error: false,
        reminders: vec![],
    };
    results.results = vec![result];
    let mut answer = get_answer(TurnStatus::Running, vec![said, results]);
    answer.approvals = vec![approval("c2", None), approval("c3", Some("child"))];
    turn.steps_loaded(answer.clone(), now);
    let states = |turn: &Watcher| -> Vec<CallState> {
        let states = turn.items().into_iter().filter_map(|item| match item {
            TurnItem::Call { state, .. } => Some(state),
            _ => None,
        });
        states.collect()
    };
    // The third call only shares its id with a pending call of a delegated turn.
    assert_eq!(states(&turn), [CallState::Done, CallState::Waiting, CallState::Running]);
    assert_eq!(turn.live_text(), "", "what is in a step is not said twice");
    turn.delta(delta(1, "\n\nDone"));
    assert_eq!(turn.items().last(), Some(&TurnItem::Saying("Done")));
    // The turn ends.
    turn.notification("turn/cancelled", &json!({ "turn_id": "t" }).to_string());
    turn.poll(now).unwrap();
    turn.steps_loaded(get_answer(TurnStatus::Cancelled, vec![step(MessageRole::Assistant, "Done")]), now);
    assert_eq!(states(&turn), [CallState::Done, CallState::Abandoned, CallState::Abandoned]);
    assert!(!turn.is_running() && turn.approvals().is_empty() && turn.poll(now).is_none());
    assert_eq!(turn.items().last(), Some(&TurnItem::Said("Done")));
}

#[test]
fn changes_of_delegated_turns_are_noticed() {
    let now = Instant::now();
    let mut turn = watched("", 0, now);
    let started = json!({ "turn_id": "child", "parent_turn_id": "t" }).to_string();
    assert!(turn.notification("turn/started", &started));
    assert_eq!(turn.poll(now), Some(TurnCall::Steps { after: 1 }));
    let mut answer = get_answer(TurnStatus::Running, vec![]);
    let child: TurnId = "child".parse().unwrap();
    answer.delegated = vec![Turn { id: child, ..crate::turn(TurnStatus::Running) }];
    turn.steps_loaded(answer, now);
    assert_eq!(turn.children().len(), 1);
    assert!(
        turn.notification("turn/delta", &json!({ "turn_id": "child", "index": 0, "text": "x" }).to_string())
    );
    assert_eq!(turn.poll(now), None, "what a child says is not shown here");
    assert!(turn.notification("turn/approval_requested", &json!({ "turn_id": "child" }).to_string()));
    assert!(turn.poll(now).is_some());
    assert!(!turn.notification("turn/completed", &json!({ "turn_id": "other" }).to_string()));
}

#[test]
fn a_turn_of_another_gateway_is_polled() {
    let now = Instant::now();
    let mut turn = Watcher::new();
    turn.poll(now).unwrap();
    turn.watched(watch_answer("", None), now);
    assert_eq!(turn.poll(now), Some(TurnCall::Steps { after: 0 }));
    turn.steps_loaded(get_answer(TurnStatus::Running, vec![]), now);
    let later = now + Duration::from_secs(1);
    assert_eq!((turn.poll(now), turn.wake_at()), (None, Some(later)));
    assert_eq!(turn.poll(later), Some(TurnCall::Steps { after: 0 }));
    turn.steps_loaded(get_answer(TurnStatus::Completed, vec![step(MessageRole::Assistant, "Done")]), later);
    assert_eq!((turn.wake_at(), turn.poll(later)), (None, None));
}

#[test]
fn an_announced_end_is_read_between_two_polls() {
    let now = Instant::now();
    let mut turn = Watcher::new();
    assert_eq!(turn.poll(now), Some(TurnCall::Watch));
    turn.watched(watch_answer("", None), now);
    assert_eq!(turn.poll(now), Some(TurnCall::Steps { after: 0 }));
    turn.steps_loaded(get_answer(TurnStatus::Running, vec![]), now);
    assert_eq!(turn.poll(now), None);
    assert!(turn.turn.notification("turn/failed", r#"{"turn_id":"t"}"#));
    assert_eq!(turn.poll(now), Some(TurnCall::Steps { after: 0 }));
    turn.steps_loaded(get_answer(TurnStatus::Failed, vec![]), now);
    assert_eq!((turn.is_running(), turn.wake_at()), (false, None));
}

#[test]
fn failures_are_retried_or_shown() {
    let now = Instant::now();
    let mut turn = Watcher::new();
    turn.poll(now).unwrap();
    turn.request_failed("busy", true, now);
    assert_eq!((turn.problem(), turn.clone().poll(now)), (Some("busy"), None));
    let later = turn.wake_at().unwrap();
    assert_eq!(turn.poll(later), Some(TurnCall::Watch));
    turn.request_failed("no such turn", false, later);
    assert_eq!((turn.wake_at(), turn.clone().poll(later)), (None, None));
    // A new connection makes even a permanent failure worth another attempt.
    turn.disconnected();
    turn.reconnected();
    assert_eq!(turn.poll(later), Some(TurnCall::Watch));
}

#[test]
fn a_late_answer_to_an_abandoned_request_is_ignored() {
    let now = Instant::now();
    let mut turn = WatchedTurn::new("t".parse().unwrap());
    let old = turn.poll(now).unwrap();
    turn.disconnected();
    turn.reconnected();
    let new = turn.poll(now).unwrap();
    assert_eq!((old.call, new.call), (TurnCall::Watch, TurnCall::Watch));
    turn.watched(old.number, watch_answer("a", Some(1)), now);
    assert_eq!(turn.live_text(), "", "pieces after it were not heard");
    let no = Failure { message: "no".to_owned(), is_transient: false, is_outcome_unknown: false };
    turn.request_failed(old.number, no, now);
    assert_eq!(turn.problem(), None);
    turn.watched(new.number, watch_answer("abc", Some(3)), now);
    assert_eq!(turn.live_text(), "abc");
}

#[derive(Debug, Clone)]
enum Step {
    Say,
    Hear(bool),
    Lose,
    Ask,
    Answer,
    /// The answer to an abandoned request arrives late.
    Late,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Under every order of deltas, answers and lost connections, the text is a prefix of the answer and finally all of it.
    #[test]
    fn deltas_are_neither_lost_nor_duplicated(steps in proptest::collection::vec(prop_oneof![
        4 => Just(Step::Say),
        5 => prop_oneof![9 => Just(true), 1 => Just(false)].prop_map(Step::Hear),
        1 => Just(Step::Lose),
        3 => Just(Step::Ask),
        3 => Just(Step::Answer),
        1 => Just(Step::Late),
    ], 1..200)) {
        let now = Instant::now();
        let mut turn = WatchedTurn::of(turn(TurnStatus::Running));
        let mut said: Vec<String> = Vec::new();
        // Deltas in flight since the last `turn/watch`, and its answer in flight.
        let mut heard: Option<usize> = None;
        let mut asked: Option<TurnRequest> = None;
        // Abandoned requests, with the length of the text at that time.
        let mut late: Vec<(TurnRequest, usize)> = Vec::new();
        let report = |turn: &mut WatchedTurn, request: TurnRequest, said: &[String]| match request.call {
            TurnCall::Watch => {
                turn.watched(request.number, watch_answer(&said.concat(), Some(said.len() as u64)), now);
            }
            TurnCall::Steps { .. } => {
                turn.steps_loaded(request.number, get_answer(TurnStatus::Running, vec![]), now);
            }
        };
        let answer = |turn: &mut WatchedTurn, asked: &mut Option<TurnRequest>, heard: &mut Option<usize>, said: &[String]| {
            let Some(request) = asked.take() else { return };
            report(turn, request, said);
            if request.call == TurnCall::Watch {
                *heard = Some(said.len());
            }
        };
        for step in &steps {
            match step {
                Step::Say => said.push(format!("{} ", said.len())),
                Step::Hear(arrives) => {
                    if let Some(next) = heard.filter(|next| *next < said.len()) {
                        if *arrives {
                            turn.delta(delta(next as u64, &said[next]));
                        }
                        heard = Some(next + 1);
                    }
                }
                Step::Lose => {
                    late.extend(asked.take().map(|request| (request, said.len())));
                    heard = None;
                    turn.disconnected();
                    turn.reconnected();
                }
                Step::Ask => asked = asked.or(turn.poll(now)),
                Step::Answer => answer(&mut turn, &mut asked, &mut heard, &said),
                Step::Late => {
                    if let Some((request, known)) = late.pop() {
                        report(&mut turn, request, &said[..known]);
                    }
                }
            }
            prop_assert!(said.concat().starts_with(turn.live_text()), "{:?}", turn.live_text());
        }
        // One more delta reveals the gap.
        said.push("end".to_owned());
        for _ in 0..said.len() + 5 {
            if let Some(next) = heard.filter(|next| *next < said.len()) {
                turn.delta(delta(next as u64, &said[next]));
                heard = Some(next + 1);
            }
            asked = asked.or(turn.poll(now));
            answer(&mut turn, &mut asked, &mut heard, &said);
        }
        prop_assert_eq!(turn.live_text(), said.concat());
    }
}
