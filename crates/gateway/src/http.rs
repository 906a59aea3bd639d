//! The gateway's addresses: `/rpc` for WebSocket and POST, `/healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rpc::{CloseReason, Error, websocket};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Actor;
use crate::error::{error, from_store, unauthenticated};
use crate::origin;
use crate::peer::Peer;
use crate::service::Service;

/// What the addresses share.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) service: Arc<Service>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// How far over the limit a body is read, so that its sender gets an answer and not a reset.
const READ_FACTOR: usize = 4;

/// All addresses.
pub(crate) fn routes(site: Site) -> axum::Router {
    axum::Router::new()
        .route("/rpc", get(upgrade).post(post))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(site.clone(), check_origin))
        .with_state(site)
}

async fn check_origin(State(site): State<Site>, request: Request, next: Next) -> Response {
    match origin::refusal(request.headers(), &site.service.shared.settings) {
        Some(message) => {
            let refused = error(protocol::ErrorKind::Forbidden, message, |_| {});
            failure(StatusCode::FORBIDDEN, &refused)
        }
        None => next.run(request).await,
    }
}

async fn ready(State(site): State<Site>) -> Response {
    match site.service.shared.store.ping().await {
        Ok(()) => "ready\n".into_response(),
        Err(problem) => {
            tracing::warn!(error = %problem, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response()
        }
    }
}

async fn metrics(State(site): State<Site>, headers: HeaderMap) -> Response {
    match authenticate(&site, &headers).await {
        Ok(_) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, kind)], site.service.shared.metrics.text()).into_response()
        }
        Err(refused) => refused,
    }
}

async fn upgrade(State(site): State<Site>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let actor = match authenticate(&site, &headers).await {
        Ok(actor) => actor,
        Err(refused) => return refused,
    };
    let upgrade = websocket::configure(upgrade, &site.service.shared.settings.limits);
    upgrade.protocols([websocket::SUBPROTOCOL]).on_upgrade(move |socket| {
        let tasks = site.tasks.clone();
        tasks.track_future(async move {
            let shared = &site.service.shared;
            let (endpoint, closed) = websocket::accept(socket, &shared.settings.limits);
            let outgoing = endpoint.outgoing.clone();
            let registered = shared.connections.register(Arc::clone(&actor), outgoing.clone());
            let peer = Arc::new(Peer::connected(actor, outgoing.clone()));
            shared.metrics.connections.inc();
            // The token may have been revoked after it was looked at and before the connection was listed.
            if let Ok(false) = shared.access.is_still_valid(&peer.actor).await {
                outgoing.close(CloseReason::Unauthenticated);
            }
            rpc::serve(endpoint, Arc::clone(&site.service), peer, site.shutdown).await;
            if let Some(reason) = outgoing.closing() {
                shared.metrics.dropped(&reason);
            }
            drop((outgoing, registered));
            let _ = closed.await;
            shared.metrics.connections.dec();
        })
    })
}

async fn post(State(site): State<Site>, headers: HeaderMap, body: Body) -> Response {
    let actor = match authenticate(&site, &headers).await {
        Ok(actor) => actor,
        Err(refused) => return refused,
    };
    let limit = site.service.shared.settings.limits.message_bytes;
    let most = limit.saturating_mul(READ_FACTOR);
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if let Some(announced) = announced.filter(|announced| *announced > most) {
        return failure(StatusCode::PAYLOAD_TOO_LARGE, &Error::too_large(limit, announced));
    }
    let Ok(bytes) = to_bytes(body, most).await else {
        // How much more there would be is not known where no length was announced.
        let actual = announced.unwrap_or(most.saturating_add(1));
        return failure(StatusCode::PAYLOAD_TOO_LARGE, &Error::too_large(limit, actual));
    };
    if bytes.len() > limit {
        return failure(StatusCode::PAYLOAD_TOO_LARGE, &Error::too_large(limit, bytes.len()));
    }
    let Ok(text) = String::from_utf8(bytes.into()) else {
        return failure(StatusCode::BAD_REQUEST, &Error::parse("the body is not UTF-8"));
    };
    // On a task of its own, so that a write goes on to its end when the client hangs up in the middle.
    let service = Arc::clone(&site.service);
    let peer = Arc::new(Peer::passing(actor));
    let answer = site.tasks.spawn(async move { rpc::dispatch(&*service, &peer, &text).await.frame }).await;
    match answer {
        Ok(Some(frame)) => ([(CONTENT_TYPE, "application/json")], frame.into_bytes()).into_response(),
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, &Error::panicked("rpc")),
    }
}

/// Who sends a request, or the answer that turns them away.
async fn authenticate(site: &Site, headers: &HeaderMap) -> Result<Arc<Actor>, Response> {
    let Some(secret) = secret(headers) else {
        return Err(failure(StatusCode::UNAUTHORIZED, &unauthenticated()));
    };
    match site.service.shared.access.authenticate(secret).await {
        Ok(Some(actor)) => Ok(Arc::new(actor)),
        Ok(None) => Err(failure(StatusCode::UNAUTHORIZED, &unauthenticated())),
        Err(problem) => Err(failure(StatusCode::SERVICE_UNAVAILABLE, &from_store(problem))),
    }
}

/// The token of a request: a header, or, because browsers cannot set one, a WebSocket subprotocol.
fn secret(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(AUTHORIZATION) {
        let (scheme, secret) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim());
    }
    headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix("bearer."))
}

/// An error as an HTTP answer of its own, for what happens before any request was read.
fn failure(status: StatusCode, error: &Error) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    let mut response = (status, [(CONTENT_TYPE, "application/json")], body).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert("www-authenticate", axum::http::HeaderValue::from_static("Bearer"));
    }
    response
}
