//! A store, a home and a project in a temporary directory, with agents on them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use agent::{Agent, AgentError, AgentSettings, PromptRequest};
use hooks::HookPackage;
use prompt::CompiledPrompt;
use protocol::hook::HookRun;
use protocol::method::{DocumentSaveParams, TurnStartParams};
use protocol::method::{ThreadCreateParams, WorkspaceCreateParams, WorkspaceUpdateParams};
use protocol::prompt::{PromptDiagnostic, PromptManifest};
use protocol::{AgentsConfig, ThreadMode, Timestamp, TokenReach, TurnId, TurnScope, WorkspaceId};
use store::{Database, Lease, Scope, Store};

/// Owner of the leases of test turns.
pub(crate) const OWNER: &str = "test";

/// A workspace whose directory is `repo`; removed when dropped.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) workspace: WorkspaceId,
    pub(crate) settings: AgentSettings,
    base: PathBuf,
    _directory: tempfile::TempDir,
}

impl World {
    /// Creates a world with `SOUL.md`, `IDENTITY.md` and an AGENTS.md in the project root.
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(directory.path().join("foreword.db"));
        Self::on(&database, directory).await
    }

    /// Creates a world on an existing database.
    pub(crate) async fn on(database: &Database, directory: tempfile::TempDir) -> Self {
        let base = directory.path().canonicalize().unwrap();
        let store = Store::open(database).await.unwrap();
        let root = base.join("repo");
        let new = WorkspaceCreateParams {
            name: "w".to_owned(),
            root_path: Some(root.to_str().unwrap().to_owned()),
            agents: None,
        };
        let workspace = store.create_workspace(new, None).await.unwrap().id;
        let settings = AgentSettings::new(base.join("home"));
        let world = Self { store, workspace, settings, base, _directory: directory };
        world.write("repo/.git/HEAD", "");
        world.write("repo/AGENTS.md", "At the root.\n");
        prompt::create_bootstrap_files(&world.settings.home).unwrap();
        world
    }

    /// Switches to another workspace.
    pub(crate) fn in_workspace(self, workspace: WorkspaceId) -> Self {
        Self { workspace, ..self }
    }

    /// Returns a path below the temporary directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Moves the last use of every prompt text into the past.
    pub(crate) fn age_texts(&self, age: Duration) {
        let database = rusqlite::Connection::open(self.path("foreword.db")).unwrap();
        // The agent may be writing to the same file. Without a timeout, SQLite reports a busy database
        // immediately.
        database.busy_timeout(Duration::from_secs(5)).unwrap();
        let milliseconds = i64::try_from(age.as_millis()).unwrap();
        let aged =
            database.execute("UPDATE prompt_text SET last_used_at = last_used_at - ?1", [milliseconds]);
        assert!(aged.unwrap() > 0);
    }

    pub(crate) fn agent(&self) -> Agent {
        self.agent_with([])
    }

    pub(crate) fn agent_with(&self, packages: impl IntoIterator<Item = HookPackage>) -> Agent {
        Agent::new(self.store.clone(), self.settings.clone(), packages).unwrap()
    }

    /// Saves the document of the workspace root.
    pub(crate) async fn save(&self, text: &str) {
        let scope = Scope::root(self.workspace.clone());
        let save = DocumentSaveParams {
            workspace_id: scope.workspace_id,
            folder_id: scope.folder_id,
            content: text.to_owned(),
            expected_version: None,
            save_reason: None,
            message: None,
        };
        self.store.save_document(save, None).await.unwrap();
    }

    /// Sets the workspace's settings for instruction files, in their protocol form.
    pub(crate) async fn configure(&self, agents: serde_json::Value) {
        let agents: AgentsConfig = serde_json::from_value(agents).unwrap();
        let unchanged = WorkspaceUpdateParams::unchanged(self.workspace.clone());
        self.change(WorkspaceUpdateParams { agents: Some(agents), ..unchanged }).await;
    }

    pub(crate) async fn change(&self, changes: WorkspaceUpdateParams) {
        self.store.update_workspace(changes, None).await.unwrap();
    }

    /// Creates a thread without any turn.
    pub(crate) async fn thread(&self) -> PromptRequest {
        let new = ThreadCreateParams {
            workspace_id: self.workspace.clone(),
            folder_id: None,
            title: "t".to_owned(),
            mode: ThreadMode::Chat,
        };
        let thread = self.store.create_thread(new, None).await.unwrap();
        let scope =
            TurnScope { reach: TokenReach::Everything, ..TurnScope::new(self.workspace.clone(), thread.id) };
        PromptRequest { scope, cwd: None }
    }

    /// Creates a thread in which a turn runs.
    pub(crate) async fn turn(&self) -> (PromptRequest, TurnId) {
        let mut request = self.thread().await;
        // Ten minutes are longer than any test, so the lease never expires in the middle of one.
        let expires_at = Timestamp::from_milliseconds(Timestamp::now().milliseconds() + 600_000);
        let start = TurnStartParams::new(&request.scope.workspace_id, &request.scope.thread_id, "hello");
        let lease = Lease { owner: OWNER.to_owned(), expires_at };
        let turn = self.store.create_turn(start, lease, None, None).await.unwrap().id;
        request.scope.turn_id = Some(turn.clone());
        (request, turn)
    }

    /// Compiles the next prompt of a new thread.
    pub(crate) async fn prompt(&self) -> Result<CompiledPrompt, AgentError> {
        self.prompt_in(None).await
    }

    /// Compiles the next prompt of a new thread in a directory.
    pub(crate) async fn prompt_in(&self, cwd: Option<&str>) -> Result<CompiledPrompt, AgentError> {
        let mut request = self.thread().await;
        request.cwd = cwd.map(str::to_owned);
        Ok(self.agent().prepare(&request).await?.compiled)
    }

    /// Prepares and records the prompt of a turn.
    pub(crate) async fn keep(&self, agent: &Agent) -> (TurnId, CompiledPrompt) {
        let (request, turn) = self.turn().await;
        let compiled = agent.prepare(&request).await.unwrap().compiled;
        agent.record(&self.workspace, &turn, OWNER, 1, &compiled).await.unwrap();
        (turn, compiled)
    }

    /// Returns the records of a turn's hooks, once all are written.
    pub(crate) async fn hook_runs(&self, agent: &Agent, turn: &TurnId) -> Vec<HookRun> {
        // Records are written in the background. Shutting down waits for them.
        agent.shutdown(Duration::from_secs(30)).await;
        self.store.hook_runs(&self.workspace, turn).await.unwrap()
    }
}

pub(crate) fn ids(manifest: &PromptManifest) -> Vec<&str> {
    manifest.sections.iter().map(|section| section.id.as_str()).collect()
}

/// Returns the text of a section including its heading; `None` if it is missing.
pub(crate) fn section<'a>(compiled: &'a CompiledPrompt, id: &str) -> Option<&'a str> {
    compiled.sections.iter().find(|section| section.id == id).map(|section| &*section.text)
}

/// Returns the codes of the diagnostics about a section.
pub(crate) fn codes(manifest: &PromptManifest, section_id: &str) -> Vec<&'static str> {
    let about = |it: &&PromptDiagnostic| it.section_id.as_deref() == Some(section_id);
    manifest.diagnostics.iter().filter(about).map(|it| it.code.name()).collect()
}
