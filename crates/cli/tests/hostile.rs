//! A malicious repository against everything that reads files: each command ends soon, prints a bounded amount, shows
//! no file from outside the repository, and passes on no disguised order.
//!
//! `FOREWORD_TEST_FILES=100000` makes the repository as large as the largest that it is meant for.

mod repository;

use std::io::Write as _;
use std::time::Instant;

use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::json;
use tokio::runtime::Runtime;

use self::repository::{ORDER, PLANTED};
use crate::support::{Machine, Said, finish};

/// Maximum size of a command's output, however large the repository is.
const MAX_SAID_BYTES: usize = 4 << 20;
/// Allowed output of control characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TerminalControls {
    /// It prints exactly the text that an agent gets, and not to a terminal.
    PassedOn,
    Refused,
}

fn file_count() -> usize {
    std::env::var("FOREWORD_TEST_FILES").ok().and_then(|count| count.parse().ok()).unwrap_or(5_000)
}

/// Checks invariants of all output about the repository.
#[track_caller]
fn check(what: &str, text: &str, controls: TerminalControls) {
    assert!(text.len() <= MAX_SAID_BYTES, "{what}: {} bytes", text.len());
    assert!(!text.contains("root:x:0:0"), "{what} shows a file from outside");
    // Bidirectional, zero-width and tag characters hide text from a person while a model reads it, so no
    // output may contain them. Control characters are allowed only in exact text that does not go to a
    // terminal.
    let hidden = ['\u{202e}', '\u{200b}', '\u{e0041}'].into_iter();
    let refused = ['\x1b', '\x07'].into_iter().filter(|_| controls == TerminalControls::Refused);
    for hidden in hidden.chain(refused) {
        let shown = text.find(hidden).map(|at| text[..at].chars().rev().take(80).collect::<String>());
        assert!(shown.is_none(), "{what} has U+{:04X} after {shown:?}, backwards", u32::from(hidden));
    }
}

/// Runs a command within the usual time limit and returns its duration.
#[track_caller]
fn run(machine: &Machine, words: &str) -> Said {
    let begun = Instant::now();
    let said = machine.run(words);
    let took = begun.elapsed();
    let code = said.code;
    let bytes = said.out.len() + said.err.len();
    let _ = writeln!(std::io::stderr(), "{took:>8.1?}  {bytes:>8} bytes  {code:?}  {words}");
    assert!(said.code.is_some(), "{words} was ended by a signal: {}", said.err);
    assert!(!machine.project().join(PLANTED).exists(), "{words} ran something");
    said
}

/// Returns a command's output on a terminal alone. `None` without the program that provides one.
fn on_terminal(machine: &Machine, words: &str) -> Option<String> {
    let script = format!(
        "command -v script >/dev/null || exit 99; \
         script -qec '\"$foreword\" --color never {words} 2>/dev/null' /dev/null"
    );
    let said = finish(machine.shell(&script), b"");
    (said.code != Some(99)).then_some(said.out)
}

#[test]
fn every_file_command_bounds_a_malicious_repository() {
    let machine = Machine::new();
    let deepest = repository::make(&machine.project(), file_count());
    let deepest = deepest.display();
    let commands = [
        "show".to_owned(),
        format!("show {deepest}"),
        "explain".to_owned(),
        "explain --all --check".to_owned(),
        format!("explain {deepest} --format json"),
        format!("resolve --session s.json --cwd . wide/0.md tree/1/1/0/1.txt pipe device loop {deepest}/x"),
        format!("resolve --session s.json wide/again/again/1.md wide/everything/etc/passwd {deepest}"),
        "session show s.json".to_owned(),
        "session diff s.json".to_owned(),
        "init".to_owned(),
        "init --format json".to_owned(),
        "prompt show".to_owned(),
        "prompt sections".to_owned(),
        "prompt manifest --format json".to_owned(),
        "doctor".to_owned(),
        "config".to_owned(),
    ];
    for words in &commands {
        let said = run(&machine, words);
        // These print text exactly as a model gets it; `resolve` prints a reminder that may contain files.
        let is_exact = ["show", "prompt show", "resolve"].iter().any(|command| words.starts_with(command));
        let controls = if is_exact { TerminalControls::PassedOn } else { TerminalControls::Refused };
        check(words, &said.out, controls);
        check(words, &said.err, TerminalControls::Refused);
        if is_exact && let Some(out) = on_terminal(&machine, words) {
            // `resolve` announces other files the second time, since those of the first time are known by then.
            let is_repeated = !words.starts_with("resolve");
            assert!(!is_repeated || out.contains("\\u{1b}") || !said.out.contains('\x1b'), "{words}: {out}");
            check(&format!("{words}, on a terminal"), &out, TerminalControls::Refused);
        }
    }
    // These pass on what they read as the agents do that they stand for, hidden characters and all.
    for profile in ["codex", "codelia"] {
        for words in [format!("show --profile {profile}"), format!("show {deepest} --profile {profile}")] {
            let said = run(&machine, &words);
            assert!(said.out.len() <= MAX_SAID_BYTES && !said.out.contains("root:x:0:0"), "{words}");
            if let Some(out) = on_terminal(&machine, &words) {
                check(&format!("{words}, on a terminal"), &out, TerminalControls::Refused);
            }
        }
    }
}

#[test]
fn a_malicious_repository_is_bounded_for_every_tool() {
    let machine = Machine::new();
    let runtime = Runtime::new().unwrap();
    let model = runtime.block_on(ScriptedModel::start()).unwrap();
    // Everything is allowed and the sandbox is off, so that no permission check hides a tool that reads too
    // much or never returns.
    machine.write(
        "home/config.toml",
        format!(
            "[model]\ndefault = 'anthropic/m'\n[providers.anthropic]\nbase_url = '{}'\n\
             [permissions]\nwrite = 'allow'\nshell_sandbox = 'off'\n[shell]\nenabled = true\n",
            model.base_url(Wire::Anthropic)
        ),
    );
    repository::make(&machine.project(), file_count());
    let mut command = machine.command("serve --listen 127.0.0.1:0");
    command.env("ANTHROPIC_API_KEY", "key");
    let _server = crate::support::Server::start(&machine, command);
    run(&machine, "workspace create demo --root .").done();
    let thread = run(&machine, "thread create Talk --mode agent").word();
    let calls = [
        ("list_dir", json!({ "path": "." })),
        ("list_dir", json!({ "path": "wide" })),
        ("list_dir", json!({ "path": "wide/everything/etc" })),
        ("list_dir", json!({ "path": "pipe" })),
        ("search", json!({ "pattern": ORDER })),
        ("search", json!({ "pattern": "(x+x+)+y", "glob": "**/*.md" })),
        ("search", json!({ "pattern": "root:", "path": "wide/everything/etc" })),
        ("read_file", json!({ "path": "AGENTS.md" })),
        ("read_file", json!({ "path": "huge.md" })),
        ("read_file", json!({ "path": "pipe" })),
        ("read_file", json!({ "path": "device" })),
        ("read_file", json!({ "path": "loop" })),
        ("read_file", json!({ "path": "GEMINI.md" })),
        ("read_file", json!({ "path": "wide/above/etc/passwd" })),
        ("edit_file", json!({ "path": "pipe", "old_text": "a", "new_text": "b" })),
        ("write_file", json!({ "path": "device", "content": "a" })),
        ("shell", json!({ "command": "find . | wc -l; ls -f wide | head -n 30" })),
    ];
    for (tool, arguments) in calls {
        model.answer(Answer::empty().tool_call("1", tool, &arguments.to_string()));
        model.answer(Answer::text("Done."));
        let said = run(&machine, &format!("turn start {thread} {tool}"));
        let what = format!("{tool} {arguments}");
        assert_eq!(said.code, Some(0), "{what}: {}", said.err);
        check(&what, &said.out, TerminalControls::Refused);
        check(&what, &said.err, TerminalControls::Refused);
        let asked = model.take_requests();
        // One request asks for the call and the second one carries its result. A third would mean that the
        // turn went wrong, and fewer that the tool did not return.
        assert_eq!(asked.len(), 2, "{what}");
        for request in asked {
            // Controls are escaped there.
            check(&what, &request.body.to_string(), TerminalControls::Refused);
        }
    }
    run(&machine, &format!("thread history {thread}")).done();
    run(&machine, "turn explain last").done();
}
