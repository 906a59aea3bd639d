//! A model whose deltas carry the time they were written.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use provider::{Provider, ProviderConfig, ProviderKind};
use serde_json::{Value, json};

/// Number of deltas and the pause between them.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) deltas: usize,
    pub(crate) pause: Duration,
}

/// The server; it ends when it is dropped.
pub(crate) struct Clock {
    start: Instant,
    address: std::net::SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Clock {
    pub(crate) async fn start(pace: Pace) -> anyhow::Result<Self> {
        let start = Instant::now();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state((start, pace));
        let task = tokio::spawn(async move {
            let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
                // Small deltas would otherwise be held back for an acknowledgement, and the delay would count as the
                // gateway's.
                let _ = stream.set_nodelay(true);
            });
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { start, address, task })
    }

    /// Returns a provider for the server. Chat Completions have the least overhead around a delta.
    pub(crate) fn provider(&self) -> anyhow::Result<Provider> {
        let base_url = format!("http://{}/v1", self.address);
        Ok(Provider::new(ProviderConfig::new("clock", ProviderKind::OpenaiCompatible, base_url))?)
    }

    /// Returns the time a delta was in transit.
    pub(crate) fn age(&self, text: &str, seen: Instant) -> anyhow::Result<Duration> {
        let written: u64 = text.trim().parse().with_context(|| format!("{text:?} is no time"))?;
        Ok(seen.saturating_duration_since(self.start + Duration::from_nanos(written)))
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State((start, pace)): State<(Instant, Pace)>) -> Response {
    let body = stream::unfold(0, move |number| async move {
        if number > pace.deltas {
            return None;
        }
        if number == pace.deltas {
            let end = event(json!({}), json!("stop")) + "data: [DONE]\n\n";
            return Some((Ok::<_, std::convert::Infallible>(end), number + 1));
        }
        tokio::time::sleep(pace.pause).await;
        let written = format!("{} ", start.elapsed().as_nanos());
        Some((Ok(event(json!({ "content": written }), Value::Null)), number + 1))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

fn event(delta: Value, finish_reason: Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    format!("data: {}\n\n", json!({ "id": "1", "object": "chat.completion.chunk", "choices": [choice] }))
}
