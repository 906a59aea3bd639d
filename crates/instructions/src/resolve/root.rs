//! Finds the project root.

use std::path::{Path, PathBuf};

use crate::cache::{DirectoryReader, Marker};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::git;
use crate::fs::path;
use crate::profile::{EmptyMarkers, Fallbacks, MarkerCheck, Reach, RootMarker, RootOverride, WithoutMarker};
use crate::resolve::resolution::Request;
use crate::settings::{FileSettings, ProjectBounds, SettingsError};

/// A project root, with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// The directory. `None` if only the working directory counts.
    pub(crate) directory: Option<PathBuf>,
    /// Topmost directory that is searched.
    pub(crate) top: PathBuf,
    /// Reason in words.
    pub(crate) reason: String,
    /// True if it is a workspace's directory because no directory has a marker.
    pub(crate) is_fallback: bool,
}

/// Returns the markers in effect.
pub(crate) fn markers(settings: &FileSettings) -> Result<Vec<String>, SettingsError> {
    let profile = settings.profile;
    let defaults = || profile.search.markers.iter().map(|marker| marker.name().to_owned()).collect();
    let Some(markers) = &settings.agents.root.markers else { return Ok(defaults()) };
    // An agent that consults Git, or searches no markers at all, ignores configured ones.
    if profile.search.markers.is_empty() || profile.search.marker_check != MarkerCheck::Present {
        return Ok(defaults());
    }
    // Some agents take an empty list for a missing setting, others for a project without a root.
    if markers.is_empty() && profile.search.empty_markers == EmptyMarkers::Defaults {
        return Ok(defaults());
    }
    let leads_out = |marker: &&String| {
        marker.trim().is_empty()
            || Path::new(marker).components().any(|part| !matches!(part, std::path::Component::Normal(_)))
    };
    match markers.iter().find(leads_out) {
        // Other agents accept any marker, so theirs are used unchecked.
        Some(name) if profile.choose.fallbacks == Fallbacks::Strict => {
            Err(SettingsError::Marker { name: name.clone() })
        }
        _ => Ok(markers.clone()),
    }
}

/// Finds the root of a request's working directory. The markers are the last names that `reader` knows.
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
        return Ok(match request.settings.profile.search.empty_markers {
            EmptyMarkers::WholePath => whole_path(request, "there are no markers".to_owned()),
            EmptyMarkers::CwdOnly | EmptyMarkers::Defaults => Root {
                directory: None,
                top: request.cwd.to_owned(),
                reason: "there are no markers, so only the working directory counts".to_owned(),
                is_fallback: false,
            },
        });
    }
    Ok(match search(request, markers, reader, diagnostics) {
        MarkerSearch::Found { directory, marker } => marked(request, directory, marker),
        MarkerSearch::Nowhere { searched } => unmarked(request, &searched, markers),
    })
}

/// Returns the root if settings decide it without a search.
fn settled(request: &Request<'_>) -> Result<Option<Root>, SettingsError> {
    let Request { cwd, settings } = *request;
    if settings.bounds == ProjectBounds::HomeOnly {
        let reason = "there is no project, so only your own file counts".to_owned();
        return Ok(Some(Root { directory: None, top: cwd.to_owned(), reason, is_fallback: false }));
    }
    // Without support for a fixed root, even a workspace only limits the search of the agent.
    if settings.profile.search.root_override != RootOverride::Allowed {
        return Ok(None);
    }
    if let Some(root) = &settings.agents.root.project_root_override {
        let root = path::normalise(root, cwd);
        if !cwd.starts_with(&root) {
            return Err(SettingsError::RootElsewhere { root, cwd: cwd.to_owned() });
        }
        let reason = "the root was given".to_owned();
        return Ok(Some(Root { top: root.clone(), directory: Some(root), reason, is_fallback: false }));
    }
    Ok(None)
}

/// Result of a search for markers.
enum MarkerSearch<'a> {
    Found {
        directory: &'a Path,
        marker: &'a str,
    },
    Nowhere {
        /// Description of the searched directories.
        searched: String,
    },
}

/// Searches a marker from the working directory upwards.
fn search<'a>(
    request: &Request<'a>,
    markers: &'a [String],
    reader: &mut DirectoryReader<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> MarkerSearch<'a> {
    let Request { cwd, settings } = *request;
    // The markers are the last names of the reader.
    let first_marker = reader.names() - markers.len();
    let own = settings.homes.of(settings.profile);
    for directory in cwd.ancestors() {
        let is_home = settings.homes.user.as_deref() == Some(directory);
        for (index, marker) in markers.iter().enumerate() {
            let counts_outside_home =
                |known: &RootMarker| matches!(known, RootMarker::OutsideHome(name) if name == marker);
            if is_home && settings.profile.search.markers.iter().any(counts_outside_home) {
                continue;
            }
            // The user's own configuration would make a project of everything around it.
            if own.is_some_and(|own| is_same_directory(own, directory, marker)) {
                continue;
            }
            let found = match settings.profile.search.marker_check {
                MarkerCheck::Present => reader.has_marker(directory, first_marker + index),
                check => {
                    // The checks read files inside `.git`, which the evidence of a cached answer does not cover.
                    reader.disable_caching();
                    git::marker(&directory.join(marker), check, &settings.source)
                }
            };
            match found {
                Marker::Present
                    if settings.profile.search.marker_check == MarkerCheck::RepositoryOrFile
                        && cwd.starts_with(directory.join(marker)) =>
                {
                    return MarkerSearch::Nowhere {
                        searched: format!("up to `{marker}`, which has no work tree,"),
                    };
                }
                Marker::Present => return MarkerSearch::Found { directory, marker },
                Marker::Dangling => {
                    let message =
                        format!("`{marker}` is a link that leads nowhere, so it does not mark a root");
                    let (code, link) = (DiagnosticCode::DanglingMarker, directory.join(marker));
                    diagnostics.push(Diagnostic::new(code, Severity::Warning, &link, message));
                }
                Marker::Refused => {
                    let marker = directory.join(marker);
                    return MarkerSearch::Nowhere {
                        searched: format!("up to {}, which Git refuses,", marker.display()),
                    };
                }
                Marker::Absent => {}
            }
        }
        if is_home && !settings.stop_at_fs_root() {
            let home = directory.display();
            return MarkerSearch::Nowhere {
                searched: format!("up to your home directory {home}, where the search stops,"),
            };
        }
    }
    MarkerSearch::Nowhere { searched: "above".to_owned() }
}

/// Returns true if `marker` in `directory` is the directory `own`, also through links.
fn is_same_directory(own: &Path, directory: &Path, marker: &str) -> bool {
    if own.file_name() != Path::new(marker).file_name() {
        return false;
    }
    let found = directory.join(marker);
    found == own || own.canonicalize().is_ok_and(|own| found.canonicalize().is_ok_and(|found| found == own))
}

/// Returns the root at a marker. A workspace's directory bounds it.
fn marked(request: &Request<'_>, directory: &Path, marker: &str) -> Root {
    let Request { settings, .. } = *request;
    match settings.bounds.workspace() {
        Some(workspace) if !directory.starts_with(workspace) => Root {
            directory: Some(workspace.to_owned()),
            top: workspace.to_owned(),
            reason: format!("`{marker}` is above the workspace's directory, and nothing above that counts"),
            is_fallback: false,
        },
        workspace => {
            let (mut top, mut reach) = (directory, "");
            if settings.profile.search.reach == Reach::OneAbove
                && workspace != Some(directory)
                && let Some(above) = directory.parent()
            {
                (top, reach) = (above, "; files of the directory above it count, too");
            }
            Root {
                directory: Some(directory.to_owned()),
                top: top.to_owned(),
                reason: format!("it is the nearest directory with `{marker}`{reach}"),
                is_fallback: false,
            }
        }
    }
}

/// Returns the root of a project without a marker.
fn unmarked(request: &Request<'_>, searched: &str, markers: &[String]) -> Root {
    let missing = format!("no directory {searched} has `{}`", markers.join("`, `"));
    let cwd = request.cwd.to_owned();
    // A workspace is a project even without a marker. An agent that knows no fixed root does not know workspaces either.
    if let Some(workspace) = request.settings.bounds.workspace()
        && request.settings.profile.search.root_override == RootOverride::Allowed
    {
        return Root {
            directory: Some(workspace.to_owned()),
            top: workspace.to_owned(),
            reason: format!("{missing}, so the workspace's directory is the root"),
            is_fallback: true,
        };
    }
    match request.settings.profile.search.without_marker {
        WithoutMarker::NoRoot => Root {
            directory: None,
            top: cwd,
            reason: format!("{missing}, so only the working directory counts"),
            is_fallback: false,
        },
        WithoutMarker::CwdIsRoot => Root {
            directory: Some(cwd.clone()),
            top: cwd,
            reason: format!("{missing}, so the working directory is the root"),
            is_fallback: false,
        },
        WithoutMarker::WholePath => whole_path(request, missing),
    }
}

/// Returns a root-less result that includes every directory above the working directory, as far as the profile
/// reaches and a workspace allows.
fn whole_path(request: &Request<'_>, why: String) -> Root {
    let Request { cwd, settings } = *request;
    let (top, until) = match (settings.profile.search.reach, settings.homes.user.as_deref()) {
        (Reach::OneAbove, Some(home)) if cwd == home => (cwd, "the home directory"),
        (Reach::OneAbove, Some(home)) => match home.parent().filter(|above| cwd.starts_with(above)) {
            Some(above) => (above, "the directory above your home directory"),
            None => (file_system_root(cwd), "the file system's root"),
        },
        _ => (file_system_root(cwd), "the file system's root"),
    };
    if let Some(workspace) = settings.bounds.workspace().filter(|workspace| !top.starts_with(workspace)) {
        let reason = format!("{why}, and nothing above the workspace's directory counts");
        return Root {
            directory: Some(workspace.to_owned()),
            top: workspace.to_owned(),
            reason,
            is_fallback: false,
        };
    }
    let reason = format!("{why}, so every directory up to {until} counts");
    Root { directory: None, top: top.to_owned(), reason, is_fallback: false }
}

fn file_system_root(cwd: &Path) -> &Path {
    cwd.ancestors().last().unwrap_or(cwd)
}
