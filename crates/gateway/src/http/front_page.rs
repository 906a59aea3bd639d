//! The page at `/` for people who open the gateway's address in a browser.
//!
//! It is public, so it must not reveal names, paths or counts.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};

const PAGE: &str = concat!(
    r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Foreword gateway</title>
</head>
<body>
<h1>Foreword gateway</h1>
<p>Version "#,
    env!("CARGO_PKG_VERSION"),
    r#". It keeps AGENTS.md documents and runs the turns of agents that read them.</p>
<ul>
<li><a href="/healthz">/healthz</a>: whether it runs</li>
<li><a href="/readyz">/readyz</a>: whether its database answers</li>
<li><a href="/console/">/console/</a>: the web console, with a token</li>
<li><code>/rpc</code>: JSON-RPC 2.0 over WebSocket or POST, with a token</li>
<li><code>/metrics</code>: figures for Prometheus, with a token</li>
</ul>
<p>There is nothing to see here without a token. On the machine it runs on, <code>foreword status</code> shows what there is
and <code>foreword --help</code> what to do with it; from elsewhere, ask its owner for a token
(<code>foreword token create NAME</code>).</p>
</body>
</html>
"#
);

/// The page loads no resources, runs no scripts, and cannot be framed.
const HEADERS: [(HeaderName, &str); 5] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];

pub(crate) async fn answer() -> Response {
    (HEADERS, PAGE).into_response()
}
