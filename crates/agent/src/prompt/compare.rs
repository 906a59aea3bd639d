//! The instruction files that agents would read in a directory of a workspace.

use std::path::Path;

use compare::CompareRequest;
use futures_util::future::BoxFuture;
use instructions::{AboveRoot, HomeDirectories, Profile, Resolution};
use protocol::{Comparison, WorkspaceId};

use crate::agent::Agent;
use crate::blocking::blocking;
use crate::directory::WorkingDirectory;
use crate::error::AgentError;

/// Request to compare agents.
#[derive(Debug, Clone)]
pub struct CompareTarget {
    pub workspace_id: WorkspaceId,
    /// The directory; `None` uses the workspace's own.
    pub path: Option<String>,
    /// A file that a tool reads there.
    pub reading: Option<String>,
    pub agents: Vec<&'static Profile>,
    pub own_files: OwnFiles,
}

/// Visibility of the user's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFiles {
    Shown,
    /// Not even their names are shown.
    Hidden,
}

/// Request to survey one agent.
#[derive(Debug, Clone)]
pub struct SurveyTarget {
    pub workspace_id: WorkspaceId,
    /// A directory, or a file in it; `None` uses the workspace's own directory.
    pub path: Option<String>,
    /// A file that is edited or created there.
    pub file: Option<String>,
    /// The agent's profile; `None` uses the workspace's.
    pub profile: Option<&'static Profile>,
    pub own_files: OwnFiles,
}

impl Agent {
    /// Returns what one agent would read in a directory of a workspace, with the reasons.
    pub fn survey(&self, place: SurveyTarget) -> BoxFuture<'_, Result<Resolution, AgentError>> {
        Box::pin(async move {
            let SurveyTarget { workspace_id, path, file, profile, own_files } = place;
            let mut directory = self.directory_for(&workspace_id, path.as_deref(), own_files).await?;
            if let Some(profile) = profile {
                directory.settings = compare::settings_for(profile, &directory.settings);
            }
            blocking(move || {
                let file = file.map(|file| directory.file(Path::new(&file))).transpose()?;
                Ok(match file {
                    Some(file) => instructions::survey_for(&directory.request(), &file)?,
                    None => instructions::survey(&directory.request())?,
                })
            })
            .await
        })
    }

    /// Compares what several agents would read in a directory of a workspace.
    pub fn compare(&self, place: CompareTarget) -> BoxFuture<'_, Result<Comparison, AgentError>> {
        Box::pin(async move {
            let path = place.path.as_deref();
            let directory = self.directory_for(&place.workspace_id, path, place.own_files).await?;
            blocking(move || compared(&directory, &place)).await
        })
    }

    async fn directory_for(
        &self,
        workspace_id: &WorkspaceId,
        path: Option<&str>,
        own_files: OwnFiles,
    ) -> Result<WorkingDirectory, AgentError> {
        let workspace = self.store.workspace(workspace_id).await?;
        let directory = self.directory(&workspace, path).await?;
        let mut directory = directory.ok_or(AgentError::NoDirectory)?.of_file();
        if own_files == OwnFiles::Hidden {
            // Even a decision about a missing file would reveal what the owner's home directory contains.
            directory.settings.homes = HomeDirectories::default();
            directory.settings.above_root = AboveRoot::Hidden;
        }
        Ok(directory)
    }
}

fn compared(directory: &WorkingDirectory, place: &CompareTarget) -> Result<Comparison, AgentError> {
    let reading = place.reading.as_deref().map(|file| directory.file(Path::new(file))).transpose()?;
    let request = CompareRequest {
        cwd: &directory.cwd,
        reading: reading.as_deref(),
        agents: &place.agents,
        settings: &directory.settings,
    };
    Ok(compare::compare(&request)?.comparison)
}
