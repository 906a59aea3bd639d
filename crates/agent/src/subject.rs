//! The subject of a prompt or turn, loaded once.

use std::path::Path;
use std::sync::Arc;

use hooks::TurnContext;
use memory::phrase_against_remembering;
use protocol::{Audience, DelegateInstructions, Thread, TurnScope, Workspace};
use store::{TurnStart, TurnSubject};
use tools::RoundContext;

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::domains::delegation::ChildLimits;
use crate::error::AgentError;
use crate::prompt::prepare::{PromptRequest, SessionStart};

/// A [`PromptRequest`] with everything it names, loaded.
#[derive(Debug, Clone)]
pub(crate) struct PromptSubject {
    /// The scope of the request, completed with the mode and the directories.
    pub(crate) scope: Arc<TurnScope>,
    pub(crate) workspace: Workspace,
    pub(crate) thread: Thread,
    /// `None` if the workspace has no directory.
    pub(crate) directory: Option<WorkingDirectory>,
    /// Directory whose instruction files apply: the working directory, else the user's own; `None` without either.
    pub(crate) instructions: Option<WorkingDirectory>,
    pub(crate) start: SessionStart,
    /// Instructions given to delegated threads.
    pub(crate) delegate_instructions: DelegateInstructions,
    /// Number of threads above this one: 0 for a thread made by a user.
    pub(crate) depth: u32,
    /// Limits inherited from the turn that delegated the work.
    pub(crate) limits: ChildLimits,
}

impl PromptSubject {
    /// Returns the audience of the instructions.
    pub(crate) fn audience(&self) -> Audience {
        audience(&self.thread)
    }

    /// Returns the context for hooks.
    pub(crate) fn turn_context(&self) -> TurnContext {
        TurnContext {
            audience: self.audience(),
            delegate_instructions: self.delegate_instructions,
            inherits_document: self.thread.inherits_document,
            ..TurnContext::new(Arc::clone(&self.scope))
        }
    }

    /// Returns the context for the sources of tools in a round.
    pub(crate) fn round_context(&self, round: u32) -> RoundContext {
        RoundContext { scope: Arc::clone(&self.scope), round }
    }

    /// Returns the scope with the state that the turn starts from.
    pub(crate) fn scope_at(&self, start: &TurnStart) -> Arc<TurnScope> {
        Arc::new(TurnScope { has_memories: Some(start.has_memories), ..TurnScope::clone(&self.scope) })
    }
}

/// Returns the audience of a thread's instructions.
pub(crate) fn audience(thread: &Thread) -> Audience {
    if thread.parent_thread_id.is_some() { Audience::Delegate } else { Audience::Main }
}

impl Agent {
    /// Loads the subject of a request. A thread of another workspace is reported as missing.
    pub(crate) async fn load(&self, request: &PromptRequest) -> Result<PromptSubject, AgentError> {
        let workspace_id = &request.scope.workspace_id;
        let thread_id = &request.scope.thread_id;
        let TurnSubject { workspace, thread, .. } = self.store.turn_subject(workspace_id, thread_id).await?;
        let audience = audience(&thread);
        let directory = self.directory(&workspace, request.cwd.as_deref()).await?;
        let directory = directory.map(|directory| directory.read_by(audience));
        let delegate_instructions = self.settings.delegation.instructions;
        let instructions = match (audience, delegate_instructions) {
            (Audience::Delegate, DelegateInstructions::None) => None,
            _ => self.instruction_directory(&workspace, directory.as_ref()).await?,
        };
        let instructions = instructions.map(|directory| directory.read_by(audience));
        // Only delegated threads need this query, and most threads have no parent.
        let depth = match &thread.parent_thread_id {
            Some(_) => self.store.thread_depth(workspace_id, thread_id).await?,
            None => 0,
        };
        let root = directory.as_ref().and_then(|directory| directory.settings.bounds.workspace());
        let input = request.scope.input.as_deref();
        let scope = TurnScope {
            mode: thread.mode,
            root: root.map(Path::to_owned),
            directory: directory.as_ref().map(|directory| directory.cwd.clone()),
            // A delegated turn inherits the wish from its parent, whatever its goal is.
            off_the_record: (request.scope.off_the_record.clone())
                .or_else(|| input.and_then(phrase_against_remembering).map(str::to_owned)),
            ..request.scope.clone()
        };
        Ok(PromptSubject {
            scope: Arc::new(scope),
            workspace,
            thread,
            directory,
            instructions,
            start: SessionStart::Thread,
            delegate_instructions,
            depth,
            limits: ChildLimits::default(),
        })
    }

    /// Returns the directory whose instruction files apply.
    pub(crate) async fn instruction_directory(
        &self,
        workspace: &Workspace,
        directory: Option<&WorkingDirectory>,
    ) -> Result<Option<WorkingDirectory>, AgentError> {
        if let Some(directory) = directory {
            return Ok(Some(directory.clone()));
        }
        let workspace = workspace.clone();
        let settings = Arc::clone(&self.settings);
        blocking(move || WorkingDirectory::home(&workspace, &settings.files)).await
    }

    /// Returns the working directory of a request. Resolving links waits for the disk, so it runs on a blocking
    /// thread.
    pub(crate) async fn directory(
        &self,
        workspace: &Workspace,
        cwd: Option<&str>,
    ) -> Result<Option<WorkingDirectory>, AgentError> {
        if workspace.root_path.is_none() && cwd.is_none() {
            return Ok(None);
        }
        let workspace = workspace.clone();
        let cwd = cwd.map(str::to_owned);
        let settings = Arc::clone(&self.settings);
        blocking(move || WorkingDirectory::find(&workspace, cwd.as_deref(), &settings.files)).await
    }
}
