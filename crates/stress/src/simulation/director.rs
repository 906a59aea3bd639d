//! The model's side: checks each request, answers according to the script, and changes files in between.

use std::collections::VecDeque;

use chance::Chance;
use scripted_model::{Answer, RecordedRequest};
use serde_json::Value;

use crate::simulation::checker::{Checker, Violation};
use crate::simulation::request::Request;
use crate::simulation::script::{self, Step};
use crate::simulation::world::World;

/// Number of recent events kept for the report.
const MAX_LOG: usize = 40;

pub(crate) struct Director {
    pub(crate) world: World,
    pub(crate) random: Chance,
    pub(crate) checker: Checker,
    pub(crate) script: VecDeque<Step>,
    /// First violation and its request.
    pub(crate) violation: Option<(Violation, Value)>,
    pub(crate) log: VecDeque<String>,
    pub(crate) today: String,
    /// Number of requests of the running turn.
    pub(crate) requests: usize,
    /// Set while the model sends nothing and waits to be cancelled.
    pub(crate) is_silent: bool,
    pub(crate) total_requests: u64,
    pub(crate) summaries: u64,
}

impl Director {
    pub(crate) fn new(world: World, random: Chance) -> Self {
        Self {
            world,
            random,
            checker: Checker::default(),
            script: VecDeque::new(),
            violation: None,
            log: VecDeque::new(),
            today: String::new(),
            requests: 0,
            is_silent: false,
            total_requests: 0,
            summaries: 0,
        }
    }

    pub(crate) fn note(&mut self, line: String) {
        self.log.push_back(line);
        if self.log.len() > MAX_LOG {
            self.log.pop_front();
        }
    }

    pub(crate) fn answer(&mut self, recorded: &RecordedRequest) -> Answer {
        let request = Request::new(&recorded.body);
        if request.is_for_summary() {
            return self.summarise(&request);
        }
        self.total_requests += 1;
        self.requests += 1;
        if self.violation.is_none()
            && let Err(violation) = self.checker.check(&request, &self.world, &self.today)
        {
            self.violation = Some((violation, request.body.clone()));
        }
        // Only the first violation is reported. A rejected key ends the turn quickly, and later requests would only
        // show consequences.
        if self.violation.is_some() {
            return Answer::wrong_key();
        }
        // After the check, so that the request just checked was made before the change.
        if self.random.percent(12) {
            match self.world.change_file(&mut self.random) {
                Ok(what) => self.note(format!("  between two rounds: {what}")),
                Err(error) => self.note(format!("  between two rounds: {error:#}")),
            }
        }
        // The gateway forbids calls when a turn has used up its rounds. A model that obeys answers with text.
        let must_answer = request.body["tool_choice"]["type"] == "none";
        let step = match self.script.pop_front() {
            Some(Step::Calls(_) | Step::BadCall) | None if must_answer => Step::Text(10),
            None => Step::Text(10),
            Some(step) => step,
        };
        // After a stumble the same request arrives again, and the gateway does not check the disk before it.
        if !matches!(step, Step::Stumble) {
            self.checker.before_tools(&self.world.files);
        }
        self.is_silent = matches!(step, Step::Silence);
        let number = self.world.number();
        self.note(format!("  request {} is answered with {step:?}", self.requests));
        step.answer(number, &mut self.random)
    }

    fn summarise(&mut self, request: &Request) -> Answer {
        self.summaries += 1;
        let number = self.world.number();
        let (answer, summary) = script::summary(number, &mut self.random);
        self.note(format!("  a summary is asked for: {summary:?}"));
        self.checker.summary(request, summary);
        answer
    }
}
