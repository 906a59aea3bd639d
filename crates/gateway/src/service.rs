//! The gateway's JSON-RPC service, shared by all transports.

use std::sync::Arc;
use std::time::Instant;

use agent::Agent;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use protocol::InstanceId;
use protocol::error::ErrorKind;
use protocol::error::ErrorObject;
use rpc::{CloseReason, Reply};
use serde_json::value::RawValue;
use store::Store;

use crate::access::Authenticator;
use crate::connection::Connections;
use crate::connection::peer::Peer;
use crate::console::Console;
use crate::error::{from_store, unauthenticated};
use crate::feed::Feeds;
use crate::http::unread::UnreadAnswers;
use crate::mcp_server::McpSessions;
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::router::{Context, Router};
use crate::settings::GatewaySettings;

/// State shared by all handlers and connections.
pub(crate) struct Shared {
    pub(crate) settings: GatewaySettings,
    pub(crate) store: Store,
    pub(crate) agent: Arc<Agent>,
    pub(crate) servers: mcp::Servers,
    pub(crate) access: Authenticator,
    pub(crate) feeds: Feeds,
    pub(crate) connections: Connections,
    pub(crate) metrics: Arc<Metrics>,
    /// Id of the database, unchanged by a failover.
    database: InstanceId,
    pub(crate) readiness: Readiness,
    pub(crate) mcp: McpSessions,
    pub(crate) unread: UnreadAnswers,
    pub(crate) console: Console,
    limiter: Option<DefaultKeyedRateLimiter<String>>,
}

impl Shared {
    pub(crate) fn new(
        settings: GatewaySettings,
        store: Store,
        agent: Arc<Agent>,
        servers: mcp::Servers,
        instance: InstanceId,
        port: u16,
    ) -> Self {
        let metrics = Arc::new(Metrics::new());
        Self {
            access: Authenticator::new(store.clone()),
            feeds: Feeds::new(store.clone(), Arc::clone(&metrics)),
            connections: Connections::default(),
            database: instance,
            readiness: Readiness::default(),
            mcp: McpSessions::default(),
            unread: UnreadAnswers::default(),
            console: Console::new(settings.console_enabled, port),
            metrics,
            limiter: settings
                .rate_limit
                .map(|limit| DefaultKeyedRateLimiter::keyed(Quota::per_second(limit))),
            settings,
            store,
            agent,
            servers,
        }
    }
}

impl Shared {
    /// Returns the id of the database and of its history. An asynchronous standby that is promoted lacks the newest changes and
    /// gives their numbers to others, so from then on clients know another database.
    pub(crate) fn instance(&self) -> InstanceId {
        let Some(timeline) = self.store.timeline().filter(|timeline| *timeline > 1) else {
            return self.database.clone();
        };
        InstanceId::try_from(format!("{}.{timeline}", self.database))
            .unwrap_or_else(|_| self.database.clone())
    }
}

pub(crate) struct Service {
    pub(crate) shared: Arc<Shared>,
    router: Router,
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, router: crate::handler::router() }
    }

    async fn answer(
        &self,
        peer: &Arc<Peer>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Reply, ErrorObject> {
        // A call counts as use of the console session that it is made through.
        let has_session = |key| self.shared.console.sessions.renew(key, Instant::now()).is_some();
        let is_signed_in = peer.actor.console_session.as_ref().is_none_or(has_session);
        if !is_signed_in || !self.shared.access.may_call(&peer.actor).await.map_err(from_store)? {
            if let Some(outgoing) = peer.outgoing() {
                outgoing.close(CloseReason::Unauthenticated);
            }
            return Err(unauthenticated());
        }
        if let Some(limiter) = &self.shared.limiter
            // Keyed by the token's name and not by connection, because more connections must not mean more requests.
            && let Err(refused) = limiter.check_key(&peer.actor.name)
        {
            let wait = refused.wait_time_from(DefaultClock::default().now());
            // Rounded up: a client that waits the truncated time would be refused again.
            let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
            let message = format!("too many requests; try again in {milliseconds} ms");
            return Err(ErrorObject::with(ErrorKind::RateLimited, message, |data| {
                data.retry_after_ms = Some(milliseconds)
            }));
        }
        let context = Context { shared: Arc::clone(&self.shared), peer: Arc::clone(peer) };
        self.router.call(context, method, params).await
    }
}

impl rpc::Service for Service {
    type Peer = Peer;

    fn batch_limits(&self) -> rpc::BatchLimits {
        self.shared.settings.batch
    }

    async fn reserve(&self, peer: &Arc<Peer>, bytes: usize) -> Result<rpc::Reserved, ErrorObject> {
        // The answer to a call of an MCP client becomes part of another answer, for which room was reserved.
        if peer.is_nested() {
            return Ok(rpc::Reserved::default());
        }
        self.shared.unread.reserve(&peer.actor, bytes).await
    }

    async fn call(
        &self,
        peer: &Arc<Peer>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Reply, ErrorObject> {
        let started = Instant::now();
        let answer = self.answer(peer, method, params).await;
        let code = answer.as_ref().err().map(|error| error.code);
        if code == Some(ErrorKind::Forbidden.code()) {
            self.shared.access.count_forbidden(&peer.actor);
        }
        self.shared.metrics.called(method, code, started.elapsed());
        answer
    }
}
