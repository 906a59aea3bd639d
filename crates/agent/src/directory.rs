//! The directory a thread works in, and the rules for instruction files there.

use std::path::{Path, PathBuf};

use instructions::{Profile, Surroundings, path::normalise};
use protocol::{AgentsConfig, Workspace};

use crate::error::AgentError;
use crate::settings::FileSettings;

/// A directory inside a workspace's, and how instruction files are found in it.
#[derive(Debug, Clone)]
pub(crate) struct WorkingDirectory {
    pub(crate) cwd: PathBuf,
    pub(crate) profile: &'static Profile,
    pub(crate) settings: instructions::Settings,
    pub(crate) surroundings: Surroundings,
}

impl WorkingDirectory {
    /// The directory of a call; none where the workspace has none.
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
        // What does not even look as if it were inside is refused without being looked at.
        if !cwd.starts_with(&root) {
            return Err(outside());
        }
        // Files are looked for in every directory on the way, so a way that leaves and comes back is none. From the root
        // down, so that nobody learns from the error what there is outside.
        let real_root = real(&root)?;
        let mut way: Vec<&Path> =
            cwd.ancestors().take_while(|directory| directory.starts_with(&root)).collect();
        way.reverse();
        for directory in way {
            if !real(directory)?.starts_with(&real_root) {
                return Err(outside());
            }
        }
        let mut settings = configured(&files.settings, workspace.agents.as_ref(), &root, &cwd)?;
        settings.ceiling = Some(root);
        let (profile, surroundings) = (files.profile, files.surroundings.clone());
        Ok(Some(Self { cwd, profile, settings, surroundings }))
    }

    pub(crate) fn request(&self) -> instructions::Request<'_> {
        instructions::Request {
            profile: self.profile,
            cwd: &self.cwd,
            settings: &self.settings,
            surroundings: &self.surroundings,
        }
    }
}

/// The gateway's settings with what a workspace says otherwise.
fn configured(
    base: &instructions::Settings,
    config: Option<&AgentsConfig>,
    root_path: &Path,
    cwd: &Path,
) -> Result<instructions::Settings, AgentError> {
    let mut settings = base.clone();
    // The gateway's own root is for one project, which need not be this one.
    settings.root = settings.root.filter(|root| root.starts_with(root_path) && cwd.starts_with(root));
    let Some(config) = config else { return Ok(settings) };
    let set = |place: &mut bool, value: Option<bool>| *place = value.unwrap_or(*place);
    set(&mut settings.enabled, config.enabled);
    if let Some(root) = &config.root {
        if let Some(path) = &root.project_root_override {
            let wanted = normalise(Path::new(path), root_path);
            // A root outside of the workspace's directory would read what the workspace must not.
            if !wanted.starts_with(root_path) {
                return Err(AgentError::RootOutsideWorkspace { wanted, root: root_path.to_owned() });
            }
            settings.root = Some(wanted);
        }
        settings.markers = root.markers.clone().or(settings.markers);
        set(&mut settings.stop_at_fs_root, root.stop_at_fs_root);
    }
    if let Some(initial) = &config.initial {
        settings.max_files = initial.max_files.map(Into::into).or(settings.max_files);
        settings.max_bytes = initial.max_bytes.map(Into::into).or(settings.max_bytes);
    }
    if let Some(resolver) = &config.resolver {
        set(&mut settings.resolver_enabled, resolver.enabled);
        if let Some(most) = resolver.max_files_per_resolve {
            settings.max_files_per_resolve = usize::try_from(most.get()).unwrap_or(usize::MAX);
        }
    }
    Ok(settings)
}
