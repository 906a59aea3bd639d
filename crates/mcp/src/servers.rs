//! All configured servers as tool sources.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use protocol::mcp::{McpServer, tool_domain};
use protocol::{Hint, WorkspaceId};
use secrecy::ExposeSecret as _;
use tools::{RoundContext, ToolSource, Toolbox};

use crate::secrets::Secrets;
use crate::server::Server;
use crate::settings::{McpSettings, ServerSettings};
use crate::transport::process::SandboxContext;

/// Extra time for a source beyond its server's own limit, whose error is more precise.
const MARGIN: Duration = Duration::from_secs(1);

/// The servers of a gateway. None runs before a turn needs it.
pub struct Servers {
    servers: Vec<Arc<Server>>,
    is_off: bool,
}

/// Reason why a turn cannot use a server that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableServer {
    #[error("there is no MCP server `{name}`")]
    Unknown {
        name: String,
        /// A configured name that is similar.
        meant: Option<String>,
        /// True if servers are configured but switched off.
        is_off: bool,
    },
    #[error("the MCP server `{name}` is for other workspaces")]
    OtherWorkspace { name: String },
}

impl Hint for UnusableServer {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Unknown { is_off: true, .. } => "MCP servers are switched off (mcp.enabled)".into(),
            Self::Unknown { meant: Some(meant), .. } => format!("did you mean `{meant}`?").into(),
            Self::Unknown { .. } => "`foreword mcp status` shows those there are".into(),
            Self::OtherWorkspace { name } => {
                format!("mcp.servers.{name}.workspaces has the ids of those that it is for").into()
            }
        })
    }
}

impl Servers {
    /// Creates the servers of these settings. Tool lists are cached in `memory`; `hidden` lists the paths that a sandboxed server
    /// cannot see; `environment` returns the variables that the settings name.
    pub fn new(
        settings: &McpSettings,
        memory: &Path,
        hidden: &[PathBuf],
        environment: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let sandbox_context = SandboxContext { program: settings.program.clone(), hidden: hidden.to_vec() };
        let usable =
            settings.servers.iter().filter(|(_, server)| settings.enabled && server.problem().is_none());
        let servers = usable.map(|(name, server)| {
            let secrets = Secrets::read(variables(server), &environment);
            Server::new(name, server.clone(), secrets, sandbox_context.clone(), memory)
        });
        Self { servers: servers.collect(), is_off: !settings.enabled && !settings.servers.is_empty() }
    }

    /// Returns a tool source for each server.
    pub fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        let source = |server: &Arc<Server>| {
            Arc::new(McpToolSource { server: Arc::clone(server), domain: tool_domain(&server.name) }) as _
        };
        self.servers.iter().map(source).collect()
    }

    /// Checks that a turn in a workspace can use a server that it names. `bound_to` is the only workspace that the actor can access,
    /// if there is one.
    pub fn find(
        &self,
        name: &str,
        workspace_id: &WorkspaceId,
        bound_to: Option<&WorkspaceId>,
    ) -> Result<(), UnusableServer> {
        // Filtered before the search for similar names: an error must not reveal the name of a server that the actor
        // cannot see.
        let mut seen = self.servers.iter().filter(|server| is_shown(server, bound_to));
        let Some(server) = seen.clone().find(|server| server.name == name) else {
            let meant = protocol::similar(name, seen.by_ref().map(|server| server.name.as_str()));
            let meant = meant.map(str::to_owned);
            return Err(UnusableServer::Unknown { name: name.to_owned(), meant, is_off: self.is_off });
        };
        if server.settings.workspaces.is_some() && !names(&server.settings, workspace_id) {
            return Err(UnusableServer::OtherWorkspace { name: name.to_owned() });
        }
        Ok(())
    }

    /// Returns the status of the servers. An actor bound to a workspace sees only those that name it.
    pub fn status(&self, bound_to: Option<&WorkspaceId>) -> Vec<McpServer> {
        self.servers
            .iter()
            .filter(|server| is_shown(server, bound_to))
            .map(|server| server.status())
            .collect()
    }

    /// Returns true if servers are configured but switched off.
    pub fn are_off(&self) -> bool {
        self.is_off
    }

    /// Ends all servers and calls.
    pub fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            join_all(self.servers.iter().map(|server| server.shut_down())).await;
        })
    }
}

/// Returns true if the actor may know of a server: one bound to a workspace, only if the server names it.
fn is_shown(server: &Server, bound_to: Option<&WorkspaceId>) -> bool {
    bound_to.is_none_or(|id| names(&server.settings, id))
}

/// Returns true if a server's settings name a workspace.
fn names(settings: &ServerSettings, workspace_id: &WorkspaceId) -> bool {
    let named = settings.workspaces.iter().flatten();
    named.into_iter().any(|id| id == workspace_id.as_str())
}

fn variables(settings: &ServerSettings) -> impl Iterator<Item = &str> {
    let of_headers = settings.headers_env.values().map(|variable| variable.expose_secret());
    settings.env.iter().map(String::as_str).chain(of_headers)
}

struct McpToolSource {
    server: Arc<Server>,
    domain: String,
}

impl McpToolSource {
    /// Returns true if a turn may use the server.
    fn is_for(&self, round: &RoundContext) -> bool {
        match self.server.settings.workspaces {
            None => !round.scope.is_bound(),
            Some(_) => names(&self.server.settings, &round.scope.workspace_id),
        }
    }
}

impl ToolSource for McpToolSource {
    fn name(&self) -> &str {
        &self.domain
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        let settings = &self.server.settings;
        let is_for_it = settings.workspaces.is_none() || names(settings, &round.scope.workspace_id);
        // Nothing is started for a turn that cannot use it, for a preview, or in the middle of a turn.
        let may_start = !round.is_preview() && round.round == 1 && self.is_for(round);
        Box::pin(async move {
            match (is_for_it, may_start) {
                (false, _) => Toolbox::new(),
                (true, true) => self.server.offer().await,
                (true, false) => self.server.offered(),
            }
        })
    }

    fn offer_time(&self) -> Option<Duration> {
        Some(self.server.settings.timeout + MARGIN)
    }

    fn problems(&self, round: &RoundContext) -> Vec<String> {
        // Problems of a server do not concern turns that cannot use it.
        if self.is_for(round) { self.server.problems() } else { Vec::new() }
    }

    fn hidden_domain(&self) -> Option<&str> {
        self.server.settings.hidden.then_some(self.domain.as_str())
    }

    fn refusal(&self, round: &RoundContext, _: &str) -> Option<String> {
        let is_named = self.server.settings.workspaces.is_some();
        (round.scope.is_bound() && !is_named).then(|| {
            format!(
                "the token that started this turn is bound to its workspace, and mcp.servers.{}.workspaces does not name it",
                self.server.name
            )
        })
    }
}
