//! HTTP transport: TLS, time limits and error answers.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use super::retry;
use crate::error::Fault;
use crate::transport::sse::{SseEvent, SseReader};
use crate::{ErrorKind, ResponseLimits, Timeouts, fault};

/// Most bytes read of an error answer.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// HTTP client for one provider.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    url: Url,
    timeouts: Timeouts,
    limits: ResponseLimits,
}

/// An answer that is being received.
#[derive(Debug)]
pub(crate) struct HttpAnswer {
    response: Response,
    reader: SseReader,
    /// `None` until the first bytes show it.
    shape: Option<Shape>,
    /// Bytes of a [`Shape::Json`].
    whole: Vec<u8>,
    timeouts: Timeouts,
    /// Bytes that may still arrive, and the limit for the error message.
    left: (usize, usize),
    /// Deadline for the first byte.
    deadline: Option<Instant>,
}

/// Format of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Events,
    /// A single value, from a server that does not stream although a stream was requested.
    Json,
}

/// State of an answer after reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadState {
    Open,
    No,
    /// The end; these are all bytes of an answer that is a single JSON value.
    Whole(Vec<u8>),
}

impl Http {
    pub(crate) fn new(url: Url, timeouts: Timeouts, limits: ResponseLimits) -> Result<Self, Fault> {
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls(&url)?)
            .connect_timeout(timeouts.connect)
            // A redirect could send the key to another host.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")));
        // A proxy would resolve `localhost` on its own machine.
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            Fault::new(ErrorKind::Configuration, format!("no HTTP client: {}", describe(error)))
        })?;
        Ok(Self { client, url, timeouts, limits })
    }

    /// Sends a request and waits for an answer with a success status.
    pub(crate) async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<HttpAnswer, Fault> {
        // One deadline for headers and first byte: some servers send headers at once and then think for minutes.
        let deadline = Instant::now() + self.timeouts.first_byte;
        let sending = self.client.post(self.url.clone()).headers(headers).body(body).send();
        let response = match timeout_at(deadline, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unsent(error)),
            Err(_) => return Err(too_late("the provider did not answer", self.timeouts.first_byte)),
        };
        let limit = self.limits.response_bytes;
        let mut answer = HttpAnswer {
            response,
            reader: SseReader::new(self.limits.event_bytes),
            shape: None,
            whole: Vec::new(),
            timeouts: self.timeouts,
            left: (limit, limit),
            deadline: Some(deadline),
        };
        if answer.response.status().is_success() {
            answer.read_content_type().map(|()| answer)
        } else {
            Err(answer.into_fault().await)
        }
    }

    fn unsent(&self, error: reqwest::Error) -> Fault {
        let host = self.url.host_str().unwrap_or_default().to_owned();
        let doing = if error.is_connect() { "could not connect to" } else { "lost the connection to" };
        Fault::new(ErrorKind::Connection, format!("{doing} {host}: {}", describe(error)))
    }
}

impl HttpAnswer {
    /// Waits for more bytes, and adds the events that they complete.
    pub(crate) async fn read(&mut self, events: &mut Vec<SseEvent>) -> Result<ReadState, Fault> {
        let chunk = self.response.chunk();
        let chunk = match self.deadline {
            Some(deadline) => timeout_at(deadline, chunk)
                .await
                .map_err(|_| too_late("the provider did not answer", self.timeouts.first_byte))?,
            None => timeout(self.timeouts.idle, chunk)
                .await
                .map_err(|_| too_late("the answer stopped in the middle", self.timeouts.idle))?,
        };
        // From the first byte on, only pauses count.
        self.deadline = None;
        match chunk {
            Ok(Some(bytes)) => {
                let (left, limit) = self.left;
                self.left.0 = left
                    .checked_sub(bytes.len())
                    .ok_or_else(|| Fault::malformed(format!("the answer is longer than {limit} bytes")))?;
                self.push(&bytes, events).map(|()| ReadState::Open)
            }
            Ok(None) if self.shape == Some(Shape::Json) => {
                Ok(ReadState::Whole(std::mem::take(&mut self.whole)))
            }
            Ok(None) => Ok(ReadState::No),
            Err(error) => Err(interrupted(&describe(error))),
        }
    }

    fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Fault> {
        if self.shape.is_none() {
            // An event stream never begins with a brace, so the first byte decides even without a content type.
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            self.shape = first.map(|first| if *first == b'{' { Shape::Json } else { Shape::Events });
        }
        // Some proxies declare JSON and send events, at least for errors.
        let starts_events = || bytes.starts_with(b"data:") || bytes.starts_with(b"event:");
        if self.shape == Some(Shape::Json) && self.whole.is_empty() && starts_events() {
            self.shape = Some(Shape::Events);
        }
        if self.shape == Some(Shape::Json) {
            self.whole.extend_from_slice(bytes);
            return Ok(());
        }
        self.reader.push(bytes, events)
    }

    /// Rejects HTML. Other unexpected content types are accepted, because some servers set a wrong one or none.
    fn read_content_type(&mut self) -> Result<(), Fault> {
        let kind = self.response.headers().get(reqwest::header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/html") {
            return Err(no_answer(kind));
        }
        if kind.starts_with("application/json") {
            self.shape = Some(Shape::Json);
        }
        Ok(())
    }

    /// Reads an error answer.
    async fn into_fault(mut self) -> Fault {
        let status = self.response.status().as_u16();
        let asked = retry::asked_delay(self.response.headers());
        let mut body = Vec::new();
        // An error while reading only shortens the message.
        while let Ok(Ok(Some(chunk))) = timeout(self.timeouts.idle, self.response.chunk()).await {
            // Bounded by size as well as by pauses: an error page of any length must neither fill the memory nor keep
            // the turn waiting for its end.
            let room = MAX_ERROR_BYTES - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() >= room {
                break;
            }
        }
        let mut fault = fault::of_answer(status, &body);
        fault.retry_after = asked;
        fault
    }
}

/// Returns the error for a successful answer that does not belong to the provider's API.
pub(crate) fn no_answer(kind: &str) -> Fault {
    Fault::malformed(format!("the answer is {kind}, not a stream of events"))
        .with_hint("is the base URL that of the API?")
}

/// Returns the error for an answer that ended early.
pub(crate) fn interrupted(reason: &str) -> Fault {
    Fault::new(ErrorKind::Interrupted, format!("the answer broke off in the middle: {reason}"))
}

fn too_late(what: &str, limit: Duration) -> Fault {
    Fault::new(ErrorKind::Timeout, format!("{what} for {limit:?}"))
}

/// Returns the root cause of an error without the address, which the caller adds if it is safe.
fn describe(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error.source() {
        Some(_) => cause.to_string(),
        None => error.to_string(),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns a rustls configuration with ring and the system's certificates. It is explicit, because a library must not set
/// defaults for the whole process.
fn tls(url: &Url) -> Result<rustls::ClientConfig, Fault> {
    let mut roots = rustls::RootCertStore::empty();
    // Loading certificates takes a while, and a plain address never needs them, as redirects are not followed.
    if url.scheme() == "https" {
        // Unreadable certificates are skipped. Without any, connecting fails with an error that names the reason.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder =
        builder.map_err(|error| Fault::new(ErrorKind::Configuration, format!("no TLS: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
