//! Third-party servers from npm and PyPI, installed as their users install them.
//!
//! These tests do not run by default: they need Node, Python and network access to install. CONTRIBUTING.md explains how to run
//! them, and with which versions they were last tried.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that people run and read")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mcp::{McpSettings, ServerSettings, Servers};
use sandbox::Program;
use serde_json::{Value, json};
use tools::{Permission, RoundContext, Router, ToolCall, ToolContext, ToolOutput, Toolbox};

/// Returns the directory in which they are installed once for all later runs.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-servers")
}

fn run(program: &Path, arguments: &[&str]) {
    let said = Command::new(program).args(arguments).output().unwrap();
    assert!(
        said.status.success(),
        "{} {arguments:?}: {}",
        program.display(),
        String::from_utf8_lossy(&said.stderr)
    );
}

/// Returns the command that an npm package installs.
fn from_npm(package: &str, command: &str) -> PathBuf {
    let directory = cache().join("npm");
    std::fs::create_dir_all(&directory).unwrap();
    let installed = directory.join("node_modules/.bin").join(command);
    if !installed.exists() {
        run(Path::new("npm"), &["install", "--no-audit", "--prefix", directory.to_str().unwrap(), package]);
    }
    let version = directory.join("node_modules").join(package).join("package.json");
    let version: Value = serde_json::from_slice(&std::fs::read(version).unwrap()).unwrap();
    println!("{package} {}", version["version"]);
    installed
}

/// Returns the command that a PyPI package installs.
fn from_pypi(package: &str) -> PathBuf {
    let directory = cache().join("pypi").join(package);
    let installed = directory.join("bin").join(package);
    if !installed.exists() {
        run(Path::new("python3"), &["-m", "venv", directory.to_str().unwrap()]);
        run(&directory.join("bin/pip"), &["install", "--quiet", "--prefer-binary", package]);
    }
    let shown = Command::new(directory.join("bin/pip")).args(["show", package]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    println!("{package} {}", shown.lines().find(|line| line.starts_with("Version")).unwrap_or_default());
    installed
}

struct Given {
    _directory: tempfile::TempDir,
    servers: Servers,
    toolbox: Toolbox,
}

impl Given {
    async fn new(settings: ServerSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let settings = McpSettings {
            enabled: true,
            servers: [("real".to_owned(), settings)].into(),
            program: Program::at(test_sandbox::guard_program().unwrap()),
        };
        let servers = Servers::new(&settings, directory.path(), &[], |name| std::env::var(name).ok());
        let source = servers.sources().remove(0);
        let round = RoundContext::of_chat(1);
        let toolbox = source.offer(&round).await;
        println!("{toolbox:?}\n{:?}", source.problems(&round));
        Self { _directory: directory, servers, toolbox }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let router = Router::all(&self.toolbox, ToolContext::without_directory());
        let name = format!("mcp__real__{tool}");
        let output = router.call(ToolCall { id: "1".into(), name, arguments: arguments.to_string() }).await;
        println!("{tool}: {}", output.text);
        output
    }
}

fn program(command: &Path, args: &[&str]) -> ServerSettings {
    ServerSettings {
        command: Some(command.to_str().unwrap().to_owned()),
        args: args.iter().map(|word| (*word).to_owned()).collect(),
        write: Permission::Allow,
        timeout: Duration::from_secs(60),
        ..ServerSettings::default()
    }
}

#[tokio::test]
#[ignore = "installs from the npm registry"]
async fn npm_everything_over_stdio() {
    let command = from_npm("@modelcontextprotocol/server-everything", "mcp-server-everything");
    let given = Given::new(program(&command, &[])).await;
    let echoed = given.call("echo", json!({ "message": "hello" })).await;
    assert!(!echoed.is_error && echoed.text.contains("hello"));
    let sum = given.call("get-sum", json!({ "a": 2, "b": 40 })).await;
    assert!(sum.text.contains("42"));
    let image = given.call("get-tiny-image", json!({})).await;
    assert!(image.text.contains("[image: image/png,"));
    let wrong = given.call("get-sum", json!({ "a": "two", "b": 1 })).await;
    assert!(wrong.is_error);
    given.servers.shut_down().await;
}

#[tokio::test]
#[ignore = "installs from the npm registry"]
async fn npm_everything_over_http() {
    let command = from_npm("@modelcontextprotocol/server-everything", "mcp-server-everything");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server =
        Command::new(command).arg("streamableHttp").env("PORT", port.to_string()).spawn().unwrap();
    let listening = async {
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), listening).await.unwrap();
    let settings = ServerSettings {
        url: Some(format!("http://127.0.0.1:{port}/mcp")),
        write: Permission::Allow,
        ..ServerSettings::default()
    };
    let given = Given::new(settings).await;
    let echoed = given.call("echo", json!({ "message": "hello" })).await;
    let _ = server.kill();
    let _ = server.wait();
    assert!(!echoed.is_error && echoed.text.contains("hello"));
}

#[tokio::test]
#[ignore = "installs from the npm registry"]
async fn npm_filesystem() {
    let command = from_npm("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem");
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("note.txt"), "inside").unwrap();
    let root = files.path().canonicalize().unwrap();
    let given = Given::new(program(&command, &[root.to_str().unwrap()])).await;
    let read = given.call("read_text_file", json!({ "path": root.join("note.txt") })).await;
    assert_eq!(read.text.trim(), "inside");
    let outside = given.call("read_text_file", json!({ "path": "/etc/hostname" })).await;
    assert!(outside.is_error);
    given.servers.shut_down().await;
}

#[tokio::test]
#[ignore = "installs from PyPI"]
async fn pypi_time() {
    let given = Given::new(program(&from_pypi("mcp-server-time"), &["--local-timezone", "UTC"])).await;
    let now = given.call("get_current_time", json!({ "timezone": "Europe/Berlin" })).await;
    assert!(!now.is_error && now.text.contains("Europe/Berlin"));
    let nowhere = given.call("get_current_time", json!({ "timezone": "Nowhere/Land" })).await;
    assert!(nowhere.is_error);
    given.servers.shut_down().await;
}

#[tokio::test]
#[ignore = "installs from PyPI"]
async fn pypi_git() {
    let files = tempfile::tempdir().unwrap();
    let root = files.path().canonicalize().unwrap();
    let git = |arguments: &[&str]| {
        let mut words =
            vec!["-C", root.to_str().unwrap(), "-c", "user.name=ada", "-c", "user.email=ada@example.com"];
        words.extend(arguments);
        run(Path::new("git"), &words);
    };
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "the first"]);
    let given =
        Given::new(program(&from_pypi("mcp-server-git"), &["--repository", root.to_str().unwrap()])).await;
    let log = given.call("git_log", json!({ "repo_path": root })).await;
    assert!(!log.is_error && log.text.contains("the first"));
    given.servers.shut_down().await;
}
