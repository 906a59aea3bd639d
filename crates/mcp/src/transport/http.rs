//! Servers reached over streamable HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Url};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use secrecy::ExposeSecret as _;

use crate::secrets::Secrets;
use crate::settings::ServerSettings;
use crate::transport::http_client::BoundedClient;
use crate::transport::process::ServerEnd;

/// Time limit of a connection attempt.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Parses a server's address.
pub(crate) fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("its address cannot be used: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("its address cannot be used: `{}` is no scheme of ours", url.scheme()));
    }
    Ok(url)
}

/// Creates a transport to the server. Nothing is sent yet.
pub(crate) async fn transport(
    settings: &ServerSettings,
    secrets: &Secrets,
    end: &ServerEnd,
) -> Result<StreamableHttpClientTransport<BoundedClient>, String> {
    let text = settings.url.as_deref().unwrap_or_default();
    let url = address(text)?;
    let mut headers = HashMap::new();
    for (name, variable) in &settings.headers_env {
        let variable = variable.expose_secret();
        let value = secrets
            .get(variable)
            .ok_or_else(|| format!("the environment variable for its header `{name}` is not set"))?;
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` cannot be the name of a header"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the environment variable for its header `{name}` has a value that no header can have")
        })?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(text).custom_headers(headers);
    // Loading the system's certificates takes a while and must not block other tasks.
    let made = tokio::task::spawn_blocking(move || client(&url)).await;
    let client = made.map_err(|_| "no HTTP client could be made".to_owned())??;
    let client = BoundedClient { client, limit: settings.timeout, end: end.clone() };
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Creates a client like those of model providers: a library must not choose a TLS implementation for the whole process.
fn client(url: &Url) -> Result<Client, String> {
    let mut roots = rustls::RootCertStore::empty();
    if url.scheme() == "https" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIME)
        // A redirect could send the headers to another host.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("foreword/", env!("CARGO_PKG_VERSION")));
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    // A proxy would resolve these names on its own machine and reach another server, with our headers.
    if host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| format!("no HTTP client: {error}"))
}
