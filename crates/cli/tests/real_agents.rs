//! Real agents run our hook, offline, and what they send to their model is looked at.
//!
//! `cargo xtask agents` installs them and runs these tests. Each runs itself again in a network of its own, in which there
//! is nothing but the scripted model.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scripted_model::{Answer, RecordedRequest, ScriptedModel, Trial, Wire};
use serde_json::json;

use crate::support::{FOREWORD, Machine};

/// Directory of agents installed by npm.
const AGENTS: &str = "FOREWORD_TEST_AGENTS";
/// Set in the network of its own.
const INSIDE: &str = "FOREWORD_TEST_INSIDE";
/// A slow machine starts some agents slowly.
const PATIENCE: Duration = Duration::from_secs(120);

/// Smaller requests are for a title, or ask whether anybody is there.
const MIN_REQUEST_BYTES: usize = 3_000;

struct Agent {
    /// The test's own name, for running it again.
    test: &'static str,
    name: &'static str,
    program: &'static str,
    wire: Wire,
    arguments: &'static [&'static str],
    variables: fn(&str, &mut Command),
    /// Writes what the agent needs before it starts.
    prepare: fn(&Machine, &str),
    /// The call that the model makes in the project.
    call: fn(&Path) -> (&'static str, serde_json::Value),
    /// Files of the project.
    files: &'static [(&'static str, &'static str)],
    /// Checks the agent's requests to its model.
    verify: fn(&[String]),
}

const FILE: &str = "sub/deep/x.txt";

const NESTED: &[(&str, &str)] = &[
    // With it Claude Code leaves every other AGENTS.md alone.
    ("CLAUDE.md", "@AGENTS.md"),
    ("AGENTS.md", "ROOT-RULES"),
    ("sub/AGENTS.md", "SUB-RULES"),
    ("sub/deep/AGENTS.md", "DEEP-RULES"),
    (FILE, "of x"),
];

const GUARDED: &[(&str, &str)] = &[
    ("CLAUDE.md", "@AGENTS.md"),
    ("AGENTS.md", "- Use pnpm, never npm. <!-- guard: deny command \"npm *\" -->"),
    ("package.json", "{}"),
];

#[test]
#[ignore = "needs the real agents: cargo xtask agents"]
fn claude_code_gets_nested_instructions() {
    check(&Agent {
        test: "real_agents::claude_code_gets_nested_instructions",
        name: "claude-code",
        program: "claude",
        wire: Wire::Anthropic,
        arguments: &["-p", "Look at x.", "--allowedTools", "Read"],
        variables: |url, command| {
            command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "sk-none");
            command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
        },
        prepare: |_, _| {},
        call: |project| ("Read", json!({ "file_path": project.join(FILE) })),
        files: NESTED,
        verify: nested_instructions_are_delivered_once,
    });
}

#[test]
#[ignore = "needs the real agents: cargo xtask agents"]
fn codex_gets_nested_instructions() {
    check(&Agent {
        test: "real_agents::codex_gets_nested_instructions",
        name: "codex",
        program: "codex",
        wire: Wire::Openai,
        arguments: &[
            "exec",
            "--dangerously-bypass-hook-trust",
            "--dangerously-bypass-approvals-and-sandbox",
            "Look at x.",
        ],
        variables: |_, _| {},
        prepare: |machine, url| {
            let text = format!(
                "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}\"\nwire_api = \"responses\"\n"
            );
            machine.write(".codex/config.toml", text);
        },
        call: |project| ("exec_command", json!({ "cmd": format!("cat {FILE}"), "workdir": project })),
        files: NESTED,
        verify: nested_instructions_are_delivered_once,
    });
}

#[test]
#[ignore = "needs the real agents: cargo xtask agents"]
fn qwen_code_gets_nested_instructions() {
    check(&Agent {
        test: "real_agents::qwen_code_gets_nested_instructions",
        name: "qwen-code",
        program: "qwen",
        wire: Wire::OpenaiCompatible,
        arguments: &["--auth-type", "openai", "-y", "-p", "Look at x."],
        variables: |url, command| {
            command.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", "none").env("OPENAI_MODEL", "m");
        },
        prepare: |_, _| {},
        call: |project| ("read_file", json!({ "file_path": project.join(FILE) })),
        files: NESTED,
        verify: nested_instructions_are_delivered_once,
    });
}

#[test]
#[ignore = "needs the real agents: cargo xtask agents"]
fn claude_code_is_denied_by_a_guard() {
    check(&Agent {
        test: "real_agents::claude_code_is_denied_by_a_guard",
        name: "claude-code",
        program: "claude",
        wire: Wire::Anthropic,
        arguments: &["-p", "Install the packages.", "--allowedTools", "Bash"],
        variables: |url, command| {
            command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "sk-none");
            command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
        },
        prepare: |_, _| {},
        call: |_| ("Bash", json!({ "command": "npm install", "description": "Install" })),
        files: GUARDED,
        verify: the_rule_is_quoted,
    });
}

#[test]
#[ignore = "needs the real agents: cargo xtask agents"]
fn codex_is_denied_by_a_guard() {
    check(&Agent {
        test: "real_agents::codex_is_denied_by_a_guard",
        name: "codex",
        program: "codex",
        wire: Wire::Openai,
        arguments: &[
            "exec",
            "--dangerously-bypass-hook-trust",
            "--dangerously-bypass-approvals-and-sandbox",
            "Install the packages.",
        ],
        variables: |_, _| {},
        prepare: |machine, url| {
            let text = format!(
                "model = \"gpt-5\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}\"\nwire_api = \"responses\"\n"
            );
            machine.write(".codex/config.toml", text);
        },
        call: |project| ("exec_command", json!({ "cmd": "npm install", "workdir": project })),
        files: GUARDED,
        verify: the_rule_is_quoted,
    });
}

/// Script and output of the client.
const CLIENT: &str = r#"
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
const [program, project, modules] = process.argv.slice(2);
const load = createRequire(modules + "/package.json");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { ResourceUpdatedNotificationSchema } = load("@modelcontextprotocol/sdk/types.js");
const client = new Client({ name: "npm", version: "1" }, { capabilities: {} });
const heard = new Promise((tell) =>
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (told) => tell(told.params.uri)));
const env = { PATH: process.env.PATH, HOME: process.env.HOME };
await client.connect(new StdioClientTransport({ command: program, args: ["mcp"], cwd: project, env }));
const { tools } = await client.listTools();
console.log(tools.map((tool) => tool.name).join(" "));
const asked = { name: "effective_instructions", arguments: { path: "sub" } };
console.log((await client.callTool(asked)).content[0].text.includes("SUB-RULES"));
const { resources } = await client.listResources();
await client.subscribeResource({ uri: resources[0].uri });
appendFileSync(project + "/AGENTS.md", "MORE\n");
console.log((await heard) === resources[0].uri);
await client.close();
"#;

#[test]
#[ignore = "needs an MCP client from npm: cargo xtask agents"]
fn an_mcp_client_uses_our_server() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "ROOT-RULES\n");
    machine.write("project/sub/AGENTS.md", "SUB-RULES\n");
    let script = machine.write("client.mjs", CLIENT);
    let mut command = Command::new("node");
    command.arg(script).arg(FOREWORD).arg(machine.project()).arg(agents());
    command.env("HOME", machine.root());
    let output = command.output().expect("node");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        printed,
        "effective_instructions explain compare document_get why\ntrue\ntrue\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Script and output of the client at a gateway.
const HTTP_CLIENT: &str = r#"
import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
const [url, token, project, modules] = process.argv.slice(2);
const load = createRequire(modules + "/package.json");
const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ResourceUpdatedNotificationSchema } = load("@modelcontextprotocol/sdk/types.js");
const client = new Client({ name: "npm", version: "1" }, { capabilities: {} });
const heard = new Promise((tell) =>
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (told) => tell(told.params.uri)));
const requestInit = { headers: { Authorization: "Bearer " + token } };
const transport = new StreamableHTTPClientTransport(new URL(url + "/mcp"), { requestInit });
await client.connect(transport);
const { tools } = await client.listTools();
console.log(tools.map((tool) => tool.name).join(" "));
const asked = { name: "effective_instructions", arguments: { path: project + "/sub" } };
console.log((await client.callTool(asked)).content[0].text.includes("SUB-RULES"));
const save = { name: "document_save", arguments: { content: "Hello.", expected_version: 0 } };
console.log((await client.callTool(save)).structuredContent.doc.updated_by);
const late = { name: "document_save", arguments: { content: "Another text.", expected_version: 0 } };
console.log((await client.callTool(late)).isError);
const { resources } = await client.listResources();
await client.subscribeResource({ uri: resources[0].uri });
appendFileSync(project + "/AGENTS.md", "MORE\n");
console.log((await heard) === resources[0].uri);
await transport.terminateSession();
await client.close();
"#;

#[test]
#[ignore = "needs an MCP client from npm: cargo xtask agents"]
fn an_mcp_client_uses_a_gateway() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/AGENTS.md", "ROOT-RULES\n");
    machine.write("project/sub/AGENTS.md", "SUB-RULES\n");
    let gateway = machine.serve();
    machine.run("workspace create shop --root .").done();
    let token = std::fs::read_to_string(machine.data().join("owner.token")).expect("the owner's token");
    let script = machine.write("client.mjs", HTTP_CLIENT);
    let mut command = Command::new("node");
    command.arg(script).arg(&gateway.url).arg(token.trim()).arg(machine.project()).arg(agents());
    let output = command.env("HOME", machine.root()).output().expect("node");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        printed,
        "effective_instructions explain compare document_get why document_save\ntrue\nowner\ntrue\ntrue\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn check(agent: &Agent) {
    if std::env::var_os(INSIDE).is_none() {
        let trial = Trial::new(agent.name, "a nested instruction file through our hook");
        run_inside(agent.test);
        return trial.succeeded("reached the model once");
    }
    // Even the loopback device is down in a new namespace, and the scripted model listens on it.
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip");
    assert!(up.success(), "no loopback in a network of our own");
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime").block_on(run(agent));
}

fn run_inside(test: &str) {
    let this = std::env::current_exe().expect("this program");
    let status = Command::new("unshare")
        // An empty network namespace guarantees that no agent reaches its vendor, whatever its settings
        // are.
        .args(["--net", "--map-root-user"])
        .arg(this)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("unshare");
    assert!(status.success(), "{test} failed in a network of its own");
}

async fn run(agent: &Agent) {
    let machine = Machine::new();
    // Some agents work only inside a real repository, for which a bare `.git` directory is not enough.
    let made = Command::new("git").args(["init", "--quiet"]).arg(machine.project()).status().expect("git");
    assert!(made.success());
    for (name, text) in agent.files {
        machine.write(Path::new("project").join(name), format!("{text}\n"));
    }
    let model = ScriptedModel::start().await.expect("a model");
    let (tool, arguments) = (agent.call)(&machine.project());
    let mut has_called = false;
    model.answer_by(move |request| {
        if has_called || !is_turn(request) {
            return Answer::text("Done.");
        }
        has_called = true;
        Answer::empty().tool_call("call_1", tool, &arguments.to_string())
    });
    let url = model.base_url(agent.wire);
    (agent.prepare)(&machine, &url);
    machine.run(&format!("install {}", agent.name)).done();

    let mut command = Command::new(program(agent.program));
    // The environment is cleared, so that keys and settings of the person who runs the tests are not used.
    command.args(agent.arguments).env_clear().current_dir(machine.project());
    command.env("HOME", machine.root()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    // The hook finds the test's data directory through a variable, as a user would set it.
    command.env("FOREWORD_DATA", machine.data()).env("FOREWORD_HOME", machine.home());
    (agent.variables)(&url, &mut command);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the agent");
    let begun = Instant::now();
    while child.try_wait().expect("the agent").is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let turns: Vec<String> = model
        .requests()
        .iter()
        .filter(|request| is_turn(request))
        .map(|request| request.body.to_string())
        .collect();
    assert!(turns.len() >= 2, "{} made {} requests", agent.name, turns.len());
    (agent.verify)(&turns);
}

fn nested_instructions_are_delivered_once(turns: &[String]) {
    let first = &turns[0];
    let second = &turns[1];
    assert!(first.contains("ROOT-RULES"), "the agent reads it by itself: {first}");
    assert!(!first.contains("SUB-RULES") && !first.contains("DEEP-RULES"), "nothing touched it yet: {first}");
    assert!(second.contains("agents.resolve.paths"), "{second}");
    // Exactly once: the agent reads the root file itself, and the hook must not deliver it again.
    for rules in ["ROOT-RULES", "SUB-RULES", "DEEP-RULES"] {
        assert_eq!(second.matches(rules).count(), 1, "{rules} once: {second}");
    }
}

fn the_rule_is_quoted(turns: &[String]) {
    let denial = "denied by AGENTS.md:1: Use pnpm, never npm.";
    assert!(!turns[0].contains(denial) && turns[1].contains(denial), "{}", turns[1]);
}

fn is_turn(request: &RecordedRequest) -> bool {
    let body = &request.body;
    (body.get("messages").is_some() || body.get("input").is_some())
        && body.to_string().len() > MIN_REQUEST_BYTES
}

fn agents() -> PathBuf {
    let agents = std::env::var_os(AGENTS);
    agents
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("{AGENTS} says where the agents are; `cargo xtask agents` sets it"))
}

fn program(name: &str) -> PathBuf {
    let program = agents().join("node_modules/.bin").join(name);
    assert!(program.exists(), "{} is missing", program.display());
    program
}
