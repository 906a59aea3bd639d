//! The working directory of a thread and its rules for instruction files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use instructions::{FileSettings, ProjectBounds, Request, ResolveError, UnsafeText, path::normalise};
use protocol::{AgentsConfig, Audience, Workspace};

use crate::error::AgentError;

/// A directory inside the workspace root, with the settings for its instruction files.
#[derive(Debug, Clone)]
pub(crate) struct WorkingDirectory {
    pub(crate) cwd: PathBuf,
    pub(crate) settings: FileSettings,
}

impl WorkingDirectory {
    /// Finds the directory of a request; `None` if the workspace has no directory.
    pub(crate) fn find(
        workspace: &Workspace,
        cwd: Option<&str>,
        files: &FileSettings,
    ) -> Result<Option<Self>, AgentError> {
        let Some(root) = workspace.root_path.as_deref() else {
            return if cwd.is_some() { Err(AgentError::NoDirectory) } else { Ok(None) };
        };
        let root = normalise(Path::new(root), Path::new("/"));
        let cwd = cwd.map_or_else(|| root.clone(), |cwd| normalise(Path::new(cwd), &root));
        let real = |path: &Path| {
            path.canonicalize().map_err(|source| AgentError::Directory { path: path.to_owned(), source })
        };
        let outside = || AgentError::OutsideWorkspace { cwd: cwd.clone(), root: root.clone() };
        // Reject paths that are lexically outside before touching the disk.
        if !cwd.starts_with(&root) {
            return Err(outside());
        }
        // Instruction files are searched in every directory on the path, so a path that leaves the root through a
        // link and returns is rejected. Checking from the root down keeps the error from revealing what exists
        // outside.
        let real_root = real(&root)?;
        let mut way: Vec<&Path> =
            cwd.ancestors().take_while(|directory| directory.starts_with(&root)).collect();
        way.reverse();
        for directory in way {
            // Compare resolved paths, because a link inside the root may point anywhere.
            if !real(directory)?.starts_with(&real_root) {
                return Err(outside());
            }
        }
        let mut settings = configured(files, workspace.agents.as_ref(), &root, &cwd)?;
        settings.bounds = ProjectBounds::Workspace(root);
        Ok(Some(Self { cwd, settings }))
    }

    /// Returns the directory of the user's own instructions, for a workspace without a directory; nothing else
    /// applies there.
    pub(crate) fn home(workspace: &Workspace, files: &FileSettings) -> Result<Option<Self>, AgentError> {
        let mut settings = delivered(files);
        if let Some(config) = &workspace.agents {
            settings.apply(config).map_err(ResolveError::from)?;
        }
        // There is no project here, so the search must not go up from the home directory and find one.
        settings.bounds = ProjectBounds::HomeOnly;
        let home = settings.homes.of(settings.profile).filter(|home| home.is_dir());
        Ok(home.map(Path::to_owned).map(|cwd| Self { cwd, settings }))
    }

    /// Resolves a file inside the workspace root, relative to this directory. It need not exist, but no directory on
    /// its path may lead outside.
    pub(crate) fn file(&self, file: &Path) -> Result<PathBuf, AgentError> {
        let file = normalise(file, &self.cwd);
        let Some(root) = self.settings.bounds.workspace() else { return Err(AgentError::NoDirectory) };
        let outside = || AgentError::OutsideWorkspace { cwd: file.clone(), root: root.to_owned() };
        if !file.starts_with(root) {
            return Err(outside());
        }
        let failed = |path: &Path, source| AgentError::Directory { path: path.to_owned(), source };
        let real_root = root.canonicalize().map_err(|source| failed(root, source))?;
        let mut way: Vec<&Path> =
            file.ancestors().skip(1).take_while(|directory| directory.starts_with(root)).collect();
        way.reverse();
        for directory in way {
            match directory.canonicalize() {
                Ok(real) if real.starts_with(&real_root) => {}
                Ok(_) => return Err(outside()),
                // Nothing below a missing directory can be a link.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => break,
                Err(source) => return Err(failed(directory, source)),
            }
        }
        Ok(file)
    }

    /// Replaces a path to a file by the directory that contains it.
    pub(crate) fn of_file(mut self) -> Self {
        if self.cwd.is_file()
            && let Some(parent) = self.cwd.parent()
        {
            self.cwd = parent.to_owned();
        }
        self
    }

    /// Sets the audience of the instructions.
    pub(crate) fn read_by(mut self, audience: Audience) -> Self {
        self.settings.audience = audience;
        self
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request { cwd: &self.cwd, settings: &self.settings }
    }
}

/// Returns the gateway's settings for text that is sent to a model. A workspace may choose an agent whose profile passes unsafe
/// text on, but not that we do.
fn delivered(base: &FileSettings) -> FileSettings {
    FileSettings { unsafe_text: Some(UnsafeText::MadeHarmless), ..base.clone() }
}

/// Merges the gateway's settings with those of the workspace.
fn configured(
    base: &FileSettings,
    config: Option<&AgentsConfig>,
    root_path: &Path,
    cwd: &Path,
) -> Result<FileSettings, AgentError> {
    let mut settings = delivered(base);
    // The gateway's project root belongs to one project, which need not be this one.
    let given = &mut settings.agents.root.project_root_override;
    *given = given.take().filter(|root| root.starts_with(root_path) && cwd.starts_with(root));
    let Some(config) = config else { return Ok(settings) };
    settings.apply(config).map_err(ResolveError::from)?;
    if let Some(path) = &config.root.project_root_override {
        let wanted = normalise(path, root_path);
        // A project root outside of the workspace root would read files that the workspace must not see.
        if !wanted.starts_with(root_path) {
            return Err(AgentError::RootOutsideWorkspace { wanted, root: root_path.to_owned() });
        }
        settings.agents.root.project_root_override = Some(wanted);
    }
    Ok(settings)
}
