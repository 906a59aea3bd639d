//! Delegated work.

use std::sync::{Arc, Mutex};

use agent::{AgentSettings, TurnSettings};
use protocol::DelegateInstructions;
use scripted_model::{Answer, RecordedRequest, Release};
use serde_json::{Value, json};

use crate::support::{Setting, Socket, Stage, id, texts, until, writing};

const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", "Be brief.\n"),
    ("main.md", "x"),
    ("shelf/AGENTS.md", "Count twice.\n"),
    ("shelf/.agents/x", ""),
];

fn delegate(id: &str, arguments: Value) -> Answer {
    Answer::empty().tool_call(id, "delegate", &arguments.to_string())
}

/// Returns the text of the message that opened a request's turn.
fn opening(body: &Value) -> String {
    texts(&body["messages"][0]).join("\n")
}

fn tools(body: &Value) -> Vec<&str> {
    body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn last_texts(body: &Value) -> String {
    texts(body["messages"].as_array().unwrap().last().unwrap()).join("\n")
}

/// Creates an agent whose delegates read these instructions.
async fn delegating(
    instructions: DelegateInstructions,
    files: &'static [(&'static str, &'static str)],
) -> Stage {
    let agent: fn(&mut AgentSettings) = match instructions {
        DelegateInstructions::None => |_| {},
        DelegateInstructions::Directory => {
            |settings| settings.delegation.instructions = DelegateInstructions::Directory
        }
        DelegateInstructions::Full => {
            |settings| settings.delegation.instructions = DelegateInstructions::Full
        }
    };
    Stage::set(Setting { mode: "agent", files, turns: writing(), agent, ..Setting::default() }).await
}

async fn explained(stage: &mut Stage, turn: &str) -> Value {
    let params = stage.with(json!({ "turn_id": turn }));
    stage.socket.ok("turn/explain", params).await["explanation"].clone()
}

async fn threads(stage: &mut Stage) -> Vec<Value> {
    let params = stage.with(json!({}));
    stage.socket.ok("thread/tree", params).await["threads"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_child_answers_from_its_own_thread() {
    let mut stage = delegating(DelegateInstructions::Directory, FILES).await;
    stage.socket.ok("thread/agents_doc/save", stage.with(json!({ "content": "Speak of books." }))).await;
    stage.model.answer(delegate("1", json!({ "goal": "Count the books.\nAll of them.", "cwd": "shelf" })));
    stage.model.answer(Answer::text("Seven."));
    stage.model.answer(Answer::text("There are seven."));
    let answer = stage.ask("How many?").await;
    assert_eq!(answer["turn"]["answer"], "There are seven.");
    let turn = id(&answer["turn"]);
    let bodies = stage.bodies();
    assert_eq!(bodies.len(), 3);
    let system: Vec<String> = bodies.iter().map(|body| body["system"].to_string()).collect();
    assert!(system[0].contains("## Task Orchestration") && tools(&bodies[0]).contains(&"delegate"));
    assert!(system[0].contains("Speak of books."));
    // The child gets its goal and the files of its own directory, but neither the document nor the conversation.
    assert!(opening(&bodies[1]).starts_with("Count the books.\nAll of them."), "{}", opening(&bodies[1]));
    assert!(system[1].contains("Count twice.") && !system[1].contains("Speak of books."), "{}", system[1]);
    assert!(!bodies[1].to_string().contains("How many?"));
    assert!(last_texts(&bodies[2]).contains("Seven."));
    // The tree, the turn and its explanation know the child.
    let all = threads(&mut stage).await;
    let child = all.iter().find(|thread| thread.get("parent_thread_id").is_some()).unwrap();
    assert_eq!((&child["parent_thread_id"], &child["parent_turn_id"]), (&json!(stage.thread), &json!(turn)));
    assert_eq!((all.len(), &child["title"]), (2, &json!("Count the books.")));
    let explanation = explained(&mut stage, &turn).await;
    let delegated = &explanation["delegated"][0];
    assert_eq!((&delegated["thread_id"], &delegated["parent_turn_id"]), (&child["id"], &json!(turn)));
    assert_eq!(
        (&delegated["status"], &delegated["created_by"]),
        (&json!("completed"), &answer["turn"]["created_by"])
    );
    // The cost of the child is part of its parent's.
    let own: u64 = explanation["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["outcome"]["usage"]["input"].as_u64().unwrap())
        .sum();
    let of_child = delegated["usage"]["input"].as_u64().unwrap();
    assert!(of_child > 0);
    assert_eq!(explanation["turn"]["usage"]["input"], own + of_child);
    let of_child = explained(&mut stage, delegated["id"].as_str().unwrap()).await;
    let left_out = &of_child["left_out"][0];
    assert_eq!(
        (&left_out["section_id"], &left_out["outcome"]),
        (&json!("agents_md"), &json!("not_inherited"))
    );
    // Only turns started by users are listed.
    let listed = stage.socket.ok("turn/list", stage.with(json!({}))).await;
    assert_eq!(listed["turns"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn documents_and_files_can_name_their_audience() {
    let files: &[(&str, &str)] = &[
        ("AGENTS.md", "---\naudience: delegate\n---\nYou are a helper.\n"),
        (".agents/x", ""),
        ("a/AGENTS.md", "---\naudience: main\n---\nYou lead.\n"),
    ];
    let mut stage = delegating(DelegateInstructions::Directory, files).await;
    for (content, inherit, main, child) in [
        ("Plain.", false, true, false),
        ("Plain.", true, true, true),
        ("---\naudience: main\n---\nPlain.", true, true, false),
        ("---\naudience: delegate\n---\nPlain.", false, false, true),
    ] {
        // Each case looks at its own requests only.
        stage.model.take_requests();
        stage.socket.ok("thread/agents_doc/save", stage.with(json!({ "content": content }))).await;
        stage.model.answer(delegate("1", json!({ "goal": "x", "cwd": "a", "inherit_document": inherit })));
        stage.model.answer(Answer::text("y"));
        stage.model.answer(Answer::text("z"));
        stage.ask("Go.").await;
        let system: Vec<String> = stage.bodies().iter().map(|body| body["system"].to_string()).collect();
        assert_eq!((system[0].contains("Plain."), system[1].contains("Plain.")), (main, child), "{content}");
        assert!(!system.iter().any(|text| text.contains("audience:")), "{content}");
        assert_eq!(
            system.iter().map(|text| text.contains("helper")).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(!system[1].contains("You lead."));
    }
}

// Instructions are for the agent that a user talks to; a delegate gets its context from its goal.
#[tokio::test]
async fn delegates_read_instructions_as_far_as_the_setting_allows() {
    use DelegateInstructions::{Directory, Full, None};
    for (instructions, has_files, has_document) in
        [(None, false, false), (Directory, true, false), (Full, true, true)]
    {
        let mut stage = delegating(instructions, FILES).await;
        let home = stage.gateway.data().join("home");
        std::fs::write(home.join("USER.md"), "PERSONA-ADA").unwrap();
        std::fs::create_dir_all(home.join("skills/lend")).unwrap();
        std::fs::write(home.join("skills/lend/SKILL.md"), "---\nname: lend\ndescription: Lend\n---\nAsk.\n")
            .unwrap();
        stage.socket.ok("thread/agents_doc/save", stage.with(json!({ "content": "Speak of books." }))).await;
        let memory = json!({ "scope": "workspace", "category": "preference", "text": "MEMORY-TABS" });
        stage.socket.ok("memory/add", stage.with(memory)).await;
        stage.model.answer(delegate("1", json!({ "goal": "Count the books.", "cwd": "shelf" })));
        let write = json!({ "path": "new.txt", "content": "x" }).to_string();
        stage.model.answer(Answer::empty().tool_call("2", "write_file", &write));
        stage.model.answer(Answer::text("Seven."));
        stage.model.answer(Answer::text("There are seven."));
        let answer = stage.ask("How many?").await;
        let bodies = stage.bodies();
        let main = bodies[0].to_string();
        for text in
            ["Be brief.", "Speak of books.", "MEMORY-TABS", "PERSONA-ADA", "yours to evolve", "- lend: Lend"]
        {
            assert!(main.contains(text), "the main agent lacks {text}");
        }
        let child = bodies[1].to_string();
        for text in ["MEMORY-TABS", "PERSONA-ADA", "yours to evolve", "Soul Core", "Memory Recall"] {
            assert!(!child.contains(text), "{instructions:?} has {text}: {child}");
        }
        assert_eq!(
            child.contains("Be brief.") && child.contains("Count twice."),
            has_files,
            "{instructions:?}"
        );
        assert_eq!(child.contains("- lend: Lend") && tools(&bodies[1]).contains(&"read_skill"), has_files);
        assert_eq!(child.contains("Speak of books."), has_document, "{instructions:?}");
        // The prompt tells it that it is a delegate, what to return, where it works, and where questions go.
        let system = bodies[1]["system"].to_string();
        assert!(
            system.contains("you work for another agent") && !system.contains("Ask the user"),
            "{system}"
        );
        assert!(system.contains("Your last message is all that the other agent receives"), "{system}");
        assert!(system.contains("the agent that set the goal can answer it"), "{system}");
        let cwd = format!("Working directory: {}\\n", stage.path("shelf").display());
        assert!(system.contains(&cwd), "{system}");
        // Without instructions nothing is delivered, so that no write waits for them.
        assert!(stage.path("shelf/new.txt").exists());
        assert!(!bodies[2].to_string().contains("did not run"), "{}", bodies[2]);
        let delegated = answer["delegated"][0]["id"].as_str().unwrap().to_owned();
        let explanation = explained(&mut stage, &delegated).await;
        let policy = &explanation["policies"][0];
        assert_eq!((&policy["key"], &policy["value"]["recall"]), (&json!("memory"), &json!(false)));
        let reported = explanation["diagnostics"].to_string().contains("delegation.instructions = none");
        assert_eq!(reported, instructions == None, "{explanation:#}");
    }
}

#[tokio::test]
async fn delegation_ends_at_its_depth() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer(delegate("1", json!({ "goal": "one" })));
    stage.model.answer(delegate("2", json!({ "goal": "two" })));
    stage.model.answer(delegate("3", json!({ "goal": "three" })));
    for text in ["third", "second", "first"] {
        stage.model.answer(Answer::text(text));
    }
    let answer = stage.ask("Go.").await;
    assert_eq!(answer["turn"]["answer"], "first");
    let bodies = stage.bodies();
    // At the last level the tool is missing and so is its description, or the model would try to use it.
    let offered: Vec<bool> = bodies.iter().map(|body| tools(body).contains(&"delegate")).collect();
    assert_eq!(offered, [true, true, false, false, true, true]);
    for (body, is_offered) in bodies.iter().zip(offered) {
        assert_eq!(body["system"].to_string().contains("Task Orchestration"), is_offered);
    }
    assert!(last_texts(&bodies[3]).contains("there is no tool `delegate`"));
    let delegated = &answer["delegated"];
    assert_eq!(
        (delegated.as_array().unwrap().len(), &delegated[1]["parent_turn_id"]),
        (2, &delegated[0]["id"])
    );
}

#[tokio::test]
async fn rejected_delegation_leaves_no_trace() {
    let mut stage = Stage::agent(FILES).await;
    let refusals = [
        (json!({ "goal": " \n" }), "the goal is empty"),
        (json!({ "goal": "x", "cwd": "../.." }), "not inside the workspace's directory"),
        (json!({ "goal": "x", "cwd": "/etc" }), "not inside the workspace's directory"),
        (json!({ "goal": "x", "cwd": "missing" }), "cannot work in"),
        (json!({ "goal": "x", "tools": ["read_file", "shell"] }), "you do not have tool `shell`"),
        (json!({ "goal": "x", "max_rounds": 0 }), "max_rounds"),
        (json!({ "goal": "x", "depth": 9 }), "depth"),
    ];
    for (arguments, _) in &refusals {
        stage.model.answer(delegate("1", arguments.clone()));
    }
    stage.model.answer(Answer::text("done"));
    let answer = stage.ask("Go.").await;
    let results: Vec<&Value> =
        answer["steps"].as_array().unwrap().iter().filter_map(|step| step["results"].get(0)).collect();
    for (result, (arguments, words)) in results.iter().zip(&refusals) {
        assert_eq!(result["is_error"], true, "{arguments}");
        assert!(result["text"].as_str().unwrap().contains(words), "{arguments}: {result}");
    }
    assert_eq!((results.len(), threads(&mut stage).await.len()), (refusals.len(), 1));
}

#[tokio::test]
async fn a_child_is_limited_to_its_tools_and_rounds() {
    let mut stage = Stage::agent(FILES).await;
    let arguments = json!({ "goal": "x", "tools": ["read_file", "delegate"], "max_rounds": 1 });
    stage.model.answer(delegate("1", arguments));
    let write = json!({ "path": "a", "content": "x" }).to_string();
    stage.model.answer(Answer::empty().tool_call("2", "write_file", &write));
    stage.model.answer(Answer::text("I may not."));
    stage.model.answer(Answer::text("done"));
    stage.ask("Go.").await;
    let bodies = stage.bodies();
    assert_eq!(tools(&bodies[1]), ["read_file", "delegate"]);
    assert!(last_texts(&bodies[2]).contains("there is no tool `write_file`"));
    // After its only round the child must answer, so that its parent gets a result instead of an error.
    assert_eq!(bodies[2]["tool_choice"]["type"], "none");
    assert!(!stage.path("a").exists());
}

#[tokio::test]
async fn a_failed_child_is_reported_to_its_parent() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer(delegate("1", json!({ "goal": "x" })));
    stage.model.answer(Answer::wrong_key());
    stage.model.answer(Answer::text("It failed."));
    let answer = stage.ask("Go.").await;
    assert!(last_texts(&stage.last_body()).contains("the delegated work has no result: "));
    assert_eq!(answer["delegated"][0]["status"], "failed");
}

#[tokio::test]
async fn watchers_of_the_parent_see_approvals_of_children() {
    let files: &[(&str, &str)] = &[("a", "x\n")];
    let setting = Setting { mode: "agent", files, turns: TurnSettings::default(), ..Setting::default() };
    let mut stage = Stage::set(setting).await;
    stage.model.answer(delegate("1", json!({ "goal": "write" })));
    let write = json!({ "path": "b", "content": "y" }).to_string();
    stage.model.answer(Answer::empty().tool_call("1", "write_file", &write));
    stage.model.answer(Answer::text("Written."));
    stage.model.answer(Answer::text("done"));
    let turn = stage.start("Go.").await;
    stage.until(&turn, |answer| answer["approvals"].get(0).is_some()).await;
    let mut other = Socket::owner(&stage.gateway).await;
    let watched = other.ok("turn/watch", stage.with(json!({ "turn_id": turn }))).await;
    let (asked, child) = (&watched["approvals"][0], &watched["delegated"][0]);
    assert_eq!((&asked["tool"], &asked["turn_id"]), (&json!("write_file"), &child["id"]));
    assert_eq!(child["status"], "running");
    let approve = json!({ "turn_id": asked["turn_id"], "call_id": asked["call_id"], "allow": true, "digest": asked["digest"] });
    other.ok("turn/approve", stage.with(approve)).await;
    let answer = stage.ended(&turn).await;
    assert_eq!((&answer["turn"]["status"], stage.read("b").as_str()), (&json!("completed"), "y"));
    assert!(answer["approvals"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn stopping_a_turn_stops_its_children_first() {
    let mut stage = Stage::agent(FILES).await;
    stage.socket.ok("events/subscribe", stage.with(json!({}))).await;
    stage.model.answer(delegate("1", json!({ "goal": "one" })));
    stage.model.answer(delegate("2", json!({ "goal": "two" })));
    stage.model.answer(Answer::silence());
    let turn = stage.start("Go.").await;
    until("the grandchild to ask", async || stage.model.requests().len() == 3).await;
    let params = stage.with(json!({ "turn_id": turn }));
    assert_eq!(stage.socket.ok("turn/cancel", params).await["turn"]["status"], "cancelled");
    let explanation = explained(&mut stage, &turn).await;
    let delegated = explanation["delegated"].as_array().unwrap();
    assert_eq!(delegated.len(), 2);
    assert!(delegated.iter().all(|turn| turn["status"] == "cancelled"), "{delegated:#?}");
    let mut ended = Vec::new();
    while ended.len() < 3 {
        let told = stage.socket.notification().await;
        if told["method"] == "turn/cancelled" {
            ended.push(told["params"]["turn_id"].clone());
        }
    }
    // The innermost turn ends first. In the other order, a child could still write files for a parent that is already
    // over.
    assert_eq!(ended, [delegated[1]["id"].clone(), delegated[0]["id"].clone(), json!(turn)]);
}

#[tokio::test]
async fn a_stopped_child_is_reported_to_its_parent() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer(delegate("1", json!({ "goal": "one" })));
    stage.model.answer(Answer::silence());
    let turn = stage.start("Go.").await;
    until("the child to ask", async || stage.model.requests().len() == 2).await;
    let running = stage.get(&turn).await;
    stage.model.answer(Answer::text("It was stopped."));
    let params = stage.with(json!({ "turn_id": running["delegated"][0]["id"] }));
    stage.socket.ok("turn/cancel", params).await;
    let answer = stage.ended(&turn).await;
    assert_eq!(answer["turn"]["status"], "completed");
    assert!(last_texts(&stage.last_body()).contains("it was stopped"));
}

#[tokio::test]
async fn a_child_whose_directory_vanishes_fails_alone() {
    let mut stage = Stage::agent(FILES).await;
    let shelf = stage.path("shelf");
    stage.model.answer(delegate("1", json!({ "goal": "one", "cwd": "shelf" })));
    let (gone, is_gone) = (shelf.clone(), Arc::new(Mutex::new(0)));
    stage.model.answer_by(move |_: &RecordedRequest| {
        let mut calls = is_gone.lock().unwrap();
        *calls += 1;
        match *calls {
            1 => {
                std::fs::remove_dir_all(&gone).unwrap();
                Answer::empty().tool_call("2", "list_dir", r#"{"path":"."}"#)
            }
            2 => Answer::text("It is gone."),
            _ => Answer::text("done"),
        }
    });
    let answer = stage.ask("Go.").await;
    assert_eq!(answer["turn"]["answer"], "done");
    assert!(!shelf.exists());
}

/// Holds back the answers of children until they are released; the parent is answered immediately.
fn hold_children(stage: &Stage, count: usize) -> Arc<Mutex<Vec<Release>>> {
    let held: Arc<Mutex<Vec<Release>>> = Arc::default();
    let releases = Arc::clone(&held);
    stage.model.answer_by(move |request: &RecordedRequest| {
        let first = opening(&request.body);
        if first.starts_with("child") {
            let (answer, release) = Answer::text("ready").held_after_events(1);
            releases.lock().unwrap().push(release);
            return answer;
        }
        if request.body["messages"].as_array().unwrap().len() > 1 {
            return Answer::text("done");
        }
        (0..count).fold(Answer::empty(), |answer, index| {
            let goal = json!({ "goal": format!("child {index}") }).to_string();
            answer.tool_call(&format!("c{index}"), "delegate", &goal)
        })
    });
    held
}

#[tokio::test]
async fn children_are_limited_but_take_no_slots() {
    let mut turns = writing();
    // The limits count only turns that people start. If children needed a slot as well, the parent would hold the only
    // one and wait forever.
    turns.limits.running_in_workspace = 1;
    turns.limits.running = 1;
    let setting = Setting { mode: "agent", turns, ..Setting::default() };
    let mut stage = Stage::set(setting).await;
    let held = hold_children(&stage, 6);
    let turn = stage.start("Go.").await;
    until("four to ask", async || held.lock().unwrap().len() == 4).await;
    // A slot is taken before the thread is created, so more concurrent children would mean more threads.
    assert_eq!(threads(&mut stage).await.len(), 5);
    held.lock().unwrap().drain(..).for_each(|release| release.now());
    until("the others to ask", async || held.lock().unwrap().len() == 2).await;
    held.lock().unwrap().drain(..).for_each(|release| release.now());
    let answer = stage.ended(&turn).await;
    assert_eq!(answer["turn"]["status"], "completed", "{answer:#}");
    let delegated = answer["delegated"].as_array().unwrap();
    assert_eq!(delegated.len(), 6);
    assert!(delegated.iter().all(|turn| turn["status"] == "completed"));
}

/// Returns the texts of the results in a request's last message.
fn last_results(body: &Value) -> Vec<String> {
    let blocks = body["messages"].as_array().unwrap().last().unwrap()["content"].as_array().unwrap().iter();
    blocks.filter(|block| block["type"] == "tool_result").map(ToString::to_string).collect()
}

#[tokio::test]
async fn endless_delegation_is_limited() {
    let agent = |settings: &mut AgentSettings| settings.delegation.max_given_out = 5;
    let setting = Setting { mode: "agent", turns: writing(), agent, ..Setting::default() };
    let mut stage = Stage::set(setting).await;
    // Every agent delegates to two others until the limit stops them.
    stage.model.answer_by(|request: &RecordedRequest| {
        let is_answered = request.body["messages"].as_array().unwrap().len() > 1;
        let has_tool =
            request.body["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "delegate");
        if is_answered || !has_tool {
            return Answer::text("done");
        }
        let goal = json!({ "goal": "again" }).to_string();
        Answer::empty()
            .tool_call("a", "delegate", &goal)
            .tool_call("b", "delegate", &goal)
            .tool_call("c", "delegate", &goal)
    });
    stage.ask("Go.").await;
    assert_eq!(threads(&mut stage).await.len(), 6, "the first thread, and five that work for it");
    let told: Vec<String> = stage
        .bodies()
        .iter()
        .filter(|body| body["messages"].as_array().unwrap().len() > 1)
        .flat_map(last_results)
        .collect();
    let refused = told.iter().filter(|text| text.contains("delegation limit reached: 5 tasks"));
    assert!(refused.count() >= 1, "{told:?}");
}

#[tokio::test]
async fn children_inherit_off_the_record() {
    let agent = |settings: &mut AgentSettings| settings.memory.hidden = false;
    let setting = Setting { mode: "agent", turns: writing(), agent, ..Setting::default() };
    let mut stage = Stage::set(setting).await;
    for (input, remembers) in [("Off the record: count the coins.", false), ("Count the books.", true)] {
        stage.model.answer(delegate("1", json!({ "goal": "Count." })));
        stage.model.answer(Answer::text("Seven."));
        stage.model.answer(Answer::text("Seven."));
        stage.ask(input).await;
        for body in stage.bodies().iter().rev().take(3) {
            assert_eq!(tools(body).contains(&"memory_remember"), remembers, "{input}");
        }
    }
}

#[tokio::test]
async fn changes_by_children_of_failed_turns_are_described() {
    let mut stage = Stage::agent(FILES).await;
    stage.model.answer(delegate("1", json!({ "goal": "Write it.", "cwd": "shelf" })));
    let write = json!({ "path": "new.txt", "content": "x" }).to_string();
    stage.model.answer(Answer::empty().tool_call("2", "write_file", &write));
    stage.model.answer(Answer::text("Written."));
    stage.model.answer(Answer::wrong_key());
    stage.fail("Go.").await;
    assert!(stage.path("shelf/new.txt").exists());
    stage.model.answer(Answer::text("Yes."));
    stage.ask("And now?").await;
    let told = stage.last_body()["messages"].to_string();
    assert!(
        told.contains("files it changed: shelf/new.txt") && !told.contains("it changed no files"),
        "{told}"
    );
}
