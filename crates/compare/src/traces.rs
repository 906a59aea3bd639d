//! Agents in use on a machine or in a project, and what each would lose.

use std::path::Path;

use instructions::{
    FOREWORD, FileScope, FileSettings, InstructionFile, Outcome, PROFILES, Profile, Relation, Request,
    Resolution,
};

use crate::agents::verified_agents;
use crate::differences::not_followed;
use crate::loss;
use crate::side_by_side::settings_for;
use crate::words::{alternatives, bytes, one_line};

/// Most files named in one line.
const NAMED: usize = 3;

/// Agents that a command uses if none are named, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultAgents {
    pub agents: Vec<&'static Profile>,
    pub reason: DefaultReason,
}

/// Reason for a choice of default agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultReason {
    /// They have traces in the project or on this machine.
    Traces,
    /// No agent has traces, so these are all that were run and observed.
    Verified,
}

/// Returns the agents with traces in the project or on this machine, or else all verified ones. Never Foreword itself,
/// because findings about it alone concern nobody who does not use it.
pub fn default_agents(resolution: &Resolution, settings: &FileSettings) -> DefaultAgents {
    match in_use(resolution, settings) {
        agents if agents.is_empty() => {
            DefaultAgents { agents: verified_agents(), reason: DefaultReason::Verified }
        }
        agents => DefaultAgents { agents, reason: DefaultReason::Traces },
    }
}

/// Returns the agents, other than that of `settings`, with traces on this machine or between the project's
/// root and a directory.
pub fn here(resolution: &Resolution, settings: &FileSettings) -> Vec<&'static Profile> {
    in_use(resolution, settings).into_iter().filter(|profile| *profile != settings.profile).collect()
}

/// Returns the agents other than Foreword with traces.
fn in_use(resolution: &Resolution, settings: &FileSettings) -> Vec<&'static Profile> {
    // Foreword's own traces exist wherever this code runs.
    // An older version of an agent has the same traces as the newest one.
    let is_other = |profile: &&Profile| **profile != FOREWORD && !profile.is_other_version();
    let others = PROFILES.iter().copied().filter(is_other);
    let is_here = |profile: &&'static Profile| {
        // Traces are checked by existence alone. Running the agents or reading their settings would be slow and could
        // have side effects.
        let traces = profile.agent.traces;
        let own = settings.homes.of(profile).is_some_and(Path::is_dir);
        let on_machine = || {
            let user = settings.homes.user();
            user.is_some_and(|user| traces.in_user_home.iter().any(|name| user.join(name).exists()))
        };
        let in_project = || {
            resolution.directories.iter().any(|directory| {
                traces.in_project.iter().any(|name| directory.join(name).symlink_metadata().is_ok())
            })
        };
        own || on_machine() || in_project()
    };
    others.filter(is_here).collect()
}

/// Returns a clause about what an agent would lose compared with `ours`, to follow its name.
pub fn sentence(profile: &'static Profile, ours: &Resolution, settings: &FileSettings) -> String {
    let settings = settings_for(profile, settings);
    let request = Request { cwd: &ours.cwd, settings: &settings };
    let theirs = match instructions::survey(&request) {
        Ok(theirs) => theirs,
        Err(error) => return format!("would not start here: {}", one_line(&error.to_string())),
    };
    let base = ours.root.as_deref().unwrap_or(&ours.cwd);
    let shown = |path: &Path| {
        let shown = path.strip_prefix(base).unwrap_or(path).to_string_lossy();
        one_line(&shown)
    };
    let read: Vec<&InstructionFile> = project_files(&theirs).collect();
    let mut parts = Vec::new();
    let mut relations = Vec::new();
    let our_paths: Vec<&Path> = project_files(ours).map(|file| file.path.as_path()).collect();
    for file in &read {
        if our_paths.contains(&file.path.as_path()) {
            continue;
        }
        if let Some(relation) = Relation::find(&file.path, &our_paths, &settings) {
            parts.push(format!("reads {}, which {}", shown(&file.path), relation.describe(shown)));
            relations.push(relation);
        }
    }
    let stands_in = |path: &Path| {
        relations.iter().any(|relation| match relation {
            Relation::Link(other) | Relation::SameFile(other) | Relation::Repeats(other) => other == path,
            // A file that only imports others replaces none of them: the agent gets what it actually imports.
            Relation::OnlyImports(_) => false,
        })
    };
    let decided = |path: &Path| theirs.decisions.iter().find(|decision| decision.path == path);
    let is_lost = |path: &Path| decided(path).is_some_and(|decision| loss::is_loss(decision.outcome));
    let missing: Vec<&InstructionFile> = project_files(ours)
        .filter(|file| {
            let has = theirs.files.iter().any(|theirs| theirs.path == file.path);
            !has && !stands_in(&file.path) && !is_lost(&file.path)
        })
        .collect();
    let lost = loss::of(&theirs, &settings);
    let lost: Vec<_> = lost.into_iter().filter(|file| file.bytes > 0).collect();
    let notes: Vec<String> = not_followed(&theirs)
        .map(|diagnostic| {
            let path = diagnostic.path.as_deref().map_or_else(String::new, shown);
            format!("{path}: {}", one_line(&diagnostic.message))
        })
        .collect();
    // An agent that reads nothing would otherwise get a long list of everything that it does not read.
    if read.is_empty() && lost.is_empty() {
        let all: u64 = missing.iter().map(|file| file.bytes).sum();
        let sentence = match all {
            0 => "reads nothing here".to_owned(),
            all => format!("reads nothing here, and so loses {}", bytes(all)),
        };
        return std::iter::once(sentence).chain(notes).collect::<Vec<_>>().join("; ");
    }
    if !missing.is_empty() {
        let mut names: Vec<String> = missing.iter().take(NAMED).map(|file| shown(&file.path)).collect();
        if missing.len() > NAMED {
            names.push(format!("{} more", missing.len() - NAMED));
        }
        let size = bytes(missing.iter().map(|file| file.bytes).sum());
        parts.push(format!("does not read {} ({size})", alternatives(&names)));
    }
    for file in lost.iter().take(NAMED) {
        let size = bytes(file.bytes);
        let path = shown(&file.path);
        parts.push(match file.outcome {
            Outcome::Truncated => format!("loses the last {size} of {path}"),
            _ => format!("loses all {size} of {path}"),
        });
    }
    if lost.len() > NAMED {
        let more: u64 = lost[NAMED..].iter().map(|file| file.bytes).sum();
        parts.push(format!("loses {} of {} more", bytes(more), lost.len() - NAMED));
    }
    if missing.is_empty() && lost.is_empty() && notes.is_empty() {
        parts.push("loses nothing".to_owned());
    }
    parts.extend(notes);
    parts.join("; ")
}

/// Returns the included project files. Rules with globs are omitted, because they do not apply everywhere.
fn project_files(resolution: &Resolution) -> impl Iterator<Item = &InstructionFile> {
    let is_meant =
        |file: &&InstructionFile| file.limited && file.kept_bytes > 0 && file.scope != FileScope::Rule;
    resolution.files.iter().filter(is_meant)
}
