//! Every invariant detects a request that violates it.

use serde_json::{Value, json};

use super::*;

/// A world with one rule at the root, and a checker with one thread and a running turn.
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
        let project = base.join("project");
        let home = base.join("home");
        std::fs::create_dir_all(&home).unwrap();
        let world = World::new(project, home).unwrap();
        let mut scene = Self { checker: Checker::default(), world, _directory: directory };
        scene.checker.add_thread();
        scene
    }

    fn begin(&mut self, fact: u64) {
        let inputs =
            Inputs { persona: self.world.persona, document: None, start: (0, self.world.project.clone()) };
        self.checker.begin(0, fact, &self.world.project, inputs, &self.world.files);
    }

    /// Returns the invariant that a request with these messages violates, if any.
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
    const APPLIES: &str =
        "applicable instructions are in the request or announced, and the last mention is current";
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
    let removed = json!([opening(), reminder("deleted)")]);
    assert_eq!(scene.check_with(&rules, &removed), Some(APPLIES));
    scene.begin(7);
    let twice = json!([opening(), reminder(&format!("mtime: 1)\nRULE-{rule}."))]);
    let invariant = Some("no version of an instruction file is sent twice");
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
    assert_eq!(scene.check(&twice), Some("the date appears once"));
    scene.begin(7);
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "f" }] });
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
    // The file changes, the model is not informed, and the call runs anyway.
    let mut random = chance::Chance::new(1);
    while scene.world.files[&scene.world.project.join("AGENTS.md")]
        .is_some_and(|it| rules.contains(&format!("RULE-{}.", it.rule)))
    {
        scene.world.change_file(&mut random).unwrap();
    }
    scene.checker.before_tools(&scene.world.files);
    let call = json!({ "type": "tool_use", "id": "1", "name": "write_file", "input": { "path": "w.txt" } });
    let result =
        json!({ "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "ok" }] });
    let messages = json!([
        opening(),
        { "role": "assistant", "content": [call] },
        { "role": "user", "content": [result] },
    ]);
    let is_there = scene.world.files[&scene.world.project.join("AGENTS.md")].is_some();
    let expected = if is_there {
        "nothing is written before its instructions are in the request"
    } else {
        "applicable instructions are in the request or announced, and the last mention is current"
    };
    assert_eq!(scene.check_with(&rules, &messages), Some(expected));
}
