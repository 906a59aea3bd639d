//! `shell`: a command, confined to the workspace where the system can do that, and never for longer than allowed.

mod capture;
mod environment;
mod process;
mod sandbox;
mod watch;
mod words;

use std::path::PathBuf;
use std::time::Duration;

use instructions::Reminder;
use protocol::error::with_hint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arguments, FileError, Needs, Tool, ToolContext, ToolOutput, ToolSpec};
use process::{Ended, Outcome};
use sandbox::Confinement;
use watch::Snapshot;

/// How commands are confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sandbox {
    /// By what the system has; where it has nothing, commands do not run.
    #[default]
    Auto,
    /// Not at all.
    Off,
}

/// How commands are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellSettings {
    /// How they are confined.
    pub sandbox: Sandbox,
    /// Environment variables that are passed on, besides a few harmless ones.
    pub environment: Vec<String>,
    /// What confined commands can read besides the workspace and the system's directories.
    pub readable: Vec<PathBuf>,
    /// What confined commands can write besides the workspace and their own temporary directory.
    pub writable: Vec<PathBuf>,
    /// How long a command may take that does not say.
    pub timeout: Duration,
    /// How long a command may ask for.
    pub longest_timeout: Duration,
}

impl Default for ShellSettings {
    fn default() -> Self {
        Self {
            sandbox: Sandbox::Auto,
            environment: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            timeout: Duration::from_secs(120),
            longest_timeout: Duration::from_secs(1_800),
        }
    }
}

/// Runs commands.
#[derive(Debug, Clone)]
pub struct Shell {
    settings: ShellSettings,
    confinement: Option<Confinement>,
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
        let confinement = match settings.sandbox {
            Sandbox::Off => Some(Confinement::None),
            Sandbox::Auto => Confinement::of_system(),
        };
        Self { settings, confinement }
    }

    /// Whether calls can run: there is a sandbox on this system, or none is wanted.
    pub fn is_usable(&self) -> bool {
        self.confinement.is_some()
    }

    async fn run(&self, context: &ToolContext, parameters: Parameters) -> Result<ToolOutput, FileError> {
        let Some(confinement) = self.confinement else { return Ok(without_sandbox(&parameters.command)) };
        let timeout = parameters.timeout_seconds.map_or(self.settings.timeout, Duration::from_secs);
        let before = Snapshot::take(context).await;
        let outcome =
            process::run(context, &self.settings, confinement, &parameters.command, timeout).await?;
        let changes = before.changes(&Snapshot::take(context).await);
        let mut output = answer(outcome, timeout);
        output.notes.extend(changes.note());
        output.protected_changes = context.root().map(|root| changes.paths(root)).unwrap_or_default();
        // Instruction files are among what is protected, and what they say now holds from here on.
        let holding = output.protected_changes.iter().filter_map(|path| path.parent());
        output.found_directories = holding.map(|directory| context.as_given(directory)).collect();
        if output.text.is_empty() && output.notes.is_empty() {
            output = output.with_note("no output");
        }
        Ok(output)
    }
}

impl Tool for Shell {
    fn spec(&self) -> ToolSpec {
        let confined = match self.confinement {
            Some(Confinement::None) | None => "",
            Some(_) => {
                " It can read the workspace and the system's programs, and write only the workspace and $TMPDIR."
            }
        };
        ToolSpec::of::<Parameters>(
            "shell",
            format!(
                "Runs a command in the working directory, without input and without a terminal. What it leaves running in the background is ended.{confined}"
            ),
        )
    }

    fn refuse(&self, arguments: &Arguments) -> Option<ToolOutput> {
        let parameters: Parameters = arguments.get().ok()?;
        let longest = self.settings.longest_timeout.as_secs();
        match parameters.timeout_seconds {
            _ if !self.is_usable() => Some(without_sandbox(&parameters.command)),
            Some(seconds) if seconds > longest => {
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
        self.run(&context, parameters).await.unwrap_or_else(|error| ToolOutput::failed(&error))
    }
}

fn without_sandbox(command: &str) -> ToolOutput {
    let shown: String = command.chars().take(200).collect();
    let text = with_hint(
        "the command was not run: commands run in a sandbox only, and this system has none",
        Some("the user can install a Linux kernel of 6.2 or later, or set shell.sandbox = off"),
    );
    ToolOutput::error(text).with_reminder(Reminder::PermissionDecision {
        call: format!("shell({shown:?})"),
        rule: "shell.sandbox = auto (this system has no sandbox)".to_owned(),
        allowed: "the file tools.".to_owned(),
    })
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
        let shell = Shell { settings: ShellSettings::default(), confinement: None };
        assert!(!shell.is_usable());
        let mut toolbox = Toolbox::new();
        toolbox.add(shell).unwrap();
        let arguments = r#"{"command":"touch ran"}"#.to_owned();
        let call = ToolCall { id: "1".into(), name: "shell".into(), arguments };
        let output = Router::all(&toolbox, context).call(call).await;
        assert!(output.is_error && output.text.contains("shell.sandbox = off"));
        let [Reminder::PermissionDecision { call, rule, .. }] = &output.reminders[..] else {
            panic!("{output:?}")
        };
        assert_eq!(
            (&**call, &**rule),
            ("shell(\"touch ran\")", "shell.sandbox = auto (this system has no sandbox)")
        );
        assert!(!directory.path().join("ran").exists());
    }
}
