//! The real gateway and MCP servers: in a sandbox, behind TLS, and when the gateway is killed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use scripted_model::Answer;
use serde_json::json;
use test_sandbox::processes_with;

use crate::commands::turns::starting::Talk;
use crate::sandbox::Ordinary;
use crate::support::{Server, eventually, finish};

/// The server that the tests of `mcp` attack us with.
fn hostile_server() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/hostile_server.py")
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_servers").join(name)
}

/// Returns the newest message of the last request.
fn last_message(talk: &scripted_model::ScriptedModel) -> String {
    let body = talk.requests().pop().unwrap().body;
    body["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn a_server_in_a_sandbox_works_and_reaches_nothing_else() {
    // On machines that support isolation, `confined` is isolated too.
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
        // A stranger's file, the configuration and the owner token: with the token, a server could act on
        // the gateway as its owner.
        for path in ["outside", "home/config.toml", "data/owner.token"] {
            let arguments = json!({ "text": root.join(path) }).to_string();
            talk.model.answer(Answer::empty().tool_call("1", "mcp__odd__look", &arguments));
            talk.model.answer(Answer::text("Done."));
            let said = talk.machine.run(&format!("turn start {} go", talk.thread));
            assert_eq!(said.code, Some(0), "{level}: {said:?} {}", talk.server.log());
            let told = last_message(&talk.model);
            assert!(told.contains("it cannot be read"), "{level}, {path}: {told}");
        }
        // The server can still read its own directory. Without this check, a sandbox that breaks every
        // server would pass the loop above.
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
fn an_mcp_server_dies_with_its_gateway() {
    // The mark on the command line distinguishes this server from those of tests that run at the same time.
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
    // The next gateway knows the server's tools, starts it on a call, and reports the turn's outcome.
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
        // The server chooses a free port and prints it, which also shows that it listens.
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
fn tls_servers_need_a_trusted_root() {
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
    // The variable is part of the process's environment, so a new gateway has to be started with it.
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

#[test]
fn an_unusable_server_is_reported() {
    let settings = "[mcp.servers.gone]\ncommand = 'no-such-program'\nenv = ['NO_SUCH_VARIABLE']\n";
    let talk = Talk::with("chat", settings);
    talk.model.answer(Answer::text("Yes."));
    let said = talk.ask("'Is it there?'");
    let why = "the MCP server `gone` offers nothing: the program `no-such-program` is not on PATH";
    assert!(said.err.contains(&format!("warning: {why}\n")), "{}", said.err);
    assert_eq!(said.done(), "Yes.\n");
    let explained = talk.machine.run("turn explain last").done();
    assert!(explained.contains(&format!("\ndiagnostics\n  prompt: {why} (tools_omitted)\n")), "{explained}");
    let wrong = talk.ask("'Again.' --mcp gane").failed(2);
    assert!(wrong.contains("there is no MCP server `gane`\nhint: did you mean `gone`?\n"), "{wrong}");
    let doctor = talk.machine.run("doctor").out;
    for line in [
        "warn  mcp: server `gone`: the program `no-such-program` is not on PATH\n      hint: install it, or write its whole path\n",
        "warn  mcp: server `gone`: the environment variable NO_SUCH_VARIABLE (`env`) is not set\n      hint: set it where the gateway starts\n",
    ] {
        assert!(doctor.contains(line), "{line}: {doctor}");
    }
}

/// A value where the name of a variable belongs is nearly always a secret.
#[test]
fn a_pasted_secret_is_refused_and_not_repeated() {
    let talk = Talk::new("chat");
    for (settings, words) in [
        (
            "url = 'https://x.example/?token=tok98765'\nheaders_env = { Authorization = 'Bearer tok98765' }",
            "`headers_env`",
        ),
        ("command = 'python3'\nenv = ['KEY=tok98765']", "`env`"),
        ("url = 'x.example/?token=tok98765'", "`url`"),
    ] {
        let file = talk.machine.write("odd.toml", format!("[mcp.servers.odd]\n{settings}\n"));
        let mut command = talk.machine.command("config");
        command.arg("--config").arg(&file);
        let said = finish(command, b"");
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(words) && !said.err.contains("tok98765"), "{said:?}");
    }
}

#[test]
fn server_output_never_reaches_a_log() {
    let secret = "a-secret-of-nobody";
    let settings = format!(
        "[mcp.servers.odd]\ncommand = 'python3'\nargs = ['{}', 'plain', '/dev/null']\nenv = ['FOREWORD_TEST_SECRET']\n\
         write = 'allow'\nhidden = false\ntools = ['secret']\n",
        hostile_server().display()
    );
    let mut talk = Talk::with("chat", &settings);
    talk.server.take().unwrap().stop("TERM");
    let mut command = talk.machine.command("serve --listen 127.0.0.1:0");
    command.env("FOREWORD_LOG", "trace").env("FOREWORD_TEST_SECRET", secret);
    let server = Server::start(&talk.machine, command);
    talk.model.answer(Answer::empty().tool_call("1", "mcp__odd__secret", "{}"));
    talk.model.answer(Answer::text("Yes."));
    talk.ask("'Ask it.'").done();
    assert!(last_message(&talk.model).contains("it is [secret]"));
    // The line with TRACE proves that the level took effect. Otherwise the secret would be missing for the
    // wrong reason.
    let log = server.log();
    assert!(log.contains("TRACE") && !log.contains(secret), "{log}");
}
