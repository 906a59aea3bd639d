//! Runs each agent once, without a terminal, with our model as its only provider.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::model::{Model, Sent};

/// A slow machine starts some agents slowly.
const PATIENCE: Duration = Duration::from_secs(120);

/// An agent from npm.
pub(crate) struct RealAgent {
    /// Name of the profile that it is compared with.
    pub(crate) profile: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    /// Variables; `{url}` stands for the model's address.
    variables: &'static [(&'static str, &'static str)],
    /// Files in its home directory, with the same placeholder.
    files: &'static [(&'static str, &'static str)],
    /// File that the agent creates and sends as if it were an instruction file.
    adds: Option<&'static str>,
}

pub(crate) const AGENTS: &[RealAgent] = &[
    RealAgent {
        profile: "codex",
        program: "codex",
        arguments: &["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Hello."],
        variables: &[],
        files: &[(
            ".codex/config.toml",
            "model = \"gpt-5\"\nmodel_provider = \"here\"\n[model_providers.here]\nname = \"here\"\nbase_url = \"{url}/v1\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        )],
        adds: None,
    },
    RealAgent {
        profile: "claude-code",
        program: "claude",
        arguments: &["-p", "Hello."],
        variables: &[
            ("ANTHROPIC_BASE_URL", "{url}"),
            ("ANTHROPIC_API_KEY", "sk-none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
        files: &[],
        adds: None,
    },
    RealAgent {
        profile: "gemini-cli",
        program: "gemini",
        arguments: &["-p", "Hello."],
        variables: &[
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", "{url}"),
            // A flag for the same comes too late for the settings of a project.
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        files: &[(
            ".gemini/settings.json",
            r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true}}"#,
        )],
        adds: None,
    },
    RealAgent {
        profile: "opencode",
        program: "opencode",
        arguments: &["run", "Hello."],
        variables: &[],
        files: &[(
            ".config/opencode/opencode.json",
            r#"{"model":"here/m","small_model":"here/m","autoupdate":false,"provider":{"here":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"{url}/v1","apiKey":"none"},"models":{"m":{}}}}}"#,
        )],
        adds: None,
    },
    RealAgent {
        profile: "qwen-code",
        program: "qwen",
        arguments: &["--auth-type", "openai", "-y", "-p", "Hello."],
        variables: &[("OPENAI_BASE_URL", "{url}/v1"), ("OPENAI_API_KEY", "none"), ("OPENAI_MODEL", "m")],
        files: &[],
        adds: Some(".qwen/output-language.md"),
    },
    RealAgent {
        profile: "pi@0.73.1",
        program: "pi",
        arguments: &["--provider", "here", "--model", "m", "--no-session", "-p", "Hello."],
        variables: &[],
        files: &[(
            ".pi/agent/models.json",
            r#"{"providers":{"here":{"baseUrl":"{url}/v1","apiKey":"none","api":"openai-completions","models":[{"id":"m"}]}}}"#,
        )],
        adds: None,
    },
    RealAgent {
        profile: "copilot",
        program: "copilot",
        arguments: &["-p", "Hello.", "--allow-all-tools"],
        variables: &[
            ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
            ("COPILOT_PROVIDER_TYPE", "openai"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "m"),
            ("COPILOT_OFFLINE", "true"),
        ],
        files: &[],
        adds: None,
    },
];

pub(crate) fn names() -> String {
    AGENTS.iter().map(|agent| agent.profile).collect::<Vec<_>>().join(", ")
}

impl RealAgent {
    /// Returns the first request of a turn that the agent makes in a directory, or `None` if it makes none in time.
    pub(crate) fn first_request(
        &self,
        agents: &Path,
        home: &Path,
        cwd: &Path,
    ) -> anyhow::Result<Option<Sent>> {
        let model = Model::start()?;
        for (name, text) in self.files {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().context("a directory")?)?;
            std::fs::write(path, text.replace("{url}", &model.url))?;
        }
        let mut command = Command::new(agents.join("node_modules/.bin").join(self.program));
        // Variables of the caller could select another provider or another home directory.
        command.args(self.arguments).env_clear().current_dir(cwd).env("HOME", home);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, value) in self.variables {
            command.env(name, value.replace("{url}", &model.url));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Agents start helpers such as language servers. With a process group of its own, all of them can be killed.
        let mut child = command.process_group(0).spawn().with_context(|| self.program.to_owned())?;
        let mut sent = model.wait(PATIENCE, || child.try_wait().is_ok_and(|ended| ended.is_some()));
        if let Some(group) = Pid::from_raw(i32::try_from(child.id())?) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        if let (Some(sent), Some(added)) = (&mut sent, self.adds) {
            sent.texts.iter_mut().for_each(|(_, text)| *text = without(text, added));
        }
        Ok(sent)
    }
}

/// Returns a text without the section of a file that the agent created.
fn without(text: &str, added: &str) -> String {
    let start = format!("{added} ---\n");
    let end = format!("{added} ---\n\n");
    let section = text.find(&start).and_then(|named| {
        let from = text[..named].rfind("--- Context from: ")?;
        let to = named + start.len() + text[named + start.len()..].find(&end)? + end.len();
        Some(from..to)
    });
    match section {
        Some(section) => format!("{}{}", &text[..section.start], &text[section.end..]),
        None => text.to_owned(),
    }
}
