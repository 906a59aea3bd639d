//! Several editors of one document and a gateway under every order of events: no input is lost, and all editors agree in
//! the end.

use std::time::{Duration, Instant};

use client::{
    DraftChange, Editing, EditingCall, EditingRequest, EditingStatus, Failure, LocalDraft, RequestNumber,
};
use proptest::prelude::*;
use protocol::Document;

use crate::model::Scope;

/// An event. The first number is the editor it happens to.
#[derive(Debug, Clone)]
enum Step {
    /// The user types a line.
    Type(usize, usize),
    Leave(usize),
    Save(usize),
    Retry(usize),
    Wait(u64),
    /// The gateway executes one of the requests.
    Handle(usize, usize),
    /// One of the requests fails.
    Fail(usize, usize, How),
    /// One of the answers arrives.
    Answer(usize, usize),
    /// The next change is announced.
    Announce(usize),
    /// The connection is lost. If the flag is set, requests in flight are lost too, not only their answers.
    Lose(usize, bool),
    Restore(usize),
    /// Everything is reloaded over the same connection, so requests in flight are still answered.
    Reload(usize),
    /// The program crashes and restarts.
    Crash(usize),
    Resolve(usize, Choice),
    /// The user removes the conflict markers.
    Unmark(usize),
    /// Another user archives the document.
    Archive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Reload,
    Overwrite,
    Merge,
}

/// Way in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// The gateway rejects it, temporarily or permanently.
    Refused { is_transient: bool },
    /// The answer is lost.
    Unknown { is_done: bool },
}

#[derive(Debug)]
enum Answered {
    Saved(Document),
    Conflict(Option<Box<Document>>),
    Fetched(Option<Document>),
    Failed(Failure),
}

struct Editor {
    editing: Editing,
    asked: Vec<EditingRequest>,
    answers: Vec<(RequestNumber, Answered)>,
    /// Number of changes announced to it.
    heard: usize,
    is_connected: bool,
    /// Draft file that survives a crash.
    draft: Option<LocalDraft>,
}

struct World {
    now: Instant,
    scope: Scope,
    editors: Vec<Editor>,
    typed: Vec<String>,
    given_up: Vec<String>,
}

impl World {
    fn new(editors: usize) -> Self {
        let editor = || Editor {
            editing: Editing::open(None),
            asked: Vec::new(),
            answers: Vec::new(),
            heard: 0,
            is_connected: true,
            draft: None,
        };
        Self {
            now: Instant::now(),
            scope: Scope::default(),
            editors: (0..editors).map(|_| editor()).collect(),
            typed: Vec::new(),
            given_up: Vec::new(),
        }
    }

    fn take(&mut self, step: &Step) {
        let now = self.now;
        match step {
            Step::Wait(milliseconds) => self.now += Duration::from_millis(*milliseconds),
            Step::Archive => self.scope.archive(),
            Step::Type(index, line) => {
                // Every line is unique, so that the end of the test can look for each of them.
                let word = format!("line {}", self.typed.len());
                let editing = &mut self.editors[*index].editing;
                let mut lines: Vec<&str> = editing.text().lines().collect();
                lines.insert(line % (lines.len() + 1), &word);
                let text = lines.join("\n") + "\n";
                editing.edit(text, now);
                self.typed.push(word);
            }
            Step::Leave(index) => self.editors[*index].editing.leave(now),
            Step::Save(index) => self.editors[*index].editing.save(now),
            Step::Retry(index) => self.editors[*index].editing.retry(now),
            Step::Handle(index, which) => self.handle(*index, *which, None),
            Step::Fail(index, which, how) => self.handle(*index, *which, Some(*how)),
            Step::Answer(index, which) => self.answer(*index, *which),
            Step::Announce(index) => self.announce(*index),
            Step::Lose(index, before_it_arrives) => {
                // The gateway may have executed requests whose answers are lost with the connection.
                while !before_it_arrives && !self.editors[*index].asked.is_empty() {
                    self.handle(*index, 0, None);
                }
                let editor = &mut self.editors[*index];
                editor.asked.clear();
                editor.answers.clear();
                editor.is_connected = false;
                editor.editing.disconnected();
            }
            Step::Restore(index) => self.restore(*index),
            Step::Reload(index) => {
                let editor = &mut self.editors[*index];
                if editor.is_connected {
                    // Requests and answers stay in flight, so the machine receives answers to requests that it has
                    // abandoned.
                    editor.editing.disconnected();
                    editor.editing.reconnected(now);
                }
            }
            Step::Crash(index) => {
                let editor = &mut self.editors[*index];
                editor.asked.clear();
                editor.answers.clear();
                // The restarted program fetches the current document and receives only later announcements.
                editor.heard = self.scope.log.len();
                editor.editing = Editing::open(editor.draft.clone());
                if !editor.is_connected {
                    editor.editing.disconnected();
                }
            }
            Step::Resolve(index, choice) => {
                let editing = &mut self.editors[*index].editing;
                match choice {
                    Choice::Reload => self.given_up.extend(editing.take_remote()),
                    Choice::Overwrite => editing.overwrite_remote(now),
                    Choice::Merge => editing.take_merge(now),
                }
            }
            Step::Unmark(index) => self.unmark(*index),
        }
        self.settle_drafts_and_requests();
    }

    /// Acts as the owner after every event: stores the draft and sends the next request.
    fn settle_drafts_and_requests(&mut self) {
        for editor in &mut self.editors {
            match editor.editing.take_draft_change() {
                Some(DraftChange::Keep(draft)) => editor.draft = Some(draft),
                Some(DraftChange::Forget) => editor.draft = None,
                None => {}
            }
            if let Some(request) = editor.editing.poll(self.now) {
                assert!(editor.is_connected, "requests need a connection");
                assert!(editor.editing.poll(self.now).is_none(), "only one request is in flight");
                editor.asked.push(request);
            }
            assert!(
                editor.editing.draft().is_none() || editor.draft == editor.editing.draft(),
                "unsaved text is kept in the draft"
            );
        }
    }

    fn handle(&mut self, index: usize, which: usize, fails: Option<How>) {
        let editor = &mut self.editors[index];
        if editor.asked.is_empty() {
            return;
        }
        let request = editor.asked.remove(which % editor.asked.len());
        let is_done = !matches!(fails, Some(How::Refused { .. } | How::Unknown { is_done: false }));
        let done = is_done.then(|| match request.call {
            EditingCall::Fetch => Answered::Fetched(self.scope.current.clone()),
            EditingCall::Save(save) => match self.scope.save(&save.content, save.expected_version) {
                Ok(saved) => Answered::Saved(saved),
                Err(current) => Answered::Conflict(current),
            },
        });
        let failed = fails.map(|how| {
            let (is_transient, is_outcome_unknown) = match how {
                How::Refused { is_transient } => (is_transient, false),
                How::Unknown { .. } => (true, true),
            };
            Answered::Failed(Failure { message: "no".to_owned(), is_transient, is_outcome_unknown })
        });
        self.editors[index].answers.extend(failed.or(done).map(|answer| (request.number, answer)));
    }

    fn answer(&mut self, index: usize, which: usize) {
        let now = self.now;
        let editor = &mut self.editors[index];
        if editor.answers.is_empty() {
            return;
        }
        let (number, answer) = editor.answers.remove(which % editor.answers.len());
        match answer {
            Answered::Saved(document) => editor.editing.saved(number, &document, now),
            Answered::Conflict(current) => editor.editing.conflicted(number, current.as_deref(), now),
            Answered::Fetched(document) => editor.editing.fetched(number, document.as_ref(), now),
            Answered::Failed(failure) => editor.editing.failed(number, failure, now),
        }
    }

    fn announce(&mut self, index: usize) {
        let editor = &mut self.editors[index];
        if editor.is_connected
            && let Some(change) = self.scope.log.get(editor.heard)
        {
            editor.heard += 1;
            editor.editing.remote_changed(change.as_ref().map(Document::summary).as_ref());
        }
    }

    fn restore(&mut self, index: usize) {
        let editor = &mut self.editors[index];
        if !editor.is_connected {
            editor.is_connected = true;
            editor.editing.reconnected(self.now);
        }
    }

    fn unmark(&mut self, index: usize) {
        let editing = &mut self.editors[index].editing;
        if editing.status() == EditingStatus::Unmerged {
            let is_mark =
                |line: &str| ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
            let lines: Vec<&str> = editing.text().lines().filter(|line| !is_mark(line)).collect();
            let text = lines.join("\n") + "\n";
            editing.edit(text, self.now);
        }
    }

    /// Delivers everything and merges every conflict until nothing changes.
    fn settle(&mut self) {
        // The limit turns an endless exchange between the editors into a failure.
        for _ in 0..500 {
            for index in 0..self.editors.len() {
                self.take(&Step::Restore(index));
                while self.editors[index].heard < self.scope.log.len() {
                    self.take(&Step::Announce(index));
                }
                self.take(&Step::Handle(index, 0));
                self.take(&Step::Answer(index, 0));
                self.take(&Step::Resolve(index, Choice::Merge));
                self.take(&Step::Unmark(index));
                // The user retries after a failure.
                if matches!(self.editors[index].editing.status(), EditingStatus::Failed { .. }) {
                    self.take(&Step::Retry(index));
                }
            }
            self.take(&Step::Wait(1_000));
            let is_settled = self.editors.iter().all(|editor| {
                editor.asked.is_empty()
                    && editor.answers.is_empty()
                    && editor.heard == self.scope.log.len()
                    && editor.editing.status() == EditingStatus::Saved
                    && editor.editing.is_settled()
            });
            if is_settled {
                return;
            }
        }
        let seen: Vec<_> = self.editors.iter().map(|editor| editor.editing.status()).collect();
        panic!("no rest: {seen:?}");
    }
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        any::<bool>().prop_map(|is_transient| How::Refused { is_transient }),
        any::<bool>().prop_map(|is_done| How::Unknown { is_done }),
    ]
}

fn step(editors: usize, choices: &'static [Choice]) -> impl Strategy<Value = Step> {
    let index = 0..editors;
    let choice = proptest::sample::select(choices);
    prop_oneof![
        4 => (index.clone(), 0..40_usize).prop_map(|(index, line)| Step::Type(index, line)),
        1 => index.clone().prop_map(Step::Leave),
        1 => index.clone().prop_map(Step::Retry),
        // Short and long waits, so that the pause after typing passes in some runs and not in others.
        2 => prop_oneof![1..300_u64, 500..1_000_u64].prop_map(Step::Wait),
        5 => (index.clone(), 0..4_usize).prop_map(|(index, which)| Step::Handle(index, which)),
        5 => (index.clone(), 0..4_usize).prop_map(|(index, which)| Step::Answer(index, which)),
        4 => index.clone().prop_map(Step::Announce),
        1 => (index.clone(), 0..4_usize, how()).prop_map(|(index, which, how)| Step::Fail(index, which, how)),
        1 => (index.clone(), any::<bool>()).prop_map(|(index, is)| Step::Lose(index, is)),
        2 => index.clone().prop_map(Step::Restore),
        1 => index.clone().prop_map(Step::Reload),
        1 => index.clone().prop_map(Step::Crash),
        2 => (index.clone(), choice).prop_map(|(index, choice)| Step::Resolve(index, choice)),
        1 => index.prop_map(Step::Unmark),
    ]
}

/// Returns a step that may also discard text: saves with markers and archiving.
fn rough_step(editors: usize) -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => step(editors, &[Choice::Reload, Choice::Overwrite, Choice::Merge]),
        1 => (0..editors).prop_map(Step::Save),
        1 => Just(Step::Archive),
    ]
}

fn same_for_all(world: &World) -> String {
    let text = world.scope.current.as_ref().map(|document| document.content.clone()).unwrap_or_default();
    for editor in &world.editors {
        assert_eq!(editor.editing.text(), text);
        assert_eq!(editor.draft, None, "no draft remains");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 768, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_loses_no_line(
        steps in proptest::collection::vec(step(3, &[Choice::Merge]), 1..120)
    ) {
        // Only merging is meant to keep every line; the other ways to resolve a conflict discard a text on
        // purpose.
        let mut world = World::new(3);
        for step in &steps {
            world.take(step);
        }
        world.settle();
        let text = same_for_all(&world);
        for word in &world.typed {
            prop_assert!(text.lines().any(|line| line == word), "{word} is not in {text:?}");
        }
        for revision in &world.scope.revisions {
            prop_assert!(!revision.contains("<<<<<<<"), "markers were saved without a request: {revision:?}");
        }
    }

    #[test]
    fn discarded_text_is_in_the_history_or_returned(
        steps in proptest::collection::vec(rough_step(2), 1..150)
    ) {
        let mut world = World::new(2);
        for step in &steps {
            world.take(step);
        }
        world.settle();
        same_for_all(&world);
        let kept: Vec<&String> = world.scope.revisions.iter().chain(&world.given_up).collect();
        for word in &world.typed {
            let is_kept = kept.iter().any(|text| text.lines().any(|line| line == word));
            prop_assert!(is_kept, "{word} is nowhere");
        }
    }
}
