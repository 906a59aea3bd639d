//! `foreword compare`: compares what agents read in a directory.

use std::path::{Path, PathBuf};

use compare::{CompareRequest, grouped};
use instructions::Profile;
use protocol::{BlockRole, Comparison};

use crate::arguments::CompareArguments;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::progress::Progress;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::{self, wrap};
use crate::output::{plain, print, table};

pub(crate) fn run(context: &Context, arguments: &CompareArguments) -> Result<Exit, Failure> {
    let agents = named_agents(&arguments.agents)?;
    let files = Files::new(context)?;
    let cwd = directory(arguments.path.as_deref())?;
    let reading: Option<PathBuf> =
        arguments.reading.as_deref().map(|file| directory(Some(file))).transpose()?;
    let progress = Progress::start(context.output, "reading the files");
    let request =
        CompareRequest { cwd: &cwd, reading: reading.as_deref(), agents: &agents, settings: &files.settings };
    let compared = compare::compare(&request).map_err(|error| files.failure(&error))?;
    // The progress line must be erased before the result is printed.
    drop(progress);
    let mut compared = compared;
    let guards = super::guard::list(&files, &cwd)?;
    compared.comparison.differences.extend(super::guard::sentence(&guards, &agents));
    let comparison = &compared.comparison;
    if context.output.is_json() {
        context.output.json(comparison)?;
    } else if arguments.markdown {
        print(&compare::markdown(comparison, &compared.base))?;
    } else {
        print(&text(comparison, &compared.base))?;
    }
    // An agent that cannot start here fails the command, although the comparison itself succeeded.
    Ok(if compared.refusals.is_empty() { Exit::Done } else { Exit::CheckFailed })
}

/// Returns the named agents, or all of them.
pub(super) fn named_agents(names: &[String]) -> Result<Vec<&'static Profile>, Failure> {
    compare::agents(Some(names)).map_err(|error| {
        let failure = Failure::usage(format!("unknown agent `{}`", error.name));
        let failure = match error.nearest() {
            Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
            None => failure,
        };
        let known: Vec<&str> = instructions::PROFILES.iter().map(|profile| profile.name).collect();
        failure.hint(format!("the agents are {}", known.join(", ")))
    })
}

fn text(comparison: &Comparison, base: &Path) -> String {
    let screen = terminal::columns();
    let mut text = format!("{}\n\n", plain(&comparison.path));
    let rows = comparison.agents.iter().map(|agent| {
        let role = match agent.role {
            Some(BlockRole::System) => "system",
            Some(BlockRole::Developer) => "developer",
            Some(BlockRole::User) => "user",
            None => "-",
        };
        let files = agent.files.iter().filter(|file| file.role.is_some()).count();
        vec![
            agent.agent.clone(),
            agent.version.clone().unwrap_or_else(|| "-".to_owned()),
            role.to_owned(),
            files.to_string(),
            grouped(agent.bytes),
            grouped(agent.tokens),
            grouped(agent.lost_bytes),
        ]
    });
    text.push_str(&table(&["agent", "version", "role", "files", "bytes", "tokens", "lost bytes"], rows));
    let paths = compare::paths(comparison);
    if !paths.is_empty() {
        let viewpoint = Viewpoint::at(base);
        let rows = paths
            .into_iter()
            .map(|path| vec![viewpoint.path(Path::new(path)), agents_by_outcome(comparison, path)]);
        text.push('\n');
        text.push_str(&table(&["file", "agents"], rows));
    }
    if !comparison.differences.is_empty() {
        text.push('\n');
        for difference in &comparison.differences {
            text.push_str(&format!("{}\n", wrap(&plain(difference), screen, 2)));
        }
    }
    text
}

/// Formats the outcome of a file for each agent.
fn agents_by_outcome(comparison: &Comparison, path: &str) -> String {
    let mut outcomes: Vec<(String, Vec<&str>)> = Vec::new();
    for agent in &comparison.agents {
        let Some(file) = agent.files.iter().find(|file| file.path == path) else { continue };
        let outcome = compare::cell(file);
        match outcomes.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, agents)) => agents.push(&agent.agent),
            None => outcomes.push((outcome, vec![&agent.agent])),
        }
    }
    let outcomes = outcomes.into_iter().map(|(outcome, agents)| format!("{outcome}: {}", agents.join(", ")));
    outcomes.collect::<Vec<_>>().join("; ")
}
