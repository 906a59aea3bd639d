//! Which servers there are, and what they may do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use protocol::{ContentHash, SandboxLevel};
use sandbox::Program;
use secrecy::{ExposeSecret as _, SecretString};
use tools::Permission;

/// `[mcp]`.
#[derive(Debug, Clone)]
pub struct McpSettings {
    /// Whether turns have the tools of servers at all.
    pub enabled: bool,
    /// By the name that their tools begin with.
    pub servers: BTreeMap<String, ServerSettings>,
    /// What guards their processes: a program that calls [`sandbox::run_if_asked`], as this one should.
    pub program: Program,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { enabled: true, servers: BTreeMap::new(), program: Program::this() }
    }
}

/// `[mcp.servers.NAME]`: a program that is run, or an address.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The program, which is looked for on `PATH`.
    pub command: Option<String>,
    pub args: Vec<String>,
    /// Names of the gateway's environment variables that are passed on, besides a few harmless ones.
    pub env: Vec<String>,
    /// Where it is reached over streamable HTTP, in place of a program.
    pub url: Option<String>,
    /// Headers of every request, each with the name of the environment variable that has its value.
    pub headers_env: BTreeMap<String, SecretString>,
    /// Where the program starts; none: an empty directory of ours.
    pub cwd: Option<PathBuf>,
    /// How far the program is kept apart from the machine; none: not at all.
    pub sandbox: Option<SandboxLevel>,
    /// Ids of the workspaces whose turns have its tools; none: all, but only turns of tokens that reach every workspace.
    pub workspaces: Option<Vec<String>>,
    /// The only tools that are offered, by the server's own names; none: all.
    pub tools: Option<Vec<String>>,
    /// How long it may take to begin, to list its tools, and for a call.
    pub timeout: Duration,
    /// What happens to calls.
    pub write: Permission,
    /// Whether a tool that says it only reads is believed: its calls do not ask then.
    pub trust_annotations: bool,
    /// Whether its tools are in a request only once the model has asked for them.
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
    /// What is wrong with it, in words that follow the server's name.
    pub fn problem(&self) -> Option<&'static str> {
        match (&self.command, &self.url) {
            (None, None) => Some("needs `command` or `url`"),
            (Some(_), Some(_)) => Some("has both `command` and `url`; set one of them"),
            (Some(command), None) if command.is_empty() || command.contains('\0') => {
                Some("has a `command` that cannot be a program's name")
            }
            _ => None,
        }
    }

    /// Tells one configuration from another, as far as the tools may be others. Without the values of variables: a new key is
    /// no new server.
    pub(crate) fn digest(&self) -> ContentHash {
        let headers: BTreeMap<&str, &str> = self
            .headers_env
            .iter()
            .map(|(name, variable)| (name.as_str(), variable.expose_secret()))
            .collect();
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
