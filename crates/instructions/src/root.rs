//! Where a project begins.

use std::path::{Path, PathBuf};

use crate::cache::{DirectoryReader, Marker};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::path;
use crate::profile::{EmptyMarkers, Fallbacks, RootOverride, WithoutMarker};
use crate::resolution::Request;
use crate::settings::{FileSettings, ProjectBounds, SettingsError};

/// A project root, and why it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// The directory; none when only the working directory counts.
    pub(crate) directory: Option<PathBuf>,
    /// Why, in words.
    pub(crate) reason: String,
}

/// The markers that hold.
pub(crate) fn markers(settings: &FileSettings) -> Result<Vec<String>, SettingsError> {
    let profile = settings.profile;
    let defaults = || profile.markers.iter().map(|marker| (*marker).to_owned()).collect();
    let Some(markers) = &settings.agents.root.markers else { return Ok(defaults()) };
    if markers.is_empty() && profile.empty_markers == EmptyMarkers::Defaults {
        return Ok(defaults());
    }
    let leads_out = |marker: &&String| {
        marker.trim().is_empty()
            || Path::new(marker).components().any(|part| !matches!(part, std::path::Component::Normal(_)))
    };
    match markers.iter().find(leads_out) {
        // Agents that take any marker are followed in that.
        Some(name) if profile.fallbacks == Fallbacks::Strict => {
            Err(SettingsError::Marker { name: name.clone() })
        }
        _ => Ok(markers.clone()),
    }
}

/// Finds the root of a request's working directory. The markers are the last of the names that `reader` knows.
pub(crate) fn find(
    request: &Request<'_>,
    markers: &[String],
    reader: &mut DirectoryReader<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Root, SettingsError> {
    if let Some(root) = settled(request)? {
        return Ok(root);
    }
    if markers.is_empty() {
        let reason = "there are no markers, so only the working directory counts".to_owned();
        return Ok(Root { directory: None, reason });
    }
    Ok(match search(request, markers, reader, diagnostics) {
        Search::Found { directory, marker } => marked(directory, marker, &request.settings.bounds),
        Search::Nowhere { searched } => unmarked(request, &searched, markers),
    })
}

/// The root where no marker has to be looked for.
fn settled(request: &Request<'_>) -> Result<Option<Root>, SettingsError> {
    let Request { cwd, settings } = *request;
    if settings.bounds == ProjectBounds::HomeOnly {
        let reason = "there is no project, so only your own file counts".to_owned();
        return Ok(Some(Root { directory: None, reason }));
    }
    if settings.profile.root_override != RootOverride::Allowed {
        return Ok(None);
    }
    if let Some(root) = &settings.agents.root.project_root_override {
        let root = path::normalise(root, cwd);
        if !cwd.starts_with(&root) {
            return Err(SettingsError::RootElsewhere { root, cwd: cwd.to_owned() });
        }
        return Ok(Some(Root { directory: Some(root), reason: "the root was given".to_owned() }));
    }
    let ProjectBounds::Workspace(directory) = &settings.bounds else { return Ok(None) };
    let reason = "it is the workspace's directory".to_owned();
    Ok(Some(Root { directory: Some(directory.clone()), reason }))
}

/// What a search for markers came to.
enum Search<'a> {
    Found {
        directory: &'a Path,
        marker: &'a str,
    },
    Nowhere {
        /// Which directories were searched, in words.
        searched: String,
    },
}

/// Looks for a marker from the working directory upwards.
fn search<'a>(
    request: &Request<'a>,
    markers: &'a [String],
    reader: &mut DirectoryReader<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Search<'a> {
    let Request { cwd, settings } = *request;
    let first_marker = reader.names() - markers.len();
    for directory in cwd.ancestors() {
        let is_home = settings.homes.user.as_deref() == Some(directory);
        for (index, marker) in markers.iter().enumerate() {
            if is_home && settings.profile.markers_not_in_home.contains(&marker.as_str()) {
                continue;
            }
            match reader.has_marker(directory, first_marker + index) {
                Marker::Present => return Search::Found { directory, marker },
                Marker::Dangling => {
                    let message =
                        format!("`{marker}` is a link that leads nowhere, so it does not mark a root");
                    let (code, link) = (DiagnosticCode::DanglingMarker, directory.join(marker));
                    diagnostics.push(Diagnostic::new(code, Severity::Warning, &link, message));
                }
                Marker::Absent => {}
            }
        }
        if is_home && !settings.stop_at_fs_root() {
            let home = directory.display();
            return Search::Nowhere {
                searched: format!("up to your home directory {home}, where the search stops,"),
            };
        }
    }
    Search::Nowhere { searched: "above".to_owned() }
}

/// The root that a marker makes; a workspace's directory bounds it.
fn marked(directory: &Path, marker: &str, bounds: &ProjectBounds) -> Root {
    match bounds.workspace() {
        Some(workspace) if !directory.starts_with(workspace) => Root {
            directory: Some(workspace.to_owned()),
            reason: format!("`{marker}` is above the workspace's directory, and nothing above that counts"),
        },
        _ => Root {
            directory: Some(directory.to_owned()),
            reason: format!("it is the nearest directory with `{marker}`"),
        },
    }
}

/// The root where there is no marker.
fn unmarked(request: &Request<'_>, searched: &str, markers: &[String]) -> Root {
    let missing = format!("no directory {searched} has `{}`", markers.join("`, `"));
    match request.settings.profile.without_marker {
        WithoutMarker::NoRoot => {
            Root { directory: None, reason: format!("{missing}, so only the working directory counts") }
        }
        WithoutMarker::CwdIsRoot => Root {
            directory: Some(request.cwd.to_owned()),
            reason: format!("{missing}, so the working directory is the root"),
        },
    }
}
