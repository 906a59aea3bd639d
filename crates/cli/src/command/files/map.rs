//! `foreword map`: shows what an agent reads in every directory of a tree.

use std::path::Path;
use std::sync::Arc;

use compare::{DefaultAgents, DefaultReason, Map, Names, Tree, TreeError};
use git::Repository;
use instructions::{CODEX, FOREWORD, FileSettings, FileSource, Profile, Request, Resolution};
use tokens::Counter;

use super::diff::git_failure;
use crate::arguments::MapArguments;
use crate::command::files::check::default_agents;
use crate::command::files::compare::named_agents;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::progress::Progress;
use crate::output::terminal::{self, wrap};
use crate::output::{print, shown_name, shown_path};

/// Maximum number of unreadable directories to name.
const NAMED_PROBLEMS: usize = 5;

pub(crate) fn run(context: &Context, arguments: &MapArguments) -> Result<Exit, Failure> {
    let named: Vec<String> = arguments.agent.iter().cloned().collect();
    let mut files = Files::new(context)?;
    let mut root = directory(arguments.path.as_deref())?;
    let agent = match named_agents(&named)?.as_slice() {
        [agent] if !named.is_empty() => *agent,
        // People want to see the agent that they use. Without traces of any, Codex is the one that loses most.
        _ => match default_agents(&files, &root)? {
            DefaultAgents { reason: DefaultReason::Traces, agents } => {
                agents.first().copied().unwrap_or(&CODEX)
            }
            DefaultAgents { reason: DefaultReason::Verified, .. } => &CODEX,
        },
    };
    let progress = Progress::start(context.output, "walking the tree");
    // Agents read different file names, so a single walk looks for the names of all of them.
    let fallbacks = files.settings.agents.fallback_filenames.iter().flatten().map(String::as_str);
    let listed: Vec<String> =
        instructions::PROFILES.iter().flat_map(|profile| listed_names(&files, profile, &root)).collect();
    let names = Names::new([]).with_fallbacks(fallbacks.chain(listed.iter().map(String::as_str)));
    let tree = match &arguments.rev {
        None => Tree::walk(&root, &names).map_err(|error| walk_failure(&error))?,
        Some(rev) => {
            // Git names the work tree without links, and the snapshot takes the place of these paths.
            root = root.canonicalize().map_err(|error| Failure::file("find", &root, error))?;
            let repository = Repository::around(&root).map_err(|error| git_failure(&error))?;
            let commit = repository.commit(rev).map_err(|error| git_failure(&error))?;
            let snapshot = Arc::new(repository.snapshot(&commit).map_err(|error| git_failure(&error))?);
            let tree = Tree::of_snapshot(&snapshot, &names).below(&root);
            if tree.directories().is_empty() {
                let message = format!("{} does not exist in {rev}", root.display());
                return Err(Failure::usage(message));
            }
            files.settings.source = FileSource::Snapshot(snapshot);
            tree
        }
    };
    let counter = Counter::default();
    let map = map(&files, &tree, agent, &counter)?;
    let page = match &arguments.html {
        Some(file) => Some((file, page(context, &files, &tree, &map, &counter)?)),
        None => None,
    };
    drop(progress);
    for problem in tree.problems().iter().take(NAMED_PROBLEMS) {
        context.output.warning(&format!("could not read everything: {problem}"), None);
    }
    if let Some((file, page)) = page {
        std::fs::write(file, page).map_err(|error| Failure::file("write", file, error))?;
        context.output.note(format!("wrote {}", shown_path(file)));
    }
    if context.output.is_json() {
        context.output.json(&map)?;
    } else {
        let outline = map.outline(&tree, &root);
        let screen = terminal::columns();
        let lines = outline.lines().map(|line| {
            let indent = line.len() - line.trim_start_matches(' ').len();
            format!("{}\n", wrap(&shown_name(line), screen, indent + 4))
        });
        print(&lines.collect::<String>())?;
    }
    Ok(Exit::Done)
}

/// Returns the names that an agent's settings list for the root, or for every directory if they are user settings.
fn listed_names(files: &Files, agent: &'static Profile, root: &Path) -> Vec<String> {
    let settings = compare::settings_for(agent, &files.settings);
    instructions::configured_names(&Request { cwd: root, settings: &settings })
}

fn map(files: &Files, tree: &Tree, agent: &'static Profile, counter: &Counter) -> Result<Map, Failure> {
    let settings: FileSettings = compare::settings_for(agent, &files.settings);
    let effective = compare::effective(tree, &settings).map_err(|error| files.failure(&error))?;
    let root = tree.directories().first().map_or(Path::new(""), |directory| &*directory.path);
    let conflicts = |resolution: &Resolution| {
        check::conflicts(resolution.files.iter().map(|file| (&*file.path, &*file.text)), root)
    };
    Ok(Map::new(tree, &effective, counter, conflicts))
}

/// Returns the maps of all agents that can start. The selected agent's map already exists.
fn page(
    context: &Context,
    files: &Files,
    tree: &Tree,
    map: &Map,
    counter: &Counter,
) -> Result<String, Failure> {
    let profiles = compare::agents(None).unwrap_or_default();
    let profiles = profiles.into_iter().filter(|profile| **profile != FOREWORD || map.agent == FOREWORD.name);
    let mut maps = Vec::new();
    // An agent that is only shown on request is not among them.
    if compare::agents(None).is_ok_and(|agents| agents.iter().all(|agent| agent.name != map.agent)) {
        maps.push(map.clone());
    }
    for profile in profiles {
        if profile.name == map.agent {
            maps.push(map.clone());
        } else {
            match self::map(files, tree, profile, counter) {
                Ok(other) => maps.push(other),
                // An agent that would refuse to start here is missing on the page, but the maps of the others are still
                // useful.
                Err(failure) => {
                    let title = profile.agent.title;
                    context.output.warning(&format!("the page omits {title}: {failure}"), None);
                }
            }
        }
    }
    compare::page(tree, &maps, map.agent)
        .map_err(|error| Failure::caused_by(Exit::Failed, "could not write the page", error))
}

pub(super) fn walk_failure(error: &TreeError) -> Failure {
    match error {
        TreeError::NotADirectory { .. } => Failure::usage(error.to_string()),
        TreeError::Directory { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            let failure = Failure::usage(error.to_string());
            match path.ancestors().skip(1).find(|ancestor: &&Path| ancestor.is_dir()) {
                Some(nearest) => {
                    failure.hint(format!("the nearest directory that exists is {}", nearest.display()))
                }
                None => failure,
            }
        }
        TreeError::Directory { .. } => Failure::new(Exit::Failed, error.to_string()),
    }
}
