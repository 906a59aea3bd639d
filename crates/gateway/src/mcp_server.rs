//! `/mcp`: the tools and resources of `foreword mcp` over streamable HTTP.
//!
//! Every request carries its token, as at `/rpc`, and a session belongs to the token that started it. Tools call our
//! own protocol with that token, so the same roles and limits apply.

mod hosted;
mod sessions;
mod stream;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Extension, State};
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use mcp_server::{PARSE_ERROR, Received, Sent, Server, ServerSettings, Session, Toolbox};
use protocol::error::{ErrorKind, ErrorObject, ErrorSubject};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rpc::{Reserved, SMALL, Service as _};
use serde_json::{Value, json};

use self::hosted::Hosted;
pub(crate) use self::sessions::McpSessions;
use self::sessions::{MAX_FOLLOWED, McpSession, SessionError};
use crate::access::Actor;
use crate::http::listener::ConnectionSlot;
use crate::http::unread::respond;
use crate::http::{AppState, authenticate, failure, read_body};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// Memory set aside for the answer to a call that reads. Nearly all fit into it; a larger one waits for more once it is made.
const LARGE_ANSWER: usize = 1024 * 1024;
/// Interval for checking followed resources.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Handles a client's message or batch.
pub(crate) async fn post(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    either(handle_message(state, &slot, &headers, body).await)
}

/// Opens the event stream for change notifications.
pub(crate) async fn follow(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
) -> Response {
    // The token is checked before anything else about the request, so that a stranger cannot probe for versions or
    // sessions.
    let opened = async {
        let actor = authenticate(&state, &slot, &headers).await?;
        check_version(&headers)?;
        if !accepts(&headers, EVENTS) {
            let message = format!("changes are sent as {EVENTS}, which `Accept` does not allow");
            return Err(refused(StatusCode::NOT_ACCEPTABLE, &message));
        }
        let session = session(&state, &actor, &headers)?;
        Ok(stream::open(state.clone(), actor, session))
    };
    either(opened.await)
}

/// Ends a session.
pub(crate) async fn end(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
) -> Response {
    let ended = async {
        let actor = authenticate(&state, &slot, &headers).await?;
        let session = session(&state, &actor, &headers)?;
        state.service.shared.mcp.end(&session);
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    either(ended.await)
}

fn either(answer: Result<Response, Response>) -> Response {
    answer.unwrap_or_else(|refused| refused)
}

async fn handle_message(
    state: AppState,
    slot: &ConnectionSlot,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Response> {
    let actor = authenticate(&state, slot, headers).await?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON)) {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json"));
    }
    if !accepts(headers, JSON) {
        let message = "answers are application/json, which `Accept` does not allow";
        return Err(refused(StatusCode::NOT_ACCEPTABLE, message));
    }
    let sent = Sent::read(read_body(&state, headers, body).await?.as_bytes());
    let client = McpClient { state: &state, actor: &actor, headers };
    match sent {
        Sent::One(Received::Call(call)) if is_self_contained(&call) => {
            Ok(client.call(Arc::new(Session::new(MAX_FOLLOWED)), &call).await)
        }
        Sent::One(Received::Notification(_) | Received::Ignored) if has_no_sessions(headers) => {
            Ok(StatusCode::ACCEPTED.into_response())
        }
        Sent::One(received) => {
            check_version(headers)?;
            client.answer(received).await
        }
        Sent::Batch(received) => {
            check_version(headers)?;
            let session = session(&state, &actor, headers)?;
            Ok(client.batch(&session, received).await)
        }
    }
}

/// A client and the head of its request.
struct McpClient<'a> {
    state: &'a AppState,
    actor: &'a Arc<Actor>,
    headers: &'a HeaderMap,
}

impl McpClient<'_> {
    /// Answers a message of a client with a session.
    async fn answer(&self, received: Received) -> Result<Response, Response> {
        let call = match received {
            Received::Call(call) => call,
            Received::Notification(_) | Received::Ignored => {
                session(self.state, self.actor, self.headers)?;
                return Ok(StatusCode::ACCEPTED.into_response());
            }
            Received::Malformed(error) => {
                // A session is not needed to learn that the message is not JSON.
                if error.pointer("/error/code") != Some(&json!(PARSE_ERROR)) {
                    session(self.state, self.actor, self.headers)?;
                }
                return Ok(json_response(StatusCode::BAD_REQUEST, &error));
            }
        };
        if !matches!(request(&call), Some(ClientRequest::InitializeRequest(_))) {
            let session = session(self.state, self.actor, self.headers)?;
            return Ok(self.call(Arc::clone(&session.session), &call).await);
        }
        // A session begins only after the message was parsed, so malformed input cannot use up sessions.
        let mcp = &self.state.service.shared.mcp;
        let session = mcp.begin(self.actor).map_err(|rejected| full(&rejected))?;
        let mut response = self.call(Arc::clone(&session.session), &call).await;
        match HeaderValue::from_str(&session.id) {
            Ok(id) if response.status().is_success() => drop(response.headers_mut().insert(SESSION, id)),
            _ => mcp.end(&session),
        }
        Ok(response)
    }

    /// Answers the messages of a batch one after another, with errors for those whose answers no longer fit.
    async fn batch(&self, session: &McpSession, received: Vec<Received>) -> Response {
        let limit = self.answer_limit();
        // Before the first call, so that a refused batch has changed nothing.
        let mut reserved = match self.reserve(limit).await {
            Ok(reserved) => reserved,
            Err(error) => return failure(StatusCode::SERVICE_UNAVAILABLE, &error),
        };
        let mut text = Vec::new();
        for received in received {
            let answer = match received {
                Received::Call(call) if text.len() >= limit => too_large(&call, limit),
                Received::Call(call) => {
                    let response = self.exchange(Arc::clone(&session.session), &call).await;
                    let left = limit - text.len();
                    let body = to_bytes(response.into_body(), left).await;
                    body.unwrap_or_else(|_| too_large(&call, limit))
                }
                Received::Malformed(error) => error.to_string().into(),
                Received::Notification(_) | Received::Ignored => continue,
            };
            text.push(if text.is_empty() { b'[' } else { b',' });
            text.extend_from_slice(&answer);
        }
        if text.is_empty() {
            return StatusCode::ACCEPTED.into_response();
        }
        text.push(b']');
        reserved.shrink_to(text.len());
        respond(reserved, StatusCode::OK, text)
    }

    /// Answers a call within the limits on answers.
    async fn call(&self, session: Arc<Session>, call: &ClientJsonRpcMessage) -> Response {
        let expected = if has_large_answer(call) { LARGE_ANSWER } else { 0 };
        let mut reserved = match self.reserve(expected).await {
            Ok(reserved) => reserved,
            Err(error) => return error_response(call, &error),
        };
        let (head, body) = self.exchange(session, call).await.into_parts();
        let is_json = head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == JSON);
        if !is_json {
            // A stream of notifications, which are small and are made only as fast as they are read.
            return Response::from_parts(head, body);
        }
        let limit = self.answer_limit();
        let text = to_bytes(body, limit).await.unwrap_or_else(|_| too_large(call, limit));
        if text.len() <= expected {
            reserved.shrink_to(text.len());
        } else if text.len() > SMALL {
            drop(reserved);
            reserved = match self.reserve(text.len()).await {
                Ok(reserved) => reserved,
                Err(error) => return error_response(call, &error),
            };
        }
        respond(reserved, head.status, text)
    }

    /// Sets memory aside for an answer.
    async fn reserve(&self, bytes: usize) -> Result<Reserved, ErrorObject> {
        if bytes == 0 {
            return Ok(Reserved::default());
        }
        self.state.service.shared.unread.reserve(self.actor, bytes).await
    }

    fn answer_limit(&self) -> usize {
        self.state.service.batch_limits().answer_bytes
    }

    /// Passes a call to rmcp.
    async fn exchange(&self, session: Arc<Session>, call: &ClientJsonRpcMessage) -> Response {
        let AppState { service, shutdown, tasks } = self.state;
        let shared = &service.shared;
        let settings = ServerSettings {
            version: env!("CARGO_PKG_VERSION"),
            look_every: LOOK_EVERY,
            working: shared.mcp.working(self.actor),
        };
        let toolbox = Toolbox(Hosted::new(Arc::clone(service), Arc::clone(self.actor)));
        let server = Server::new(toolbox, session, settings);
        // Sessions are ours, because they belong to tokens. Hosts and origins were checked for all routes.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(shutdown.child_token());
        let rmcp = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::<NeverSessionManager>::default(),
            config,
        );
        let mut request = Request::new(Body::from(serde_json::to_vec(call).unwrap_or_default()));
        *request.method_mut() = axum::http::Method::POST;
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().remove(CONTENT_LENGTH);
        // rmcp insists on both, and clients without subscriptions often name only the one they need.
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        // A separate task, so that a save completes even if the client disconnects.
        let answering = tasks.spawn_on(async move { rmcp.handle(request).await }, &shared.mcp.workers());
        match answering.await {
            Ok(response) => response.map(Body::new),
            Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, &rpc::panicked("mcp")),
        }
    }
}

fn request(call: &ClientJsonRpcMessage) -> Option<&ClientRequest> {
    match call {
        ClientJsonRpcMessage::Request(call) => Some(&call.request),
        _ => None,
    }
}

/// Returns true for calls as of protocol 2026-07-28, which name their version and need no session.
fn is_self_contained(call: &ClientJsonRpcMessage) -> bool {
    request(call).is_some_and(|request| {
        matches!(request, ClientRequest::DiscoverRequest(_))
            || request.get_meta().protocol_version().is_some()
    })
}

fn has_no_sessions(headers: &HeaderMap) -> bool {
    headers.get(VERSION).is_some_and(|version| version == ProtocolVersion::V_2026_07_28.as_str())
}

/// Returns true for calls that read documents or files; the answers to others are always small.
fn has_large_answer(call: &ClientJsonRpcMessage) -> bool {
    request(call).is_some_and(|request| {
        matches!(
            request,
            ClientRequest::CallToolRequest(_)
                | ClientRequest::ReadResourceRequest(_)
                | ClientRequest::ListResourcesRequest(_)
        )
    })
}

/// Returns the error for a call whose answer does not fit.
fn too_large(call: &ClientJsonRpcMessage, limit: usize) -> Bytes {
    let message = format!("the answer has more than the {limit} bytes that answers may have");
    let error = ErrorObject::with(ErrorKind::TooLarge, message, |data| data.limit = Some(limit as u64));
    error_text(call, &error)
}

fn error_response(call: &ClientJsonRpcMessage, error: &ErrorObject) -> Response {
    respond(Reserved::default(), StatusCode::SERVICE_UNAVAILABLE, error_text(call, error))
}

fn error_text(call: &ClientJsonRpcMessage, error: &ErrorObject) -> Bytes {
    let id = match call {
        ClientJsonRpcMessage::Request(call) => call.id.clone().into_json_value(),
        _ => Value::Null,
    };
    json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into()
}

/// Returns the session of a request. Sessions of other tokens are reported as missing.
#[expect(clippy::result_large_err, reason = "the error is the answer itself, and is returned immediately")]
fn session(state: &AppState, actor: &Actor, headers: &HeaderMap) -> Result<Arc<McpSession>, Response> {
    let Some(id) = headers.get(SESSION) else {
        let message = "the request has no `Mcp-Session-Id`; start a session with `initialize`";
        return Err(refused(StatusCode::BAD_REQUEST, message));
    };
    let found = id.to_str().ok().and_then(|id| state.service.shared.mcp.find(id, actor));
    found.ok_or_else(|| {
        let message = "no such session, or it has ended; start one with `initialize`";
        failure(StatusCode::NOT_FOUND, &ErrorObject::new(ErrorKind::NotFound, message))
    })
}

#[expect(clippy::result_large_err, reason = "the error is the answer itself, and is returned immediately")]
fn check_version(headers: &HeaderMap) -> Result<(), Response> {
    let Some(version) = headers.get(VERSION) else { return Ok(()) };
    let known: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
    if known.iter().any(|known| version == known) {
        return Ok(());
    }
    let version = version.to_str().unwrap_or("(unprintable)");
    let known = known.join(", ");
    Err(refused(
        StatusCode::BAD_REQUEST,
        &format!("MCP version {version} is not supported; supported versions are {known}"),
    ))
}

/// Returns true if the client accepts a media type; without an `Accept` header it accepts all.
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut named = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    let whole = kind.split_once('/').map_or(kind, |(family, _)| family);
    named.peek().is_none()
        || named.flat_map(|value| value.split(',')).any(|range| {
            let range = range.split(';').next().unwrap_or_default().trim();
            range == "*/*" || range.eq_ignore_ascii_case(kind) || range.strip_suffix("/*") == Some(whole)
        })
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, JSON)], body.to_string()).into_response()
}

fn refused(status: StatusCode, message: &str) -> Response {
    failure(status, &ErrorObject::new(ErrorKind::InvalidRequest, message))
}

fn full(rejected: &SessionError) -> Response {
    let error = match rejected {
        SessionError::Full { limit } => {
            let message = format!("MCP session limit reached: {limit} sessions are open");
            ErrorObject::with(ErrorKind::LimitReached, message, |data| {
                data.what = Some(ErrorSubject::McpSessions);
                data.limit = Some(*limit as u64);
                data.hint = Some("end some with DELETE, or wait until idle ones expire".to_owned());
            })
        }
        SessionError::NoRandomness => {
            ErrorObject::new(ErrorKind::InternalError, "the system gave no random bytes; try again")
        }
    };
    failure(StatusCode::SERVICE_UNAVAILABLE, &error)
}
