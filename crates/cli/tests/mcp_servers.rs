//! The real gateway and MCP servers: in a sandbox, behind TLS, and when the gateway is killed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use scripted_model::Answer;
use serde_json::json;
use test_sandbox::processes_with;

use crate::commands::turns::Talk;
use crate::sandbox::Ordinary;
use crate::support::{Server, eventually};

/// The server that the tests of `mcp` attack us with.
fn hostile_server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/hostile_server.py")
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_servers").join(name)
}

/// What the last request's newest message says.
fn last_message(talk: &scripted_model::ScriptedModel) -> String {
    let body = talk.requests().pop().unwrap().body;
    body["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn a_server_in_a_sandbox_works_and_reaches_nothing_else() {
    // Where the machine can isolate, `confined` is isolated too.
    for level in ["isolated", "confined"] {
        let talk = Ordinary::with(level, |machine| {
            let script = std::fs::read_to_string(hostile_server()).unwrap();
            machine.write("server/server.py", script);
            let server = machine.root().join("server");
            format!(
                "[mcp.servers.odd]\ncommand = 'python3'\nargs = ['server.py', 'plain', 'notes']\n\
                 cwd = '{}'\nsandbox = '{level}'\nwrite = 'allow'\nhidden = false\ntools = ['echo', 'look']\n",
                server.display()
            )
        });
        let root = talk.machine.root();
        for path in ["outside", "home/config.toml", "data/owner.token"] {
            let arguments = json!({ "text": root.join(path) }).to_string();
            talk.model.answer(Answer::empty().tool_call("1", "mcp__odd__look", &arguments));
            talk.model.answer(Answer::text("Done."));
            let said = talk.machine.run(&format!("turn start {} go", talk.thread));
            assert_eq!(said.code, Some(0), "{level}: {said:?} {}", talk.server.log());
            let told = last_message(&talk.model);
            assert!(told.contains("it cannot be read"), "{level}, {path}: {told}");
        }
        let arguments = json!({ "text": root.join("server/server.py") }).to_string();
        talk.model.answer(Answer::empty().tool_call("1", "mcp__odd__look", &arguments));
        talk.model.answer(Answer::empty().tool_call("2", "mcp__odd__look", r#"{"text":"network"}"#));
        talk.model.answer(Answer::text("Done."));
        talk.machine.run(&format!("turn start {} again", talk.thread)).done();
        let requests = talk.model.requests();
        let sent = requests.last().unwrap().body.to_string();
        assert!(sent.contains("it can be read") && sent.contains("there is no network"), "{level}: {sent}");
    }
}

#[test]
fn a_gateway_that_is_killed_in_a_call_takes_its_server_along() {
    let mark = format!("killed-{}", std::process::id());
    let settings = format!(
        "[permissions]\nwrite = 'allow'\n[mcp.servers.odd]\ncommand = 'python3'\n\
         args = ['{}', 'plain', '/dev/null', '{mark}']\nwrite = 'allow'\nhidden = false\ntools = ['hang']\n",
        hostile_server().display()
    );
    let mut talk = Talk::with("agent", &settings);
    talk.model.answer(Answer::empty().tool_call("1", "mcp__odd__hang", "{}"));
    let mut asking = talk.begin("'Go.'");
    eventually("the call", || {
        let turns = talk.machine.run(&format!("turn list {} --format json", talk.thread)).object();
        let turn = turns["turns"][0]["id"].as_str()?.to_owned();
        let shown = talk.machine.run(&format!("turn show {turn} --format json"));
        shown.out.contains("mcp__odd__hang").then_some(())
    });
    assert!(!processes_with(&mark).is_empty());
    talk.server.take().unwrap().kill();
    eventually("the server to end", || processes_with(&mark).is_empty().then_some(()));
    asking.wait().unwrap();
    // The next gateway knows what the server offers, starts it when it is called, and says what became of the turn.
    talk.server = Some(talk.machine.serve());
    let shown = talk.machine.run("turn explain last").done();
    assert!(shown.contains("mcp__odd__hang"), "{shown}");
}

/// A server behind TLS, ended when dropped.
struct Https {
    child: Child,
    port: u16,
}

impl Https {
    fn start() -> Self {
        let mut child = Command::new("python3")
            .args([own("https_server.py"), own("server.pem")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }
}

impl Drop for Https {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_behind_tls_is_trusted_by_its_root_and_not_without_it() {
    let https = Https::start();
    let settings = format!(
        "[mcp.servers.far]\nurl = 'https://localhost:{}/mcp'\nwrite = 'allow'\nhidden = false\ntimeout_ms = 20000\n",
        https.port
    );
    let mut talk = Talk::with("agent", &settings);
    talk.model.answer(Answer::text("Yes."));
    talk.ask("'Is it there?'").done();
    let status = talk.machine.run("mcp status").done();
    assert!(status.contains("failed") && status.to_lowercase().contains("certificate"), "{status}");
    talk.server.take().unwrap().stop("TERM");
    let mut command = talk.machine.command("serve --listen 127.0.0.1:0");
    command.env("SSL_CERT_FILE", own("root.pem"));
    talk.server = Some(Server::start(&talk.machine, command));
    talk.model.answer(Answer::empty().tool_call("1", "mcp__far__say", "{}"));
    talk.model.answer(Answer::text("Yes."));
    talk.ask("'Ask it.'").done();
    let told = last_message(&talk.model);
    assert!(told.contains("said in confidence"), "{told}");
}
