//! HTTP routes: `/rpc` for WebSocket and POST, `/mcp` for MCP clients, the web console, a page at `/`, `/healthz`,
//! `/readyz` and `/metrics`.

mod front_page;
pub(crate) mod listener;
mod origin;
pub(crate) mod unread;

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, SEC_WEBSOCKET_PROTOCOL, SET_COOKIE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post as posting};
use hyper_util::rt::TokioIo;
use protocol::error::{ErrorKind, ErrorObject, ErrorSubject};
use rpc::{CloseReason, websocket};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Actor;
use crate::connection::peer::Peer;
use crate::console::sign_in::SignedIn;
use crate::console::{pages, sign_in};
use crate::error::{from_store, unauthenticated};
use crate::http::listener::{AdmissionError, ConnectionSlot};
use crate::mcp_server;
use crate::metrics::{MetricsFormat, Sources};
use crate::service::Service;

/// State shared by all routes.
#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) service: Arc<Service>,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// Multiple of the size limit up to which a body is read, so that its sender receives an error instead of a connection
/// reset.
const READ_FACTOR: usize = 4;

pub(crate) fn routes(state: AppState) -> axum::Router {
    axum::Router::new()
        .route("/", get(front_page::answer))
        .route("/rpc", get(upgrade).post(post))
        .route("/mcp", get(mcp_server::follow).post(mcp_server::post).delete(mcp_server::end))
        .route("/console", get(pages::redirect))
        .route("/console/", get(pages::index))
        .route("/console/session", posting(sign_in::sign_in))
        .route("/console/check", posting(sign_in::check))
        .route("/console/logout", posting(sign_in::sign_out))
        .route("/console/{*path}", get(pages::file))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(state.clone(), check_origin))
        .with_state(state)
}

async fn check_origin(State(state): State<AppState>, request: Request, next: Next) -> Response {
    match origin::refusal(request.headers(), &state.service.shared.settings) {
        Some(message) => {
            let refused = ErrorObject::new(ErrorKind::Forbidden, message);
            failure(StatusCode::FORBIDDEN, &refused)
        }
        None => next.run(request).await,
    }
}

async fn ready(State(state): State<AppState>) -> Response {
    let shared = &state.service.shared;
    match shared.readiness.check(&shared.store).await {
        Ok(()) => "ready\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn metrics(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
) -> Response {
    match authenticate(&state, &slot, &headers).await {
        // Metrics cover all workspaces, so tokens bound to one must not see them.
        Ok(actor) if actor.workspace_id.is_some() => {
            let message = "metrics are for tokens of all workspaces, and this one is bound to one";
            failure(StatusCode::FORBIDDEN, &ErrorObject::new(ErrorKind::Forbidden, message))
        }
        Ok(_) => {
            let shared = &state.service.shared;
            let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
            let format = MetricsFormat::accepted(accept);
            let sources = Sources {
                agent: shared.agent.figures(),
                servers: shared.servers.status(None),
                statements: shared.store.statements(),
                pool: shared.store.pool(),
            };
            ([(CONTENT_TYPE, format.content_type())], shared.metrics.text(format, &sources)).into_response()
        }
        Err(refused) => refused,
    }
}

async fn upgrade(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    mut request: Request,
) -> Response {
    let mut answer = match websocket::handshake::<_, Body>(&request) {
        Ok(answer) => answer,
        Err(refused) => return (StatusCode::BAD_REQUEST, format!("{refused}\n")).into_response(),
    };
    // Authenticated before the upgrade, while a refusal can still be an HTTP status with an explanation. Afterwards
    // only a close code is left.
    let (actor, renewed) = match authenticate_caller(&state, &slot, request.headers()).await {
        Ok(caller) => caller,
        Err(refused) => return refused,
    };
    renewed.and_then(|cookie| answer.headers_mut().insert(SET_COOKIE, cookie));
    let upgrade = hyper::upgrade::on(&mut request);
    let tasks = state.tasks.clone();
    tasks.spawn(async move {
        // Fails if the client disconnected before it received the response.
        if let Ok(connection) = upgrade.await {
            serve_websocket(state, actor, connection).await;
        }
        // The connection keeps its slot until it is closed.
        drop(slot);
    });
    answer
}

async fn serve_websocket(state: AppState, actor: Arc<Actor>, connection: hyper::upgrade::Upgraded) {
    let shared = &state.service.shared;
    let (endpoint, closed) = websocket::accept(TokioIo::new(connection), &shared.settings.limits).await;
    let outgoing = endpoint.outgoing.clone();
    let registered = shared.connections.register(Arc::clone(&actor), outgoing.clone());
    let peer = Arc::new(Peer::connected(actor, outgoing.clone()));
    shared.metrics.connections.inc();
    // The token may have been revoked between its check above and the registration of the connection. From here on,
    // revocation closes the connection automatically.
    if let Ok(false) = shared.access.is_still_valid(&peer.actor).await {
        outgoing.close(CloseReason::Unauthenticated);
    }
    rpc::serve(endpoint, Arc::clone(&state.service), peer, state.shutdown).await;
    if let Some(reason) = outgoing.closing() {
        shared.metrics.dropped(&reason);
    }
    drop((outgoing, registered));
    // The shutdown waits for this task, and therefore for the last answers. The gauge counts the connection until they
    // are sent or given up.
    let _ = closed.await;
    shared.metrics.connections.dec();
}

async fn post(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let (actor, renewed) = match authenticate_caller(&state, &slot, &headers).await {
        Ok(caller) => caller,
        Err(refused) => return refused,
    };
    let text = match read_body(&state, &headers, body).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    // Runs as a separate task, so that a write completes even if the client disconnects.
    let service = Arc::clone(&state.service);
    let peer = Arc::new(Peer::one_shot(actor));
    let answer = state.tasks.spawn(async move { rpc::dispatch(&*service, &peer, &text).await }).await;
    let mut response = match answer {
        Ok(rpc::Answer { frame: Some(frame), reserved, .. }) => {
            unread::respond(reserved, StatusCode::OK, frame.into_bytes())
        }
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, &rpc::panicked("rpc")),
    };
    renewed.and_then(|cookie| response.headers_mut().insert(SET_COOKIE, cookie));
    response
}

/// Returns a request's body, or the response that rejects it.
pub(crate) async fn read_body(state: &AppState, headers: &HeaderMap, body: Body) -> Result<String, Response> {
    let limit = state.service.shared.settings.limits.message_bytes;
    let read_limit = limit.saturating_mul(READ_FACTOR);
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    // Nothing is read of a body that is announced as far too large: it would only be thrown away.
    if let Some(announced) = announced.filter(|announced| *announced > read_limit) {
        return Err(failure(StatusCode::PAYLOAD_TOO_LARGE, &rpc::too_large(limit, announced)));
    }
    let body_time = state.service.shared.settings.listener.body_time;
    let read = tokio::select! {
        read = tokio::time::timeout(body_time, to_bytes(body, read_limit)) => read,
        // Shutdown does not wait for incomplete requests: a slow sender could delay it indefinitely.
        () = state.shutdown.cancelled() => {
            return Err(incomplete(StatusCode::SERVICE_UNAVAILABLE, "the gateway stops"));
        }
    };
    let Ok(read) = read else {
        let message = format!("the request's body did not arrive within {} s", body_time.as_secs());
        return Err(incomplete(StatusCode::REQUEST_TIMEOUT, &message));
    };
    let Ok(bytes) = read else {
        // Without an announced length, the actual size beyond the read limit is unknown.
        let actual = announced.unwrap_or(read_limit.saturating_add(1));
        return Err(failure(StatusCode::PAYLOAD_TOO_LARGE, &rpc::too_large(limit, actual)));
    };
    if bytes.len() > limit {
        return Err(failure(StatusCode::PAYLOAD_TOO_LARGE, &rpc::too_large(limit, bytes.len())));
    }
    String::from_utf8(bytes.into()).map_err(|_| {
        let error = ErrorObject::new(ErrorKind::ParseError, "the body is not UTF-8");
        failure(StatusCode::BAD_REQUEST, &error)
    })
}

/// Returns the actor behind a request with a token or with the console's cookie, and the header that renews the cookie.
async fn authenticate_caller(
    state: &AppState,
    slot: &ConnectionSlot,
    headers: &HeaderMap,
) -> Result<(Arc<Actor>, Option<HeaderValue>), Response> {
    // A token decides alone. The cookie is only what a browser adds by itself.
    if secret(headers).is_none()
        && !headers.contains_key(AUTHORIZATION)
        && let Some(SignedIn { actor, renewed }) = sign_in::by_cookie(state, slot, headers).await?
    {
        return Ok((admit(slot, actor).map_err(without_slot)?, renewed));
    }
    Ok((authenticate(state, slot, headers).await?, None))
}

/// Returns the actor behind a request, or the response that rejects it.
pub(crate) async fn authenticate(
    state: &AppState,
    slot: &ConnectionSlot,
    headers: &HeaderMap,
) -> Result<Arc<Actor>, Response> {
    let secret = secret(headers);
    match state.service.shared.access.authenticate(secret, slot.source).await {
        Ok(Some(actor)) => admit(slot, actor).map_err(without_slot),
        // A client without a token may send one with its next request, so its connection stays open.
        Ok(None) if secret.is_none() => Err(failure(StatusCode::UNAUTHORIZED, &unauthenticated())),
        // A connection with a bad token does not keep its slot.
        Ok(None) => Err(closing(failure(StatusCode::UNAUTHORIZED, &unauthenticated()))),
        Err(problem) => Err(failure(StatusCode::SERVICE_UNAVAILABLE, &from_store(problem))),
    }
}

/// Gives an authenticated actor its slot.
fn admit(slot: &ConnectionSlot, actor: Actor) -> Result<Arc<Actor>, AdmissionError> {
    let role = actor.role;
    let reach = actor.reach();
    // Over HTTP every actor has a token, so this always marks the slot.
    actor.token_id.iter().try_for_each(|id| slot.mark_authenticated(id, role, reach))?;
    Ok(Arc::new(actor))
}

/// Returns the response to an actor that gets no slot.
fn without_slot(rejected: AdmissionError) -> Response {
    closing(failure(StatusCode::SERVICE_UNAVAILABLE, &full(rejected)))
}

fn full(rejected: AdmissionError) -> ErrorObject {
    let (message, what, limit, hint) = match rejected {
        AdmissionError::Full { limit } => (
            "the gateway has as many connections as it can".to_owned(),
            ErrorSubject::Connections,
            limit,
            None,
        ),
        AdmissionError::OfToken { limit } => (
            format!("{limit} connections are open with this token, and no more may be at once"),
            ErrorSubject::TokenConnections,
            limit,
            Some("close some, use another token, or raise limits.connections_of_token".to_owned()),
        ),
    };
    ErrorObject::with(ErrorKind::LimitReached, message, |data| {
        data.what = Some(what);
        data.limit = Some(limit as u64);
        data.hint = hint;
    })
}

/// Returns the token of a request: from a header or, because browsers cannot set headers for WebSockets, from a
/// subprotocol.
fn secret(headers: &HeaderMap) -> Option<&str> {
    // If there is a header, it decides alone, even if it is malformed. Falling back to the subprotocol would let one
    // request present two tokens.
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

/// Returns the response to a request that arrived only partly. The rest is not read.
fn incomplete(status: StatusCode, message: &str) -> Response {
    closing(failure(status, &ErrorObject::new(ErrorKind::InvalidRequest, message)))
}

/// Makes the server close the connection after the response.
fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, axum::http::HeaderValue::from_static("close"));
    response
}

/// Returns an error as an HTTP response, for failures before a JSON-RPC request was read.
pub(crate) fn failure(status: StatusCode, error: &ErrorObject) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    let mut response = (status, [(CONTENT_TYPE, "application/json")], body).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert("www-authenticate", axum::http::HeaderValue::from_static("Bearer"));
    }
    response
}
