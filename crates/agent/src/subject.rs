//! The subject of a prompt or turn, loaded once.

use std::path::{Path, PathBuf};

use hooks::TurnContext;
use memory::asks_not_to_remember;
use protocol::{Audience, Thread, TurnId, Workspace};

use store::TurnSubject;
use tools::{RoundContext, RoundPurpose};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::domains::delegation::ChildLimits;
use crate::error::AgentError;
use crate::prompt::prepare::{PromptRequest, Reach, SessionStart};

/// A [`PromptRequest`] with everything it names, loaded.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) workspace: Workspace,
    pub(crate) thread: Thread,
    /// `None` if the workspace has no directory.
    pub(crate) directory: Option<WorkingDirectory>,
    /// Directory whose instruction files apply: the working directory, else the user's own; `None` without either.
    pub(crate) instructions: Option<WorkingDirectory>,
    pub(crate) request: PromptRequest,
    pub(crate) start: SessionStart,
    /// Number of threads above this one: 0 for a thread made by a user.
    pub(crate) depth: u32,
    /// Limits inherited from the turn that delegated the work.
    pub(crate) limits: ChildLimits,
}

impl Subject {
    /// Returns the workspace's directory.
    fn root(&self) -> Option<PathBuf> {
        let directory = self.directory.as_ref()?;
        directory.settings.bounds.workspace().map(Path::to_owned)
    }

    /// Returns the context for hooks.
    pub(crate) fn turn_context(&self) -> TurnContext {
        TurnContext {
            turn_id: self.request.turn_id.clone(),
            root: self.root(),
            directory: self.directory.as_ref().map(|directory| directory.cwd.clone()),
            actor: self.request.actor.clone(),
            is_bound: self.request.reach != Reach::Everything,
            input: self.request.input.clone(),
            is_off_the_record: self.is_off_the_record(),
            skills: self.request.skills.clone(),
            audience: audience(&self.thread),
            inherits_document: self.thread.inherits_document,
            ..TurnContext::new(self.workspace.id.clone(), self.thread.id.clone(), self.thread.mode)
        }
    }
}

impl Subject {
    /// Returns the user whose private memory the turn may use.
    pub(crate) fn memory_owner(&self) -> Option<&str> {
        self.request.reach.memory_owner(self.request.actor.as_deref())
    }

    /// Returns true if the user asked to remember nothing of the turn, directly or in the turn that delegated it.
    pub(crate) fn is_off_the_record(&self) -> bool {
        self.limits.is_off_the_record || self.request.input.as_deref().is_some_and(asks_not_to_remember)
    }

    /// Returns the context for the sources of tools in a round.
    pub(crate) fn round_context(&self, turn_id: TurnId, round: u32) -> RoundContext {
        RoundContext {
            workspace_id: self.workspace.id.clone(),
            thread_id: self.thread.id.clone(),
            turn_id,
            mode: self.thread.mode,
            root: self.root(),
            directory: self.directory.as_ref().map(|directory| directory.cwd.clone()),
            actor: self.request.actor.clone(),
            is_bound: self.request.reach == Reach::Workspace,
            chosen_domains: self.request.tool_domains.clone(),
            input: self.request.input.clone(),
            has_memories: None,
            round,
            is_off_the_record: self.is_off_the_record(),
            purpose: if self.request.turn_id.is_some() { RoundPurpose::Turn } else { RoundPurpose::Preview },
        }
    }
}

/// Returns the audience of a thread's instructions.
pub(crate) fn audience(thread: &Thread) -> Audience {
    if thread.parent_thread_id.is_some() { Audience::Delegate } else { Audience::Main }
}

impl Agent {
    /// Loads the subject of a request. A thread of another workspace is reported as missing.
    pub(crate) async fn load(&self, request: &PromptRequest) -> Result<Subject, AgentError> {
        let (workspace_id, thread_id) = (&request.workspace_id, &request.thread_id);
        let TurnSubject { workspace, thread, .. } = self.store.turn_subject(workspace_id, thread_id).await?;
        let audience = audience(&thread);
        let directory = self.directory(&workspace, request.cwd.as_deref()).await?;
        let directory = directory.map(|directory| directory.read_by(audience));
        let instructions = self.instruction_directory(&workspace, directory.as_ref()).await?;
        let instructions = instructions.map(|directory| directory.read_by(audience));
        let depth = match &thread.parent_thread_id {
            Some(_) => self.store.thread_depth(workspace_id, thread_id).await?,
            None => 0,
        };
        Ok(Subject {
            workspace,
            thread,
            directory,
            instructions,
            request: request.clone(),
            start: SessionStart::Thread,
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
        let (workspace, settings) = (workspace.clone(), std::sync::Arc::clone(&self.settings));
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
        let (workspace, cwd) = (workspace.clone(), cwd.map(str::to_owned));
        let settings = std::sync::Arc::clone(&self.settings);
        blocking(move || WorkingDirectory::find(&workspace, cwd.as_deref(), &settings.files)).await
    }
}
