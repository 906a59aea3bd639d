//! Misbehaving servers, which must only affect their own calls.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod lost_sessions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcp::{McpSettings, ServerSettings, Servers};
use protocol::mcp::{McpServer, McpState};
use protocol::{ApprovalRequest, TokenReach};
use sandbox::Program;
use serde_json::{Value, json};
use tools::{
    ApprovalDecision, Approvals, Needs, Permission, RoundContext, Router, ToolCall, ToolContext, ToolOutput,
    ToolSource, Toolbox,
};

const SECRET: &str = "a-secret-of-nobody";
/// A time limit that even a busy machine keeps when starting a server, and that a test can wait for.
const PATIENT: Duration = Duration::from_secs(10);

/// A hostile server with its files.
struct Given {
    directory: tempfile::TempDir,
    settings: ServerSettings,
    servers: Servers,
}

impl Given {
    /// Creates a server that begins in the given mode.
    fn new(mode: &str) -> Self {
        Self::with(mode, |_| {})
    }

    fn with(mode: &str, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile_server.py");
        let notes = directory.path().join("notes");
        let mut settings = ServerSettings {
            command: Some("python3".to_owned()),
            args: [script.to_str().unwrap(), mode, notes.to_str().unwrap()].map(str::to_owned).to_vec(),
            env: vec!["FOREWORD_TEST_SECRET".to_owned()],
            write: Permission::Allow,
            ..ServerSettings::default()
        };
        change(&mut settings);
        let servers = start(directory.path(), &settings);
        Self { directory, settings, servers }
    }

    /// Replaces the servers by those of a later gateway.
    fn restart(&mut self) {
        self.servers = start(self.directory.path(), &self.settings);
    }

    fn source(&self) -> Arc<dyn ToolSource> {
        self.servers.sources().remove(0)
    }

    async fn toolbox(&self) -> Toolbox {
        self.source().offer(&round()).await
    }

    async fn call(&self, tool: &str) -> ToolOutput {
        self.call_with(tool, json!({}), ToolContext::without_directory()).await
    }

    async fn call_with(&self, tool: &str, arguments: Value, context: ToolContext) -> ToolOutput {
        let router = Router::all(&self.toolbox().await, context);
        router.call(called(tool, &arguments)).await
    }

    fn status(&self) -> McpServer {
        self.servers.status(None).remove(0)
    }

    fn notes(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(self.directory.path().join("notes")).unwrap_or_default();
        notes.lines().map(str::to_owned).collect()
    }

    fn starts(&self) -> usize {
        self.notes().iter().filter(|note| note.starts_with("started")).count()
    }

    /// Waits until a condition holds.
    async fn until(&self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        assert!(waited.is_ok(), "never {what}: {:?} {:?}", self.status(), self.notes());
    }
}

fn start(directory: &Path, settings: &ServerSettings) -> Servers {
    let servers = [("odd".to_owned(), settings.clone())].into();
    let settings = McpSettings { enabled: true, servers, program: Program::at(guard()) };
    let environment = |name: &str| (name == "FOREWORD_TEST_SECRET").then(|| SECRET.to_owned());
    Servers::new(&settings, &directory.join("memory"), &[], environment)
}

fn guard() -> PathBuf {
    test_sandbox::guard_program().unwrap()
}

fn called(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: "1".into(), name: format!("mcp__odd__{tool}"), arguments: arguments.to_string() }
}

fn round() -> RoundContext {
    RoundContext::of_chat(1)
}

fn names(toolbox: &Toolbox) -> Vec<&str> {
    toolbox.specs().map(|spec| spec.name.as_str()).collect()
}

#[tokio::test]
async fn server_starts_once_and_its_list_is_cached() {
    let mut given = Given::new("plain");
    assert_eq!((given.status().state, given.starts()), (McpState::Idle, 0));
    let first = given.toolbox().await;
    assert_eq!(given.starts(), 1);
    assert!(first.is_same(&given.toolbox().await));
    let output = given.call_with("echo", json!({ "text": "hello" }), ToolContext::without_directory()).await;
    assert_eq!((output.text.as_str(), output.is_error), ("hello", false));
    assert_eq!((given.status().state, given.starts()), (McpState::Running, 1));
    given.servers.shut_down().await;
    given.restart();
    assert_eq!(names(&given.toolbox().await), names(&first));
    assert_eq!((given.status().state, given.starts()), (McpState::Idle, 1), "the list is known without it");
    // Another configuration counts as another server.
    given.settings.env.push("PATH".to_owned());
    given.restart();
    given.toolbox().await;
    assert_eq!(given.starts(), 2);
}

#[tokio::test]
async fn crash_affects_one_call_and_the_next_restarts() {
    let given = Given::new("plain");
    let output = given.call("crash").await;
    assert!(output.is_error);
    let told = "the MCP server `odd` ended in the middle of the call: it ended with status 3: out of cheese, [secret]";
    assert!(output.text.starts_with(told), "{}", output.text);
    let output = given.call_with("echo", json!({ "text": "again" }), ToolContext::without_directory()).await;
    assert_eq!(output.text, "again");
    assert_eq!(given.starts(), 2);
    // A server that keeps crashing is delayed, and calls fail immediately in the meantime.
    given.call("crash").await;
    given
        .until("left alone", async |given| given.call("crash").await.text.contains("is started again in"))
        .await;
    assert_eq!(given.status().state, McpState::Failed);
    assert!(!given.status().failure.unwrap().contains(SECRET));
}

#[tokio::test]
async fn failing_start_offers_nothing_and_is_explained() {
    for (change, why) in [
        ("dies", "it ended with status 7: cannot find my configuration"),
        ("mute", "it did not begin and list its tools within 300 ms"),
        ("unlisted", "it did not begin and list its tools within 300 ms"),
    ] {
        let given = Given::with(change, |settings| {
            settings.timeout = Duration::from_millis(if change == "dies" { 30_000 } else { 300 });
        });
        assert!(given.toolbox().await.is_empty(), "{change}");
        let problems = given.source().problems(&round());
        let told = format!("the MCP server `odd` offers nothing: {why}");
        // On a slow machine the server may not get as far as being asked.
        assert_eq!(problems, [told], "{change}");
        assert_eq!(given.status().state, McpState::Failed);
    }
    let given = Given::with("plain", |settings| settings.command = Some("no-such-program".to_owned()));
    given.toolbox().await;
    let problems = given.source().problems(&round());
    let told = "the MCP server `odd` offers nothing: the program `no-such-program` is not on PATH";
    assert_eq!(problems, [told]);
    let given = Given::with("plain", |settings| settings.command = Some("python3 server.py".to_owned()));
    given.toolbox().await;
    let problems = given.source().problems(&round());
    assert!(problems[0].ends_with("is not on PATH; arguments belong in `args`"), "{problems:?}");
}

#[tokio::test]
async fn hanging_call_times_out_and_is_cancelled() {
    let given = Given::with("plain", |settings| settings.timeout = PATIENT);
    given.toolbox().await;
    let output = given.call("hang").await;
    assert!(
        output.text.starts_with("the MCP server `odd` did not answer within 10000 ms"),
        "{}",
        output.text
    );
    given.until("cancelled", async |given| given.notes().iter().any(|note| note == "cancelled")).await;
    // Cancelled by the owner of the turn.
    let cancelled = ToolContext::without_directory();
    let stop = cancelled.cancellation().clone();
    let calling = given.call_with("hang", json!({}), cancelled);
    let stopping = async {
        given
            .until("called", async |given| {
                given.notes().iter().filter(|note| *note == "called hang").count() == 2
            })
            .await;
        stop.cancel();
    };
    let (output, ()) = tokio::join!(calling, stopping);
    assert_eq!(output.text, "the call was cancelled");
    given
        .until("cancelled twice", async |given| {
            given.notes().iter().filter(|note| *note == "cancelled").count() == 2
        })
        .await;
    assert_eq!(given.starts(), 1, "the server goes on");
}

#[tokio::test]
async fn floods_and_noise_are_survived() {
    let given = Given::with("plain", |settings| settings.timeout = Duration::from_secs(20));
    let noise = given.call("noise").await;
    assert_eq!(noise.text, "after the noise");
    let asked = given.call("ask").await;
    assert_eq!(asked.text, "refused", "we answer no model calls");
    let large = given.call("large").await;
    assert!(
        !large.reminders.is_empty() && large.text.len() < 1_000_000,
        "it is trimmed: {}",
        large.text.len()
    );
    assert_eq!(given.call("cut").await.text, "cut \u{fffd} here", "half an emoji costs nothing else");
    let huge = given.call("huge").await;
    assert!(huge.is_error && huge.text.contains("its answer has more than 8388608 bytes"), "{}", huge.text);
    let refused = given.call("refuse").await;
    assert!(refused.text.contains("refused: no &lt;/system-reminder> today"), "{}", refused.text);
    assert!(given.call("empty").await.text.contains("answered with nothing"));
    let secret = given.call("secret").await;
    assert_eq!(secret.text, "it is [secret]");
    assert_eq!(given.starts(), 1);
    let shouted = given.call("shout").await;
    assert_eq!(shouted.text, "shouted", "what it prints besides is read, if slowly");
    // Three kinds of floods: valid notifications, lines that are not messages, and answers without a request. The limit
    // must notice all of them, also the lines that the library would drop silently.
    for (flood, starts) in [("flood", 2), ("junk", 3), ("answers", 4)] {
        let flooded = given.call(flood).await;
        assert!(flooded.text.contains("more messages than anybody asked for"), "{flood}: {}", flooded.text);
        // A server that keeps failing is delayed.
        let echo = async |given: &Given| {
            let text = json!({ "text": "still there" });
            given.call_with("echo", text, ToolContext::without_directory()).await.text == "still there"
        };
        given.until("there again", echo).await;
        assert_eq!(given.starts(), starts, "{flood}");
    }
}

#[tokio::test]
async fn invalid_tool_does_not_affect_the_others() {
    let given = Given::new("liar");
    assert_eq!(names(&given.toolbox().await), ["mcp__odd__fine"]);
    let problems = given.source().problems(&round());
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(problems[0].contains("the tool `text` is left out"), "{problems:#?}");
}

#[tokio::test]
async fn failed_server_is_retried_in_the_background() {
    let given = Given::new("dies");
    assert!(given.toolbox().await.is_empty());
    assert_eq!(given.status().starts, 1);
    // The retry runs in its own task, which has not even begun when this offer returns.
    assert!(given.toolbox().await.is_empty());
    assert_eq!(given.status().starts, 1);
    given.until("tried again", async |given| given.status().starts == 2).await;
    // Only the first round of a turn starts a server.
    let new = Given::new("plain");
    let second = RoundContext { round: 2, ..round() };
    assert!(new.source().offer(&second).await.is_empty());
    assert_eq!(new.status().starts, 0);
}

/// Accepts connections, and answers every request with an endless body.
async fn endless_http() -> (String, Arc<std::sync::atomic::AtomicU64>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let sent = Arc::<std::sync::atomic::AtomicU64>::default();
    let counted = Arc::clone(&sent);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let counted = Arc::clone(&counted);
            tokio::spawn(async move {
                let mut request = vec![0; 64 << 10];
                let _ = socket.read(&mut request).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{";
                let _ = socket.write_all(head.as_bytes()).await;
                // Blanks keep the JSON valid for as long as it continues, so only the limit on the size can end the
                // answer.
                let blanks = vec![b' '; 1 << 20];
                while socket.write_all(&blanks).await.is_ok() {
                    counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                }
            });
        }
    });
    (address, sent)
}

#[tokio::test]
async fn endless_http_answer_is_ended() {
    let (address, sent) = endless_http().await;
    let given = Given::with("plain", |settings| {
        (settings.command, settings.url) = (None, Some(address));
        settings.args.clear();
    });
    assert!(given.toolbox().await.is_empty());
    let failure = given.status().failure.unwrap();
    assert!(failure.contains("an answer of more than 8388608 bytes"), "{failure}");
    assert!(!failure.contains("Transport") && !failure.contains("::"), "no names of our types: {failure}");
    let mebibytes = sent.load(std::sync::atomic::Ordering::SeqCst);
    assert!(mebibytes < 64, "{mebibytes} MiB were taken");
}

#[tokio::test]
async fn tool_that_requires_a_task_is_left_out() {
    let given = Given::new("tasks");
    assert_eq!(names(&given.toolbox().await), ["mcp__odd__fine"]);
    let problems = given.status().problems;
    assert_eq!(problems, ["the tool `slow` is left out: it only runs as a task, which is not supported"]);
}

#[tokio::test]
async fn progress_extends_the_time_limit() {
    let given = Given::with("plain", |settings| settings.timeout = Duration::from_secs(4));
    given.toolbox().await;
    // It takes longer than the limit, but shows that it works.
    let output = given.call("progress").await;
    assert!(!output.is_error && output.text == "done", "{}", output.text);
}

#[tokio::test]
async fn answer_with_a_foreign_id_is_ignored() {
    let given = Given::with("plain", |settings| settings.timeout = PATIENT);
    given.toolbox().await;
    let (one, other) = tokio::join!(given.call("wrong_id"), given.call("long_line"));
    for output in [one, other] {
        assert!(output.is_error && output.text.contains("did not answer within"), "{}", output.text);
    }
    // After two calls without an answer, the server counts as stuck.
    given
        .until("started again", async |given| {
            let output =
                given.call_with("echo", json!({ "text": "x" }), ToolContext::without_directory()).await;
            output.text == "x" && given.starts() == 2
        })
        .await;
}

#[tokio::test]
async fn invalid_tools_are_left_out_with_a_reason() {
    let given = Given::new("odd");
    let toolbox = given.toolbox().await;
    let offered = names(&toolbox);
    assert_eq!(offered[0], "mcp__odd__read_file");
    assert_eq!(offered.len(), 4, "{offered:?}");
    assert!(offered.iter().all(|name| name.len() <= 64), "{offered:?}");
    let problems = given.source().problems(&round());
    for reason in [
        "it offers `read_file` twice",
        "the tool `many` is left out: the schema of its arguments has",
        "the tool `text` is left out: its arguments are no object",
        "the tool `broken` is left out: the schema of tool",
        "the tool `elsewhere` is left out: the schema of tool",
    ] {
        assert!(problems.iter().any(|problem| problem.contains(reason)), "{reason}: {problems:#?}");
    }
    let many = Given::new("many");
    assert_eq!(names(&many.toolbox().await).len(), 256);
    assert!(
        many.source().problems(&round())[0].contains("more than the 256 tools"),
        "{:?}",
        many.source().problems(&round())
    );
    let endless = Given::new("endless");
    assert_eq!(names(&endless.toolbox().await).len(), 64);
    let some = Given::with("plain", |settings| {
        settings.tools = Some(vec!["echo".to_owned(), "missing".to_owned()]);
    });
    assert_eq!(names(&some.toolbox().await), ["mcp__odd__echo"]);
    assert!(some.source().problems(&round())[0].contains("names `missing`, which it does not offer"));
}

/// Gives the same decision every time, and records the rules.
struct Decides(ApprovalDecision, std::sync::Mutex<Vec<String>>);

impl Approvals for Decides {
    async fn ask(&self, request: ApprovalRequest) -> ApprovalDecision {
        self.1.lock().unwrap().push(request.rule);
        self.0.clone()
    }
}

fn asking(decision: ApprovalDecision) -> (ToolContext, Arc<Decides>) {
    let decides = Arc::new(Decides(decision, std::sync::Mutex::default()));
    (ToolContext::without_directory().with_approvals(Arc::clone(&decides)), decides)
}

#[tokio::test]
async fn permissions_and_annotations_follow_the_settings() {
    let allow = || asking(ApprovalDecision::Allow);
    let given = Given::with("plain", |settings| settings.write = Permission::Ask);
    let (context, decides) = allow();
    given.call_with("echo", json!({}), context).await;
    assert_eq!(*decides.1.lock().unwrap(), ["mcp.servers.odd.write = ask"]);
    let given = Given::with("plain", |settings| {
        (settings.write, settings.trust_annotations) = (Permission::Deny, true);
    });
    let (context, decides) = allow();
    assert!(
        !given.call_with("echo", json!({}), context.clone()).await.is_error,
        "it says that it only reads"
    );
    let denied = given.call_with("secret", json!({}), context).await;
    assert!(denied.text.starts_with("this call was denied"), "{}", denied.text);
    assert!(decides.1.lock().unwrap().is_empty());
    assert!(!given.notes().contains(&"called secret".to_owned()));
}

#[tokio::test]
async fn changed_tool_requires_approval_again() {
    let mut given = Given::with("plain", |settings| settings.trust_annotations = true);
    let before = given.toolbox().await;
    given.call("change").await;
    given.until("changed", async |given| names(&given.toolbox().await).contains(&"mcp__odd__extra")).await;
    let after = given.toolbox().await;
    assert!(!names(&after).contains(&"mcp__odd__noise"));
    let kept = |toolbox: &Toolbox| toolbox.filtered(|spec| spec.name == "mcp__odd__hang");
    assert!(kept(&before).is_same(&kept(&after)), "what did not change is the very same");
    let gone = given.call("noise").await;
    assert!(gone.text.starts_with("there is no tool"), "{}", gone.text);
    for (tool, expected) in [("echo", 1), ("extra", 1)] {
        let needs = after.needs(&called(tool, &json!({})));
        assert!(matches!(needs, Some(Needs::Rule { permission: Permission::Ask, .. })), "{tool}: {needs:?}");
        let (context, decides) = asking(ApprovalDecision::Allow);
        given.call_with(tool, json!({}), context.clone()).await;
        given.call_with(tool, json!({}), context).await;
        let asked = decides.1.lock().unwrap();
        assert_eq!(asked.len(), expected, "{tool} asks once: {asked:?}");
        assert!(
            asked[0].contains("is not what it was when the MCP server `odd` was first asked"),
            "{asked:?}"
        );
    }
    // The approval is cached, but the restarted server describes the tool differently again.
    given.servers.shut_down().await;
    given.restart();
    assert_eq!(after.needs(&called("echo", &json!({}))), Some(Needs::Undeclared), "its server is gone");
    let remembered = given.toolbox().await;
    assert_eq!(remembered.needs(&called("echo", &json!({}))), Some(Needs::Nothing));
    let before = given.notes().iter().filter(|note| *note == "called echo").count();
    let refused = given.call("echo").await;
    assert!(
        refused.is_error && refused.text.contains("offers `echo` no longer as it was"),
        "{}",
        refused.text
    );
    let after = given.notes().iter().filter(|note| *note == "called echo").count();
    assert_eq!(before, after, "what nobody has allowed is not called");
    given.call("count").await;
    let needs = given.toolbox().await.needs(&called("echo", &json!({})));
    assert!(matches!(needs, Some(Needs::Rule { permission: Permission::Ask, .. })), "{needs:?}");
}

#[tokio::test]
async fn only_permitted_turns_have_the_server() {
    let given = Given::new("plain");
    let mut bound = round();
    Arc::make_mut(&mut bound.scope).reach = TokenReach::Workspace;
    let source = given.source();
    let refusal = source.refusal(&bound, "mcp__odd__echo").unwrap();
    assert!(refusal.contains("mcp.servers.odd.workspaces does not name it"), "{refusal}");
    assert_eq!(source.refusal(&round(), "mcp__odd__echo"), None);
    assert_eq!(source.hidden_domain(), Some("mcp:odd"));
    let named = Given::with("plain", |settings| {
        settings.workspaces = Some(vec![bound.scope.workspace_id.to_string()]);
        settings.hidden = false;
    });
    let source = named.source();
    assert_eq!((source.refusal(&bound, "mcp__odd__echo"), source.hidden_domain()), (None, None));
    assert!(source.offer(&round()).await.is_empty() && named.starts() == 0);
    assert!(!source.offer(&bound).await.is_empty());
}

#[tokio::test]
async fn shutdown_leaves_no_process_behind() {
    let given = Given::with("plain", |settings| settings.args.push("left-behind-4711".to_owned()));
    given.toolbox().await;
    assert!(!test_sandbox::processes_with("left-behind-4711").is_empty());
    given.servers.shut_down().await;
    given.until("gone", async |_| test_sandbox::processes_with("left-behind-4711").is_empty()).await;
    let refused = given.call("echo").await;
    assert!(refused.is_error, "{}", refused.text);
}
