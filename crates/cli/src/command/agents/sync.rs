//! `foreword sync`: makes one tree of AGENTS.md files visible to other agents.

use std::path::Path;

use bridge::sync::{self, Kept, Means};
use bridge::{Change, Journal, Undone};
use serde::Serialize;

use super::install::{ChangedFile, JOURNAL, change_failure};
use crate::arguments::Sync;
use crate::config::project::find_root;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::count;
use crate::output::print;
use crate::output::relative_path::Viewpoint;

#[derive(Serialize)]
struct Synced {
    root: String,
    changes: Vec<ChangedFile>,
    /// Existing files that do not lead to the AGENTS.md beside them.
    kept: Vec<String>,
    /// True if the changes were made.
    done: bool,
}

/// Selects between making and only showing changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Now,
    Not,
}

pub(crate) fn run(context: &Context, arguments: &Sync) -> Result<Exit, Failure> {
    let start = directory(arguments.path.as_deref())?;
    if !start.is_dir() {
        let what = if start.exists() { "is not a directory" } else { "does not exist" };
        let failure = Failure::usage(format!("{} {what}", start.display()));
        return Err(failure.hint("name a directory of the project, or omit it to use the current one"));
    }
    let root = find_root(&start).unwrap_or(start);
    let journal_directory = context.directories.data.join(JOURNAL);
    let journal = Journal { directory: &journal_directory, reason: sync::REASON };
    if arguments.undo {
        return undo(context, &root, &journal);
    }
    // Creating links needs special rights on other systems, so import lines are used there.
    let means = if arguments.import || !cfg!(unix) { Means::Import } else { Means::Link };
    let plan = sync::plan(&root, means, &Files::new(context)?.settings);
    let made = if arguments.check || arguments.dry_run { Made::Not } else { Made::Now };
    // The changes are printed before they are made, so that a failure in the middle leaves the whole plan on
    // the screen.
    show(context, &root, &plan.changes)?;
    let viewpoint = Viewpoint::at(&root);
    for Kept { path, reason, remedy } in &plan.kept {
        let name = viewpoint.path(path);
        context.output.warning(&format!("{name} {reason}"), Some(*remedy));
    }
    if plan.sources.is_empty() && plan.changes.is_empty() {
        context.output.note(format!("no AGENTS.md found below {}", root.display()));
    } else if plan.changes.is_empty() {
        let is_complete = plan.kept.is_empty() && plan.problems.is_empty();
        context.output.note(if is_complete {
            "everything is in place"
        } else {
            "nothing else needs to change"
        });
    } else if made == Made::Now {
        plan.changes.iter().try_for_each(|change| journal.apply(change)).map_err(change_failure)?;
        context.output.note(format!(
            "made {}; undo with `foreword sync --undo`",
            count(plan.changes.len() as u64, "change")
        ));
    } else {
        context
            .output
            .note(format!("`foreword sync` would make {}", count(plan.changes.len() as u64, "change")));
    }
    tell(context, &root, &plan.changes, &plan.kept, made)?;
    // Problems are reported last, after the changes that are possible have been made.
    if let Some(problem) = plan.problems.into_iter().next() {
        return Err(change_failure(problem));
    }
    Ok(if arguments.check && !plan.changes.is_empty() { Exit::CheckFailed } else { Exit::Done })
}

fn undo(context: &Context, root: &Path, journal: &Journal<'_>) -> Result<Exit, Failure> {
    let undoing = sync::undoing(root, journal).map_err(change_failure)?;
    let changes: Vec<Change> = undoing.iter().map(|(change, _)| change.clone()).collect();
    show(context, root, &changes)?;
    for (change, how) in &undoing {
        journal.undo(change).map_err(change_failure)?;
        if *how == Undone::TakenOut {
            let name = Viewpoint::at(root).path(&change.path);
            context.output.note(format!("{name} was changed since, so only our entry was removed"));
        }
    }
    context.output.note(match changes.len() {
        0 => "nothing here was changed by `foreword sync`".to_owned(),
        number => format!("undid {}", count(number as u64, "change")),
    });
    tell(context, root, &changes, &[], Made::Now)?;
    Ok(Exit::Done)
}

/// Prints the planned changes for people.
fn show(context: &Context, root: &Path, changes: &[Change]) -> Result<(), Failure> {
    if !context.output.is_json() {
        let viewpoint = Viewpoint::at(root);
        let shown = changes.iter().map(|change| change.describe(&viewpoint.path(&change.path)));
        print(&shown.collect::<String>())?;
    }
    Ok(())
}

/// Prints the changes for programs.
fn tell(
    context: &Context,
    root: &Path,
    changes: &[Change],
    kept: &[Kept],
    made: Made,
) -> Result<(), Failure> {
    if !context.output.is_json() {
        return Ok(());
    }
    let viewpoint = Viewpoint::at(root);
    context.output.json(&Synced {
        root: root.to_string_lossy().into_owned(),
        changes: changes
            .iter()
            .map(|change| ChangedFile::new(change, &viewpoint.path(&change.path)))
            .collect(),
        kept: kept.iter().map(|kept| kept.path.to_string_lossy().into_owned()).collect(),
        done: made == Made::Now && !changes.is_empty(),
    })?;
    Ok(())
}
