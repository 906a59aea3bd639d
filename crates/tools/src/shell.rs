//! `shell`: a command, confined to the workspace where the system can do that, and never for longer than allowed.

mod capture;
mod environment;
mod process;
mod watch;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use instructions::Reminder;
use protocol::SandboxLevel;
use protocol::error::with_hint;
use sandbox::{Ended, NoSandbox, Probe, Program, ResourceLimits};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{Arguments, Needs, Tool, ToolContext, ToolOutput, ToolSpec};
use process::{Outcome, ShellCommand};
use watch::{Baselines, ProtectedFiles};

/// How commands are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellSettings {
    /// The weakest level at which they run.
    pub sandbox: SandboxLevel,
    /// Environment variables that are passed on, besides a few harmless ones.
    pub environment: Vec<String>,
    /// What sandboxed commands can read besides the workspace and the system's directories.
    pub readable: Vec<PathBuf>,
    /// What sandboxed commands can write besides the workspace and their own temporary directory.
    pub writable: Vec<PathBuf>,
    /// How long a command may take that does not say.
    pub timeout: Duration,
    /// How long a command may ask for.
    pub longest_timeout: Duration,
    /// How much it may use besides.
    pub limits: ResourceLimits,
    /// What guards commands: a program that calls [`sandbox::run_if_asked`], as this one should.
    pub program: Program,
}

impl Default for ShellSettings {
    fn default() -> Self {
        Self {
            sandbox: SandboxLevel::default(),
            environment: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            timeout: Duration::from_secs(120),
            longest_timeout: Duration::from_secs(1_800),
            limits: ResourceLimits::default(),
            program: Program::this(),
        }
    }
}

impl ShellSettings {
    /// The level at which commands run on this machine, or why none do. The first to ask waits while it is tried.
    pub fn level(&self) -> Result<SandboxLevel, NoSandbox> {
        match self.sandbox {
            SandboxLevel::Off => Ok(SandboxLevel::Off),
            weakest => Probe::of_system(&self.program).choose(weakest),
        }
    }
}

/// Runs commands.
#[derive(Debug, Clone)]
pub struct Shell {
    settings: ShellSettings,
    level: Result<SandboxLevel, NoSandbox>,
    /// What protected files were before the commands that run now.
    baselines: Arc<Baselines>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The command, for `sh -c`.
    command: String,
    /// After how many seconds the command and all it has started are ended.
    #[schemars(range(min = 1))]
    timeout_seconds: Option<u64>,
}

impl Shell {
    /// A shell with these settings.
    pub fn new(settings: ShellSettings) -> Self {
        let level = settings.level();
        Self { settings, level, baselines: Arc::default() }
    }

    /// Runs a command, and puts protected files back: also when it is stopped.
    async fn run(
        &self,
        context: &ToolContext,
        parameters: Parameters,
        stop: CancellationToken,
    ) -> ToolOutput {
        let level = match &self.level {
            Ok(level) => *level,
            Err(reason) => return self.without_sandbox(&parameters.command, reason),
        };
        let timeout = parameters.timeout_seconds.map_or(self.settings.timeout, Duration::from_secs);
        let watch = ProtectedFiles::begin(context, level, &self.baselines).await;
        let order = ShellCommand { level, text: parameters.command, timeout, protected: watch.mounts() };
        let ran = process::run(context, &self.settings, order, stop).await;
        let changes = watch.end().await;
        let mut output = match ran {
            Ok(outcome) => answer(outcome, timeout),
            Err(error) => ToolOutput::failed(&error),
        };
        output.notes.extend(changes.notes());
        output.effects.sandbox = Some(level);
        output.effects.protected_changes = changes.to_protocol();
        output.effects.unwatched = changes.is_partial;
        // Instruction files are among what is protected, and what they say now holds from here on.
        let root = context.root().unwrap_or(std::path::Path::new(""));
        let holding = changes.directories(root);
        output.found_directories = holding.iter().map(|directory| context.as_given(directory)).collect();
        if output.text.is_empty() && output.notes.is_empty() {
            output = output.with_note("no output");
        }
        output
    }

    fn without_sandbox(&self, command: &str, reason: &NoSandbox) -> ToolOutput {
        let shown: String = command.chars().take(200).collect();
        let weakest = self.settings.sandbox.name();
        let text = with_hint(
            format!(
                "the command did not run: no sandbox of this machine is as strong as the settings ask ({reason})"
            ),
            Some("the user can mend that, or accept a weaker level in permissions.shell_sandbox"),
        );
        ToolOutput::error(text).with_reminder(Reminder::PermissionDecision {
            call: format!("shell({shown:?})"),
            rule: format!("permissions.shell_sandbox = {weakest}"),
            allowed: "the file tools.".to_owned(),
        })
    }
}

/// What a model is told about commands at a level.
fn described(level: SandboxLevel) -> &'static str {
    match level {
        SandboxLevel::Isolated => {
            " It sees the workspace, the system's programs and a temporary directory, and nothing else of this machine; \
             of these it can write the workspace and $TMPDIR. Protected files are read-only. There is no network but \
             its own loopback, and there are no Unix sockets."
        }
        SandboxLevel::Confined => {
            " It can read the workspace and the system's programs, and write the workspace and $TMPDIR. Protected files \
             are put back if it changes them. There is no network."
        }
        SandboxLevel::Off => "",
    }
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        let described = match &self.level {
            Ok(level) => described(*level),
            Err(_) => " On this machine no command can run at present.",
        };
        ToolSpec::of::<Parameters>(
            "shell",
            format!(
                "Runs a command in the working directory, without input and without a terminal. What it leaves running in the background is ended.{described}"
            ),
        )
    }

    fn sandbox(&self) -> Option<SandboxLevel> {
        self.level.as_ref().ok().copied()
    }

    fn refuse(&self, arguments: &Arguments) -> Option<ToolOutput> {
        let parameters: Parameters = arguments.get().ok()?;
        let longest = self.settings.longest_timeout.as_secs();
        match (parameters.timeout_seconds, &self.level) {
            (_, Err(reason)) => Some(self.without_sandbox(&parameters.command, reason)),
            (Some(seconds), _) if seconds > longest => {
                Some(ToolOutput::error(format!("field `timeout_seconds` must be at most {longest}")))
            }
            _ => None,
        }
    }

    fn needs(&self, _: &Arguments) -> Needs {
        Needs::run(".")
    }

    fn mentions(&self, arguments: &Arguments) -> Vec<PathBuf> {
        words::paths(arguments.text("command").unwrap_or_default())
    }

    async fn call(&self, context: ToolContext, arguments: Arguments) -> ToolOutput {
        let parameters: Parameters = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        // Whoever drops this future stops the command, and not what has to follow it.
        let stop = CancellationToken::new();
        let _stop_when_dropped = stop.clone().drop_guard();
        let (sender, answer) = oneshot::channel();
        let (shell, untold) = (self.clone(), context.untold().clone());
        untold.spawn(async move {
            let output = shell.run(&context, parameters, stop).await;
            context.tell_effects(&output.effects);
            // Nobody may wait for it any more.
            let _ = sender.send(output);
        });
        answer.await.unwrap_or_else(|_| ToolOutput::error("the command failed by a fault of ours"))
    }
}

fn answer(outcome: Outcome, timeout: Duration) -> ToolOutput {
    let mut output = outcome.captured.into_output();
    match outcome.ended {
        Ended::Exited(0) => {}
        Ended::Exited(code) => output = output.with_note(format!("exit status {code}")),
        Ended::Signalled(signal) => output = output.with_note(format!("ended by signal {signal}")),
        Ended::TimedOut => {
            output = output.with_note(format!(
                "not done after {} seconds; the command and what it had started were ended. Ask for more with timeout_seconds",
                timeout.as_secs()
            ));
        }
        Ended::Released => {
            output =
                output.with_note("ended before it was done, because its guard heard nothing of the gateway");
        }
    }
    output.is_error = outcome.ended != Ended::Exited(0);
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApprovalRequest, Approvals, Decision, Router, ToolCall, Toolbox};

    struct Unasked;

    impl Approvals for Unasked {
        async fn ask(&self, request: ApprovalRequest) -> Decision {
            panic!("{request:?}")
        }
    }

    #[tokio::test]
    async fn without_a_sandbox_nothing_runs_and_nobody_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let context = ToolContext::open(directory.path(), directory.path()).unwrap();
        let context = context.with_approvals(std::sync::Arc::new(Unasked));
        let reason = "bubblewrap is not installed".to_owned();
        let level = Err(NoSandbox(vec![sandbox::Unavailable { level: SandboxLevel::Isolated, reason }]));
        let shell = Shell { settings: ShellSettings::default(), level, baselines: Arc::default() };
        let mut toolbox = Toolbox::new();
        toolbox.add(shell).unwrap();
        let arguments = r#"{"command":"touch ran"}"#.to_owned();
        let call = ToolCall { id: "1".into(), name: "shell".into(), arguments };
        let output = Router::all(&toolbox, context).call(call).await;
        let text = "the command did not run: no sandbox of this machine is as strong as the settings ask \
                    (not `isolated`: bubblewrap is not installed)";
        assert!(output.is_error && output.text.starts_with(text), "{}", output.text);
        let [Reminder::PermissionDecision { call, rule, .. }] = &output.reminders[..] else {
            panic!("{output:?}")
        };
        assert_eq!((&**call, &**rule), ("shell(\"touch ran\")", "permissions.shell_sandbox = isolated"));
        assert!(!directory.path().join("ran").exists());
    }

    /// On a machine without any sandbox, or as root, that is what everybody gets who did not ask for less.
    #[test]
    fn root_gets_no_sandbox_and_is_told_why() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let shell = Shell::new(ShellSettings::default());
        let reason = shell.level.clone().unwrap_err();
        assert!(reason.to_string().starts_with("not `isolated`: the gateway runs as root"), "{reason}");
        assert_eq!(shell.sandbox(), None);
        let off = ShellSettings { sandbox: SandboxLevel::Off, ..ShellSettings::default() };
        assert_eq!(Shell::new(off).sandbox(), Some(SandboxLevel::Off));
    }
}
