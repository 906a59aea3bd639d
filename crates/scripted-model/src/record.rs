//! Recorded requests.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::http::{HeaderMap, Method, Uri};
use serde_json::Value;

/// Variable with the directory into which all requests are written; absent by default.
pub const KEPT_REQUESTS: &str = "FOREWORD_TEST_REQUESTS";

/// Headers that contain keys.
const SECRET: &[&str] = &["authorization", "x-api-key", "proxy-authorization", "cookie"];

#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub method: String,
    /// Path with the query.
    pub path: String,
    /// Headers in lower case; keys are redacted.
    pub headers: BTreeMap<String, String>,
    /// Body; null if it was not JSON.
    pub body: Value,
    pub at: Instant,
}

impl RecordedRequest {
    pub(crate) fn new(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let headers = headers.iter().map(|(name, value)| {
            // Keys are removed while recording, because tests print recorded requests when they fail, and the output of
            // a failed run may be public.
            let secret = SECRET.contains(&name.as_str());
            let value = if secret { "[redacted]".into() } else { String::from_utf8_lossy(value.as_bytes()) };
            (name.as_str().to_owned(), value.into_owned())
        });
        Self {
            method: method.to_string(),
            path: uri.to_string(),
            headers: headers.collect(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            at: Instant::now(),
        }
    }
}

/// Writes a request into the directory that a variable names, where other programs can check it.
pub(crate) fn keep(request: &RecordedRequest) -> std::io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Some(directory) = std::env::var_os(KEPT_REQUESTS) else { return Ok(()) };
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let file = Path::new(&directory).join(format!("{}-{number}.json", std::process::id()));
    let text = serde_json::json!({ "path": request.path, "body": request.body }).to_string();
    std::fs::write(&file, text)
}

/// Returns true if a request has the key, in either of the two headers.
pub(crate) fn has_key(headers: &HeaderMap, key: &str) -> bool {
    let is =
        |name: &str, value: &str| headers.get(name).is_some_and(|found| found.as_bytes() == value.as_bytes());
    is("x-api-key", key) || is("authorization", &format!("Bearer {key}"))
}
