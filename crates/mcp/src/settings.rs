//! Settings of servers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use protocol::{ContentHash, SandboxLevel};
use sandbox::Program;
use secrecy::{ExposeSecret as _, SecretString};
use tools::Permission;

use crate::transport::{http, process};

/// Hint for a missing variable.
const SET_IT: &str = "set it where the gateway starts";

/// Returns true if a text can be the name of an environment variable.
fn is_variable(name: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '_';
    !name.is_empty()
        && name.chars().all(is_allowed)
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// The table `[mcp]`.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Enables the tools of all servers.
    pub enabled: bool,
    /// Servers by name, which is part of their tools' names.
    pub servers: BTreeMap<String, ServerSettings>,
    /// Program that guards their processes by calling [`sandbox::run_if_asked`], as this one should.
    pub program: Program,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { enabled: true, servers: BTreeMap::new(), program: Program::this() }
    }
}

/// The table `[mcp.servers.NAME]`: a program or an address.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Program, searched for on `PATH`.
    pub command: Option<String>,
    pub args: Vec<String>,
    /// Names of environment variables passed on, in addition to a few harmless ones.
    pub env: Vec<String>,
    /// Address of a streamable HTTP server, instead of a program.
    pub url: Option<String>,
    /// Headers of every request, with the name of the environment variable that holds each value.
    pub headers_env: BTreeMap<String, SecretString>,
    /// Working directory of the program. `None` for an empty directory of ours.
    pub cwd: Option<PathBuf>,
    /// Sandbox level of the program. `None` for no sandbox.
    pub sandbox: Option<SandboxLevel>,
    /// Ids of the workspaces whose turns can use it. `None` for all, but only for actors that can access every workspace.
    pub workspaces: Option<Vec<String>>,
    /// Tools to offer, by the server's names. `None` for all.
    pub tools: Option<Vec<String>>,
    /// Time limit for starting and listing, and for a call.
    pub timeout: Duration,
    /// Permission for calls.
    pub write: Permission,
    /// Trusts tools that claim to be read-only: their calls need no approval.
    pub trust_annotations: bool,
    /// Hides its tools until the model requests them.
    pub hidden: bool,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: Vec::new(),
            url: None,
            headers_env: BTreeMap::new(),
            cwd: None,
            sandbox: None,
            workspaces: None,
            tools: None,
            timeout: Duration::from_secs(30),
            write: Permission::Ask,
            trust_annotations: false,
            hidden: true,
        }
    }
}

impl ServerSettings {
    /// Returns a problem of the settings, worded to follow the server's name. It never contains values, because a user may have
    /// entered a secret instead of the name of a variable.
    pub fn problem(&self) -> Option<&'static str> {
        match (&self.command, &self.url) {
            (None, None) => Some("needs `command` or `url`"),
            (Some(_), Some(_)) => Some("has both `command` and `url`; set one of them"),
            (Some(command), None) if command.is_empty() || command.contains('\0') => {
                Some("has a `command` that cannot be a program's name")
            }
            (None, Some(url)) if http::address(url).is_err() => {
                Some("has a `url` that is no address; it begins with http:// or https://")
            }
            _ if !self.env.iter().all(|name| is_variable(name)) => {
                Some("has something in `env` that cannot be the name of an environment variable")
            }
            _ if !self.headers_env.values().all(|name| is_variable(name.expose_secret())) => Some(
                "has a header in `headers_env` whose value cannot be the name of an environment variable",
            ),
            _ => None,
        }
    }

    /// Returns requirements that the machine lacks, each with a hint.
    pub fn lacks(&self, environment: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
        let mut lacking = Vec::new();
        if let Some(command) = &self.command
            && let Err(missing) = process::find_program(command, self.cwd.as_deref(), environment("PATH"))
        {
            let hint = if command.contains(' ') {
                "arguments belong in `args`".to_owned()
            } else {
                "install it, or write its whole path".to_owned()
            };
            lacking.push((missing, hint));
        }
        for name in self.env.iter().filter(|name| environment(name).is_none()) {
            lacking.push((format!("the environment variable {name} (`env`) is not set"), SET_IT.to_owned()));
        }
        for (header, name) in &self.headers_env {
            let name = name.expose_secret();
            if environment(name).is_none() {
                let message =
                    format!("the environment variable {name}, for the header `{header}`, is not set");
                lacking.push((message, SET_IT.to_owned()));
            }
        }
        lacking
    }

    /// Returns a digest of everything that may change the tools. It does not cover the values of variables: a new key is not a new
    /// server.
    pub(crate) fn digest(&self) -> ContentHash {
        let headers: BTreeMap<&str, &str> = self
            .headers_env
            .iter()
            .map(|(name, variable)| (name.as_str(), variable.expose_secret()))
            .collect();
        // Settings that only filter or permit, such as `tools`, `write` and `timeout`, are missing on purpose: changing
        // one must not discard what the user has accepted.
        let identity = serde_json::json!({
            "command": self.command,
            "args": self.args,
            "env": self.env,
            "url": self.url,
            "headers": headers,
            "cwd": self.cwd,
            "sandbox": self.sandbox,
        });
        ContentHash::of(identity.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut ServerSettings)) -> Option<&'static str> {
        let mut settings =
            ServerSettings { url: Some("https://x.example/mcp".to_owned()), ..Default::default() };
        change(&mut settings);
        settings.problem()
    }

    #[test]
    fn invalid_settings_are_reported() {
        assert_eq!(problem(|_| {}), None);
        for url in ["tracker.example.com/mcp", "ftp://x", "", "http://"] {
            let found = problem(|settings| settings.url = Some(url.to_owned()));
            assert!(found.is_some_and(|words| words.contains("`url`")), "{url}: {found:?}");
        }
        for pasted in ["Bearer sk-pasted-secret", "", "1KEY", "A=b"] {
            let header = [("Authorization".to_owned(), SecretString::from(pasted))].into();
            let found = problem(|settings| settings.headers_env = header);
            assert!(found.is_some_and(|words| words.contains("`headers_env`")), "{pasted}: {found:?}");
            let found = problem(|settings| settings.env = vec![pasted.to_owned()]);
            assert!(found.is_some_and(|words| words.contains("`env`")), "{pasted}: {found:?}");
        }
    }

    #[test]
    fn missing_requirements_have_hints() {
        let settings = ServerSettings {
            command: Some("no-such-program x".to_owned()),
            env: vec!["THERE".to_owned(), "MISSING".to_owned()],
            ..ServerSettings::default()
        };
        let environment = |name: &str| match name {
            "PATH" => Some("/nowhere:/bin".to_owned()),
            "THERE" => Some("1".to_owned()),
            _ => None,
        };
        let lacking = settings.lacks(environment);
        assert_eq!(lacking[0].0, "the program `no-such-program x` is not on PATH");
        assert_eq!(lacking[0].1, "arguments belong in `args`");
        assert_eq!(lacking[1].0, "the environment variable MISSING (`env`) is not set");
        assert_eq!(lacking.len(), 2);
        let found = ServerSettings { command: Some("sh".to_owned()), ..ServerSettings::default() };
        assert_eq!(found.lacks(environment), []);
    }
}
