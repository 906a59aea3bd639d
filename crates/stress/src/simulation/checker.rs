//! Holds every request against what must be true of it.

mod invariants;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::invariants::{dates, facts, instructions, pairs, replay, system, unanswered, writes};
use crate::simulation::call::answered_calls;
use crate::simulation::prefix::PrefixReuse;
use crate::simulation::request::Request;
use crate::simulation::told::{Story, stories};
use crate::simulation::world::{Files, State, World, numbers};

/// What a thread's system text is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inputs {
    pub(crate) persona: u64,
    pub(crate) document: Option<u64>,
    /// The frozen start: of which disk, and where. Until a turn has completed, each one loads it anew.
    pub(crate) start: (u64, PathBuf),
}

impl Inputs {
    /// Headings of the sections that may differ because what they are made from does.
    pub(crate) fn may_differ(&self, other: &Self) -> Vec<&'static str> {
        let mut titles = Vec::new();
        if self.persona != other.persona {
            titles.push("User Persona");
        }
        if self.start != other.start {
            titles.extend(["AGENTS Guidance", "Environment", "AGENTS Context"]);
        }
        if self.document != other.document {
            titles.push("AGENTS.md");
        }
        titles
    }
}

/// What is known of a thread.
#[derive(Default)]
pub(crate) struct ThreadRecord {
    /// Facts of the turns that completed.
    facts: Vec<u64>,
    /// What its last turn that completed was asked with: the next one replays it.
    replayed: Option<(Request, Inputs)>,
    /// Whether a summary was asked for since.
    summary_since: bool,
    /// The last request of any turn.
    last: Option<(Request, Inputs)>,
    /// Whether the turn before had no answer.
    is_unanswered: bool,
    /// The start that the thread goes on with.
    pub(crate) frozen: Option<(u64, PathBuf)>,
}

/// What is known of the turn that runs.
pub(crate) struct TurnRecord {
    thread: usize,
    fact: u64,
    cwd: PathBuf,
    inputs: Inputs,
    /// The files as they were when it began, and after that when tools ran last.
    looked_at: Files,
    /// What the model must have been told.
    obligations: BTreeMap<PathBuf, State>,
    /// Files that apply where its calls have looked.
    touched: BTreeSet<PathBuf>,
    last: Option<Request>,
    /// Whether a summary was asked for since the last request.
    summary_since: bool,
    summary_failed: bool,
}

/// Which invariant a request breaks, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: &'static str,
    pub(crate) detail: String,
}

fn broken(invariant: &'static str, detail: impl Into<String>) -> Result<(), Violation> {
    Err(Violation { invariant, detail: detail.into() })
}

#[derive(Default)]
pub(crate) struct Checker {
    threads: Vec<ThreadRecord>,
    turn: Option<TurnRecord>,
    /// The facts that each summary was made from, those of the summaries in its input included.
    covered: BTreeMap<u64, BTreeSet<u64>>,
    pub(crate) reuse: PrefixReuse,
}

impl Checker {
    /// Another thread; threads are named by when they came.
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
            looked_at: files.clone(),
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
        // After a summary that failed, turns are missing in this turn's requests and back in the next one's.
        thread.summary_since |= turn.summary_since;
        if completed && let Some(last) = turn.last {
            thread.facts.push(turn.fact);
            thread.frozen = Some(turn.inputs.start.clone());
            thread.replayed = Some((last, turn.inputs));
            thread.summary_since = turn.summary_failed;
        }
    }

    /// A summary was asked for, and the answer names it; none: it is no summary.
    pub(crate) fn summary(&mut self, request: &Request, answered: Option<u64>) {
        let said = request.said();
        let mut facts: BTreeSet<u64> = numbers(&said, "FACT-").into_iter().collect();
        for earlier in numbers(&said, "SUMMARY-") {
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

    /// Tools are about to run, or the turn is about to end.
    pub(crate) fn before_tools(&mut self, files: &Files) {
        if let Some(turn) = &mut self.turn {
            turn.looked_at = files.clone();
        }
    }

    /// Checks a request of the turn that runs.
    pub(crate) fn check(&mut self, request: &Request, world: &World, today: &str) -> Result<(), Violation> {
        let Some(mut turn) = self.turn.take() else {
            return broken("a turn asks", "a request came while no turn was running");
        };
        let thread = &self.threads[turn.thread];
        let told = stories(request, world);
        pairs(request)?;
        system(request, &turn, thread)?;
        facts(request, &turn, thread, &self.covered)?;
        let new = turn.first_new_message(request);
        dates(request, today, new)?;
        if turn.last.is_none() && thread.is_unanswered {
            unanswered(request, turn.fact)?;
        }
        writes(request, &turn, world)?;
        turn.oblige(request, &told, world);
        instructions(&turn, &told, new)?;
        let reusable = match &turn.last {
            Some(last) => Some((last, &turn.inputs, turn.summary_since)),
            None => thread.replayed.as_ref().map(|(last, inputs)| (last, inputs, thread.summary_since)),
        };
        if let Some((before, inputs, summary_since)) = reusable {
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
    /// The first message that no request had before. What came earlier was checked when it came: when messages between
    /// have left, what was said before them and after them may be the same.
    fn first_new_message(&self, request: &Request) -> usize {
        let opening = |request: &Request| {
            let fact = format!("FACT-{}.", self.fact);
            request.messages.iter().position(|message| message.to_string().contains(&fact)).unwrap_or(0)
        };
        opening(request) + self.last.as_ref().map_or(0, |last| last.messages.len() - opening(last))
    }

    /// Adds what the model must have been told by now.
    fn oblige(&mut self, request: &Request, told: &BTreeMap<PathBuf, Story>, world: &World) {
        if self.last.is_none() || self.summary_since {
            let chain = world.chain(&self.cwd);
            let own = world.own_file();
            // A model that was told of a file goes by it, wherever it works; one that was told of a removal goes by that.
            let known = told.iter().filter(|(_, story)| story.last().is_some()).map(|(path, _)| path.clone());
            let paths = chain.into_iter().chain([own]).chain(known).chain(self.touched.iter().cloned());
            self.obligations = paths.map(|path| (path.clone(), self.looked_at[&path])).collect();
        }
        let is_first = self.last.is_none();
        for call in answered_calls(request).filter(|call| !is_first && call.has_looked()) {
            for directory in call.directories(&self.cwd, &world.project) {
                for path in world.chain(&directory) {
                    let state = self.looked_at[&path];
                    self.touched.insert(path.clone());
                    self.obligations.insert(path, state);
                }
            }
        }
    }
}
