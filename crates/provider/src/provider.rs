//! A provider with its connections.

use std::fmt;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use protocol::round::CacheMark;
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;

use crate::adapter::{self, Adapter};
use crate::chat::cache;
use crate::chat::round::Round;
use crate::error::Fault;
use crate::transport::http::Http;
use crate::transport::secret::Secrets;
use crate::{
    ChatEvent, ChatRequest, ChatResponse, ErrorKind, ModelRules, PartialResponse, ProviderConfig,
    ProviderError, ProviderKind,
};

/// Events of a round. Dropping the stream ends the request.
pub type ChatStream = BoxStream<'static, Result<ChatEvent, ProviderError>>;

/// A provider. Clones share their connections.
#[derive(Clone)]
pub struct Provider {
    shared: Arc<ProviderState>,
}

/// A request in the form of an API. It contains no key: keys are sent in headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRequest {
    /// The body, byte for byte.
    pub body: Vec<u8>,
    /// Cache breakpoints in it.
    marks: Vec<CacheMark>,
}

impl EncodedRequest {
    /// Encodes a request for an API. Equal requests have equal bodies.
    pub fn new(kind: ProviderKind, request: &ChatRequest) -> Self {
        // Body and marks are computed once, so every retry sends the same bytes. A body that differed between attempts
        // would miss the prefix that the provider may have cached on the first one.
        let rules = ModelRules::of(kind, &request.model);
        let body = adapter::of(kind).body(request, rules);
        let marks = cache::marks(&body, cache::SessionEnd::of(request));
        Self { body: body.to_string().into_bytes(), marks }
    }
}

/// State shared by the rounds of a provider.
pub(crate) struct ProviderState {
    pub(crate) config: ProviderConfig,
    pub(crate) adapter: &'static dyn Adapter,
    pub(crate) http: Http,
    pub(crate) headers: HeaderMap,
    secrets: Secrets,
}

impl Provider {
    /// Checks a configuration. Nothing is sent yet.
    pub fn new(config: ProviderConfig) -> Result<Self, ProviderError> {
        match prepare(&config) {
            Ok((adapter, http, headers)) => {
                let secrets = Secrets::of(&config);
                Ok(Self { shared: Arc::new(ProviderState { config, adapter, http, headers, secrets }) })
            }
            Err(fault) => Err(error(&config, &Secrets::of(&config), fault, None, None)),
        }
    }

    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    /// Returns the API of the provider.
    pub fn kind(&self) -> ProviderKind {
        self.shared.config.kind
    }

    /// Returns an error if a vendor's key is missing, so that no turn starts only to be rejected.
    pub fn check_key(&self) -> Result<(), ProviderError> {
        let config = &self.shared.config;
        let Some(variable) = config.missing_key() else { return Ok(()) };
        Err(ProviderError {
            kind: ErrorKind::Authentication,
            provider: config.name.clone(),
            status: None,
            retryable: false,
            retry_after: None,
            message: format!("there is no key: {variable} is not set"),
            hint: Some(format!("set {variable} where the gateway runs, and start the gateway again")),
            partial: None,
            overrun: None,
        })
    }

    /// Starts a request. Nothing is sent until the stream is polled; it ends after an error or [`ChatEvent::Finished`].
    pub fn chat(&self, request: &ChatRequest) -> ChatStream {
        self.send(request, EncodedRequest::new(self.kind(), request))
    }

    /// Starts a request that was encoded for the API of this provider, as [`Self::chat`] does.
    pub fn send(&self, request: &ChatRequest, encoded: EncodedRequest) -> ChatStream {
        let EncodedRequest { body, marks } = encoded;
        let round = Round::new(Arc::clone(&self.shared), request, body, marks);
        stream::unfold(round, async |mut round| round.next().await.map(|event| (event, round))).boxed()
    }

    /// Sends a request and waits for the whole answer.
    pub async fn complete(&self, request: &ChatRequest) -> Result<ChatResponse, ProviderError> {
        let mut stream = self.chat(request);
        while let Some(event) = stream.next().await {
            if let ChatEvent::Finished(response) = event? {
                return Ok(response);
            }
        }
        Err(self.ended_early(request))
    }

    /// Returns the error for a stream without an end. It must not be retried, because parts may have been delivered.
    pub fn ended_early(&self, request: &ChatRequest) -> ProviderError {
        let fault = Fault::new(ErrorKind::Interrupted, "the answer ended without an end");
        self.shared.error(fault, &request.model, None)
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Provider").field(&self.shared.config).finish()
    }
}

impl ProviderState {
    /// Converts a fault into the error for the caller.
    pub(crate) fn error(&self, fault: Fault, model: &str, partial: Option<PartialResponse>) -> ProviderError {
        error(&self.config, &self.secrets, fault, Some(model), partial)
    }
}

fn error(
    config: &ProviderConfig,
    secrets: &Secrets,
    fault: Fault,
    model: Option<&str>,
    partial: Option<PartialResponse>,
) -> ProviderError {
    let hint = match (fault.kind, &config.api_key, &config.api_key_env, model) {
        // A rejected key and a missing key have the same status but need different steps, so the hint depends on the
        // configuration and not only on the answer.
        (ErrorKind::Authentication, None, Some(variable), _) => {
            Some(format!("there is no key; set {variable}"))
        }
        (ErrorKind::Authentication, Some(_), Some(variable), _) => Some(format!("check {variable}")),
        (ErrorKind::NotFound, _, _, Some(model)) => {
            Some(format!("check the model's name `{model}` and the provider's base URL"))
        }
        _ => fault.hint.map(str::to_owned),
    };
    ProviderError {
        kind: fault.kind,
        provider: config.name.clone(),
        status: fault.status,
        retryable: fault.kind.is_retryable(),
        retry_after: fault.retry_after,
        // Some gateways quote the rejected key in their error. Messages are logged and shown, so every one of them is
        // scrubbed here, at the only place where a fault becomes an error.
        message: secrets.scrub(&fault.message),
        hint,
        partial: partial.map(Box::new),
        overrun: fault.overrun.map(Box::new),
    }
}

fn prepare(config: &ProviderConfig) -> Result<(&'static dyn Adapter, Http, HeaderMap), Fault> {
    let adapter = adapter::of(config.kind);
    let mut headers = adapter.headers(config.api_key.as_ref())?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // Configured headers are inserted after these and may replace them: some proxies need their own key in the header
    // that the adapter has filled.
    headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    for (name, value) in &config.headers {
        let header = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_str(value.expose_secret());
        let (Ok(header), Ok(mut value)) = (header, value) else {
            return Err(Fault::new(
                ErrorKind::Configuration,
                format!("{name:?} is not a header, or its value is not one"),
            ));
        };
        // Sensitive headers are left out of debug output by the HTTP library.
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let url = url(&config.base_url, adapter.path())?;
    Ok((adapter, Http::new(url, config.timeouts, config.limits)?, headers))
}

/// Returns the URL of requests. Errors do not repeat the address, because it may be invalid by containing a secret.
fn url(base: &str, path: &str) -> Result<Url, Fault> {
    let refused = |problem: &str| Fault::new(ErrorKind::Configuration, format!("the base URL {problem}"));
    let mut url = Url::parse(base).map_err(|error| refused(&format!("is not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(refused("is not an address of HTTP").with_hint("it begins with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("contains a user name or a password").with_hint("put them into a header"));
    }
    // The path is appended to the URL's path and not joined as a relative reference, which would drop the last segment
    // of a base without a trailing slash and the query that some proxies need.
    let joined = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&joined);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn method_path_is_appended_to_the_base_url() {
        let of = |base: &str| url(base, "/v1/messages").map(|url| url.to_string());
        assert_eq!(of("https://a.example").unwrap(), "https://a.example/v1/messages");
        assert_eq!(of("http://a.example:81/b/").unwrap(), "http://a.example:81/b/v1/messages");
        assert_eq!(of("https://a.example/b?version=2").unwrap(), "https://a.example/b/v1/messages?version=2");
        for wrong in ["a.example", "ftp://a.example", "https://u:secret@a.example", "unix:/a"] {
            let fault = of(wrong).unwrap_err();
            assert_eq!(fault.kind, ErrorKind::Configuration, "{wrong}");
            assert!(!fault.message.contains("secret"));
        }
    }
}
