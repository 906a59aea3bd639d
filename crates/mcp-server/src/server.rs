//! The answers to a client's requests, for rmcp, which reads, routes and writes them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    ErrorCode, ErrorData, Implementation, InitializeRequestParams, InitializeResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::session::{FollowError, client_name};
use super::{McpCatalog, Refusal, Session, ToolAnswer};

/// Media type of our resources.
pub(super) const MARKDOWN: &str = "text/markdown";
/// Methods with parameters that rmcp passes on as custom requests if the parameters do not fit.
const KNOWN: &[&str] = &[
    "initialize",
    "server/discover",
    "tools/call",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
];
/// Checks of followed resources may take at most 1/SHARE of the time, however slow files and database are.
const SHARE: u32 = 20;

/// A catalog as one client sees it.
#[derive(Debug)]
pub struct Server<C> {
    catalog: Arc<C>,
    session: Arc<Session>,
    settings: ServerSettings,
}

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Version of the program.
    pub version: &'static str,
    /// Interval for checking followed resources.
    pub look_every: Duration,
    /// Limits on concurrent work, the narrowest first.
    pub working: Vec<Arc<Semaphore>>,
}

impl<C> Clone for Server<C> {
    fn clone(&self) -> Self {
        let catalog = Arc::clone(&self.catalog);
        let session = Arc::clone(&self.session);
        Self { catalog, session, settings: self.settings.clone() }
    }
}

impl<C: McpCatalog> Server<C> {
    pub fn new(catalog: C, session: Arc<Session>, settings: ServerSettings) -> Self {
        Self { catalog: Arc::new(catalog), session, settings }
    }

    pub(super) fn look_every(&self) -> Duration {
        self.settings.look_every
    }

    /// Returns the addresses of the session's followed resources that have changed.
    pub async fn changes(&self) -> Vec<String> {
        if self.session.follows_nothing() {
            return Vec::new();
        }
        let session = Arc::clone(&self.session);
        self.run(move |catalog| session.changes(catalog)).await.unwrap_or_default()
    }

    /// Runs a part of the catalog on a thread that may block, because tools wait for files and the database.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&C) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        // The permits come before the thread: calls that wait for one must not occupy threads that files and the
        // database need.
        let permits = self.permits().await;
        let catalog = Arc::clone(&self.catalog);
        let running = tokio::task::spawn_blocking(move || {
            let _permits = permits;
            work(&catalog)
        });
        running.await.map_err(|_| ErrorData::internal_error("the call failed unexpectedly", None))
    }

    async fn permits(&self) -> Vec<OwnedSemaphorePermit> {
        let mut permits = Vec::new();
        for limit in &self.settings.working {
            // The semaphores are never closed, so this never fails.
            permits.extend(Arc::clone(limit).acquire_owned().await.ok());
        }
        permits
    }

    /// Returns the client's name: the one in the request, as of protocol 2026-07-28, or the one in `initialize`.
    fn client(&self, context: &RequestContext<RoleServer>) -> String {
        let named = context.meta.client_info().map(|client| client_name(&client.name));
        named.unwrap_or_else(|| self.session.client())
    }
}

impl<C: McpCatalog> ServerHandler for Server<C> {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_resources_subscribe();
        let program = Implementation::new("foreword", self.settings.version).with_title("Foreword");
        ServerConfig::new(capabilities.build()).with_server_info(program)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.session.set_client(&request.client_info.name);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.catalog.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.catalog.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        if self.get_tool(&name).is_none() {
            return Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None));
        }
        let client = self.client(&context);
        let arguments = Value::Object(arguments.unwrap_or_default());
        let called = self.run(move |catalog| catalog.call(&client, &name, &arguments)).await?;
        let mut result = match &called {
            Ok(ToolAnswer { text, .. }) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(Refusal { message, .. }) => CallToolResult::error(vec![ContentBlock::text(message)]),
        };
        result.structured_content = called.map_or_else(|refusal| refusal.data, |answer| answer.data);
        Ok(CallToolResponse::from(result))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.run(McpCatalog::resources).await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.catalog.templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let text = self.run(move |catalog| catalog.read(&uri)).await?.map_err(unreadable)?;
        let content = ResourceContents::text(text, request.uri).with_mime_type(MARKDOWN);
        Ok(ReadResourceResponse::from(ReadResourceResult::new(vec![content])))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        follow(self, Arc::clone(&self.session), request.uri).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.unfollow(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let followed = requested.resource_subscriptions.iter().flatten().take(self.session.max_followed());
        Some(SubscriptionFilter::builder().resource_subscriptions(followed).build())
    }

    /// Announces changes until the client or the catalog ends the subscription.
    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        // As of protocol 2026-07-28 a subscription is a request, and has no session.
        let session = Arc::new(Session::new(self.session.max_followed()));
        let uris: Vec<String> =
            subscription.accepted().resource_subscriptions.iter().flatten().cloned().collect();
        for uri in uris {
            follow(self, Arc::clone(&session), uri).await?;
        }
        let server = Self { session, ..self.clone() };
        let mut pause = self.settings.look_every;
        loop {
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
            let begun = tokio::time::Instant::now();
            if !self.run(McpCatalog::is_open).await? {
                return Ok(());
            }
            for uri in server.changes().await {
                if subscription.sink().notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
            pause = self.settings.look_every.max(begun.elapsed() * SHARE);
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        if KNOWN.contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(format!("the parameters do not fit `{method}`"), None));
        }
        let message = Cow::from(format!("there is no method `{method}`"));
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }
}

async fn follow<C: McpCatalog>(
    server: &Server<C>,
    session: Arc<Session>,
    uri: String,
) -> Result<(), ErrorData> {
    let followed = server.run(move |catalog| session.follow(catalog, &uri)).await?;
    followed.map_err(|error| match error {
        FollowError::Unreadable(refusal) => unreadable(refusal),
        FollowError::Limit(message) => ErrorData::invalid_params(message, None),
    })
}

fn unreadable(refusal: Refusal) -> ErrorData {
    ErrorData::resource_not_found(refusal.message, refusal.data)
}
