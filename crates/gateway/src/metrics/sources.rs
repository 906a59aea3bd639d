//! Figures of other parts of the gateway, as metrics.

use agent::Figures;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use protocol::mcp::{McpServer, McpState};
use store::{PoolFigures, Statements};

use super::PREFIX;

/// The figures at the moment of a request.
pub(crate) struct Sources {
    pub(crate) agent: Figures,
    pub(crate) servers: Vec<McpServer>,
    pub(crate) statements: Statements,
    /// `None` for an SQLite file.
    pub(crate) pool: Option<PoolFigures>,
}

/// States of an MCP server. Each is a series of its own, because the value of a metric is a number.
const STATES: [McpState; 4] = [McpState::Idle, McpState::Starting, McpState::Running, McpState::Failed];

type Labels = Vec<(&'static str, String)>;

impl Sources {
    /// Returns a registry with the current values.
    pub(super) fn registry(&self) -> Registry {
        let mut metrics = CurrentMetrics(Registry::with_prefix(PREFIX));
        let Figures { running_turns, turns, requests, retries, tokens, approvals, jobs } = &self.agent;
        metrics.gauge("turns_running", "Running turns", [(vec![], *running_turns)]);
        metrics.counter("turns", "Ended turns by status", by("status", turns));
        let requests = requests.iter().map(|((provider, outcome), count)| {
            (vec![("provider", provider.clone()), ("outcome", outcome.clone())], *count)
        });
        metrics.counter("provider_requests", "Requests of turns by provider and outcome", requests);
        metrics.counter("provider_retries", "Requests that were repeated", by("provider", retries));
        let tokens = tokens.iter().flat_map(|(provider, usage)| {
            let kinds = [
                ("input", usage.input),
                ("output", usage.output),
                ("cached_read", usage.cached_read),
                ("cached_write", usage.cached_write),
                ("reasoning", usage.reasoning),
            ];
            kinds
                .map(|(kind, count)| (vec![("provider", provider.clone()), ("kind", kind.to_owned())], count))
        });
        metrics.counter("tokens", "Tokens of ended turns; the input includes cached ones", tokens);
        metrics.counter(
            "approvals",
            "Decisions about calls that required approval",
            by("decision", approvals),
        );
        metrics.counter("jobs", "Attempts of background jobs by outcome", by("outcome", jobs));
        let states = self.servers.iter().flat_map(|server| {
            STATES.map(|state| {
                let word: &'static str = state.into();
                let labels = vec![("server", server.name.clone()), ("state", word.to_owned())];
                (labels, u64::from(server.state == state))
            })
        });
        metrics.gauge("mcp_server_state", "1 for the current state of each MCP server", states);
        let starts = self.servers.iter().map(|server| (vec![("server", server.name.clone())], server.starts));
        metrics.counter("mcp_server_starts", "Starts of each MCP server", starts);
        let Statements { statements, transactions } = self.statements;
        metrics.counter("database_statements", "Statements sent to the database", [(vec![], statements)]);
        metrics.counter("database_transactions", "Transactions of the database", [(vec![], transactions)]);
        if let Some(PoolFigures { limit, busy, idle }) = self.pool {
            let states = [("busy", busy), ("idle", idle)];
            let states = states.map(|(state, count)| (vec![("state", state.to_owned())], count));
            metrics.gauge("database_connections", "Connections to PostgreSQL by state", states);
            metrics.gauge("database_connections_limit", "Most connections to PostgreSQL", [(vec![], limit)]);
        }
        metrics.0
    }
}

/// Metrics that are registered with their values.
struct CurrentMetrics(Registry);

impl CurrentMetrics {
    fn counter(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).inc_by(value);
        }
        self.0.register(name, help, family);
    }

    fn gauge(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Gauge>::default();
        for (labels, value) in values {
            family.get_or_create(&labels).set(i64::try_from(value).unwrap_or(i64::MAX));
        }
        self.0.register(name, help, family);
    }
}

/// Returns values with their key as the only label.
fn by<'a, K: ToString + 'a>(
    label: &'static str,
    values: impl IntoIterator<Item = (&'a K, &'a u64)>,
) -> impl Iterator<Item = (Labels, u64)> {
    values.into_iter().map(move |(key, count)| (vec![(label, key.to_string())], *count))
}
