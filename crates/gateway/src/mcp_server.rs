//! `/mcp`: the tools and resources of `foreword mcp` over streamable HTTP.
//!
//! Every request carries its token, as at `/rpc`, and a session belongs to the token that started it. Tools call our
//! own protocol with that token, so the same roles and limits apply.

mod hosted;
mod sessions;
mod stream;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bridge::mcp::{PARSE_ERROR, Toolbox, VERSIONS};
use protocol::error::{ErrorKind, ErrorObject, ErrorSubject};
use serde_json::Value;

use self::hosted::Hosted;
pub(crate) use self::sessions::McpSessions;
use self::sessions::{McpSession, SessionError};
use crate::access::Actor;
use crate::http::listener::ConnectionSlot;
use crate::http::{AppState, authenticate, failure, read_body};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

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
        state.mcp.end(&session);
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
    check_version(headers)?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON)) {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json"));
    }
    if !accepts(headers, JSON) {
        let message = "answers are application/json, which `Accept` does not allow";
        return Err(refused(StatusCode::NOT_ACCEPTABLE, message));
    }
    let text = read_body(&state, headers, body).await?;
    let sent: Value = serde_json::from_str(&text).map_err(|error| {
        let failed = bridge::mcp::failure(Value::Null, PARSE_ERROR, &error.to_string());
        json(StatusCode::BAD_REQUEST, &failed)
    })?;
    let is_initialize = sent.get("method").is_some_and(|method| method == "initialize");
    // A session begins only after the message was parsed, so malformed input cannot use up sessions.
    let session = if is_initialize {
        state.mcp.begin(&actor).map_err(|rejected| full(&rejected))?
    } else {
        session(&state, &actor, headers)?
    };
    let answer = answer(&state, actor, Arc::clone(&session), sent).await?;
    let mut response = match answer {
        Some(answer) => json(StatusCode::OK, &answer),
        None => StatusCode::ACCEPTED.into_response(),
    };
    if is_initialize && let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, id);
    }
    Ok(response)
}

/// Answers on a blocking thread, because tools wait for files and the database.
async fn answer(
    state: &AppState,
    actor: Arc<Actor>,
    session: Arc<McpSession>,
    sent: Value,
) -> Result<Option<Value>, Response> {
    // The permit comes before the blocking thread: calls that wait for one must not occupy threads that files and the
    // database need.
    let working = state.mcp.working().await;
    let toolbox = Toolbox(Hosted::new(Arc::clone(&state.service), actor));
    let answering = state.tasks.spawn_blocking(move || {
        let _working = working;
        session.session.answer(&toolbox, env!("CARGO_PKG_VERSION"), sent)
    });
    answering.await.map_err(|_| failure(StatusCode::INTERNAL_SERVER_ERROR, &rpc::panicked("mcp")))
}

/// Returns the session of a request. Sessions of other tokens are reported as missing.
#[expect(clippy::result_large_err, reason = "the error is the answer itself, and is returned immediately")]
fn session(state: &AppState, actor: &Actor, headers: &HeaderMap) -> Result<Arc<McpSession>, Response> {
    let Some(id) = headers.get(SESSION) else {
        let message = "the request has no `Mcp-Session-Id`; start a session with `initialize`";
        return Err(refused(StatusCode::BAD_REQUEST, message));
    };
    let found = id.to_str().ok().and_then(|id| state.mcp.find(id, actor));
    found.ok_or_else(|| {
        let message = "no such session, or it has ended; start one with `initialize`";
        failure(StatusCode::NOT_FOUND, &ErrorObject::new(ErrorKind::NotFound, message))
    })
}

#[expect(clippy::result_large_err, reason = "the error is the answer itself, and is returned immediately")]
fn check_version(headers: &HeaderMap) -> Result<(), Response> {
    let Some(version) = headers.get(VERSION) else { return Ok(()) };
    if VERSIONS.iter().any(|known| version == known) {
        return Ok(());
    }
    let version = version.to_str().unwrap_or("(unprintable)");
    let known = VERSIONS.join(", ");
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

fn json(status: StatusCode, body: &Value) -> Response {
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
