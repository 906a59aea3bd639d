//! Rules, settings and directories shared by the commands about files on disk.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use compare::UnknownAgent;
use instructions::profile::{Fallbacks, RootOverride};
use instructions::{FOREWORD, FileSettings, HomeDirectories, LinkBounds, Profile, Request, Resolution};

use crate::config::layers::{Layer, Origin};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::relative_path::Viewpoint;

/// Everything a resolution needs besides the directory.
pub(crate) struct Files {
    pub(crate) settings: FileSettings,
    /// Origin of the root setting.
    root_origin: String,
}

impl Files {
    pub(crate) fn new(context: &Context) -> Result<Self, Failure> {
        let sections = context.configuration.sections();
        let profile = profile(context, &sections.profile)?;
        warn_of_ignored_flags(context, profile);
        let chosen = context.configuration.origin("agents.profile");
        // A project that selects the profile must not thereby gain access to files outside its root.
        let is_projects = matches!(chosen, Origin::File { layer: Layer::Project, .. });
        let links = if is_projects { LinkBounds::Root } else { LinkBounds::OfProfile };
        let settings = FileSettings { profile, links, homes: homes(context)?, ..sections.files.clone() };
        let root_origin = context.configuration.origin("agents.root.project_root_override").to_string();
        Ok(Self { settings, root_origin })
    }

    pub(crate) fn request<'a>(&'a self, cwd: &'a Path) -> Request<'a> {
        Request { cwd, settings: &self.settings }
    }

    /// Converts a resolution error.
    pub(crate) fn failure(&self, error: &instructions::ResolveError) -> Failure {
        use instructions::{ResolveError, SettingsError};
        let exit = match error {
            // A missing directory is a mistake on the command line, but one that cannot be read is a failure.
            ResolveError::Directory { source, .. } if source.kind() != std::io::ErrorKind::NotFound => {
                Exit::Failed
            }
            // A broken settings file of the agent is a finding, not a usage error.
            ResolveError::SettingsFile(_) => Exit::CheckFailed,
            _ => Exit::Usage,
        };
        let failure = Failure::new(exit, error.to_string());
        match error {
            ResolveError::NotADirectory { path } => match path.parent() {
                Some(parent) => {
                    failure.hint(format!("to see what applies to that file, name {}", parent.display()))
                }
                None => failure,
            },
            ResolveError::Directory { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                match path.ancestors().skip(1).find(|ancestor| ancestor.is_dir()) {
                    Some(nearest) => {
                        failure.hint(format!("the nearest directory that exists is {}", nearest.display()))
                    }
                    None => failure,
                }
            }
            ResolveError::Settings(SettingsError::FallbackName { .. }) => failure
                .hint("fallback names are searched in every directory; use plain names such as NOTES.md"),
            ResolveError::Settings(SettingsError::RootElsewhere { root, .. }) => {
                let origin = &self.root_origin;
                let message = match std::fs::metadata(root) {
                    Ok(metadata) if metadata.is_dir() => format!("{error} (from {origin})"),
                    Ok(_) => format!("the root {} (from {origin}) is not a directory", root.display()),
                    Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                        format!("the root {} (from {origin}) does not exist", root.display())
                    }
                    Err(source) => {
                        format!("cannot access the root {} (from {origin}): {source}", root.display())
                    }
                };
                Failure::new(exit, message).hint("name a root above the working directory, or none")
            }
            ResolveError::SettingsFile(_) => {
                failure.hint("fix the file, or set CODEX_HOME to another directory")
            }
            _ => failure,
        }
    }
}

/// Resolves a directory argument lexically; defaults to the current directory.
pub(crate) fn directory(path: Option<&Path>) -> Result<PathBuf, Failure> {
    // Absolute paths must work even if the current directory was deleted.
    let here = match path {
        Some(path) if path.is_absolute() => PathBuf::new(),
        _ => std::env::current_dir().map_err(|error| {
            Failure::caused_by(Exit::Failed, "could not find the current directory", error)
        })?,
    };
    Ok(match path {
        Some(path) => instructions::path::normalise(path, &here),
        None => here,
    })
}

/// Returns the directories of every agent's user files.
fn homes(context: &Context) -> Result<HomeDirectories, Failure> {
    let mut named = HashMap::new();
    let of_agents = instructions::PROFILES.iter().filter_map(|profile| profile.search.home_directory);
    // Users can move the directories of other agents with the variables of those agents.
    for variable in of_agents.flat_map(|home| home.variables()) {
        if let Some(path) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
            named.insert(variable, directory(Some(Path::new(&path)))?);
        }
    }
    let homes = HomeDirectories::find(etcetera::home_dir().ok(), |variable| named.get(variable).cloned());
    Ok(homes.with(&FOREWORD, &context.directories.home))
}

fn profile(context: &Context, name: &str) -> Result<&'static Profile, Failure> {
    named_profile(name, context.configuration.origin("agents.profile"))
}

/// Returns the profile with this name.
pub(crate) fn named_profile(name: &str, origin: impl std::fmt::Display) -> Result<&'static Profile, Failure> {
    if let Some(profile) = Profile::find(name) {
        return Ok(profile);
    }
    let known: Vec<&str> = instructions::PROFILES.iter().map(|profile| profile.name).collect();
    let failure = Failure::usage(format!("unknown profile `{name}` (from {origin})"));
    let failure = match (UnknownAgent { name: name.to_owned() }).nearest() {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure,
    };
    Err(failure.hint(format!("the profiles are {}", known.join(", "))))
}

/// Warns about flags that the profile ignores. Settings are not reported, because they may be meant for other profiles.
fn warn_of_ignored_flags(context: &Context, profile: &Profile) {
    let ignored = [
        ("agents.root.project_root_override", profile.search.root_override == RootOverride::Ignored),
        ("agents.fallback_filenames", profile.choose.fallbacks == Fallbacks::Unsupported),
    ];
    for (key, _) in ignored.into_iter().filter(|(_, is_ignored)| *is_ignored) {
        if let Origin::Flag(flag) = context.configuration.origin(key) {
            let message = format!("`{flag}` has no effect with the profile `{}`", profile.name);
            context.output.warning(&message, None);
        }
    }
}

/// Prints diagnostics with their locations.
pub(crate) fn warn(context: &Context, viewpoint: Viewpoint<'_>, diagnostics: &[instructions::Diagnostic]) {
    for diagnostic in diagnostics {
        let line = diagnostic.line.map_or_else(String::new, |line| format!(":{line}"));
        let message = &diagnostic.message;
        warn_about(context, viewpoint, diagnostic.path.as_deref(), &line, message);
    }
}

/// Prints a warning about a file, with its absolute path in JSON.
fn warn_about(context: &Context, viewpoint: Viewpoint<'_>, path: Option<&Path>, line: &str, message: &str) {
    let is_json = context.output.is_json();
    let path = path.map(|path| if is_json { path.display().to_string() } else { viewpoint.path(path) });
    let place = path.map_or_else(String::new, |path| format!("{path}{line}: "));
    let message = if is_json { message.to_owned() } else { viewpoint.sentence(message) };
    context.output.warning(&format!("{place}{message}"), None);
}

/// Effect of lost text on the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostText {
    IsReported,
    Fails,
}

/// Prints which text is lost and why. Returns the number of losses.
pub(crate) fn warn_of_lost_text(context: &Context, resolution: &Resolution) -> usize {
    use instructions::{DiagnosticCode, Outcome};
    let viewpoint = Viewpoint::of(resolution);
    let mut losses = 0;
    for decision in &resolution.decisions {
        let what = match decision.outcome {
            Outcome::Truncated => "part of its text is lost",
            Outcome::OverBudget | Outcome::TooDeep | Outcome::OutsideRoot => "its text is lost",
            // Already reported by a diagnostic.
            Outcome::Unreadable => {
                losses += 1;
                continue;
            }
            _ => continue,
        };
        let why = decision.detail().map_or_else(String::new, |why| format!(": {why}"));
        warn_about(context, viewpoint, Some(&decision.path), "", &format!("{what}{why}"));
        losses += 1;
    }
    // The text behind skipped imports is unknown, so count each diagnostic as one loss.
    let unread = |diagnostic: &&instructions::Diagnostic| diagnostic.code == DiagnosticCode::TooManyImports;
    losses + resolution.diagnostics.iter().filter(unread).count()
}
