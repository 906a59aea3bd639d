//! A server's tool in a turn.

use std::sync::Weak;

use protocol::{SandboxLevel, ToolSpec};
use serde_json::{Map, Value};
use tools::{Needs, Permission, Tool, ToolArguments, ToolContext, ToolOutput};

use crate::offer::definition::Definition;
use crate::server::Server;
use crate::settings::ServerSettings;

pub(crate) struct McpTool {
    /// Weak, because the server owns its tools.
    server: Weak<Server>,
    name: String,
    definition: Definition,
    permission: Permission,
    is_believed: bool,
    sandbox: Option<SandboxLevel>,
}

impl McpTool {
    pub(crate) fn new(
        server: Weak<Server>,
        name: String,
        definition: Definition,
        settings: &ServerSettings,
    ) -> Self {
        Self {
            server,
            name,
            definition,
            permission: settings.write,
            is_believed: settings.trust_annotations,
            sandbox: settings.sandbox.filter(|_| settings.command.is_some()),
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: self.definition.description.clone(),
            schema: self.definition.schema.clone(),
        }
    }

    fn needs(&self, _: &ToolArguments) -> Needs {
        let Some(server) = self.server.upgrade() else { return Needs::Undeclared };
        let setting = format!("mcp.servers.{}.write = {}", server.name, self.permission.name());
        if !server.is_accepted(&self.definition) {
            let text = format!(
                "`{}` is not what it was when the MCP server `{}` was first asked, so it asks ({setting})",
                self.definition.name, server.name
            );
            return Needs::Rule { permission: self.permission.min(Permission::Ask), text };
        }
        if self.is_believed && self.definition.read_only {
            return Needs::Nothing;
        }
        Needs::Rule { permission: self.permission, text: setting }
    }

    fn sandbox(&self) -> Option<SandboxLevel> {
        self.sandbox
    }

    async fn call(&self, _: ToolContext, arguments: ToolArguments) -> ToolOutput {
        let Some(server) = self.server.upgrade() else {
            return ToolOutput::error("the MCP server of this tool is not there any more");
        };
        match arguments.get::<Map<String, Value>>() {
            Ok(arguments) => server.call(&self.definition, arguments).await,
            Err(error) => ToolOutput::failed(&error),
        }
    }
}
