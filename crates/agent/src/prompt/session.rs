//! The session of a thread during a turn: started or resumed, and saved with the turn's end.

use futures_util::future::BoxFuture;
use std::path::PathBuf;
use std::sync::Arc;

use instructions::{FileReader, Reminder, Resolver, ResumeDifference, Session};
use prompt::FileTools;
use protocol::{ThreadId, ThreadMode, Version, WorkspaceId};
use store::TurnSubject;

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::error::AgentError;
use crate::prompt::prepare::PreparedSession;
use crate::subject::{PromptSubject, audience};

/// The session that a turn continues.
pub(crate) struct ThreadSession {
    pub(crate) session: Session,
    /// The stored version; 0 if the session starts with this turn.
    version: Version,
    directory: WorkingDirectory,
    reader: FileReader,
    difference: Option<ResumeDifference>,
}

/// Returns `Present` if a turn has file tools. Chats never have any.
pub(crate) fn file_tools(mode: ThreadMode, has_directory: bool) -> FileTools {
    if mode == ThreadMode::Agent && has_directory { FileTools::Present } else { FileTools::Absent }
}

/// Returns `Present` if a turn can read a file that a reminder points to.
pub(crate) fn file_reader(mode: ThreadMode, directory: Option<&WorkingDirectory>) -> FileReader {
    match file_tools(mode, directory.is_some()) {
        FileTools::Present => FileReader::Present,
        FileTools::Absent => FileReader::Absent,
    }
}

impl ThreadSession {
    /// Returns the reminder about files that changed since the last turn.
    pub(crate) fn reminder(&self) -> Option<Reminder> {
        self.difference.as_ref().and_then(ResumeDifference::reminder)
    }

    /// Returns the files that instruct the model, including imported ones.
    pub(crate) fn instruction_paths(&self) -> Vec<PathBuf> {
        let told = self.reminder().map(|reminder| reminder.paths()).unwrap_or_default();
        self.session.loaded_versions.keys().cloned().chain(told).collect()
    }

    /// Marks the reminder as delivered.
    pub(crate) fn confirm(&mut self) {
        if let Some(difference) = self.difference.take() {
            difference.confirm(&mut self.session);
        }
    }

    /// Compares the disk with what the model was given during the turn.
    pub(crate) async fn difference_from(
        &self,
        agent: &Agent,
        session: &Session,
    ) -> Result<ResumeDifference, AgentError> {
        agent.difference(session, &self.directory, self.reader).await
    }

    /// Returns the resolver for paths that the model touches.
    pub(crate) fn resolver(&self, agent: &Agent) -> Resolver {
        let settings = self.directory.settings.clone();
        let cache = Arc::clone(&agent.cache);
        Resolver::new(self.session.clone(), settings, cache).with_reader(self.reader)
    }

    /// Returns the session to save when the turn completes.
    pub(crate) fn after(&self, resolver: &Resolver) -> (Session, Version) {
        (resolver.session(), self.version)
    }
}

/// A stored session, and the reminder about changes since then.
type SessionAndReminder = (Option<protocol::ThreadSession>, Option<Reminder>);

impl Agent {
    /// Opens the session that a turn continues. A new one is stored only when the turn completes, so that the next
    /// turn after a failure reads the files again.
    pub(crate) fn open_session(
        &self,
        subject: &PromptSubject,
        prepared: Option<PreparedSession>,
    ) -> Option<ThreadSession> {
        let (Some(directory), Some(PreparedSession { session, stored })) =
            (subject.instructions.clone(), prepared)
        else {
            return None;
        };
        let reader = file_reader(subject.thread.mode, subject.directory.as_ref());
        Some(ThreadSession { session, version: stored, directory, reader, difference: None })
    }

    /// Compares a resumed session with the disk.
    pub(crate) async fn compare_session(&self, session: &mut ThreadSession) -> Result<(), AgentError> {
        if session.version == Version(0) {
            return Ok(());
        }
        let difference = self.difference(&session.session, &session.directory, session.reader).await?;
        session.difference = (!difference.is_empty()).then_some(difference);
        Ok(())
    }

    pub(crate) async fn difference(
        &self,
        session: &Session,
        directory: &WorkingDirectory,
        reader: FileReader,
    ) -> Result<ResumeDifference, AgentError> {
        let cache = Arc::clone(&self.cache);
        let session = session.clone();
        let mut directory = directory.clone();
        // The session's own settings win. Otherwise a changed limit or profile would look like changed files.
        directory.settings = session.overlay_on(directory.settings);
        let found =
            blocking(move || ResumeDifference::find(&session, &directory.request(), reader, Some(&cache)));
        Ok(found.await?)
    }

    /// Returns the stored session of a thread; `None` before its first completed turn.
    pub fn thread_session<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
    ) -> BoxFuture<'a, Result<Option<protocol::ThreadSession>, AgentError>> {
        Box::pin(async move { Ok(self.store.session(workspace_id, thread_id).await?) })
    }

    /// Returns the stored session of a thread, and the reminder that its next turn would get.
    pub fn resume<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        thread_id: &'a ThreadId,
        cwd: Option<&'a str>,
    ) -> BoxFuture<'a, Result<SessionAndReminder, AgentError>> {
        Box::pin(async move {
            let TurnSubject { workspace, thread, .. } =
                self.store.turn_subject(workspace_id, thread_id).await?;
            let Some(stored) = self.thread_session(workspace_id, thread_id).await? else {
                return Ok((None, None));
            };
            let directory = self.directory(&workspace, cwd).await?;
            let reader = file_reader(thread.mode, directory.as_ref());
            let directory = self.instruction_directory(&workspace, directory.as_ref()).await?;
            let Some(directory) = directory else { return Ok((Some(stored), None)) };
            let directory = directory.read_by(audience(&thread));
            let difference = self.difference(&stored.state, &directory, reader).await?;
            Ok((Some(stored), difference.reminder()))
        })
    }
}
