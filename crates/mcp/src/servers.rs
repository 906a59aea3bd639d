//! All configured servers, as sources of tools.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use protocol::mcp::{McpServer, tool_domain};
use protocol::{Hint, WorkspaceId};
use secrecy::ExposeSecret as _;
use tools::{RoundContext, ToolSource, Toolbox};

use crate::process::Ground;
use crate::secrets::Secrets;
use crate::server::Server;
use crate::settings::{McpSettings, ServerSettings};

/// How much longer than its own limit a source may take: the limit itself says what went wrong.
const MARGIN: Duration = Duration::from_secs(1);

/// The servers of a gateway. None of them runs before a turn needs it.
pub struct Servers {
    servers: Vec<Arc<Server>>,
    is_off: bool,
}

/// Why a turn cannot have a server that it names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableServer {
    #[error("there is no MCP server `{name}`")]
    Unknown {
        name: String,
        /// One with almost that name.
        meant: Option<String>,
        /// Whether there may be one that is switched off.
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
    /// The servers of these settings. What they offer is remembered in `memory`; `hidden` is what a server in a sandbox cannot
    /// see; `environment` has the variables that settings name.
    pub fn new(
        settings: &McpSettings,
        memory: &Path,
        hidden: &[PathBuf],
        environment: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let ground = Ground { program: settings.program.clone(), hidden: hidden.to_vec() };
        let usable =
            settings.servers.iter().filter(|(_, server)| settings.enabled && server.problem().is_none());
        let servers = usable.map(|(name, server)| {
            let secrets = Secrets::read(variables(server), &environment);
            Server::new(name, server.clone(), secrets, ground.clone(), memory)
        });
        Self { servers: servers.collect(), is_off: !settings.enabled && !settings.servers.is_empty() }
    }

    /// One source of tools for each.
    pub fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        let source = |server: &Arc<Server>| {
            Arc::new(Source { server: Arc::clone(server), domain: tool_domain(&server.name) }) as _
        };
        self.servers.iter().map(source).collect()
    }

    /// Whether a turn in a workspace can have a server that it names; `bound_to` is the only workspace that whoever starts it
    /// reaches.
    pub fn find(
        &self,
        name: &str,
        workspace_id: &WorkspaceId,
        bound_to: Option<&WorkspaceId>,
    ) -> Result<(), UnusableServer> {
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

    /// How each of them is; to somebody who reaches one workspace only, those that name it.
    pub fn status(&self, bound_to: Option<&WorkspaceId>) -> Vec<McpServer> {
        self.servers
            .iter()
            .filter(|server| is_shown(server, bound_to))
            .map(|server| server.status())
            .collect()
    }

    /// Whether there are servers that are switched off.
    pub fn are_off(&self) -> bool {
        self.is_off
    }

    /// Ends all that run, and every call.
    pub fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            join_all(self.servers.iter().map(|server| server.shut_down())).await;
        })
    }
}

/// Whether somebody knows of a server: one who reaches one workspace only, if it is named.
fn is_shown(server: &Server, bound_to: Option<&WorkspaceId>) -> bool {
    bound_to.is_none_or(|id| names(&server.settings, id))
}

/// Whether a server's settings name a workspace.
fn names(settings: &ServerSettings, workspace_id: &WorkspaceId) -> bool {
    let named = settings.workspaces.iter().flatten();
    named.into_iter().any(|id| id == workspace_id.as_str())
}

fn variables(settings: &ServerSettings) -> impl Iterator<Item = &str> {
    let of_headers = settings.headers_env.values().map(|variable| variable.expose_secret());
    settings.env.iter().map(String::as_str).chain(of_headers)
}

struct Source {
    server: Arc<Server>,
    domain: String,
}

impl Source {
    /// Whether a turn may use the server.
    fn is_for(&self, round: &RoundContext) -> bool {
        match self.server.settings.workspaces {
            None => !round.scope.is_bound(),
            Some(_) => names(&self.server.settings, &round.scope.workspace_id),
        }
    }
}

impl ToolSource for Source {
    fn name(&self) -> &str {
        &self.domain
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        let settings = &self.server.settings;
        let is_for_it = settings.workspaces.is_none() || names(settings, &round.scope.workspace_id);
        // Nothing is started for somebody who cannot use it or only looks, nor in the middle of a turn.
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
        // What is wrong with a server is no business of turns that cannot have it.
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
