//! `shell` runs a command, in a sandbox if the system has one, within a time limit.

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

use crate::{FileError, Needs, Tool, ToolArguments, ToolContext, ToolOutput, ToolSpec};
use process::{CommandOutcome, ShellCommand};
use watch::{Baselines, ProtectedFiles};
pub use watch::{RestoredFiles, restore_after_kill};

/// Settings for commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellSettings {
    /// Weakest acceptable sandbox level.
    pub sandbox: SandboxLevel,
    /// Environment variables passed on, in addition to a few harmless ones.
    pub environment: Vec<String>,
    /// Paths that sandboxed commands can read in addition to the workspace and the system's directories.
    pub readable: Vec<PathBuf>,
    /// Paths that sandboxed commands can write in addition to the workspace and their temporary directory.
    pub writable: Vec<PathBuf>,
    /// Time limit of a command that does not set one.
    pub timeout: Duration,
    /// Longest time limit that a command can set.
    pub longest_timeout: Duration,
    /// Other resource limits.
    pub limits: ResourceLimits,
    /// Program that guards commands by calling [`sandbox::run_if_asked`], as this one should.
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
    /// Returns the level at which commands run on this machine. The first call probes it and blocks.
    pub fn level(&self) -> Result<SandboxLevel, NoSandbox> {
        match self.sandbox {
            SandboxLevel::Off => Ok(SandboxLevel::Off),
            weakest => Probe::of_system(&self.program).choose(weakest),
        }
    }
}

/// Tool that runs commands.
#[derive(Debug, Clone)]
pub struct Shell {
    settings: ShellSettings,
    level: Result<SandboxLevel, NoSandbox>,
    /// State of protected files before the running commands.
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
    /// Creates a shell with these settings.
    pub fn new(settings: ShellSettings) -> Self {
        let level = settings.level();
        Self { settings, level, baselines: Arc::default() }
    }

    /// Runs a command and restores protected files, even if the command is stopped.
    async fn run(
        &self,
        context: &ToolContext,
        parameters: Parameters,
        stop: CancellationToken,
    ) -> ToolOutput {
        // The level was determined when the shell was created. A failed probe is not repeated per call.
        let level = match &self.level {
            Ok(level) => *level,
            Err(reason) => return self.without_sandbox(&parameters.command, reason),
        };
        let timeout = parameters.timeout_seconds.map_or(self.settings.timeout, Duration::from_secs);
        // The snapshot is taken before the command is started and compared after its last process has ended. Anything
        // in between could miss a change or blame the command for another one.
        let watch = match ProtectedFiles::begin(context, level, &self.baselines).await {
            Ok(watch) => watch,
            Err(error) => return ToolOutput::failed(&FileError::NotRun(error)),
        };
        let order = ShellCommand {
            level,
            text: parameters.command,
            timeout,
            protected: watch.mounts(),
            journal: watch.journal(),
        };
        let ran = process::run(context, &self.settings, order, stop).await;
        let changes = watch.end().await;
        let mut output = match ran {
            Ok(outcome) => answer(outcome, timeout),
            Err(error) => ToolOutput::failed(&error),
        };
        output.notes.extend(changes.notes());
        output.effects.sandbox = Some(level);
        output.effects.protected_changes = changes.to_protocol();
        // An incomplete watch is an effect of its own: without it, an empty list of changes would claim that nothing
        // protected was touched.
        output.effects.unwatched = changes.is_partial;
        // Instruction files are protected too. Commands at level `off` may change them, and the new text applies from here on.
        let root = context.root().unwrap_or(std::path::Path::new(""));
        let holding = changes.directories(root);
        output.found_directories = holding.iter().map(|directory| context.as_given(directory)).collect();
        // An empty answer would give the model no sign that the command ran at all.
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

/// Describes a sandbox level to the model.
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

    fn refuse(&self, arguments: &ToolArguments) -> Option<ToolOutput> {
        let parameters: Parameters = arguments.get().ok()?;
        // Refused before approval is requested: a user must not be asked to approve a command that cannot run
        // afterwards.
        let longest = self.settings.longest_timeout.as_secs();
        match (parameters.timeout_seconds, &self.level) {
            (_, Err(reason)) => Some(self.without_sandbox(&parameters.command, reason)),
            (Some(seconds), _) if seconds > longest => {
                Some(ToolOutput::error(format!("field `timeout_seconds` must be at most {longest}")))
            }
            _ => None,
        }
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        Needs::run(".")
    }

    fn mentions(&self, arguments: &ToolArguments) -> Vec<PathBuf> {
        words::paths(arguments.text("command").unwrap_or_default())
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let parameters: Parameters = match arguments.get() {
            Ok(parameters) => parameters,
            Err(error) => return ToolOutput::failed(&error),
        };
        // Dropping this future stops the command but not the restoring of protected files, which runs in its own task.
        let stop = CancellationToken::new();
        let _stop_when_dropped = stop.clone().drop_guard();
        let (sender, answer) = oneshot::channel();
        let shell = self.clone();
        let unreported = context.unreported().clone();
        unreported.spawn(async move {
            let output = shell.run(&context, parameters, stop).await;
            context.report_effects(&output.effects);
            // The receiver is gone if the call was cancelled.
            let _ = sender.send(output);
        });
        answer.await.unwrap_or_else(|_| ToolOutput::error("the command failed by a fault of ours"))
    }
}

fn answer(outcome: CommandOutcome, timeout: Duration) -> ToolOutput {
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
    // Set last, because every case above may have replaced the output.
    output.is_error = outcome.ended != Ended::Exited(0);
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApprovalDecision, ApprovalRequest, Approvals, Router, ToolCall, Toolbox};

    struct Unasked;

    impl Approvals for Unasked {
        async fn ask(&self, request: ApprovalRequest) -> ApprovalDecision {
            panic!("{request:?}")
        }
    }

    #[tokio::test]
    async fn nothing_runs_or_asks_without_a_sandbox() {
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

    // The default settings require `isolated`, which root never gets.
    #[test]
    fn root_gets_no_sandbox_and_a_reason() {
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
