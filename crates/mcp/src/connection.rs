//! A server that has begun: asked for its tools, and called.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    Implementation, PaginatedRequestParams, Tool,
};
use rmcp::service::{NotificationContext, RunningService, serve_client};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::definition::MAX_TOOLS;
use crate::http;
use crate::process::{self, End, Ground, Pipes, Process};
use crate::secrets::Secrets;
use crate::settings::ServerSettings;
use crate::watched::Watched;

/// Most bytes of one message of a server.
pub(crate) const MAX_MESSAGE_BYTES: usize = 8 << 20;
/// Pages of a list that are read: a server could go on for ever.
const MAX_PAGES: usize = 64;

/// A server that runs and has introduced itself. Dropping it stops a server that we have started.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Listener>,
    end: End,
    _process: Option<Process>,
}

/// What a server's own messages do: all but one, nothing.
#[derive(Debug, Clone, Default)]
struct Listener {
    changed: Arc<Notify>,
}

impl ClientHandler for Listener {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("foreword", env!("CARGO_PKG_VERSION")),
        )
    }
}

/// What came of a call.
pub(crate) enum Called {
    Done(CallToolResult),
    /// The server wants something that we do not have.
    Wants(&'static str),
}

impl Connection {
    /// Starts a server or connects to it, and introduces us. May take for ever; whoever asks does not wait for ever.
    pub(crate) async fn open(
        settings: &ServerSettings,
        secrets: &Secrets,
        ground: &Ground,
    ) -> Result<Self, String> {
        if settings.command.is_some() {
            let (Pipes { reader, writer }, process) = process::start(settings, secrets, ground).await?;
            let transport =
                AsyncRwTransport::new_client(reader, writer).with_max_line_length(MAX_MESSAGE_BYTES);
            let end = process.end.clone();
            Self::introduce(transport, end, Some(process), secrets).await
        } else {
            let (settings, secrets_of) = (settings.clone(), secrets.clone());
            // Reading the system's certificates takes a while, but the transport belongs to the runtime.
            let transport = http::transport(&settings, &secrets_of)?;
            Self::introduce(transport, End::default(), None, secrets).await
        }
    }

    async fn introduce(
        transport: impl Transport<RoleClient> + 'static,
        end: End,
        process: Option<Process>,
        secrets: &Secrets,
    ) -> Result<Self, String> {
        let transport = Watched::new(transport, end.clone());
        match serve_client(Listener::default(), transport).await {
            Ok(service) => Ok(Self { service, end, _process: process }),
            // Its own last words say more than that it has gone.
            Err(error) => Err(match process {
                Some(_) if end.token.is_cancelled() => end.why(),
                _ => secrets.mask(error.to_string()),
            }),
        }
    }

    pub(crate) fn peer(&self) -> Peer<RoleClient> {
        self.service.peer().clone()
    }

    /// Told when the server says that it offers something else.
    pub(crate) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.service.service().changed)
    }

    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.end.token.is_cancelled() || self.service.peer().is_transport_closed()
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Called, ServiceError> {
        let parameters = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        Ok(match self.service.peer().call_tool_once(parameters).await? {
            CallToolResponse::Complete(result) => Called::Done(result),
            CallToolResponse::InputRequired(_) => Called::Wants("more input"),
            CallToolResponse::Task(_) => Called::Wants("a task that goes on after the call"),
            _ => Called::Wants("something of a later version"),
        })
    }
}

/// Everything that a server offers, as far as we go: one that has more says so in the second value.
pub(crate) async fn list(peer: &Peer<RoleClient>) -> Result<(Vec<Tool>, bool), ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() > MAX_TOOLS {
            break;
        }
    }
    let is_cut = cursor.is_some() || tools.len() > MAX_TOOLS;
    tools.truncate(MAX_TOOLS);
    Ok((tools, is_cut))
}
