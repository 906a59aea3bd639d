//! All configured servers, as sources of tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use protocol::WorkspaceId;
use protocol::mcp::{McpServer, tool_domain};
use secrecy::ExposeSecret as _;
use tools::{RoundContext, RoundPurpose, ToolSource, Toolbox};

use crate::process::Ground;
use crate::secrets::Secrets;
use crate::server::Server;
use crate::settings::{McpSettings, ServerSettings};

/// How much longer than its own limit a source may take: the limit itself says what went wrong.
const MARGIN: Duration = Duration::from_secs(1);

/// The servers of a gateway. None of them runs before a turn needs it.
pub struct Servers {
    servers: Vec<Arc<Server>>,
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
        Self { servers: servers.collect() }
    }

    /// One source of tools for each.
    pub fn sources(&self) -> Vec<Arc<dyn ToolSource>> {
        let source = |server: &Arc<Server>| {
            Arc::new(Source { server: Arc::clone(server), domain: tool_domain(&server.name) }) as _
        };
        self.servers.iter().map(source).collect()
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.servers.iter().any(|server| server.name == name)
    }

    /// How each of them is; to somebody who reaches one workspace only, those that name it.
    pub fn status(&self, bound_to: Option<&WorkspaceId>) -> Vec<McpServer> {
        let is_shown = |server: &&Arc<Server>| bound_to.is_none_or(|id| names(&server.settings, id));
        self.servers.iter().filter(is_shown).map(|server| server.status()).collect()
    }

    /// Ends all that run, and every call.
    pub fn shut_down(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            join_all(self.servers.iter().map(|server| server.shut_down())).await;
        })
    }
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
            None => !round.is_bound,
            Some(_) => names(&self.server.settings, &round.workspace_id),
        }
    }
}

impl ToolSource for Source {
    fn name(&self) -> &str {
        &self.domain
    }

    fn offer<'a>(&'a self, round: &'a RoundContext) -> BoxFuture<'a, Toolbox> {
        let settings = &self.server.settings;
        let is_for_it = settings.workspaces.is_none() || names(settings, &round.workspace_id);
        // Nothing is started for somebody who cannot use it or only looks, nor in the middle of a turn.
        let may_start = round.purpose == RoundPurpose::Turn && round.round == 1 && self.is_for(round);
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
        (round.is_bound && !is_named).then(|| {
            format!(
                "the token that started this turn is bound to its workspace, and mcp.servers.{}.workspaces does not name it",
                self.server.name
            )
        })
    }
}
