//! `foreword diff`: compares what agents read between two states of a repository.

use check::CheckPolicy;
use compare::{Changes, ChangesError, Names, Revisions};
use git::GitError;

use super::check::{default_agents, wrong_policy};
use super::map::walk_failure;
use crate::arguments::{DiffArguments, FailOn};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::progress::Progress;
use crate::output::terminal::{self, wrap};
use crate::output::{Format, print, shown_name};

pub(crate) fn run(context: &Context, arguments: &DiffArguments) -> Result<Exit, Failure> {
    let changes = find(context, arguments)?;
    match arguments.format {
        Format::Json => context.output.json(&changes)?,
        Format::Markdown => print(&changes.markdown())?,
        Format::Github => print(&changes.github())?,
        Format::Text | Format::Sarif => {
            let screen = terminal::columns();
            let lines = changes.text();
            let lines = lines.lines().map(|line| format!("{}\n", wrap(&shown_name(line), screen, 4)));
            print(&lines.collect::<String>())?
        }
    };
    let fails = arguments.fail_on == Some(FailOn::Lost) && changes.lose_text();
    Ok(if fails { Exit::CheckFailed } else { Exit::Done })
}

fn find(context: &Context, arguments: &DiffArguments) -> Result<Changes, Failure> {
    let files = Files::new(context)?;
    let sections = context.configuration.sections();
    let here = directory(None)?;
    let mut agents = arguments.agents.clone();
    if agents.is_empty() && sections.check.agents.is_empty() {
        agents = default_agents(&files, &here)?.agents.iter().map(|agent| agent.name.to_owned()).collect();
    }
    let policy = CheckPolicy::new(&sections.check, &agents).map_err(|error| wrong_policy(context, &error))?;
    let _progress = Progress::start(context.output, "comparing the files");
    let revisions =
        Revisions::find(&here, arguments.revisions.as_deref()).map_err(|error| git_failure(&error))?;
    let fallbacks = files.settings.agents.fallback_filenames.iter().flatten().map(String::as_str);
    let names = Names::new([]).with_fallbacks(fallbacks);
    compare::changes(&revisions, policy.agents(), &files.settings, &names).map_err(|error| match error {
        ChangesError::Git(error) => git_failure(&error),
        ChangesError::Tree(error) => walk_failure(&error),
        ChangesError::Resolve(error) => files.failure(&error),
    })
}

/// Converts an error of a repository.
pub(super) fn git_failure(error: &GitError) -> Failure {
    let exit = match error {
        GitError::NoCommit { .. }
        | GitError::NoRepository { .. }
        | GitError::NoWorkTree { .. }
        | GitError::Unrelated { .. } => Exit::Usage,
        GitError::Program { .. } | GitError::Refused { .. } | GitError::Tree { .. } => Exit::Failed,
    };
    Failure::new(exit, crate::output::plain(error.to_string())).hints(error.hint())
}
