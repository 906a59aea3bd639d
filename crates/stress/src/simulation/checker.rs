//! Checks every request against the invariants.

mod invariants;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::invariants::{dates, facts, instructions, pairs, replay, system, unanswered, writes};
use crate::simulation::call::answered_calls;
use crate::simulation::file_mentions::{FileMentions, file_mentions};
use crate::simulation::prefix::PrefixReuse;
use crate::simulation::request::Request;
use crate::simulation::world::{Files, State, World, numbers};

/// Inputs of a thread's system text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) persona: u64,
    pub(crate) document: Option<u64>,
    /// Frozen start: revision of the disk, and directory. Until a turn has completed, every turn loads it anew.
    pub(crate) start: (u64, PathBuf),
}

impl Inputs {
    /// Returns the headings of sections that may differ because their inputs do.
    pub(crate) fn may_differ(&self, other: &Self) -> Vec<&'static str> {
        let mut titles = Vec::new();
        if self.persona != other.persona {
            titles.push("User Persona");
        }
        if self.start != other.start {
            // These sections are made from the working directory and the files read at the start.
            titles.extend(["AGENTS Guidance", "Environment", "AGENTS Context"]);
        }
        if self.document != other.document {
            titles.push("AGENTS.md");
        }
        titles
    }
}

/// State of a thread.
#[derive(Default)]
pub(crate) struct ThreadRecord {
    /// Facts of completed turns.
    facts: Vec<u64>,
    /// Last request of the last completed turn, which the next turn replays.
    replayed: Option<(Request, Inputs)>,
    /// Set if a summary was requested since then.
    summary_since: bool,
    /// Last request of any turn.
    last: Option<(Request, Inputs)>,
    /// Set if the previous turn had no answer.
    is_unanswered: bool,
    /// Start that the thread continues with.
    pub(crate) frozen: Option<(u64, PathBuf)>,
}

/// State of the running turn.
pub(crate) struct TurnRecord {
    thread: usize,
    fact: u64,
    cwd: PathBuf,
    inputs: Inputs,
    /// Files as of the start of the turn or the last run of tools, whichever is later.
    observed_files: Files,
    /// Versions that the model must know.
    obligations: BTreeMap<PathBuf, State>,
    /// Files that apply to paths its calls have touched.
    touched: BTreeSet<PathBuf>,
    last: Option<Request>,
    /// Set if a summary was requested since the last request.
    summary_since: bool,
    summary_failed: bool,
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: &'static str,
    pub(crate) detail: String,
}

fn violated(invariant: &'static str, detail: impl Into<String>) -> Result<(), Violation> {
    Err(Violation { invariant, detail: detail.into() })
}

#[derive(Default)]
pub(crate) struct Checker {
    threads: Vec<ThreadRecord>,
    turn: Option<TurnRecord>,
    /// Facts that each summary covers, including those of earlier summaries in its input.
    covered: BTreeMap<u64, BTreeSet<u64>>,
    pub(crate) reuse: PrefixReuse,
}

impl Checker {
    /// Adds a thread. Threads are numbered in order of creation.
    pub(crate) fn add_thread(&mut self) {
        self.threads.push(ThreadRecord::default());
    }

    pub(crate) fn thread(&self, thread: usize) -> &ThreadRecord {
        &self.threads[thread]
    }

    pub(crate) fn begin(&mut self, thread: usize, fact: u64, cwd: &Path, inputs: Inputs, files: &Files) {
        self.turn = Some(TurnRecord {
            thread,
            fact,
            cwd: cwd.to_owned(),
            inputs,
            observed_files: files.clone(),
            obligations: BTreeMap::new(),
            touched: BTreeSet::new(),
            last: None,
            summary_since: false,
            summary_failed: false,
        });
    }

    pub(crate) fn end(&mut self, completed: bool) {
        let Some(turn) = self.turn.take() else { return };
        let thread = &mut self.threads[turn.thread];
        thread.is_unanswered = !completed;
        // A failed summary removes turns from this turn's requests only, so the next turn's requests differ as well.
        thread.summary_since |= turn.summary_since;
        if completed && let Some(last) = turn.last {
            thread.facts.push(turn.fact);
            thread.frozen = Some(turn.inputs.start.clone());
            thread.replayed = Some((last, turn.inputs));
            thread.summary_since = turn.summary_failed;
        }
    }

    /// Records a summary; `answered` is its number, or `None` if the model's answer was not a summary.
    pub(crate) fn summary(&mut self, request: &Request, answered: Option<u64>) {
        let text = request.message_texts();
        let mut facts: BTreeSet<u64> = numbers(&text, "FACT-").into_iter().collect();
        for earlier in numbers(&text, "SUMMARY-") {
            facts.extend(self.covered.get(&earlier).into_iter().flatten());
        }
        match answered {
            Some(number) => _ = self.covered.insert(number, facts),
            None => {
                if let Some(turn) = &mut self.turn {
                    turn.summary_failed = true;
                }
            }
        }
        if let Some(turn) = &mut self.turn {
            turn.summary_since = true;
            self.threads[turn.thread].summary_since = true;
        }
    }

    /// Records the files before tools run or the turn ends.
    pub(crate) fn before_tools(&mut self, files: &Files) {
        if let Some(turn) = &mut self.turn {
            turn.observed_files = files.clone();
        }
    }

    /// Checks a request of the running turn.
    pub(crate) fn check(&mut self, request: &Request, world: &World, today: &str) -> Result<(), Violation> {
        let Some(mut turn) = self.turn.take() else {
            return violated("a turn asks", "a request came while no turn was running");
        };
        let thread = &self.threads[turn.thread];
        let mentions = file_mentions(request, world);
        pairs(request)?;
        system(request, &turn, thread)?;
        facts(request, &turn, thread, &self.covered)?;
        let new = turn.first_new_message(request);
        dates(request, today, new)?;
        if turn.last.is_none() && thread.is_unanswered {
            unanswered(request, turn.fact)?;
        }
        writes(request, &turn, world)?;
        turn.oblige(request, &mentions, world);
        instructions(&turn, &mentions, new)?;
        let reusable = match &turn.last {
            Some(last) => Some((last, &turn.inputs, turn.summary_since)),
            None => thread.replayed.as_ref().map(|(last, inputs)| (last, inputs, thread.summary_since)),
        };
        if let Some((before, inputs, summary_since)) = reusable {
            // A summary replaces the beginning of the history, so only requests without one in between must repeat it.
            if !summary_since {
                replay(before, request)?;
            }
            let may_differ = turn.inputs.may_differ(inputs);
            self.reuse.add(before, request, &may_differ, summary_since);
        }
        let thread = &mut self.threads[turn.thread];
        thread.last = Some((request.clone(), turn.inputs.clone()));
        turn.last = Some(request.clone());
        turn.summary_since = false;
        self.turn = Some(turn);
        Ok(())
    }
}

impl TurnRecord {
    /// Returns the index of the first message that no earlier request had. Earlier messages were checked when they were
    /// new: if messages between them were removed since, text can legitimately repeat.
    fn first_new_message(&self, request: &Request) -> usize {
        let opening = |request: &Request| {
            let fact = format!("FACT-{}.", self.fact);
            request.messages.iter().position(|message| message.to_string().contains(&fact)).unwrap_or(0)
        };
        opening(request) + self.last.as_ref().map_or(0, |last| last.messages.len() - opening(last))
    }

    /// Adds the versions that the model must know by now.
    fn oblige(&mut self, request: &Request, mentions: &BTreeMap<PathBuf, FileMentions>, world: &World) {
        if self.last.is_none() || self.summary_since {
            let chain = world.chain(&self.cwd);
            let own = world.own_file();
            // The model acts on any file it was informed about, wherever it works, so those files must be current too.
            let known =
                mentions.iter().filter(|(_, story)| story.last().is_some()).map(|(path, _)| path.clone());
            let paths = chain.into_iter().chain([own]).chain(known).chain(self.touched.iter().cloned());
            self.obligations = paths.map(|path| (path.clone(), self.observed_files[&path])).collect();
        }
        let is_first = self.last.is_none();
        for call in answered_calls(request).filter(|call| !is_first && call.was_resolved()) {
            for directory in call.directories(&self.cwd, &world.project) {
                for path in world.chain(&directory) {
                    let state = self.observed_files[&path];
                    self.touched.insert(path.clone());
                    self.obligations.insert(path, state);
                }
            }
        }
    }
}
