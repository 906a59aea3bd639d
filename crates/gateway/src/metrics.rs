//! Metrics in the text formats of Prometheus and OpenMetrics.

mod format;
mod sources;

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

pub(crate) use self::format::MetricsFormat;
pub(crate) use self::sources::Sources;

/// Beginning of all names.
const PREFIX: &str = "foreword";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Call {
    method: String,
    /// `ok` or the error code.
    outcome: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Dropped {
    reason: String,
}

pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Call, Counter>,
    seconds: Histogram,
    dropped: Family<Dropped, Counter>,
    pub(crate) connections: Gauge,
    pub(crate) notifications: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let metrics = Self {
            calls: Family::default(),
            seconds: Histogram::new(exponential_buckets(0.000_05, 2.0, 18)),
            dropped: Family::default(),
            connections: Gauge::default(),
            notifications: Counter::default(),
            registry: Registry::default(),
        };
        registry.register("requests", "Calls by method and outcome", metrics.calls.clone());
        registry.register("request_seconds", "Time to answer a call", metrics.seconds.clone());
        registry.register("connections", "Open WebSocket connections", metrics.connections.clone());
        registry.register("notifications", "Notifications sent", metrics.notifications.clone());
        registry.register(
            "connections_dropped",
            "Connections this side closed early",
            metrics.dropped.clone(),
        );
        Self { registry, ..metrics }
    }

    /// Counts a call. Unknown methods share one label, so that clients cannot create unlimited time series.
    pub(crate) fn called(&self, method: &str, code: Option<i32>, took: Duration) {
        let method = protocol::method::find(method).map_or("unknown", |method| method.name).to_owned();
        let outcome = code.map_or_else(|| "ok".to_owned(), |code| code.to_string());
        self.calls.get_or_create(&Call { method, outcome }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn dropped(&self, reason: &rpc::CloseReason) {
        let reason = match reason {
            rpc::CloseReason::Finished | rpc::CloseReason::Shutdown => return,
            rpc::CloseReason::Reload => "reload",
            rpc::CloseReason::Slow => "slow",
            rpc::CloseReason::Silent => "silent",
            rpc::CloseReason::Unauthenticated => "unauthenticated",
            rpc::CloseReason::TooLarge => "too_large",
            rpc::CloseReason::InvalidUtf8 => "invalid_utf8",
            rpc::CloseReason::InvalidFrame => "invalid_frame",
        };
        self.dropped.get_or_create(&Dropped { reason: reason.to_owned() }).inc();
    }

    /// Returns all metrics, those of other parts of the gateway included.
    pub(crate) fn text(&self, format: MetricsFormat, sources: &Sources) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode_registry(&mut text, &self.registry);
        let _ = encode_registry(&mut text, &sources.registry());
        let _ = encode_eof(&mut text);
        format.convert(text)
    }
}
