//! Measures the cost of a server with 50 tools: listing them, and a call compared with the same call over a bare pipe.
//!
//! ```text
//! cargo bench -p foreword-mcp --bench mcp -- [--quick]
//! ```

#![expect(clippy::print_stdout, reason = "a benchmark's output is what it is for")]

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use mcp::{McpSettings, ServerSettings, Servers};
use measure::{BenchArguments, Comparison, Machine, Rounds};
use sandbox::Program;
use serde_json::{Value, json};
use tools::{Permission, RoundContext, Router, ToolCall, ToolContext};

/// Calls in one measurement.
const CALLS: usize = 100;

fn main() -> anyhow::Result<()> {
    let arguments = BenchArguments::new(std::env::args().skip(1));
    println!("{}\n", Machine::this());
    let runtime =
        measure::tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(&arguments))
}

async fn run(arguments: &BenchArguments) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile_server.py");
    let script = script.to_string_lossy().into_owned();
    let settings = ServerSettings {
        command: Some("python3".to_owned()),
        args: vec![script.clone(), "fifty".to_owned(), "/dev/null".to_owned()],
        write: Permission::Allow,
        ..ServerSettings::default()
    };
    let settings = McpSettings {
        enabled: true,
        servers: [("bench".to_owned(), settings)].into(),
        program: Program::at(test_sandbox::guard_program()?),
    };
    let servers = Servers::new(&settings, directory.path(), &[], |_| None);
    let source = servers.sources().remove(0);
    let round = round();
    let toolbox = source.offer(&round).await;
    anyhow::ensure!(toolbox.specs().count() == 50, "50 tools are offered: {:?}", source.problems(&round));
    let router = Router::all(&toolbox, ToolContext::without_directory());
    let bare = RefCell::new(Bare::start(&script)?);

    println!("## 50 tools listed for a round, and {CALLS} calls\n");
    let comparison = Comparison::against("100 calls over a bare pipe", async || {
        (0..CALLS).try_for_each(|_| bare.borrow_mut().call())
    })
    .with("100 calls through us", async || {
        for _ in 0..CALLS {
            let arguments = r#"{"text":"hello"}"#.to_owned();
            let call = ToolCall { id: "1".into(), name: "mcp__bench__tool_07".into(), arguments };
            let output = router.call(call).await;
            anyhow::ensure!(output.text == "hello", "{}", output.text);
        }
        Ok(())
    })
    .with("100 rounds that list the 50 tools", async || {
        for _ in 0..CALLS {
            anyhow::ensure!(source.offer(&round).await.is_same(&toolbox));
        }
        Ok(())
    });
    let rounds = Rounds { warm_up: 1, measured: arguments.effort.choose(3, 20) };
    println!("{}", comparison.run(rounds).await?);
    servers.shut_down().await;
    Ok(())
}

fn round() -> RoundContext {
    RoundContext::of_chat(1)
}

/// The same server, called directly.
struct Bare {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bare {
    fn start(script: &str) -> anyhow::Result<Self> {
        let mut child = Command::new("python3")
            .args([script, "fifty", "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let (Some(input), Some(output)) = (input, output) else { anyhow::bail!("a process without pipes") };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn call(&mut self) -> anyhow::Result<()> {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "tool_07", "arguments": { "text": "hello" } } });
        writeln!(self.input, "{call}")?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        // Parsed here as well, because the measured client must parse the answer too, and the comparison should show
        // its own overhead only.
        let answer: Value = serde_json::from_str(&line)?;
        anyhow::ensure!(answer["result"]["content"][0]["text"] == "hello", "{line}");
        Ok(())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
