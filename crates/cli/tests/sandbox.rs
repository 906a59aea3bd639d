//! The real gateway runs commands in its sandbox: as an ordinary user, which the tests may not be.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;

use scripted_model::{Answer, ScriptedModel, Wire};
use serde_json::json;
use test_sandbox::{OTHER_USER, processes_with};
use tokio::runtime::Runtime;

use crate::support::{Machine, Server, eventually};

/// A machine whose gateway belongs to an ordinary user, and a thread to ask in.
pub(crate) struct Ordinary {
    pub(crate) machine: Machine,
    pub(crate) model: ScriptedModel,
    pub(crate) server: Server,
    pub(crate) thread: String,
    _runtime: Runtime,
}

impl Ordinary {
    fn new() -> Self {
        Self::at_level("isolated")
    }

    fn at_level(level: &str) -> Self {
        Self::with(level, |_| String::new())
    }

    /// The same with more settings, and files beside those that are always there.
    pub(crate) fn with(level: &str, prepare: impl FnOnce(&Machine) -> String) -> Self {
        let machine = Machine::new();
        let runtime = Runtime::new().unwrap();
        let model = runtime.block_on(ScriptedModel::start()).unwrap();
        // Writing is allowed without a question, so that only the sandbox stands between a command and the
        // files.
        let url = model.base_url(Wire::Anthropic);
        let settings = format!(
            "[model]\ndefault = 'anthropic/claude-test'\n[providers.anthropic]\nbase_url = '{url}'\n\
             [permissions]\nwrite = 'allow'\nshell_sandbox = '{level}'\n[shell]\nenabled = true\n{}",
            prepare(&machine)
        );
        machine.write("home/config.toml", settings);
        machine.write("project/AGENTS.md", "Be brief.\n");
        machine.write("outside", "secret\n");
        // The build directory may be inaccessible to the other user.
        let program = machine.root().join("foreword");
        let built = env!("CARGO_BIN_EXE_foreword");
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(|_| ())).unwrap();
        let mut command = machine.command_of(&program, "serve --listen 127.0.0.1:0");
        command.env("ANTHROPIC_API_KEY", "key");
        if rustix::process::geteuid().is_root() {
            let paths = ["", "home", "home/config.toml", "project", "project/AGENTS.md", "outside"];
            let paths = paths.into_iter().chain(["server", "server/server.py"]);
            for path in paths.map(|path| machine.root().join(path)).filter(|path| path.exists()) {
                chown(path, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
            }
            command.uid(OTHER_USER).gid(OTHER_USER);
        }
        let server = Server::start(&machine, command);
        machine.run("workspace create demo --root .").done();
        let thread = machine.run("thread create Talk --mode agent").word();
        Self { machine, model, server, thread, _runtime: runtime }
    }

    fn will_run(&self, command: &str) {
        self.model.answer(Answer::empty().tool_call(
            "1",
            "shell",
            &json!({ "command": command }).to_string(),
        ));
    }
}

#[test]
fn isolation_is_shown_everywhere() {
    let talk = Ordinary::new();
    let root = talk.machine.root();
    let root = root.display();
    talk.will_run(&format!(
        "cat {root}/data/owner.token {root}/outside {root}/home/config.toml; ls {root}; \
         echo evil > AGENTS.md; echo evil > CLAUDE.local.md; mkdir sub; echo evil > sub/AGENTS.md; echo made > file"
    ));
    talk.model.answer(Answer::text("Done."));
    let said = talk.machine.run(&format!("turn start {} go", talk.thread));
    assert_eq!(said.code, Some(0), "{said:?}");
    let project = talk.machine.project();
    assert_eq!(fs::read_to_string(project.join("AGENTS.md")).unwrap(), "Be brief.\n");
    for new in ["sub/AGENTS.md", "CLAUDE.local.md"] {
        assert!(!project.join(new).exists(), "what is new is taken away: {new}");
    }
    assert_eq!(fs::read_to_string(project.join("file")).unwrap(), "made\n");
    // The last request contains the command's output. A secret there would have left the machine.
    let sent = talk.model.requests().pop().unwrap().body.to_string();
    assert!(
        !sent.contains("secret") && !sent.contains("fwt_") && !sent.contains("claude-test\\n["),
        "{sent}"
    );
    assert!(sent.contains("Read-only file system"), "{sent}");
    assert!(said.err.contains("sandbox isolated, protected CLAUDE.local.md new (removed again), protected sub/AGENTS.md new (removed again)"), "{}", said.err);
    let turns = talk.machine.run(&format!("turn list {} --format json", talk.thread)).object();
    let turn = turns["turns"][0]["id"].as_str().unwrap();
    let explained = talk.machine.run(&format!("turn explain {turn}"));
    assert!(
        explained.out.contains("sandbox isolated, protected CLAUDE.local.md new (removed again), protected sub/AGENTS.md new (removed again)"),
        "{explained:?}"
    );
}

/// On machines that support isolation, `confined` is isolated too; confinement alone is tested in the sandbox crate.
#[test]
fn cancelling_a_command_puts_protected_files_back_at_every_level() {
    for (level, changed) in [("isolated", false), ("confined", false), ("off", true)] {
        let talk = Ordinary::at_level(level);
        let project = talk.machine.project();
        // The duration of the sleep identifies the process among all that run on the machine.
        let mark = format!("1000{}{}", std::process::id(), level.len());
        talk.will_run(&format!(
            "echo evil > AGENTS.md; echo evil > AGENTS.override.md; mkdir -p sub/.vscode; touch sub/.vscode/tasks.json; \
             setsid sleep {mark} & touch begun; sleep 300"
        ));
        let mut asking = talk.machine.command(&format!("turn start {} go", talk.thread)).spawn().unwrap();
        eventually("the command to begin", || project.join("begun").exists().then_some(()));
        eventually("its child", || (!processes_with(&mark).is_empty()).then_some(()));
        let turns = talk.machine.run(&format!("turn list {} --format json", talk.thread)).object();
        let turn = turns["turns"][0]["id"].as_str().unwrap().to_owned();
        talk.machine.run(&format!("turn cancel {turn}")).done();
        assert!(processes_with(&mark).is_empty(), "{level}: cancelled is gone");
        assert_eq!(fs::read_to_string(project.join("AGENTS.md")).unwrap(), "Be brief.\n", "{level}");
        assert!(
            !project.join("AGENTS.override.md").exists() && !project.join("sub/.vscode").exists(),
            "{level}"
        );
        let explained = talk.machine.run(&format!("turn explain {turn}")).out;
        assert!(
            explained.contains("protected AGENTS.override.md new (removed again)"),
            "{level}: {explained}"
        );
        assert_eq!(explained.contains("AGENTS.md changed (put back)"), changed, "{level}: {explained}");
        asking.wait().unwrap();
    }
}

#[test]
fn detached_commands_die_with_the_gateway() {
    let talk = Ordinary::new();
    let mark = format!("1000{}", std::process::id());
    // `setsid` leaves the process group, so signals to the group do not reach the child.
    talk.will_run(&format!("setsid sleep {mark} & touch begun; sleep 300"));
    let mut asking = talk.machine.command(&format!("turn start {} go", talk.thread)).spawn().unwrap();
    eventually("the command to begin", || talk.machine.project().join("begun").exists().then_some(()));
    eventually("its child", || (!processes_with(&mark).is_empty()).then_some(()));
    // A killed gateway cannot clean up. The guard beside the command has to notice that it is gone.
    talk.server.kill();
    eventually("the end of all", || (processes_with(&mark).is_empty()).then_some(()));
    let _ = asking.kill();
    let _ = asking.wait();
}
