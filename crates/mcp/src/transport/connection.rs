//! A connection to a running server: lists its tools and calls them.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientCapabilities,
    ClientConfig, ClientRequest, CustomResult, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, RequestId, ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, PeerRequestOptions, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError};
use serde::Deserialize as _;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::offer::definition::MAX_TOOLS;
use crate::secrets::Secrets;
use crate::settings::ServerSettings;
use crate::transport::flood_limit::{Allowance, FloodLimited};
use crate::transport::http;
use crate::transport::lines::ServerLines;
use crate::transport::process::{self, Pipes, Process, SandboxContext, ServerEnd};

/// Most bytes of one message from a server.
pub(crate) const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// Most pages read of a list, which a server could continue forever.
const MAX_PAGES: usize = 64;

/// Factor by which progress may extend the time limit of a call.
const MAX_EXTENSION: u32 = 10;

/// Most problems reported of a list; every tool may have one.
const MAX_PROBLEMS: usize = 32;

/// An initialised connection. Dropping it stops a server that we started.
pub(crate) struct ServerConnection {
    service: RunningService<RoleClient, NotificationHandler>,
    end: ServerEnd,
    _process: Option<Process>,
}

/// Handles notifications of the server. Only a changed tool list has an effect.
#[derive(Debug, Clone, Default)]
struct NotificationHandler {
    changed: Arc<Notify>,
}

impl ClientHandler for NotificationHandler {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        // A single permit is stored, so any number of notifications while a list is being read lead to one more
        // reading.
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("foreword", env!("CARGO_PKG_VERSION")),
        )
        // The newest version with a handshake. A newer one cannot be the answer to it.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Way to agree on a version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifecycle {
    /// The handshake of the versions before 2026-07-28.
    Initialize,
    /// The question for the server's versions, without a handshake.
    Discover,
}

/// Reason why a connection was not opened.
#[derive(Debug)]
enum OpeningError {
    /// The server answered with an error.
    Rejected(String),
    Other(String),
}

impl From<String> for OpeningError {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Outcome of a call.
pub(crate) enum CallOutcome {
    Done(CallToolResult),
    /// The server needs a feature that we do not support.
    Wants(&'static str),
}

impl ServerConnection {
    /// Starts a server or connects to it, and agrees on a version of the protocol. It has no time limit of its own; callers
    /// set one.
    ///
    /// The handshake comes first, because nearly all servers have it, and some of those without do not answer anything else.
    /// A server that rejects it is asked for its versions, which is how the protocol begins since 2026-07-28.
    pub(crate) async fn open(
        settings: &ServerSettings,
        secrets: &Secrets,
        sandbox_context: &SandboxContext,
    ) -> Result<Self, String> {
        let handshake = match Self::begin(settings, secrets, sandbox_context, Lifecycle::Initialize).await {
            Err(OpeningError::Rejected(why)) => why,
            Err(OpeningError::Other(why)) => return Err(why),
            Ok(connection) => return Ok(connection),
        };
        let discovered = Self::begin(settings, secrets, sandbox_context, Lifecycle::Discover).await;
        discovered.map_err(|error| match error {
            OpeningError::Rejected(why) | OpeningError::Other(why) if why == handshake => why,
            OpeningError::Rejected(why) | OpeningError::Other(why) => {
                format!("it rejects the handshake ({handshake}) and the discovery of its versions ({why})")
            }
        })
    }

    async fn begin(
        settings: &ServerSettings,
        secrets: &Secrets,
        sandbox_context: &SandboxContext,
        lifecycle: Lifecycle,
    ) -> Result<Self, OpeningError> {
        if settings.command.is_some() {
            let (Pipes { reader, writer }, process) =
                process::start(settings, secrets, sandbox_context).await?;
            let end = process.end.clone();
            let allowance = Allowance::default();
            // Lines are counted before parsing: the library drops anything that is not a message, so a flood of noise would
            // otherwise go unnoticed.
            let reader = ServerLines::new(reader, MAX_MESSAGE_BYTES, allowance.clone(), end.clone());
            let transport =
                AsyncRwTransport::new_client(reader, writer).with_max_line_length(MAX_MESSAGE_BYTES);
            let transport = FloodLimited::counted(transport, end.clone(), allowance);
            Self::introduce(transport, lifecycle, end, Some(process), secrets).await
        } else {
            let end = ServerEnd::default();
            let transport = http::transport(settings, secrets, &end).await?;
            let transport = FloodLimited::new(transport, end.clone());
            Self::introduce(transport, lifecycle, end, None, secrets).await
        }
    }

    async fn introduce(
        transport: impl Transport<RoleClient> + 'static,
        lifecycle: Lifecycle,
        end: ServerEnd,
        process: Option<Process>,
        secrets: &Secrets,
    ) -> Result<Self, OpeningError> {
        let lifecycle = match lifecycle {
            Lifecycle::Initialize => ClientLifecycleMode::Initialize,
            Lifecycle::Discover => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
            }
        };
        match serve_client_with_lifecycle(NotificationHandler::default(), transport, lifecycle).await {
            Ok(service) => Ok(Self { service, end, _process: process }),
            // The server's last output explains more than the closed connection.
            Err(_) if process.is_some() && end.token.is_cancelled() => Err(OpeningError::Other(end.why())),
            Err(error) => {
                let is_rejected = matches!(error, ClientInitializeError::JsonRpcError(_));
                let why = secrets.mask(opening_reason(error));
                Err(if is_rejected { OpeningError::Rejected(why) } else { OpeningError::Other(why) })
            }
        }
    }

    pub(crate) fn peer(&self) -> Peer<RoleClient> {
        self.service.peer().clone()
    }

    /// Returns the notification that the server's tool list changed.
    pub(crate) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.service.service().changed)
    }

    pub(crate) fn end(&self) -> &ServerEnd {
        &self.end
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.end.token.is_cancelled() || self.service.peer().is_transport_closed()
    }

    /// Calls a tool. Every progress notification starts the time limit again, up to a multiple of it.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<CallOutcome, ServiceError> {
        let parameters = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(parameters));
        let options = PeerRequestOptions::with_timeout(limit)
            .reset_timeout_on_progress()
            .with_max_total_timeout(limit.saturating_mul(MAX_EXTENSION));
        let handle = self.service.peer().send_cancellable_request(request, options).await?;
        let mut cancellation = CancelOnDrop { call: Some((self.peer(), handle.id.clone())) };
        let answered = handle.await_response().await;
        cancellation.call = None;
        Ok(match answered? {
            ServerResult::CallToolResult(result) => CallOutcome::Done(result),
            ServerResult::InputRequiredResult(_) => CallOutcome::Wants("more input"),
            ServerResult::CreateTaskResult(_) => CallOutcome::Wants("a task that goes on after the call"),
            _ => return Err(ServiceError::UnexpectedResponse),
        })
    }
}

/// Cancels a call if its turn stops waiting for it.
struct CancelOnDrop {
    call: Option<(Peer<RoleClient>, RequestId)>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((peer, id)) = self.call.take() else { return };
        // Nothing can be awaited here.
        tokio::spawn(async move {
            let cancelled = CancelledNotificationParam::new(Some(id), None);
            // A server that has ended needs no cancellation.
            drop(peer.notify_cancelled(cancelled).await);
        });
    }
}

/// The tools of a server, up to our limits.
#[derive(Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Tool>,
    /// Tools that were left out, with reasons.
    pub(crate) problems: Vec<String>,
}

/// Lists all tools of a server. An invalid tool does not affect the others.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<ToolList, ServiceError> {
    let mut listed = ToolList::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let request = ListToolsRequest::with_param(PaginatedRequestParams::default().with_cursor(cursor));
        cursor = match peer.send_request(ClientRequest::ListToolsRequest(request)).await? {
            ServerResult::ListToolsResult(page) => {
                listed.tools.extend(page.tools);
                page.next_cursor
            }
            // The library falls back to this if any tool is invalid, so each is parsed on its own.
            ServerResult::CustomResult(CustomResult(page)) => {
                let Some(tools) = page.get("tools").and_then(Value::as_array) else {
                    return Err(ServiceError::UnexpectedResponse);
                };
                for tool in tools {
                    match Tool::deserialize(tool) {
                        Ok(tool) => listed.tools.push(tool),
                        Err(error) => listed.problems.push(broken(tool, &error)),
                    }
                }
                page.get("nextCursor").and_then(Value::as_str).map(str::to_owned)
            }
            _ => return Err(ServiceError::UnexpectedResponse),
        };
        if cursor.is_none() || listed.tools.len() > MAX_TOOLS {
            break;
        }
    }
    if listed.tools.len() > MAX_TOOLS {
        listed.tools.truncate(MAX_TOOLS);
        listed.problems.push(format!("it offers more than the {MAX_TOOLS} tools that are taken"));
    } else if cursor.is_some() {
        listed.problems.push(format!("its list has more than the {MAX_PAGES} pages that are read"));
    }
    listed.problems.truncate(MAX_PROBLEMS);
    Ok(listed)
}

fn broken(tool: &Value, error: &serde_json::Error) -> String {
    let name: String =
        tool.get("name").and_then(Value::as_str).unwrap_or_default().chars().take(80).collect();
    format!("the tool `{name}` is left out: {error}")
}

/// Prefix that the library adds to our own errors.
const PREFIX: &str = "unexpected server response: ";

/// Describes a failed request without type names of the library.
pub(crate) fn reason(error: ServiceError) -> String {
    match error {
        ServiceError::TransportSend(failed) => words(&*failed.error),
        other => other.to_string(),
    }
}

fn words(error: &dyn std::error::Error) -> String {
    let words = error.to_string();
    words.strip_prefix(PREFIX).map(str::to_owned).unwrap_or(words)
}

fn opening_reason(error: ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => words(&*error.error),
        // The server answered neither protocol version. The error of the older one is more useful, because most servers use it.
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => opening_reason(*fallback),
        other => other.to_string(),
    }
}
