//! `/mcp`: the tools and resources of `foreword mcp` for clients that reach us over streamable HTTP.
//!
//! Every request shows its token, as at `/rpc`, and a session belongs to the token that began it. Calls are made as calls
//! of our own protocol by that token, so that roles, bounds and limits are the same.

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
use self::sessions::{McpSession, NoSession};
use crate::access::Actor;
use crate::http::listener::ConnectionSlot;
use crate::http::{AppState, authenticate, failure, read_body};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A message of a client, or a batch of them.
pub(crate) async fn post(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    answered(take(state, &slot, &headers, body).await)
}

/// The stream on which a client is told what has changed.
pub(crate) async fn follow(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
) -> Response {
    let opened = async {
        let actor = authenticate(&state, &slot, &headers).await?;
        check_version(&headers)?;
        if !accepts(&headers, EVENTS) {
            let message = format!("changes are told as {EVENTS}, which `Accept` does not name");
            return Err(refused(StatusCode::NOT_ACCEPTABLE, &message));
        }
        let session = session(&state, &actor, &headers)?;
        Ok(stream::open(state.clone(), actor, session))
    };
    answered(opened.await)
}

/// A client that leaves.
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
    answered(ended.await)
}

/// What was answered, in whichever way.
fn answered(answer: Result<Response, Response>) -> Response {
    answer.unwrap_or_else(|refused| refused)
}

async fn take(
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
        let message = "answers are application/json, which `Accept` does not name";
        return Err(refused(StatusCode::NOT_ACCEPTABLE, message));
    }
    let text = read_body(&state, headers, body).await?;
    let sent: Value = serde_json::from_str(&text).map_err(|error| {
        let failed = bridge::mcp::failure(Value::Null, PARSE_ERROR, &error.to_string());
        json(StatusCode::BAD_REQUEST, &failed)
    })?;
    let is_greeting = sent.get("method").is_some_and(|method| method == "initialize");
    let session = if is_greeting {
        state.mcp.begin(&actor).map_err(|no_session| full(&no_session))?
    } else {
        session(&state, &actor, headers)?
    };
    let answer = answer(&state, actor, Arc::clone(&session), sent).await?;
    let mut response = match answer {
        Some(answer) => json(StatusCode::OK, &answer),
        None => StatusCode::ACCEPTED.into_response(),
    };
    if is_greeting && let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, id);
    }
    Ok(response)
}

/// Answers on a thread that may wait for files and for the database.
async fn answer(
    state: &AppState,
    actor: Arc<Actor>,
    session: Arc<McpSession>,
    sent: Value,
) -> Result<Option<Value>, Response> {
    let working = state.mcp.working().await;
    let toolbox = Toolbox(Hosted::new(Arc::clone(&state.service), actor));
    let answering = state.tasks.spawn_blocking(move || {
        let _working = working;
        session.session.answer(&toolbox, env!("CARGO_PKG_VERSION"), sent)
    });
    answering.await.map_err(|_| failure(StatusCode::INTERNAL_SERVER_ERROR, &rpc::panicked("mcp")))
}

/// The session that a request belongs to. Somebody else's is none.
#[expect(clippy::result_large_err, reason = "the error is the answer itself, and is sent at once")]
fn session(state: &AppState, actor: &Actor, headers: &HeaderMap) -> Result<Arc<McpSession>, Response> {
    let Some(id) = headers.get(SESSION) else {
        let message = "the request has no `Mcp-Session-Id`; `initialize` begins a session";
        return Err(refused(StatusCode::BAD_REQUEST, message));
    };
    let found = id.to_str().ok().and_then(|id| state.mcp.find(id, actor));
    found.ok_or_else(|| {
        let message = "there is no such session, or it has ended; begin one with `initialize`";
        failure(StatusCode::NOT_FOUND, &ErrorObject::new(ErrorKind::NotFound, message))
    })
}

#[expect(clippy::result_large_err, reason = "the error is the answer itself, and is sent at once")]
fn check_version(headers: &HeaderMap) -> Result<(), Response> {
    let Some(version) = headers.get(VERSION) else { return Ok(()) };
    if VERSIONS.iter().any(|known| version == known) {
        return Ok(());
    }
    let version = version.to_str().unwrap_or("(unprintable)");
    let known = VERSIONS.join(", ");
    Err(refused(
        StatusCode::BAD_REQUEST,
        &format!("version {version} of MCP is not spoken here; {known} are"),
    ))
}

/// Whether a client takes answers of a kind; one that does not say takes all.
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

fn full(no_session: &NoSession) -> Response {
    let error = match no_session {
        NoSession::Full { limit } => {
            let message = format!("{limit} MCP sessions are open, and no more may be at once");
            ErrorObject::with(ErrorKind::LimitReached, message, |data| {
                data.what = Some(ErrorSubject::McpSessions);
                data.limit = Some(*limit as u64);
                data.hint = Some(
                    "end some with DELETE, or wait: those that nobody uses end by themselves".to_owned(),
                );
            })
        }
        NoSession::NoRandomness => {
            ErrorObject::new(ErrorKind::InternalError, "the system gave no random bytes; try again")
        }
    };
    failure(StatusCode::SERVICE_UNAVAILABLE, &error)
}
