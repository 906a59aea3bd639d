//! `foreword map`: what an agent would read in every directory of a tree.

use std::path::Path;

use compare::{Map, Names, Tree, TreeError};
use instructions::{FOREWORD, FileSettings, Profile};
use tokens::Counter;

use crate::arguments::MapArguments;
use crate::command::compare::named_agents;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::{print, shown_name, shown_path};
use crate::progress::Progress;

/// Directories that are named of those that cannot be looked into.
const NAMED_PROBLEMS: usize = 5;

pub(crate) fn run(context: &Context, arguments: &MapArguments) -> Result<Exit, Failure> {
    let named: Vec<String> = arguments.agent.iter().cloned().collect();
    let files = Files::new(context)?;
    let agent = match named_agents(&named)?.as_slice() {
        [agent] => *agent,
        _ => &FOREWORD,
    };
    let root = directory(arguments.path.as_deref())?;
    let progress = Progress::start(context.output, "walking the tree");
    let fallbacks = files.settings.agents.fallback_filenames.iter().flatten().map(String::as_str);
    let names = Names::new([]).with_fallbacks(fallbacks);
    let tree = Tree::walk(&root, &names).map_err(|error| walk_failure(&error))?;
    let counter = Counter::default();
    let map = map(&files, &tree, agent, &counter)?;
    let page = match &arguments.html {
        Some(file) => Some((file, page(&files, &tree, &map, &counter)?)),
        None => None,
    };
    drop(progress);
    for problem in tree.problems().iter().take(NAMED_PROBLEMS) {
        context.output.warning(&format!("could not look at everything: {problem}"), None);
    }
    if let Some((file, page)) = page {
        std::fs::write(file, page).map_err(|error| Failure::file("write", file, error))?;
        context.output.note(format!("wrote {}", shown_path(file)));
    }
    if context.output.is_json() {
        context.output.json(&map)?;
    } else {
        let outline = map.outline(&tree, &root);
        print(&outline.lines().map(|line| format!("{}\n", shown_name(line))).collect::<String>())?;
    }
    Ok(Exit::Done)
}

fn map(files: &Files, tree: &Tree, agent: &'static Profile, counter: &Counter) -> Result<Map, Failure> {
    let settings: FileSettings = compare::settings_for(agent, &files.settings);
    let effective = compare::effective(tree, &settings).map_err(|error| files.failure(&error))?;
    Ok(Map::new(tree, &effective, counter))
}

/// The page has every agent that would start; the one that was asked for is there already.
fn page(files: &Files, tree: &Tree, map: &Map, counter: &Counter) -> Result<String, Failure> {
    let mut maps = Vec::with_capacity(instructions::PROFILES.len());
    for profile in instructions::PROFILES {
        if profile.name == map.agent {
            maps.push(map.clone());
        } else if let Ok(other) = self::map(files, tree, profile, counter) {
            maps.push(other);
        }
    }
    compare::page(tree, &maps, map.agent)
        .map_err(|error| Failure::caused_by(Exit::Failed, "could not write the page", error))
}

fn walk_failure(error: &TreeError) -> Failure {
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
