//! Event stream with notifications about subscribed resources.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use mcp_server::{Server, ServerSettings, Toolbox};
use serde_json::json;

use super::hosted::Hosted;
use super::sessions::{Listener, McpSession};
use super::{EVENTS, LOOK_EVERY};
use crate::access::Actor;
use crate::http::AppState;

/// Checks may take at most 1/SHARE of the time, however slow files and database are.
const SHARE: u32 = 20;
/// Silence after which a comment is sent, so that a dead connection is detected.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

struct Stream {
    state: AppState,
    actor: Arc<Actor>,
    session: Arc<McpSession>,
    listener: Listener,
    pause: Duration,
    last_sent: Instant,
}

/// Opens the event stream of a session; an existing one ends.
pub(super) fn open(state: AppState, actor: Arc<Actor>, session: Arc<McpSession>) -> Response {
    let listener = session.listen();
    let stream = Stream { state, actor, session, listener, pause: Duration::ZERO, last_sent: Instant::now() };
    let events = stream::unfold(stream, async |mut stream| {
        let chunk = stream.next().await?;
        stream.last_sent = Instant::now();
        Some((Ok::<_, std::convert::Infallible>(chunk), stream))
    });
    let headers = [(CONTENT_TYPE, EVENTS), (CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

impl Stream {
    /// Returns the next chunk, or `None` when the stream has ended.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            tokio::select! {
                () = self.state.shutdown.cancelled() => return None,
                () = self.session.ended.cancelled() => return None,
                () = self.listener.replaced.cancelled() => return None,
                () = tokio::time::sleep(self.pause) => {}
            }
            // The first round runs without a pause and sends at least a comment, so that the client sees an open stream
            // immediately instead of after the first change.
            let is_first = self.pause.is_zero();
            self.pause = LOOK_EVERY;
            // An error means that the database is unavailable, which is no reason to end the session.
            if let Ok(false) = self.state.service.shared.access.is_still_valid(&self.actor).await {
                self.state.service.shared.mcp.end(&self.session);
                return None;
            }
            self.session.touch();
            let told = self.look().await;
            if !told.is_empty() {
                return Some(told.into());
            }
            if is_first || self.last_sent.elapsed() > KEEP_ALIVE {
                return Some(Bytes::from_static(b":\n\n"));
            }
        }
    }

    /// Returns the events for changed resources.
    async fn look(&mut self) -> String {
        let begun = Instant::now();
        let settings = ServerSettings {
            version: env!("CARGO_PKG_VERSION"),
            look_every: LOOK_EVERY,
            working: self.state.service.shared.mcp.working(&self.actor),
        };
        let toolbox = Toolbox(Hosted::new(Arc::clone(&self.state.service), Arc::clone(&self.actor)));
        let changed = Server::new(toolbox, Arc::clone(&self.session.session), settings).changes().await;
        self.pause = LOOK_EVERY.max(begun.elapsed() * SHARE);
        changed.iter().map(|uri| event(uri)).collect()
    }
}

fn event(uri: &str) -> String {
    let method = "notifications/resources/updated";
    let message = json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": uri } });
    format!("event: message\ndata: {message}\n\n")
}
