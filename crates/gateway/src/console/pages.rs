//! The files of the console. They are public and contain no data.

use axum::extract::{Path, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use console::Asset;

use crate::http::AppState;

/// Nothing but the gateway's own files and connections. Names, documents and the output of models and tools are text from
/// others: even if a mistake turned one of them into markup, it could run nothing and reach no other host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(crate) async fn redirect(State(state): State<AppState>) -> Response {
    if !state.service.shared.console.is_enabled {
        return missing();
    }
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, "/console/")]).into_response()
}

pub(crate) async fn index(State(state): State<AppState>) -> Response {
    serve(&state, "index.html")
}

pub(crate) async fn file(State(state): State<AppState>, Path(path): Path<String>) -> Response {
    serve(&state, &path)
}

fn serve(state: &AppState, path: &str) -> Response {
    let found = console::find(path).filter(|_| state.service.shared.console.is_enabled);
    found.map_or_else(missing, respond)
}

fn respond(asset: &'static Asset) -> Response {
    // The index names the hashed files, so a kept copy would request files that an update has removed.
    let kept = if asset.is_immutable() { "public, max-age=31536000, immutable" } else { "no-store" };
    let own = [(CONTENT_TYPE, asset.media_type()), (CACHE_CONTROL, kept)];
    (HEADERS, own, asset.bytes).into_response()
}

fn missing() -> Response {
    let mut response = (StatusCode::NOT_FOUND, "no such file\n").into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
