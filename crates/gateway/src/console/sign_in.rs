//! Sign-in with a one-time code or a token, sign-out, and requests with the cookie.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ORIGIN, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use protocol::error::{ErrorKind, ErrorObject};
use protocol::{AuditEntry, AuditEntryId, AuditEvent, SignInMethod, TokenId};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::json;
use store::hash_secret;

use super::cookie::{self, Scheme};
use super::sessions::SessionKey;
use crate::access::Actor;
use crate::error::{from_store, unauthenticated};
use crate::http::listener::ConnectionSlot;
use crate::http::{AppState, failure, read_body};

/// Proof of identity: one of the two.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    code: Option<String>,
    token: Option<String>,
}

/// Exchanges a code or a token for a cookie.
pub(crate) async fn sign_in(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let shared = &state.service.shared;
    if !shared.console.is_enabled {
        return StatusCode::NOT_FOUND.into_response();
    }
    let scheme = Scheme::of(&headers, slot.source.is_loopback());
    // A page of another origin must not sign its visitor in as someone else. Programs send no `Origin`.
    if headers.contains_key(ORIGIN) && !cookie::is_same_origin(&headers, scheme) {
        return other_origin();
    }
    let text = match read_body(&state, &headers, body).await {
        Ok(text) => text,
        Err(refused) => return refused,
    };
    let (digest, method) = match serde_json::from_str::<SignIn>(&text) {
        Ok(SignIn { code: Some(code), token: None }) => {
            (shared.console.codes.take(&code, Instant::now()), SignInMethod::Code)
        }
        Ok(SignIn { code: None, token: Some(token) }) => {
            (Some(hash_secret(token.trim())), SignInMethod::Token)
        }
        _ => {
            let message = "the body must be a JSON object with either `code` or `token`";
            return failure(StatusCode::BAD_REQUEST, &ErrorObject::new(ErrorKind::InvalidParams, message));
        }
    };
    let actor = match shared.access.authenticate_digest(digest.as_deref(), slot.source).await {
        Ok(Some(actor)) => actor,
        Ok(None) => return wrong(&state, &slot, method),
        Err(problem) => return failure(StatusCode::SERVICE_UNAVAILABLE, &from_store(problem)),
    };
    open_session(&state, &actor, method, scheme).await
}

async fn open_session(state: &AppState, actor: &Actor, method: SignInMethod, scheme: Scheme) -> Response {
    let shared = &state.service.shared;
    let (Some(token_id), Some(digest)) = (&actor.token_id, &actor.secret_sha256) else {
        return failure(StatusCode::UNAUTHORIZED, &unauthenticated());
    };
    // Recorded first: a session without an entry could not be explained later.
    if let Err(problem) = shared.store.record_audit(vec![entry(state, actor, token_id, method)]).await {
        return failure(StatusCode::SERVICE_UNAVAILABLE, &from_store(problem));
    }
    let opened = shared.console.sessions.open(digest, Instant::now()).ok();
    let header = opened.and_then(|value| cookie::set(&shared.console.cookie, value.expose_secret(), scheme));
    let Some(header) = header else {
        let error = ErrorObject::new(ErrorKind::InternalError, "the system gave no random bytes");
        return failure(StatusCode::INTERNAL_SERVER_ERROR, &error);
    };
    let known = json!({ "actor": actor.name, "role": actor.role, "workspace_id": actor.workspace_id });
    let mut response = ([(CONTENT_TYPE, "application/json")], known.to_string()).into_response();
    response.headers_mut().insert(SET_COOKIE, header);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn entry(state: &AppState, actor: &Actor, token_id: &TokenId, method: SignInMethod) -> AuditEntry {
    AuditEntry {
        id: AuditEntryId::new(),
        at: state.service.shared.store.now(),
        actor: Some(actor.name.clone()),
        workspace_id: actor.workspace_id.clone(),
        event: AuditEvent::ConsoleSession { token_id: token_id.clone(), method },
    }
}

/// Returns the response to a wrong code or token.
fn wrong(state: &AppState, slot: &ConnectionSlot, method: SignInMethod) -> Response {
    if let Err(wait) = state.service.shared.console.failures.count(slot.source) {
        return too_many(wait);
    }
    let message = match method {
        SignInMethod::Code => "the code is unknown, used or older than a minute",
        SignInMethod::Token => "the token is unknown, revoked or expired",
    };
    let hint = "run `foreword console` for a new code, or enter a token";
    let error =
        ErrorObject::with(ErrorKind::Unauthenticated, message, |data| data.hint = Some(hint.to_owned()));
    failure(StatusCode::UNAUTHORIZED, &error)
}

fn too_many(wait: Duration) -> Response {
    // Rounded up: an attempt after the truncated time would be refused again.
    let seconds = wait.as_secs() + 1;
    let message = format!("too many failed sign-ins; try again in {seconds} s");
    let error = ErrorObject::with(ErrorKind::RateLimited, message, |data| {
        data.retry_after_ms = Some(seconds * 1000);
    });
    let mut response = failure(StatusCode::TOO_MANY_REQUESTS, &error);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Answers if the browser has a session, and renews it.
// The page could try to connect instead, but browsers report a refused connection as an error of the page.
pub(crate) async fn check(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
) -> Response {
    let (is_signed_in, cookie) = match by_cookie(&state, &slot, &headers).await {
        Ok(found) => (found.is_some(), found.and_then(|found| found.renewed)),
        Err(refused) if refused.status() == StatusCode::UNAUTHORIZED => {
            (false, refused.headers().get(SET_COOKIE).cloned())
        }
        Err(refused) => return refused,
    };
    let body = json!({ "signed_in": is_signed_in }).to_string();
    let mut response =
        ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], body).into_response();
    cookie.and_then(|cookie| response.headers_mut().insert(SET_COOKIE, cookie));
    response
}

/// Ends the session of the cookie and closes its connections.
pub(crate) async fn sign_out(
    State(state): State<AppState>,
    Extension(slot): Extension<Arc<ConnectionSlot>>,
    headers: HeaderMap,
) -> Response {
    let shared = &state.service.shared;
    let console = &shared.console;
    if !console.is_enabled {
        return StatusCode::NOT_FOUND.into_response();
    }
    let scheme = Scheme::of(&headers, slot.source.is_loopback());
    if !cookie::is_same_origin(&headers, scheme) {
        return other_origin();
    }
    if let Some(value) = cookie::value(&headers, &console.cookie) {
        let key = SessionKey::of(value);
        console.sessions.close(&key);
        shared.connections.close_session(&key);
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(header) = cookie::clear(&console.cookie, scheme) {
        response.headers_mut().insert(SET_COOKIE, header);
    }
    response
}

/// An actor with a session, and the header that renews its cookie.
pub(crate) struct SignedIn {
    pub(crate) actor: Actor,
    pub(crate) renewed: Option<HeaderValue>,
}

/// Returns the actor behind a request's cookie: `None` if there is no cookie, an error if it is refused.
pub(crate) async fn by_cookie(
    state: &AppState,
    slot: &ConnectionSlot,
    headers: &HeaderMap,
) -> Result<Option<SignedIn>, Response> {
    let shared = &state.service.shared;
    let console = &shared.console;
    let Some(value) = cookie::value(headers, &console.cookie).filter(|_| console.is_enabled) else {
        return Ok(None);
    };
    let scheme = Scheme::of(headers, slot.source.is_loopback());
    // Browsers add the cookie to every request to this host. The origin shows that the page that sent it is the console.
    if !cookie::is_same_origin(headers, scheme) {
        return Err(other_origin());
    }
    let key = SessionKey::of(value);
    let digest = console.sessions.renew(&key, Instant::now());
    match shared.access.authenticate_digest(digest.as_deref(), slot.source).await {
        Ok(Some(actor)) => {
            let renewed = cookie::set(&console.cookie, value, scheme);
            Ok(Some(SignedIn { actor: Actor { console_session: Some(key), ..actor }, renewed }))
        }
        Ok(None) => {
            console.sessions.close(&key);
            let error = ErrorObject::with(ErrorKind::Unauthenticated, "the session has ended", |data| {
                data.hint = Some("sign in again".to_owned());
            });
            let mut response = failure(StatusCode::UNAUTHORIZED, &error);
            if let Some(header) = cookie::clear(&console.cookie, scheme) {
                response.headers_mut().insert(SET_COOKIE, header);
            }
            Err(response)
        }
        Err(problem) => Err(failure(StatusCode::SERVICE_UNAVAILABLE, &from_store(problem))),
    }
}

fn other_origin() -> Response {
    let message = "the cookie of the console works only for pages of this host";
    let error = ErrorObject::with(ErrorKind::Forbidden, message, |data| {
        data.hint = Some(
            "programs send a token; behind a TLS proxy on this machine, let it send `X-Forwarded-Proto` and keep `Host`"
                .to_owned(),
        );
    });
    failure(StatusCode::FORBIDDEN, &error)
}
