//! The gateway, its model, and the contents of its workspaces.

use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use client::{Client, Located, Target};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gateway_process::{GatewayProcess, Launch};
use protocol::method::{
    DocumentSave, DocumentSaveParams, FolderCreate, FolderCreateParams, ThreadCreate, ThreadCreateParams,
    ThreadTree, ThreadTreeParams, TokenCreate, TokenCreateParams, WorkspaceCreate, WorkspaceCreateParams,
};
use protocol::{FolderId, Role, Sequence, ThreadId, ThreadMode, TurnId, WorkspaceId};
use scripted_model::{Answer, RecordedRequest, ScriptedModel, Wire};
use tokio::task::AbortHandle;

use crate::load::tally::Problem;
use crate::load::{Load, PATIENCE, http};

/// Connection slots reserved for owners and unauthenticated connections by default.
pub(crate) const RESERVED: usize = 64;
/// Nested folders with a document in each workspace.
const FOLDERS: usize = 4;
/// Workspaces created concurrently.
const CONCURRENT: usize = 16;
/// File in each project that the model reads.
const NOTES: &str = "notes.txt";

/// A workspace and its contents.
pub(crate) struct LoadedWorkspace {
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) folders: Vec<FolderId>,
    /// One thread per client that starts turns.
    pub(crate) threads: Vec<ThreadId>,
    /// Connection parameters with a token that may run turns.
    pub(crate) target: Target,
    newest_turn: Mutex<Option<TurnId>>,
}

impl LoadedWorkspace {
    pub(crate) fn newest_turn(&self) -> Result<TurnId, Problem> {
        let newest = self.newest_turn.lock();
        newest.clone().ok_or(Problem::Turn("none yet"))
    }

    pub(crate) fn remember(&self, turn_id: TurnId) {
        *self.newest_turn.lock() = Some(turn_id);
    }
}

pub(crate) struct Stage {
    pub(crate) gateway: GatewayProcess,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) owner: Client,
    pub(crate) places: Vec<Arc<LoadedWorkspace>>,
    located: Located,
    token: String,
    forgetting: AbortHandle,
}

impl Stage {
    pub(crate) async fn set(load: &Load) -> anyhow::Result<Self> {
        let model = Arc::new(ScriptedModel::start().await?);
        answer(&model);
        let mut launch = Launch::new(&load.program);
        launch.configuration = format!(
            "[model]\ndefault = 'anthropic/scripted'\n[providers.anthropic]\nbase_url = '{}'\n\
             [limits]\nconnections = {}\n",
            model.base_url(Wire::Anthropic),
            load.connections + 2 * RESERVED
        );
        launch.variables.push(("ANTHROPIC_API_KEY", "key-of-the-load".into()));
        if let Some(cluster) = &load.postgres {
            launch = launch.flag("--database", cluster.create_database()?);
        }
        let gateway = tokio::task::block_in_place(|| GatewayProcess::start(launch))?;
        let located = gateway.target().locate()?;
        let owner = Client::connect(&gateway.target()).await?;
        let projects = gateway.directory().join("projects");
        // A thread runs one turn at a time, so clients that share one would be refused.
        let threads = load.connections.div_ceil(load.workspaces * crate::load::crowd::ROLES);
        let making = (0..load.workspaces).map(|number| make(&owner, &located, &projects, number, threads));
        let places = stream::iter(making).buffered(CONCURRENT).map_ok(Arc::new).try_collect().await?;
        let token = std::fs::read_to_string(
            gateway.directory().join("data").join(protocol::local::OWNER_TOKEN_FILE),
        )?;
        let forgetting = forget_requests(Arc::clone(&model));
        Ok(Self { gateway, model, owner, places, located, token: token.trim().to_owned(), forgetting })
    }

    /// Returns the answer of `/readyz`.
    pub(crate) async fn readiness(&self) -> String {
        match http::get(&self.located.url, "/readyz", None).await {
            Ok((status, body)) => format!("{status} {body}"),
            Err(error) => format!("no answer: {error:#}"),
        }
    }

    /// Like [`Self::readiness`], waiting until the check itself finds a free connection slot.
    pub(crate) async fn wait_until_ready(&self) -> String {
        let begun = Instant::now();
        loop {
            let ready = self.readiness().await;
            if ready.starts_with("200 ") || begun.elapsed() > PATIENCE {
                return ready;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn newest_change(&self, place: &LoadedWorkspace) -> anyhow::Result<Sequence> {
        let params = ThreadTreeParams {
            depth: Some(0),
            ..ThreadTreeParams::without_threads(place.workspace_id.clone())
        };
        Ok(self.owner.call::<ThreadTree>(&params).await?.seq)
    }

    /// Waits until the owner's connection is the only one left.
    pub(crate) async fn wait_until_alone(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.metric("foreword_connections ").await?.first().map(String::as_str) != Some("1") {
            ensure!(begun.elapsed() < PATIENCE, "connections stay open although their clients have left");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Returns the numbers of early closed connections by reason.
    pub(crate) async fn dropped_connections(&self) -> anyhow::Result<Vec<String>> {
        self.metric("foreword_connections_dropped_total").await
    }

    /// Returns the lines of a metric without its name.
    async fn metric(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let (status, text) = http::get(&self.located.url, "/metrics", Some(&self.token)).await?;
        ensure!(status == 200, "no metrics: {status} {text}");
        Ok(text
            .lines()
            .filter_map(|line| line.strip_prefix(name))
            .map(|rest| rest.trim().to_owned())
            .collect())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.forgetting.abort();
    }
}

/// Scripts the model to read the notes first and then answer.
pub(crate) fn answer(model: &ScriptedModel) {
    model.answer_by(|request| {
        if has_read(request) {
            Answer::text("They say that functions should be short. I have read them and will keep to that.")
                .in_deltas(4)
        } else {
            Answer::empty().tool_call("call_1", "read_file", &format!(r#"{{"path":"{NOTES}"}}"#))
        }
    });
}

/// Returns true if the last message of a request contains a tool result.
fn has_read(request: &RecordedRequest) -> bool {
    let last = request.body["messages"].as_array().and_then(|messages| messages.last());
    let blocks = last.and_then(|message| message["content"].as_array());
    blocks.is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"))
}

/// Discards recorded requests regularly. They are never read and would be most of this process's memory.
fn forget_requests(model: Arc<ScriptedModel>) -> AbortHandle {
    let forgetting = async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            model.take_requests();
        }
    };
    tokio::spawn(forgetting).abort_handle()
}

async fn make(
    owner: &Client,
    located: &Located,
    projects: &Path,
    number: usize,
    threads: usize,
) -> anyhow::Result<LoadedWorkspace> {
    let root = projects.join(number.to_string());
    std::fs::create_dir_all(root.join("src"))?;
    std::fs::write(root.join("AGENTS.md"), workload::text(number as u64))?;
    std::fs::write(root.join("src/AGENTS.md"), "Run the tests of this crate.\n")?;
    std::fs::write(root.join(NOTES), "Functions should be short.\n".repeat(20))?;
    let root_path = Some(root.to_str().context("a path that is not UTF-8")?.to_owned());
    let params = WorkspaceCreateParams { name: format!("workspace {number}"), root_path, agents: None };
    let workspace_id = owner.call::<WorkspaceCreate>(&params).await?.workspace.id;

    let mut folders: Vec<FolderId> = Vec::new();
    for index in 0..FOLDERS {
        let parent_folder_id = folders.last().cloned();
        let name = format!("folder {index}");
        let params = FolderCreateParams { workspace_id: workspace_id.clone(), parent_folder_id, name };
        folders.push(owner.call::<FolderCreate>(&params).await?.folder.id);
    }
    let document = DocumentSaveParams {
        workspace_id: workspace_id.clone(),
        folder_id: folders.first().cloned(),
        content: workload::text(0),
        expected_version: None,
        save_reason: None,
        message: None,
    };
    owner.call::<DocumentSave>(&document).await?;
    let mut made = Vec::new();
    for index in 0..threads {
        let params = ThreadCreateParams {
            workspace_id: workspace_id.clone(),
            // The deepest folder, so that resolving its document has to look at all folders above.
            folder_id: folders.last().cloned(),
            title: format!("thread {index}"),
            mode: ThreadMode::Agent,
        };
        made.push(owner.call::<ThreadCreate>(&params).await?.thread.id);
    }
    // Not the owner's token: checking a token's role and workspace is part of every real call.
    let token = TokenCreateParams {
        name: format!("client of workspace {number}"),
        role: Role::Operator,
        workspace_id: Some(workspace_id.clone()),
        expires_at: None,
    };
    let secret = owner.call::<TokenCreate>(&token).await?.secret;
    let target = Target::Address { url: located.url.clone(), token: secret.into() };
    Ok(LoadedWorkspace { workspace_id, folders, threads: made, target, newest_turn: Mutex::new(None) })
}
