//! What agents would each read in a directory of a workspace.

use std::path::Path;

use compare::CompareRequest;
use futures_util::future::BoxFuture;
use instructions::{HomeDirectories, Profile};
use protocol::{Comparison, WorkspaceId};

use crate::directory::WorkingDirectory;
use crate::error::AgentError;
use crate::preparation::Agent;
use crate::task::blocking;

/// What is compared.
#[derive(Debug, Clone)]
pub struct ComparedPlace {
    /// The workspace.
    pub workspace_id: WorkspaceId,
    /// The directory; none: the workspace's own.
    pub path: Option<String>,
    /// A file that a tool reads there.
    pub reading: Option<String>,
    /// The agents.
    pub agents: Vec<&'static Profile>,
    /// Whether files of the user's own count.
    pub own_files: OwnFiles,
}

/// Whether files of the user's own count for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFiles {
    /// They do.
    Shown,
    /// Not even their names.
    Hidden,
}

impl Agent {
    /// What agents would each read in a directory of a workspace.
    pub fn compare(&self, place: ComparedPlace) -> BoxFuture<'_, Result<Comparison, AgentError>> {
        Box::pin(async move {
            let workspace = self.store.workspace(&place.workspace_id).await?;
            let directory = self.directory(&workspace, place.path.as_deref()).await?;
            let mut directory = directory.ok_or(AgentError::NoDirectory)?;
            if place.own_files == OwnFiles::Hidden {
                directory.settings.homes = HomeDirectories::default();
            }
            blocking(move || compared(&directory, &place)).await
        })
    }
}

fn compared(directory: &WorkingDirectory, place: &ComparedPlace) -> Result<Comparison, AgentError> {
    let reading = place.reading.as_deref().map(|file| directory.file(Path::new(file))).transpose()?;
    let request = CompareRequest {
        cwd: &directory.cwd,
        reading: reading.as_deref(),
        agents: &place.agents,
        settings: &directory.settings,
    };
    Ok(compare::compare(&request)?.comparison)
}
