//! A gateway under attack, with its owner, a scripted model and a workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use gateway_process::{GatewayProcess, Launch};
use scripted_model::{ScriptedModel, Wire};
use serde_json::{Value, json};

use super::Attack;
use super::http::Request;

/// User of the gateway if this program runs as root, as which no command may run: `nobody`.
const OTHER_USER: u32 = 65_534;
const BUBBLEWRAP: &str = "/usr/bin/bwrap";

pub(super) struct Stage {
    pub(super) gateway: GatewayProcess,
    pub(super) model: ScriptedModel,
    pub(super) owner: String,
    pub(super) workspace: String,
}

impl Stage {
    /// Starts a gateway with a workspace, and with a shell at the given level.
    pub(super) async fn set(attack: &Attack, shell: Option<&str>) -> anyhow::Result<Self> {
        let model = ScriptedModel::start().await?;
        let mut launch = Launch::new(&attack.program);
        launch.configuration = format!(
            "[model]\ndefault = 'anthropic/scripted'\n[providers.anthropic]\nbase_url = '{}'\n",
            model.base_url(Wire::Anthropic)
        );
        if let Some(level) = shell {
            launch.configuration.push_str(&format!(
                "[permissions]\nwrite = 'allow'\nshell_sandbox = '{level}'\n[shell]\nenabled = true\n"
            ));
        }
        launch.variables.push(("ANTHROPIC_API_KEY", "key-of-the-attack".into()));
        if rustix::process::geteuid().is_root() {
            launch.user = Some(OTHER_USER);
        }
        if shell == Some("confined") && Path::new(BUBBLEWRAP).exists() {
            // The gateway takes the strongest level that works. Without bubblewrap, which is hidden from it in a mount
            // namespace of its own, that is `confined`.
            ensure!(
                launch.user.is_some(),
                "only root can hide bubblewrap, so that `confined` is the strongest level"
            );
            let script = format!(
                "mount --bind /dev/null {BUBBLEWRAP} && exec setpriv --reuid {OTHER_USER} --regid {OTHER_USER} \
                 --clear-groups -- \"$@\""
            );
            launch.through = ["unshare", "--mount", "sh", "-c", &script, "sh"].map(Into::into).to_vec();
        }
        let gateway = tokio::task::block_in_place(|| GatewayProcess::start(launch))?;
        let owner = gateway.directory().join("data").join(protocol::local::OWNER_TOKEN_FILE);
        let owner = std::fs::read_to_string(owner)?.trim().to_owned();
        let mut stage = Self { gateway, model, owner, workspace: String::new() };
        let root = stage.root();
        std::fs::create_dir(&root)?;
        stage.write("AGENTS.md", "Be brief.\n")?;
        stage.write(".git/hooks/pre-push", "genuine\n")?;
        stage.write(".git/HEAD", "ref: refs/heads/main\n")?;
        if let Some(level) = shell.filter(|level| *level != "off") {
            let audit = stage.rpc("audit/list", json!({})).await?.to_string();
            ensure!(
                audit.contains(&format!("\"sandbox\":\"{level}\"")),
                "commands do not run at `{level}`: {audit}"
            );
        }
        let created = stage.rpc("workspace/create", json!({ "name": "attacked", "root_path": root })).await?;
        stage.workspace = text(&created["workspace"]["id"])?;
        Ok(stage)
    }

    /// Returns the root of the workspace.
    pub(super) fn root(&self) -> PathBuf {
        self.gateway.directory().join("root")
    }

    /// Writes a file below the root that belongs to the gateway's user.
    pub(super) fn write(&self, path: &str, content: &str) -> anyhow::Result<()> {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().context("a file without a directory")?)?;
        std::fs::write(&path, content)?;
        self.give(&self.root())
    }

    fn give(&self, path: &Path) -> anyhow::Result<()> {
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(path, Some(OTHER_USER), Some(OTHER_USER))?;
            if path.is_dir() && !path.is_symlink() {
                for entry in std::fs::read_dir(path)? {
                    self.give(&entry?.path())?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn address(&self) -> anyhow::Result<String> {
        let located = self.gateway.target().locate()?;
        Ok(located.url.trim_start_matches("http://").to_owned())
    }

    pub(super) fn request(&self, method: &'static str, path: &str) -> anyhow::Result<Request> {
        Ok(Request::new(&self.address()?, method, path))
    }

    /// Calls a method as the owner.
    pub(super) async fn rpc(&self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.rpc_as(&self.owner, method, params).await
    }

    pub(super) async fn rpc_as(&self, token: &str, method: &str, params: Value) -> anyhow::Result<Value> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut answer = self.request("POST", "/rpc")?.token(token).json(&body).ok().await?;
        Ok(answer["result"].take())
    }

    /// Creates a token, bound to the workspace or not, and returns its name and secret.
    pub(super) async fn token(
        &self,
        role: &str,
        workspace: Option<&str>,
    ) -> anyhow::Result<(String, String)> {
        let name = format!("{role} {}", protocol::TokenId::new());
        let params = json!({ "name": &name, "role": role, "workspace_id": workspace });
        let created = self.rpc("token/create", params).await?;
        Ok((name, text(&created["secret"])?))
    }

    /// Fills documents of 60 KiB into this many folders.
    pub(super) async fn documents(&self, folders: usize) -> anyhow::Result<()> {
        let content = "All work and no play makes a dull file. ".repeat(1_500);
        for number in 0..folders {
            let params = json!({ "workspace_id": self.workspace, "name": format!("folder{number}") });
            let created = self.rpc("thread/folder/create", params).await?;
            let folder = &created["folder"]["id"];
            let save = json!({ "workspace_id": self.workspace, "folder_id": folder, "content": content });
            self.rpc("thread/agents_doc/save", save).await?;
        }
        Ok(())
    }

    /// Starts an MCP session and returns its id.
    pub(super) async fn session(&self, token: &str, client: &str) -> anyhow::Result<Result<String, String>> {
        let hello = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": client, "version": "1" } },
        });
        let answer = self.request("POST", "/mcp")?.token(token).json(&hello).ask().await?;
        Ok(match answer.header("mcp-session-id") {
            Some(id) if answer.status == 200 => Ok(id.to_owned()),
            _ => Err(format!("{} {}", answer.status, answer.body)),
        })
    }

    /// Returns a request of an MCP client with a session.
    pub(super) fn mcp(&self, token: &str, session: &str, body: &Value) -> anyhow::Result<Request> {
        let request = self.request("POST", "/mcp")?.token(token).header("mcp-session-id", session);
        Ok(request.header("mcp-protocol-version", "2025-06-18").json(body))
    }
}

pub(super) fn text(value: &Value) -> anyhow::Result<String> {
    value.as_str().map(str::to_owned).with_context(|| format!("not a text: {value}"))
}
