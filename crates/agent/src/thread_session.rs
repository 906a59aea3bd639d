//! The session of a thread while a turn runs: started or resumed, and saved with the turn's end.

use std::sync::Arc;

use instructions::{FileReader, Reminder, Resolver, ResumeDifference, Session};
use protocol::{ThreadId, Version, WorkspaceId};
use store::StoreError;

use crate::directory::WorkingDirectory;
use crate::error::AgentError;
use crate::preparation::{Agent, PreparedSession};
use crate::subject::Subject;
use crate::task::blocking;

/// A session that a turn continues.
pub(crate) struct ThreadSession {
    pub(crate) session: Session,
    version: Version,
    directory: WorkingDirectory,
    difference: Option<ResumeDifference>,
    /// Whether it was started with this turn, from the disk as it is.
    is_new: bool,
}

impl ThreadSession {
    /// What the model is told of a disk that has changed since the last turn.
    pub(crate) fn reminder(&self) -> Option<Reminder> {
        self.difference.as_ref().and_then(ResumeDifference::reminder)
    }

    /// Says that the reminder has reached a message.
    pub(crate) fn confirm(&mut self) {
        if let Some(difference) = self.difference.take() {
            difference.confirm(&mut self.session);
        }
    }

    /// What follows the model as it moves.
    pub(crate) fn resolver(&self, agent: &Agent) -> Resolver {
        let (settings, cache) = (self.directory.settings.clone(), Arc::clone(&agent.cache));
        Resolver::new(self.session.clone(), settings, cache)
    }

    /// What is saved when the turn has ended well.
    pub(crate) fn after(&self, resolver: &Resolver) -> (Session, Version) {
        (resolver.session(), self.version)
    }
}

impl Agent {
    /// Starts a thread's session with its first turn, and resumes it with every later one.
    pub(crate) async fn open_session(
        &self,
        subject: &Subject,
        prepared: Option<PreparedSession>,
    ) -> Result<Option<ThreadSession>, AgentError> {
        let (Some(directory), Some(PreparedSession { session, stored })) =
            (subject.directory.clone(), prepared)
        else {
            return Ok(None);
        };
        if stored == Version(0) {
            let (workspace_id, thread_id) = (&subject.workspace.id, &subject.thread.id);
            let version =
                match self.store.save_session(workspace_id, thread_id, session.clone(), stored).await {
                    Ok(saved) => saved.version,
                    Err(StoreError::SessionChanged { .. }) => return Err(AgentError::LeaseLost),
                    Err(error) => return Err(error.into()),
                };
            return Ok(Some(ThreadSession { session, version, directory, difference: None, is_new: true }));
        }
        Ok(Some(ThreadSession { session, version: stored, directory, difference: None, is_new: false }))
    }

    /// Holds a resumed session against the disk.
    pub(crate) async fn compare_session(&self, session: &mut ThreadSession) -> Result<(), AgentError> {
        if session.is_new {
            return Ok(());
        }
        let difference = self.difference(&session.session, &session.directory).await?;
        session.difference = (!difference.is_empty()).then_some(difference);
        Ok(())
    }

    pub(crate) async fn difference(
        &self,
        session: &Session,
        directory: &WorkingDirectory,
    ) -> Result<ResumeDifference, AgentError> {
        let (cache, session, mut directory) = (Arc::clone(&self.cache), session.clone(), directory.clone());
        directory.settings = session.settings_over(directory.settings);
        let found = blocking(move || {
            ResumeDifference::find(&session, &directory.request(), FileReader::Present, Some(&cache))
        });
        Ok(found.await?)
    }

    /// A thread's session as it is stored; none before its first turn.
    pub async fn thread_session(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
    ) -> Result<Option<protocol::ThreadSession>, AgentError> {
        Ok(self.store.session(workspace_id, thread_id).await?)
    }

    /// A thread's session as it is stored, and what its next turn would be told of the disk.
    pub async fn resume(
        &self,
        workspace_id: &WorkspaceId,
        thread_id: &ThreadId,
        cwd: Option<&str>,
    ) -> Result<(Option<protocol::ThreadSession>, Option<Reminder>), AgentError> {
        let workspace = self.store.workspace(workspace_id).await?;
        let Some(stored) = self.thread_session(workspace_id, thread_id).await? else {
            return Ok((None, None));
        };
        let directory = self.directory(&workspace, cwd).await?;
        let Some(directory) = directory else { return Ok((Some(stored), None)) };
        let difference = self.difference(&stored.state, &directory).await?;
        Ok((Some(stored), difference.reminder()))
    }
}
