//! Holds every request against what must be true of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::prefix::PrefixReuse;
use crate::request::{Request, elements};
use crate::told::{Story, stories};
use crate::world::{Files, State, World, numbers};

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
            let (chain, own) = (world.chain(&self.cwd), world.own_file());
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

/// Each instruction that applies is in the request or announced, no version of it twice, and nothing outdated is last.
fn instructions(turn: &TurnRecord, told: &BTreeMap<PathBuf, Story>, new: usize) -> Result<(), Violation> {
    for (path, story) in told {
        if let Some(rule) = story.repeated(new) {
            let detail = format!("{} has RULE-{rule} twice: {:?}", path.display(), story.0);
            return broken("no version of an instruction file is brought twice", detail);
        }
    }
    for (path, state) in &turn.obligations {
        let story = told.get(path).cloned().unwrap_or_default();
        let (expected, last) = (state.map(|version| version.rule), story.last());
        if expected != last {
            let detail = format!(
                "{} holds {expected:?}, and the request says last {last:?}: {:?}",
                path.display(),
                story.0
            );
            return broken(
                "what applies is in the request or announced, and nothing outdated is last",
                detail,
            );
        }
    }
    Ok(())
}

/// A call of the last answer, with its result.
struct Call<'a> {
    name: &'a str,
    input: &'a Value,
    has_failed: bool,
    output: String,
}

/// The calls of the request's last answer and their results; none when that was a text.
fn answered_calls(request: &Request) -> impl Iterator<Item = Call<'_>> {
    let answer = request.messages.iter().rposition(|message| message["role"] == "assistant");
    let messages = answer.map(|at| (&request.messages[at], request.messages.get(at + 1)));
    messages.into_iter().flat_map(|(answer, results)| {
        elements(&answer["content"]).filter(|block| block["type"] == "tool_use").filter_map(move |call| {
            let mut results = elements(&results?["content"]);
            let result = results.find(|block| block["tool_use_id"] == call["id"])?;
            let texts = elements(&result["content"]).filter_map(|text| text["text"].as_str());
            Some(Call {
                name: call["name"].as_str()?,
                input: &call["input"],
                has_failed: result["is_error"] == true,
                output: texts.collect(),
            })
        })
    })
}

impl Call<'_> {
    /// Whether the resolver was asked about its paths.
    fn has_looked(&self) -> bool {
        self.input["path"].is_string() && !self.output.contains("no more tool calls left")
    }

    fn is_write(&self) -> bool {
        self.name == "write_file" || self.name == "edit_file"
    }

    /// The directories that it touched or found something in.
    fn directories(&self, cwd: &Path, project: &Path) -> Vec<PathBuf> {
        let path = cwd.join(self.input["path"].as_str().unwrap_or_default());
        match self.name {
            "list_dir" => vec![path],
            // Every directory below has a file with the words that are looked for.
            "search" => crate::world::DIRECTORIES
                .iter()
                .map(|directory| project.join(directory))
                .filter(|directory| directory.starts_with(&path))
                .collect(),
            _ => path.parent().map(Path::to_owned).into_iter().collect(),
        }
    }
}

/// Nothing is written before the model has the text of everything that applies there.
fn writes(request: &Request, turn: &TurnRecord, world: &World) -> Result<(), Violation> {
    let Some(last) = &turn.last else { return Ok(()) };
    let had = stories(last, world);
    for call in answered_calls(request).filter(|call| call.is_write() && !call.has_failed) {
        for directory in call.directories(&turn.cwd, &world.project) {
            for path in world.chain(&directory) {
                let Some(version) = turn.looked_at[&path] else { continue };
                if !had.get(&path).is_some_and(|story| story.has_text(version.rule)) {
                    let detail =
                        format!("{} ran without RULE-{} of {}", call.name, version.rule, path.display());
                    return broken("nothing is written before its instructions are in the request", detail);
                }
            }
        }
    }
    Ok(())
}

/// Calls and results are paired.
fn pairs(request: &Request) -> Result<(), Violation> {
    const INVARIANT: &str = "calls and results are paired";
    let ids = |message: &Value, kind: &str, field: &str| -> Vec<String> {
        let blocks = elements(&message["content"]).filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[field].as_str().map(str::to_owned)).collect()
    };
    let mut open: Vec<String> = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        if elements(&message["content"]).next().is_none() {
            return broken(INVARIANT, format!("message {index} is empty"));
        }
        let results = ids(message, "tool_result", "tool_use_id");
        if results != open {
            return broken(INVARIANT, format!("message {index} answers {results:?}, called were {open:?}"));
        }
        open = ids(message, "tool_use", "id");
    }
    if open.is_empty() { Ok(()) } else { broken(INVARIANT, format!("{open:?} are not answered")) }
}

/// The system text is the same unless something in it changed, and has what is effective now.
fn system(request: &Request, turn: &TurnRecord, thread: &ThreadRecord) -> Result<(), Violation> {
    const INVARIANT: &str = "the system text is the same unless something in it changed";
    if let Some((before, inputs)) = &thread.last {
        let may_differ = turn.inputs.may_differ(inputs);
        let fixed = |request: &Request| -> Vec<String> {
            let sections = request.sections().into_iter().filter(|(title, _)| !may_differ.contains(title));
            sections.map(|(title, text)| format!("{title}\n{text}")).collect()
        };
        let (then, now) = (fixed(before), fixed(request));
        if let Some((then, now)) = then.iter().zip(&now).find(|(then, now)| then != now) {
            return broken(INVARIANT, format!("before: {then}\nnow: {now}"));
        }
        if then.len() != now.len() || before.tools != request.tools {
            return broken(INVARIANT, "a section or a tool came or went");
        }
    }
    let documents = numbers(&request.system, "DOC-");
    if documents != turn.inputs.document.into_iter().collect::<Vec<_>>() {
        let detail = format!("effective is {:?}, in the request are {documents:?}", turn.inputs.document);
        return broken("the effective document is in the request", detail);
    }
    if numbers(&request.system, "PERSONA-") != [turn.inputs.persona] {
        return broken("USER.md is in the request", format!("it says PERSONA-{}", turn.inputs.persona));
    }
    Ok(())
}

/// Every fact of a user's message is in the history, or was in the input of the summary that stands for it.
fn facts(
    request: &Request,
    turn: &TurnRecord,
    thread: &ThreadRecord,
    covered: &BTreeMap<u64, BTreeSet<u64>>,
) -> Result<(), Violation> {
    const INVARIANT: &str = "every fact is in the history or was in its summary's input";
    let said = request.said();
    let present = numbers(&said, "FACT-");
    if present.iter().filter(|fact| **fact == turn.fact).count() != 1 {
        return broken("a request asks once what the user asks", format!("FACT-{}", turn.fact));
    }
    // For this turn only, what could not be summarised may be missing.
    if turn.summary_failed {
        return Ok(());
    }
    let mut known: BTreeSet<u64> = present.into_iter().collect();
    for summary in numbers(&said, "SUMMARY-") {
        known.extend(covered.get(&summary).into_iter().flatten());
    }
    match thread.facts.iter().find(|fact| !known.contains(fact)) {
        Some(fact) => broken(INVARIANT, format!("FACT-{fact} is nowhere")),
        None => Ok(()),
    }
}

/// The last date that a request says is today's, and none is said again that the messages before say last.
fn dates(request: &Request, today: &str, new: usize) -> Result<(), Violation> {
    let mut last = None;
    for (index, message) in request.messages.iter().enumerate() {
        let message = message.to_string();
        for date in message.split("Date: ").skip(1).filter_map(|rest| rest.get(..10)) {
            if index >= new && last.as_deref() == Some(date) {
                return broken("the date is said once", date);
            }
            last = Some(date.to_owned());
        }
    }
    if last.as_deref() == Some(today) {
        return Ok(());
    }
    broken("the date is in the request", format!("it is {today}, said last is {last:?}"))
}

/// A turn that follows one without an answer is told so.
fn unanswered(request: &Request, fact: u64) -> Result<(), Violation> {
    let opening =
        request.messages.iter().find(|message| message.to_string().contains(&format!("FACT-{fact}.")));
    let is_told = opening.is_some_and(|message| message.to_string().contains("Turns Without an Answer"));
    if is_told { Ok(()) } else { broken("a turn without an answer is told of in the next one", "it is not") }
}

/// What was sent is sent again as it was.
fn replay(before: &Request, now: &Request) -> Result<(), Violation> {
    let differing =
        before.messages.iter().enumerate().find(|(index, message)| now.messages.get(*index) != Some(message));
    match differing {
        Some((index, message)) => {
            let now = now.messages.get(index).map_or_else(|| "nothing".to_owned(), Value::to_string);
            broken(
                "earlier messages are replayed byte for byte",
                format!("message {index}\nwas: {message}\nis: {now}"),
            )
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A world with one rule in its root, and a checker whose only thread has a turn running.
    struct Scene {
        checker: Checker,
        world: World,
        _directory: tempfile::TempDir,
    }

    const TODAY: &str = "2026-11-16";

    impl Scene {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let base = directory.path().canonicalize().unwrap();
            let (project, home) = (base.join("project"), base.join("home"));
            std::fs::create_dir_all(&home).unwrap();
            let world = World::new(project, home).unwrap();
            let mut scene = Self { checker: Checker::default(), world, _directory: directory };
            scene.checker.add_thread();
            scene
        }

        fn begin(&mut self, fact: u64) {
            let inputs = Inputs {
                persona: self.world.persona,
                document: None,
                start: (0, self.world.project.clone()),
            };
            self.checker.begin(0, fact, &self.world.project, inputs, &self.world.files);
        }

        /// Checks a request with these messages; the invariant that it breaks, if any.
        fn check(&mut self, messages: &Value) -> Option<&'static str> {
            let rules = self.world.files.values().flatten().map(|version| format!("RULE-{}.", version.rule));
            let rules: String = rules.collect();
            self.check_with(&rules, messages)
        }

        fn check_with(&mut self, rules: &str, messages: &Value) -> Option<&'static str> {
            let system =
                format!("## User Persona\nPERSONA-{}.\n\n## AGENTS Context\n{rules}", self.world.persona);
            let body = json!({ "system": [{ "type": "text", "text": system }], "messages": messages });
            let checked = self.checker.check(&Request::new(&body), &self.world, TODAY);
            checked.err().map(|violation| violation.invariant)
        }
    }

    fn user(text: &str) -> Value {
        json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
    }

    fn assistant(text: &str) -> Value {
        json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] })
    }

    fn opening() -> Value {
        user(&format!("FACT-7. Date: {TODAY}"))
    }

    #[test]
    fn a_request_with_everything_in_it_holds() {
        let mut scene = Scene::new();
        scene.begin(7);
        assert_eq!(scene.check(&json!([opening()])), None);
        assert_eq!(scene.check(&json!([opening(), assistant("a"), user("go on")])), None);
    }

    #[test]
    fn instructions_that_are_missing_outdated_or_there_twice_are_found() {
        const APPLIES: &str = "what applies is in the request or announced, and nothing outdated is last";
        let mut scene = Scene::new();
        scene.begin(7);
        assert_eq!(scene.check_with("", &json!([opening()])), Some(APPLIES));
        let rule = scene.world.files.values().flatten().next().unwrap().rule;
        let path = scene.world.owners[&rule].clone();
        let reminder = |line: &str| {
            user(&format!("<system-reminder type=\"session.resume.diff\">\n- {} ({line})", path.display()))
        };
        let rules = format!("RULE-{rule}.");
        scene.begin(7);
        let removed = json!([opening(), reminder("removed: no longer applies)")]);
        assert_eq!(scene.check_with(&rules, &removed), Some(APPLIES));
        scene.begin(7);
        let twice = json!([opening(), reminder(&format!("mtime: 1)\nRULE-{rule}."))]);
        let invariant = Some("no version of an instruction file is brought twice");
        assert_eq!(scene.check_with(&rules, &twice), invariant);
    }

    #[test]
    fn lost_facts_dates_and_pairs_are_found() {
        let mut scene = Scene::new();
        scene.begin(3);
        assert_eq!(scene.check(&json!([user(&format!("FACT-3. Date: {TODAY}"))])), None);
        scene.checker.end(true);
        scene.begin(7);
        let lost = Some("every fact is in the history or was in its summary's input");
        assert_eq!(scene.check(&json!([opening()])), lost);

        let mut scene = Scene::new();
        scene.begin(7);
        assert_eq!(scene.check(&json!([user("FACT-7.")])), Some("the date is in the request"));
        scene.begin(7);
        let twice = json!([opening(), user(&format!("Date: {TODAY}"))]);
        assert_eq!(scene.check(&twice), Some("the date is said once"));
        scene.begin(7);
        let call =
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f" }] });
        assert_eq!(scene.check(&json!([opening(), call])), Some("calls and results are paired"));
    }

    #[test]
    fn a_changed_prefix_is_found() {
        let mut scene = Scene::new();
        scene.begin(7);
        assert_eq!(scene.check(&json!([opening()])), None);
        let changed = json!([user(&format!("FACT-7. Date: {TODAY}!")), assistant("a")]);
        assert_eq!(scene.check(&changed), Some("earlier messages are replayed byte for byte"));

        let mut scene = Scene::new();
        scene.begin(7);
        assert_eq!(scene.check(&json!([opening()])), None);
        let rule = scene.world.files.values().flatten().next().unwrap().rule;
        let changed = Some("the system text is the same unless something in it changed");
        assert_eq!(scene.check_with(&format!("RULE-{rule}. More."), &json!([opening()])), changed);
    }

    #[test]
    fn a_write_without_its_instructions_is_found() {
        let mut scene = Scene::new();
        let rules: String =
            scene.world.files.values().flatten().map(|version| format!("RULE-{}.", version.rule)).collect();
        scene.begin(7);
        assert_eq!(scene.check_with(&rules, &json!([opening()])), None);
        // Another version comes, nobody is told, and the call runs.
        let mut random = crate::random::Random::new(1);
        while scene.world.files[&scene.world.project.join("AGENTS.md")]
            .is_some_and(|it| rules.contains(&format!("RULE-{}.", it.rule)))
        {
            scene.world.change_file(&mut random).unwrap();
        }
        scene.checker.before_tools(&scene.world.files);
        let call =
            json!({ "type": "tool_use", "id": "1", "name": "write_file", "input": { "path": "w.txt" } });
        let result = json!({ "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "ok" }] });
        let messages = json!([
            opening(),
            { "role": "assistant", "content": [call] },
            { "role": "user", "content": [result] },
        ]);
        let is_there = scene.world.files[&scene.world.project.join("AGENTS.md")].is_some();
        let expected = if is_there {
            "nothing is written before its instructions are in the request"
        } else {
            "what applies is in the request or announced, and nothing outdated is last"
        };
        assert_eq!(scene.check_with(&rules, &messages), Some(expected));
    }
}
