//! Everything that feeds a prompt besides instructions, together: skills, memory, hidden tools, an MCP server, delegation.

use std::collections::BTreeMap;
use std::path::Path;

use agent::{AgentSettings, PromptSettings};
use mcp::{McpSettings, ServerSettings};
use scripted_model::Answer;
use serde_json::{Value, json};
use tools::Permission;

use crate::support::{Setting, Stage, writing};
use crate::transcript::{self, SystemText};

const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", "Use British spelling.\n"),
    ("library/AGENTS.md", "Count twice.\n"),
    ("library/shelf.txt", "Emma\nPersuasion\n"),
];

const SKILL: &str =
    "---\nname: release\ndescription: Cuts a release of the catalogue\n---\nTag it, then tell the list.\n";

fn server() -> McpSettings {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/hostile_server.py");
    let server = ServerSettings {
        command: Some("python3".to_owned()),
        args: vec![script.to_str().unwrap().to_owned(), "plain".to_owned(), "/dev/null".to_owned()],
        tools: Some(vec!["echo".to_owned()]),
        write: Permission::Allow,
        ..ServerSettings::default()
    };
    let program = tools::Program::at(test_sandbox::guard_program().unwrap());
    McpSettings { servers: [("echoes".to_owned(), server)].into(), program, ..McpSettings::default() }
}

/// Creates an agent with every domain, except for the changes.
async fn stage(agent: fn(&mut AgentSettings), mcp: McpSettings) -> Stage {
    let setting = Setting { mode: "agent", files: FILES, turns: writing(), mcp, agent, ..Setting::default() };
    let mut stage = Stage::set(setting).await;
    let folder = stage.gateway.data().join("home/skills/release");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), SKILL).unwrap();
    for (category, text) in [("preference", "Answers are short"), ("decision", "Releases are cut on Mondays")]
    {
        let add = stage.with(json!({ "scope": "workspace", "category": category, "text": text }));
        stage.socket.ok("memory/add", add).await;
    }
    stage
}

fn call(id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::empty().tool_call(id, tool, &arguments.to_string())
}

#[tokio::test]
async fn transcript_of_a_turn_with_every_domain() {
    let mut stage = stage(|_| {}, server()).await;
    let wanted = json!({ "tools": ["memory_remember", "mcp__echoes__echo"] });
    let first = Answer::text("I look at how a release goes, and ask for two tools.")
        .tool_call("skill", "read_skill", r#"{"slug":"release"}"#)
        .tool_call("ask", "request_tools", &wanted.to_string());
    stage.model.answer(first);
    let second =
        Answer::empty().tool_call("echo", "mcp__echoes__echo", r#"{"text":"Is anybody there?"}"#).tool_call(
            "count",
            "delegate",
            &json!({ "goal": "Count the books in shelf.txt.", "cwd": "library" }).to_string(),
        );
    stage.model.answer(second);
    // The child.
    stage.model.answer(call("read", "read_file", &json!({ "path": "library/shelf.txt" })));
    stage.model.answer(Answer::text("Two books: Emma and Persuasion."));
    // The parent again.
    stage.model.answer(call(
        "keep",
        "memory_remember",
        &json!({ "text": "The shelf has two books", "category": "fact" }),
    ));
    stage.model.answer(Answer::text("Two books. The release can be cut on Monday."));
    stage.ask("Can the releases go out, and how many books are there?").await;
    // The next turn still has what was remembered and requested.
    stage.model.answer(Answer::text("Two."));
    stage.ask("How many books were on the shelf?").await;
    transcript::check(&stage, "19-every-domain", SystemText::WithTools);
}

/// Returns the prompt of a new thread as sections by heading.
async fn sections(stage: &mut Stage) -> BTreeMap<String, String> {
    stage.model.answer(Answer::text("Yes."));
    // The first turn starts the server and learns what it offers.
    stage.ask("Hello?").await;
    let params = stage.with(json!({ "thread_id": stage.thread, "fresh": true, "input": "releases" }));
    let preview = stage.socket.ok("prompt/preview", params).await;
    let text = transcript::stable(stage, preview["full_text"].as_str().unwrap());
    let sections = text.split("\n## ").map(|section| {
        let (heading, text) = section.split_once('\n').unwrap_or((section, ""));
        (heading.trim_start_matches("## ").to_owned(), text.trim_end().to_owned())
    });
    sections.collect()
}

/// Returns the headings of `all` with the lines that are missing in `some`, together with their replacements.
fn missing(all: &BTreeMap<String, String>, some: &BTreeMap<String, String>) -> Vec<(String, Vec<String>)> {
    let differing = all.iter().filter(|(heading, text)| some.get(*heading) != Some(*text));
    let lines = differing.map(|(heading, text)| {
        let kept: Vec<&str> = some.get(heading).map(|text| text.lines().collect()).unwrap_or_default();
        // A section may lose lines, but no line may change: a changed byte would invalidate the provider's cache.
        assert!(kept.iter().all(|line| text.contains(line)), "{heading}: {kept:?}");
        let gone = text.lines().filter(|line| !kept.contains(line)).map(str::to_owned);
        (heading.clone(), gone.collect())
    });
    lines.collect()
}

/// A domain, how it is disabled, the servers that are left, and the sections that change.
type Case = (&'static str, fn(&mut AgentSettings), McpSettings, &'static [&'static str]);

#[tokio::test]
async fn disabling_a_domain_leaves_other_sections_unchanged() {
    let mut everything = stage(|_| {}, server()).await;
    let all = sections(&mut everything).await;
    for heading in ["Skills Runtime", "Memory Recall", "Hidden Tool Domains", "Task Orchestration"] {
        assert!(all.contains_key(heading), "{heading}: {:?}", all.keys());
    }
    let without_server = McpSettings { enabled: false, ..server() };
    let cases: [Case; 4] = [
        ("skills", |settings| settings.skills.enabled = false, server(), &["Skills Runtime"]),
        (
            "memory",
            |settings| settings.memory.enabled = false,
            server(),
            &["Hidden Tool Domains", "Memory Recall"],
        ),
        ("mcp", |_| {}, without_server, &["Hidden Tool Domains"]),
        ("delegation", |settings| settings.delegation.enabled = false, server(), &["Task Orchestration"]),
    ];
    for (domain, change, mcp, expected) in cases {
        let mut without = stage(change, mcp).await;
        let some = sections(&mut without).await;
        let gone = missing(&all, &some);
        let headings: Vec<&str> = gone.iter().map(|(heading, _)| heading.as_str()).collect();
        assert_eq!(headings, expected, "without {domain}: {gone:#?}");
        for (heading, lines) in gone.iter().filter(|(heading, _)| heading == "Hidden Tool Domains") {
            let name = if domain == "mcp" { "mcp:echoes:" } else { "memory:" };
            assert_eq!(lines[0], name, "{heading} without {domain}: {lines:?}");
            assert_eq!(lines.len(), if domain == "mcp" { 2 } else { 6 }, "{heading}: {lines:?}");
        }
    }
}

// A model that sees a tool without its explanation guesses what it is for.
#[tokio::test]
async fn tools_come_with_their_explanation() {
    use protocol::prompt::PromptProfile;
    let disabled =
        |id: &str| PromptSettings { disabled_sections: [id.to_owned()].into(), ..PromptSettings::default() };
    let profile = |profile| PromptSettings { profile, ..PromptSettings::default() };
    let all = ["read_skill", "delegate", "request_tools"];
    for (name, prompt, left_out) in [
        ("full", PromptSettings::default(), &all[..0]),
        ("minimal", profile(PromptProfile::Minimal), &all[..]),
        ("none", profile(PromptProfile::None), &all[..]),
        ("without delegation", disabled("task_orchestration"), &all[1..2]),
        ("without the catalog", disabled("hidden_tool_domains"), &all[2..]),
        ("without skills", disabled("skills_runtime"), &all[..1]),
    ] {
        let setting = Setting { mode: "agent", prompt, turns: writing(), ..Setting::default() };
        let mut stage = Stage::set(setting).await;
        let folder = stage.gateway.data().join("home/skills/lend");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("SKILL.md"), "---\nname: lend\ndescription: Lend\n---\nAsk.\n").unwrap();
        stage.model.answer(Answer::empty().tool_call("1", "list_dir", r#"{"path":"."}"#));
        stage.model.answer(Answer::text("done"));
        stage.ask("hi").await;
        for body in stage.bodies() {
            let tools = body["tools"].to_string();
            for tool in all {
                let is_offered = tools.contains(&format!("\"name\":\"{tool}\""));
                assert_eq!(is_offered, !left_out.contains(&tool), "{name}: {tool}");
            }
            // File tools are described completely by themselves, but a model needs to know where it is.
            let has_directory = body["system"].to_string().contains("Working directory: ");
            assert_eq!(has_directory, name != "none", "{name}");
        }
        let params = stage.with(json!({ "thread_id": stage.thread }));
        let preview = stage.socket.ok("prompt/preview", params).await;
        assert_eq!(
            preview["tools"].to_string().contains("\"delegate\""),
            !left_out.contains(&"delegate"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn parameters_of_our_tools_need_no_references() {
    let agent = |settings: &mut AgentSettings| settings.memory.hidden = false;
    let mut stage =
        Stage::set(Setting { mode: "agent", turns: writing(), agent, ..Setting::default() }).await;
    stage.model.answer(Answer::text("done"));
    stage.ask("hi").await;
    let body = stage.last_body();
    for tool in body["tools"].as_array().unwrap() {
        let schema = tool["input_schema"].to_string();
        for keyword in ["$ref", "$defs", "anyOf", "oneOf", "null"] {
            assert!(!schema.contains(keyword), "{keyword} in {tool:#}");
        }
    }
    let remember =
        body["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "memory_remember").unwrap();
    let scope = &remember["input_schema"]["properties"]["scope"];
    assert_eq!((&scope["type"], &scope["enum"]), (&json!("string"), &json!(["user", "workspace", "thread"])));
}

#[tokio::test]
async fn a_wish_not_to_be_remembered_is_explained() {
    let agent = |settings: &mut AgentSettings| settings.memory.hidden = false;
    let mut stage = Stage::set(Setting { agent, ..Setting::default() }).await;
    for (input, phrase) in
        [("Please do NOT remember that: my PIN is 1.", Some("do not remember that")), ("Hello.", None)]
    {
        stage.model.answer(Answer::text("done"));
        let turn = stage.ask(input).await;
        let params = stage.with(json!({ "turn_id": turn["turn"]["id"] }));
        let explanation = stage.socket.ok("turn/explain", params).await["explanation"].clone();
        let policy = &explanation["policies"][0];
        assert_eq!(
            (&policy["hook_id"], &policy["value"]["recall"]),
            (&json!("foreword.memory_policy"), &json!(true))
        );
        assert_eq!(policy["value"]["remember"], phrase.is_none());
        assert_eq!(policy["value"].get("phrase"), phrase.map(|phrase| json!(phrase)).as_ref());
        let reason = phrase.map(|phrase| format!("the user's message contains \"{phrase}\""));
        assert_eq!(policy.get("reason"), reason.map(|reason| json!(reason)).as_ref());
        let effect = phrase.map(|_| json!("`memory_remember` is not offered"));
        assert_eq!(policy.get("effect"), effect.as_ref());
    }
}
