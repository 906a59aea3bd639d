//! The HTTP client of the transport, with limits on every answer.
//!
//! The library's own client reads a JSON answer as long as it continues, even if it is no longer awaited, and logs the text of
//! a failure. A server can repeat the request in it, keys included, so only the status of a failure is kept.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::transport::connection::MAX_MESSAGE_BYTES;
use crate::transport::process::ServerEnd;
use crate::transport::task_tools;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// Reason for the end of a connection whose session the server does not know any more.
pub(crate) const SESSION_ENDED: &str = "it has ended the session";

type HttpError = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client that limits the size ([`MAX_MESSAGE_BYTES`]) and the time of an answer.
#[derive(Debug, Clone)]
pub(crate) struct BoundedClient {
    pub(crate) client: Client,
    pub(crate) limit: Duration,
    /// End of the connection that uses this client.
    pub(crate) end: ServerEnd,
}

impl StreamableHttpClient for BoundedClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let is_in_session = session_id.is_some();
        let request = self
            .client
            .post(&*uri)
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, format!("{EVENTS}, {JSON}"))
            .body(serde_json::to_vec(&message)?);
        let response = self.send(request, session_id, auth_header, custom_headers).await?;
        let status = response.status();
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(StreamableHttpPostResponse::Accepted),
            // If the transport learned that the session is over, it would begin a new one, possibly with an updated server whose
            // tools must be listed first. The connection is therefore ended here, and opened again by us.
            StatusCode::NOT_FOUND if is_in_session => return Err(self.session_ended()),
            _ => {}
        }
        let session = text_of(&response, SESSION);
        let kind = text_of(&response, CONTENT_TYPE.as_str());
        let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
        if status.is_success() && is(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let body = self.body(response).await?;
        // Many servers report an unknown session like any other bad request.
        if status == StatusCode::BAD_REQUEST && is_in_session && mentions_session(&body) {
            return Err(self.session_ended());
        }
        if !status.is_success() {
            return match refusal(&message, is_in_session, status, &body) {
                Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                None => Err(failed(status)),
            };
        }
        // Notifications need no answer, so anything is accepted for them.
        let is_awaited = matches!(message, JsonRpcMessage::Request(_));
        match serde_json::from_slice::<ServerJsonRpcMessage>(&task_tools::marked(body)) {
            // Its request would wait for an answer with its own id until the time limit.
            Ok(answer) if is(JSON) && !answers(&answer, &message) => {
                Err(unexpected("an answer to another request".to_owned()))
            }
            Ok(answer) if is(JSON) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            _ if !is_awaited => Ok(StreamableHttpPostResponse::Accepted),
            _ if !is(JSON) => Err(StreamableHttpError::UnexpectedContentType(kind)),
            _ => Err(unexpected("an answer that is no message of the protocol".to_owned())),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), HttpError> {
        let request = self.client.delete(&*uri);
        // Servers without sessions reject this, which has no consequences.
        self.send(request, Some(session_id), auth_header, custom_headers).await.map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let mut request = self.client.get(&*uri).header(ACCEPT, EVENTS);
        if let Some(last) = last_event_id {
            request = request.header(LAST_EVENT, last);
        }
        let response = self.send(request, session_id, auth_header, custom_headers).await?;
        let kind = text_of(&response, CONTENT_TYPE.as_str());
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(failed(status)),
            _ if kind.as_deref().is_some_and(|kind| kind.starts_with(EVENTS)) => Ok(events(response)),
            _ => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

impl BoundedClient {
    async fn send(
        &self,
        mut request: RequestBuilder,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Response, HttpError> {
        for (name, value) in custom_headers {
            // The protocol itself sets these. A configured value would be sent beside it, and servers choose either of
            // the two.
            if [ACCEPT.as_str(), SESSION, LAST_EVENT].contains(&name.as_str()) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(session_id) = session_id {
            request = request.header(SESSION, &*session_id);
        }
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        let sent = tokio::time::timeout(self.limit, request.send()).await.map_err(|_| self.too_slow())?;
        sent.map_err(not_reached)
    }

    /// Reads a whole answer within the limits.
    async fn body(&self, mut response: Response) -> Result<Vec<u8>, HttpError> {
        let reading = async {
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(not_reached)? {
                if body.len() + chunk.len() > MAX_MESSAGE_BYTES {
                    return Err(unexpected(format!("an answer of more than {MAX_MESSAGE_BYTES} bytes")));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(body)
        };
        tokio::time::timeout(self.limit, reading).await.map_err(|_| self.too_slow())?
    }

    /// Ends the connection, so that the next one begins a new session.
    fn session_ended(&self) -> HttpError {
        self.end.record(SESSION_ENDED.to_owned());
        unexpected(SESSION_ENDED.to_owned())
    }

    fn too_slow(&self) -> HttpError {
        unexpected(format!("no whole answer within {} ms", self.limit.as_millis()))
    }
}

/// Returns the error of a failed request with its causes and without the address, which may contain a secret.
fn not_reached(error: reqwest::Error) -> HttpError {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    unexpected(words)
}

fn unexpected(what: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(what.into())
}

fn failed(status: StatusCode) -> HttpError {
    unexpected(format!("HTTP {status}"))
}

fn text_of(response: &Response, header: &str) -> Option<String> {
    Some(String::from_utf8_lossy(response.headers().get(header)?.as_bytes()).into_owned())
}

/// Returns the answer that a failure amounts to: the server's own error, or that it does not know the request.
fn refusal(
    message: &ClientJsonRpcMessage,
    is_in_session: bool,
    status: StatusCode,
    body: &[u8],
) -> Option<ServerJsonRpcMessage> {
    // A missing or wrong key is a problem of the configuration. As an answer of the server it would lead to the other way
    // to begin, whose own failure would hide the status.
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return None;
    }
    let reported = match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(JsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let JsonRpcMessage::Request(request) = message else { return None };
    // Servers of another version reject the first request, each in its own way. As an error answer, it leads to the other
    // way to begin.
    let is_first_question =
        matches!(request.request, ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_));
    if is_first_question && !is_in_session && status.is_client_error() {
        let error = match reported {
            Some(reported) => reported.error,
            None => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        return Some(ServerJsonRpcMessage::error(error, Some(request.id.clone())));
    }
    // Servers that cannot find a session do not read the request, and put an id of their own into the error.
    let error = reported?.error;
    Some(ServerJsonRpcMessage::error(error, Some(request.id.clone())))
}

/// Returns true if the text of an error is about the session.
fn mentions_session(body: &[u8]) -> bool {
    String::from_utf8_lossy(body).to_lowercase().contains("session")
}

/// Returns true if a message can be the answer to a request.
fn answers(answer: &ServerJsonRpcMessage, message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else { return true };
    match answer {
        JsonRpcMessage::Response(response) => response.id == request.id,
        JsonRpcMessage::Error(error) => error.id.as_ref().is_none_or(|id| *id == request.id),
        _ => false,
    }
}

/// Returns the events of an answer, each limited to the size of a message.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = unfold(Some((response, EventSize::default())), |state| async move {
        let (mut response, mut size) = state?;
        match response.chunk().await {
            Ok(None) => None,
            Ok(Some(chunk)) if size.add(&chunk) > MAX_MESSAGE_BYTES => {
                Some((Err(io::Error::other("an event of more bytes than are taken")), None))
            }
            Ok(Some(chunk)) => Some((Ok(chunk), Some((response, size)))),
            Err(error) => Some((Err(io::Error::other(error)), None)),
        }
    });
    let marked = |sse: Sse| Sse { data: sse.data.map(mark_tools), ..sse };
    SseStream::from_bytes_stream(chunks).map(move |sse| sse.map(marked)).boxed()
}

fn mark_tools(data: String) -> String {
    let marked = task_tools::marked(data.into_bytes());
    String::from_utf8_lossy(&marked).into_owned()
}

/// Size of the current event, which ends with an empty line.
#[derive(Default)]
struct EventSize {
    event: usize,
    line: usize,
}

impl EventSize {
    /// Adds a chunk, and returns the size of the longest event that it belongs to.
    fn add(&mut self, chunk: &[u8]) -> usize {
        let mut longest = 0;
        for byte in chunk {
            match byte {
                b'\n' if self.line == 0 => self.event = 0,
                b'\n' => self.line = 0,
                b'\r' => {}
                _ => self.line += 1,
            }
            self.event += 1;
            longest = longest.max(self.event);
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_line_ends_an_event() {
        let mut size = EventSize::default();
        assert_eq!(size.add(b"data: 1\r\n"), 9);
        assert_eq!(size.add(b"\r\ndata: 2"), 10);
        assert_eq!(size.add(b"34\n\n"), 11);
        assert_eq!(size.add(b"x"), 2);
    }
}
