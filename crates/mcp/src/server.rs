//! One server: started when needed, restarted after its end, and delayed if it keeps failing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use protocol::mcp::{McpServer, McpState, McpTransport};
use protocol::{ContentHash, Hint as _};
use rmcp::ServiceError;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use tools::{ToolOutput, Toolbox};

use crate::error::ServerError;
use crate::offer::content;
use crate::offer::definition::Definition;
use crate::offer::name::fitted;
use crate::offer::tool::McpTool;
use crate::offer::tool_cache::ToolCache;
use crate::secrets::Secrets;
use crate::settings::ServerSettings;
use crate::transport::connection::{CallOutcome, ServerConnection, ToolList, list, reason};
use crate::transport::http_client::SESSION_ENDED;
use crate::transport::process::SandboxContext;

/// Longest delay before a failing server is started again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Consecutive calls without an answer after which a server counts as stuck.
const MAX_UNANSWERED: u32 = 2;
/// Pause after a change notification, because a server may send them endlessly.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);
/// Most bytes of a server's definitions. They are in every request, and one server must not fill it alone.
const MAX_OFFER_BYTES: usize = 256 << 10;
/// Most characters of a reason.
const MAX_REASON_CHARS: usize = 500;

pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) settings: ServerSettings,
    configuration: ContentHash,
    secrets: Secrets,
    sandbox_context: SandboxContext,
    /// Directory of the cached tool list.
    memory: PathBuf,
    state: Mutex<ServerState>,
    /// Locked while the server is being started.
    connection: tokio::sync::Mutex<Option<Arc<ServerConnection>>>,
    shutdown: CancellationToken,
    itself: Weak<Server>,
}

#[derive(Default)]
struct ServerState {
    cached: Option<ToolCache>,
    offered: Toolbox,
    /// Problems with its tools.
    problems: Vec<String>,
    health: Health,
    starts: u64,
    /// Failures since the last successful call.
    failures: u32,
    unanswered: u32,
    retry_at: Option<Instant>,
    last_failure: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Health {
    #[default]
    Idle,
    Starting,
    Running,
    Failed,
}

impl Server {
    /// Creates a server without starting it, and loads its cached tool list.
    pub(crate) fn new(
        name: &str,
        settings: ServerSettings,
        secrets: Secrets,
        sandbox_context: SandboxContext,
        memory: &Path,
    ) -> Arc<Self> {
        let configuration = settings.digest();
        let (cached, unreadable) = match ToolCache::load(memory, name, &configuration) {
            Ok(cached) => (cached, None),
            // An unreadable cache may have contained accepted definitions that differ from what the server offers now.
            // Treating it as empty would accept the new ones as if the server were new.
            Err(why) => (Some(ToolCache::unknown(&configuration)), Some(why)),
        };
        let server = Arc::new_cyclic(|itself| Self {
            name: name.to_owned(),
            settings,
            configuration,
            secrets,
            sandbox_context,
            memory: memory.to_owned(),
            state: Mutex::default(),
            connection: tokio::sync::Mutex::default(),
            shutdown: CancellationToken::new(),
            itself: itself.clone(),
        });
        if let Some(cached) = cached {
            let problem = unreadable.map(|why| {
                tracing::warn!(server = name, why, "failed to read the cached tools of an MCP server");
                format!(
                    "its cached tool list cannot be read ({why}), so calls of all its tools require approval"
                )
            });
            server.offer_from(cached, problem.into_iter().collect());
        }
        server
    }

    /// Returns the server's tools. Only a server without a known list is started and awaited, and only once: after a failure it is
    /// retried in the background.
    pub(crate) async fn offer(self: &Arc<Self>) -> Toolbox {
        let (is_known, has_failed) = {
            let state = self.state();
            (state.cached.as_ref().is_some_and(ToolCache::is_known), state.health == Health::Failed)
        };
        // A server that fails slowly would otherwise delay every turn by its time limit. The turn continues without its
        // tools, and a later one finds them if the start succeeds.
        if !is_known && has_failed {
            let server = Arc::clone(self);
            tokio::spawn(async move { drop(server.connected().await) });
        } else if !is_known && let Err(error) = self.connected().await {
            tracing::debug!(server = self.name, %error, "an MCP server offers nothing");
        }
        self.offered()
    }

    /// Returns the known tools without starting the server.
    pub(crate) fn offered(&self) -> Toolbox {
        self.state().offered.clone()
    }

    /// Returns problems with the offered tools.
    pub(crate) fn problems(&self) -> Vec<String> {
        let state = self.state();
        let is_known = state.cached.as_ref().is_some_and(ToolCache::is_known);
        if !is_known && state.starts == 0 {
            return vec![format!(
                "the MCP server `{}` was never asked what it offers; the next turn asks it",
                self.name
            )];
        }
        let failure = (!is_known).then(|| state.last_failure.clone()).flatten();
        let failure = failure.map(|why| format!("the MCP server `{}` offers nothing: {why}", self.name));
        let about = |problem: &String| format!("the MCP server `{}`: {problem}", self.name);
        failure.into_iter().chain(state.problems.iter().map(about)).collect()
    }

    pub(crate) fn status(&self) -> McpServer {
        let state = self.state();
        let mut problems: Vec<String> = state.problems.clone();
        problems.sort();
        McpServer {
            name: self.name.clone(),
            transport: if self.settings.url.is_some() { McpTransport::Http } else { McpTransport::Stdio },
            state: match state.health {
                Health::Idle => McpState::Idle,
                Health::Starting => McpState::Starting,
                Health::Running => McpState::Running,
                Health::Failed => McpState::Failed,
            },
            tools: state.offered.specs().map(|spec| spec.name.clone()).collect(),
            hidden: self.settings.hidden,
            starts: state.starts,
            failure: state.last_failure.clone(),
            problems,
        }
    }

    /// Returns true if a tool has not changed since it was accepted.
    pub(crate) fn is_accepted(&self, definition: &Definition) -> bool {
        self.state().cached.as_ref().is_some_and(|cached| cached.is_accepted(definition))
    }

    /// Runs a call that was approved.
    pub(crate) async fn call(
        self: &Arc<Self>,
        definition: &Definition,
        arguments: Map<String, Value>,
    ) -> ToolOutput {
        let called = tokio::select! {
            called = self.call_in_session(definition, arguments) => called,
            () = self.shutdown.cancelled() => Err(ServerError::ShutDown { server: self.name.clone() }),
        };
        // Masked after both cases, because error texts contain the server's own words as well as successful answers do.
        let mut output = match called {
            Ok(output) => output,
            Err(error) => ToolOutput::error(error.with_hint()),
        };
        output.text = self.secrets.mask(output.text);
        output
    }

    /// Runs a call, and repeats it if the server had lost our session and therefore did nothing.
    async fn call_in_session(
        self: &Arc<Self>,
        definition: &Definition,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ServerError> {
        let connection = self.connected_as(definition).await?;
        let called = self.call_connected(&connection, definition, arguments.clone()).await;
        // Only this failure is safe to repeat. After any other, the server may have performed the call before the
        // connection broke, and a second one could do the same thing twice.
        if called.is_ok() || connection.end().why() != SESSION_ENDED {
            return called;
        }
        let connection = self.connected_as(definition).await?;
        self.call_connected(&connection, definition, arguments).await
    }

    /// Returns the connection if the server still offers the tool as it was when the call was approved. A changed tool must be read
    /// and approved again first.
    async fn connected_as(
        self: &Arc<Self>,
        definition: &Definition,
    ) -> Result<Arc<ServerConnection>, ServerError> {
        let connection = self.connected().await?;
        // Compared as a whole: a tool with the same name but another schema or description is not what was approved.
        let is_offered = {
            let state = self.state();
            state.cached.as_ref().is_some_and(|cached| cached.tools.contains(definition))
        };
        if !is_offered {
            return Err(ServerError::Changed { server: self.name.clone(), tool: definition.name.clone() });
        }
        if !self.is_accepted(definition) {
            self.accept(definition).await;
        }
        Ok(connection)
    }

    async fn call_connected(
        self: &Arc<Self>,
        connection: &ServerConnection,
        definition: &Definition,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ServerError> {
        let limit = self.settings.timeout;
        let server = || self.name.clone();
        match connection.call(&definition.name, arguments, limit).await {
            Ok(CallOutcome::Done(result)) => {
                let mut state = self.state();
                (state.failures, state.unanswered, state.last_failure) = (0, 0, None);
                Ok(content::output(&result, &self.secrets))
            }
            Ok(CallOutcome::Wants(what)) => Err(ServerError::Unsupported { server: server(), what }),
            Err(ServiceError::McpError(error)) => {
                self.state().unanswered = 0;
                Err(ServerError::Refused { server: server(), why: self.reason(error.message.to_string()) })
            }
            Err(ServiceError::UnexpectedResponse) => Err(ServerError::Nonsense { server: server() }),
            Err(ServiceError::Timeout { timeout }) => {
                let unanswered = {
                    // Two in a row: a single slow call is not a reason to end a server that may still be working.
                    let mut state = self.state();
                    state.unanswered += 1;
                    state.unanswered
                };
                if unanswered >= MAX_UNANSWERED {
                    connection.end().record(format!("it left {unanswered} calls unanswered"));
                }
                Err(ServerError::TooSlow { server: server(), limit: timeout })
            }
            Err(error) => {
                let why = match error {
                    // The guard reports the reason of a process's end shortly after the connection is closed.
                    ServiceError::TransportClosed => {
                        let _ = tokio::time::timeout(BETWEEN_LISTS, connection.end().token.cancelled()).await;
                        connection.end().why()
                    }
                    error => reason(error),
                };
                Err(ServerError::Ended { server: server(), why: self.reason(why) })
            }
        }
    }

    /// Returns a connection, starting the server if necessary. It is started in its own task, so that a cancelled caller does not
    /// stop a start from which the next caller profits.
    async fn connected(self: &Arc<Self>) -> Result<Arc<ServerConnection>, ServerError> {
        // `try_lock`, so that a call on a working connection costs no task. If another caller holds the lock, it is
        // probably starting the server, and the slower path waits for it.
        if let Ok(slot) = self.connection.try_lock()
            && let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed())
        {
            return Ok(Arc::clone(connection));
        }
        let server = Arc::clone(self);
        let starting = tokio::spawn(async move { server.start().await });
        let given_up =
            |_| ServerError::NotStarted { server: self.name.clone(), why: "it was given up".into() };
        starting.await.map_err(given_up)?
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<ServerConnection>, ServerError> {
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        if let Some(ended) = slot.take()
            // The task in `follow` notices the same end, and only the first of the two may count it. Counting it twice
            // would double the delay.
            && ended.end().count_once()
        {
            self.failed(ended.end().why());
        }
        // Checked while the connection is locked, so that concurrent calls do not each start a failing server.
        self.check_wait()?;
        {
            let mut state = self.state();
            state.health = Health::Starting;
            state.starts += 1;
        }
        let opening = async {
            let connection =
                ServerConnection::open(&self.settings, &self.secrets, &self.sandbox_context).await?;
            let listed = list(&connection.peer()).await;
            let listed = listed.map_err(|error| match error {
                ServiceError::TransportClosed => connection.end().why(),
                error => format!("it could not say what it offers: {}", reason(error)),
            })?;
            Ok::<_, String>((connection, listed))
        };
        let limit = self.settings.timeout;
        let opened = tokio::select! {
            opened = tokio::time::timeout(limit, opening) => opened.unwrap_or_else(|_| {
                Err(format!("it did not begin and list its tools within {} ms", limit.as_millis()))
            }),
            () = self.shutdown.cancelled() => Err("the gateway shuts down".to_owned()),
        };
        let (connection, listed) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                let why = self.failed(why);
                return Err(ServerError::NotStarted { server: self.name.clone(), why });
            }
        };
        self.learn(listed).await;
        {
            let mut state = self.state();
            (state.health, state.unanswered) = (Health::Running, 0);
        }
        let connection = Arc::new(connection);
        *slot = Some(Arc::clone(&connection));
        // Only weak references, so that neither the server nor its process is kept alive by the task that watches it.
        tokio::spawn(follow(self.itself.clone(), Arc::downgrade(&connection)));
        Ok(connection)
    }

    /// Records a failure, and returns its reason for display.
    fn failed(&self, why: String) -> String {
        let why = self.reason(why);
        tracing::warn!(server = self.name, why, "an MCP server failed");
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        state.retry_at = Some(Instant::now() + wait_after(state.failures));
        state.health = Health::Failed;
        state.last_failure = Some(why.clone());
        why
    }

    fn check_wait(&self) -> Result<(), ServerError> {
        let state = self.state();
        let wait = state.retry_at.map(|at| at.saturating_duration_since(Instant::now())).unwrap_or_default();
        if wait.is_zero() {
            return Ok(());
        }
        let why = state.last_failure.clone().unwrap_or_default();
        Err(ServerError::Waiting { server: self.name.clone(), why, wait })
    }

    /// Adopts the current tool list.
    async fn learn(&self, listed: ToolList) {
        let ToolList { tools, mut problems } = listed;
        let mut definitions: Vec<Definition> = Vec::new();
        let mut bytes = 0;
        let mut too_many = 0;
        for tool in tools.iter().filter(|tool| self.is_wanted(&tool.name)) {
            match Definition::new(tool, &self.secrets) {
                Ok(definition) if definitions.iter().any(|known| known.name == definition.name) => {
                    problems.push(format!("it offers `{}` twice", definition.name));
                }
                // A tool that does not fit is skipped instead of ending the list, so that a single large definition
                // does not hide the small ones after it.
                Ok(definition) if bytes + definition.bytes() > MAX_OFFER_BYTES => too_many += 1,
                Ok(definition) => {
                    bytes += definition.bytes();
                    definitions.push(definition);
                }
                Err(problem) => problems.push(problem),
            }
        }
        if too_many > 0 {
            problems.push(format!(
                "{too_many} of its tools are left out: together their descriptions have more than {MAX_OFFER_BYTES} bytes; the \
                 setting `tools` chooses some"
            ));
        }
        for wanted in self.settings.tools.iter().flatten() {
            if !tools.iter().any(|tool| tool.name == *wanted) {
                problems.push(format!("its setting `tools` names `{wanted}`, which it does not offer"));
            }
        }
        let before = self.state().cached.clone();
        let now = match &before {
            Some(before) => before.changed(definitions),
            None => ToolCache::first(&self.configuration, definitions),
        };
        let is_new = before.as_ref() != Some(&now);
        self.offer_from(now, problems);
        if is_new {
            self.save().await;
        }
    }

    fn is_wanted(&self, tool: &str) -> bool {
        self.settings.tools.as_ref().is_none_or(|wanted| wanted.iter().any(|name| name == tool))
    }

    /// Offers the tools of the cache. An unchanged tool keeps its value, so that the tool list of a round stays identical.
    fn offer_from(&self, cached: ToolCache, mut problems: Vec<String>) {
        let mut state = self.state();
        let mut offered = Toolbox::new();
        let before = state.cached.as_ref();
        for definition in cached.tools.iter().filter(|definition| self.is_wanted(&definition.name)) {
            if !cached.is_accepted(definition) {
                problems.push(format!(
                    "the tool `{}` is not what it was when the server was first asked; a call of it asks",
                    definition.name
                ));
            }
            let name = fitted(&self.name, &definition.name);
            let same = state.offered.filtered(|spec| spec.name == name);
            let is_known = before.is_some_and(|before| before.tools.contains(definition));
            if is_known && !same.is_empty() {
                offered.extend(same);
            } else if let Err(error) =
                offered.add(McpTool::new(self.itself.clone(), name, definition.clone(), &self.settings))
            {
                problems.push(format!("the tool `{}` is left out: {error}", definition.name));
            }
        }
        if !offered.is_same(&state.offered) {
            state.offered = offered;
        }
        state.problems = problems;
        state.cached = Some(cached);
    }

    /// Accepts a changed tool, because a call of it was approved.
    async fn accept(&self, definition: &Definition) {
        {
            let mut state = self.state();
            let Some(cached) = &mut state.cached else { return };
            cached.accept(definition);
            let about = format!("the tool `{}` is not what it was", definition.name);
            state.problems.retain(|problem| !problem.starts_with(&about));
        }
        self.save().await;
    }

    async fn save(&self) {
        let Some(cached) = self.state().cached.clone() else { return };
        let memory = self.memory.clone();
        let name = self.name.clone();
        let saved = tokio::task::spawn_blocking(move || cached.save(&memory, &name)).await;
        let saved = saved.unwrap_or_else(|panicked| Err(std::io::Error::other(panicked)));
        if let Err(error) = saved {
            tracing::warn!(server = self.name, %error, "failed to cache the tools of an MCP server");
        }
    }

    pub(crate) async fn shut_down(&self) {
        // Cancelled before the lock is taken: a start holds the lock until its time limit, and the token ends it
        // immediately.
        self.shutdown.cancel();
        *self.connection.lock().await = None;
    }

    /// Returns a reason for display: masked, in one line, and limited in length.
    fn reason(&self, why: String) -> String {
        let masked = self.secrets.mask(why);
        let line = masked.split_whitespace().collect::<Vec<_>>().join(" ");
        let (harmless, _) = instructions::make_harmless(&line);
        harmless.chars().take(MAX_REASON_CHARS).collect()
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock()
    }
}

/// Returns the delay after a number of consecutive failures. The first one causes none.
fn wait_after(failures: u32) -> Duration {
    match failures {
        0 | 1 => Duration::ZERO,
        more => Duration::from_secs(1 << (more - 2).min(6)).min(LONGEST_WAIT),
    }
}

/// Lists the tools again after every change notification, until the server ends, and then records its end.
async fn follow(server: Weak<Server>, connection: Weak<ServerConnection>) {
    let Some(held) = connection.upgrade() else { return };
    let peer = held.peer();
    let changed = held.changed();
    let end = held.end().clone();
    // The task must not keep the connection alive.
    drop(held);
    loop {
        tokio::select! {
            () = end.token.cancelled() => break,
            () = changed.notified() => {}
        }
        let Some(server) = server.upgrade() else { return };
        let listing = tokio::time::timeout(server.settings.timeout, list(&peer));
        match listing.await {
            Ok(Ok(listed)) => server.learn(listed).await,
            Ok(Err(error)) => tracing::debug!(server = server.name, %error, "an MCP server was not listed"),
            Err(_) => tracing::debug!(server = server.name, "an MCP server was not listed in time"),
        }
        drop(server);
        tokio::select! {
            () = end.token.cancelled() => break,
            () = tokio::time::sleep(BETWEEN_LISTS) => {}
        }
    }
    if let Some(server) = server.upgrade()
        && !server.shutdown.is_cancelled()
    {
        if end.count_once() {
            server.failed(end.why());
        }
        // Releases the closed connection now, not only when the server is next needed.
        let mut slot = server.connection.lock().await;
        if slot.as_ref().is_some_and(|connection| connection.is_closed()) {
            *slot = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_the_longest() {
        let seconds: Vec<u64> = (0..12).map(|failures| wait_after(failures).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(wait_after(u32::MAX), LONGEST_WAIT);
    }
}
