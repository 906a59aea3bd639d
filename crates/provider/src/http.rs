//! Requests and answers as bytes: TLS, time limits, error answers.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::Fault;
use crate::sse::{SseEvent, SseReader};
use crate::{ErrorKind, ResponseLimits, Timeouts, fault, retry};

/// The most bytes of an error answer that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// Sends requests to one provider.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: Client,
    url: Url,
    timeouts: Timeouts,
    limits: ResponseLimits,
}

/// An answer that is still arriving.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    reader: SseReader,
    /// None until something has arrived that tells.
    shape: Option<Shape>,
    /// The bytes of a [`Shape::Json`].
    whole: Vec<u8>,
    timeouts: Timeouts,
    /// How many bytes may still come, and how many might at first.
    left: (usize, usize),
    /// Until the first byte has arrived.
    deadline: Option<Instant>,
}

/// What the bytes of an answer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Events,
    /// One value, from a server that does not stream though it was asked to.
    Json,
}

/// Whether more may come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum More {
    Perhaps,
    No,
    /// No more, and these are all the bytes of an answer that is one JSON value.
    Whole(Vec<u8>),
}

impl Http {
    pub(crate) fn new(url: Url, timeouts: Timeouts, limits: ResponseLimits) -> Result<Self, Fault> {
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls(&url)?)
            .connect_timeout(timeouts.connect)
            // A redirect could carry the key to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            Fault::new(ErrorKind::Configuration, format!("no HTTP client: {}", describe(error)))
        })?;
        Ok(Self { client, url, timeouts, limits })
    }

    /// Sends a request and waits for an answer that is not an error.
    pub(crate) async fn post(&self, headers: HeaderMap, body: Vec<u8>) -> Result<Answer, Fault> {
        let deadline = Instant::now() + self.timeouts.first_byte;
        let sending = self.client.post(self.url.clone()).headers(headers).body(body).send();
        let response = match timeout_at(deadline, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.unsent(error)),
            Err(_) => return Err(too_late("the provider did not answer", self.timeouts.first_byte)),
        };
        let limit = self.limits.response_bytes;
        let mut answer = Answer {
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

impl Answer {
    /// Waits for more bytes, and adds the events that they complete.
    pub(crate) async fn read(&mut self, events: &mut Vec<SseEvent>) -> Result<More, Fault> {
        let chunk = self.response.chunk();
        let chunk = match self.deadline {
            Some(deadline) => timeout_at(deadline, chunk)
                .await
                .map_err(|_| too_late("the provider did not answer", self.timeouts.first_byte))?,
            None => timeout(self.timeouts.idle, chunk)
                .await
                .map_err(|_| too_late("the answer stopped in the middle", self.timeouts.idle))?,
        };
        self.deadline = None;
        match chunk {
            Ok(Some(bytes)) => {
                let (left, limit) = self.left;
                self.left.0 = left
                    .checked_sub(bytes.len())
                    .ok_or_else(|| Fault::malformed(format!("the answer is longer than {limit} bytes")))?;
                self.push(&bytes, events).map(|()| More::Perhaps)
            }
            Ok(None) if self.shape == Some(Shape::Json) => Ok(More::Whole(std::mem::take(&mut self.whole))),
            Ok(None) => Ok(More::No),
            Err(error) => Err(interrupted(&describe(error))),
        }
    }

    fn push(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Fault> {
        if self.shape.is_none() {
            // No line of a stream begins like a value.
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            self.shape = first.map(|first| if *first == b'{' { Shape::Json } else { Shape::Events });
        }
        if self.shape == Some(Shape::Json) {
            self.whole.extend_from_slice(bytes);
            return Ok(());
        }
        self.reader.push(bytes, events)
    }

    /// Refuses what certainly is no answer; servers that name another type, or none, are given the benefit of the doubt.
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

    /// What an error answer says.
    async fn into_fault(mut self) -> Fault {
        let (status, asked) = (self.response.status().as_u16(), retry::asked_delay(self.response.headers()));
        let mut body = Vec::new();
        // What cannot be read of it is missing from the message, no more.
        while let Ok(Ok(Some(chunk))) = timeout(self.timeouts.idle, self.response.chunk()).await {
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

/// An answer without an error's status that is not one of the provider's API.
pub(crate) fn no_answer(kind: &str) -> Fault {
    Fault::malformed(format!("the answer is {kind}, not a stream of events"))
        .with_hint("is the base URL that of the API?")
}

/// An answer that ended before it was complete.
pub(crate) fn interrupted(reason: &str) -> Fault {
    Fault::new(ErrorKind::Interrupted, format!("the answer broke off in the middle: {reason}"))
}

fn too_late(what: &str, limit: Duration) -> Fault {
    Fault::new(ErrorKind::Timeout, format!("{what} for {limit:?}"))
}

/// The cause of an error, without the address: the caller knows it.
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

/// rustls with ring and the system's certificates. Said here, because a library must not choose for the process.
fn tls(url: &Url) -> Result<rustls::ClientConfig, Fault> {
    let mut roots = rustls::RootCertStore::empty();
    // Reading them takes a while, and redirects are not followed.
    if url.scheme() == "https" {
        // Single certificates that cannot be read are left out; without any, the connection says so.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder =
        builder.map_err(|error| Fault::new(ErrorKind::Configuration, format!("no TLS: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
