//! `foreword install`: adds Foreword to another agent's settings.

use bridge::install::{Installation, Scope};
use bridge::{Asking, Change, ChangeError, Connected, Content, Journal, Undone};
use serde::Serialize;

use crate::arguments::{Install, ScopeName};
use crate::config::project::find_root;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::{print, shown_path};

/// Directory of recorded changes in the data directory.
pub(crate) const JOURNAL: &str = "changes";

/// A change as printed.
#[derive(Serialize)]
pub(crate) struct ChangedFile {
    path: String,
    action: &'static str,
    change: String,
}

impl ChangedFile {
    pub(crate) fn new(change: &Change, name: &str) -> Self {
        let action = match (&change.before, &change.after) {
            (_, Content::Link(_)) => "link",
            (_, Content::Absent) => "remove",
            (Content::Absent, _) => "create",
            _ => "change",
        };
        Self { path: change.path.to_string_lossy().into_owned(), action, change: change.describe(name) }
    }
}

#[derive(Serialize)]
struct Installed {
    agent: &'static str,
    path: String,
    /// Change to make. `None` if there is nothing to change.
    change: Option<ChangedFile>,
    /// True if the change was made.
    done: bool,
    /// Result of undoing the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<Undone>,
}

pub(crate) fn run(context: &Context, arguments: &Install) -> Result<Exit, Failure> {
    let known: Vec<&str> = Connected::names().collect();
    let agent = Connected::find(profile_name(&arguments.agent))
        .ok_or_else(|| unknown_agent(&arguments.agent, "way to be connected", &known))?;
    let here = directory(None)?;
    let project = find_root(&here).unwrap_or(here);
    // The other agent's settings name this program by its path, because that agent may run with another
    // `PATH`.
    let program = std::env::current_exe()
        .map_err(|error| Failure::caused_by(Exit::Failed, "could not find our own program", error))?;
    let files = Files::new(context)?;
    let scope = match arguments.scope {
        ScopeName::User => Scope::User,
        ScopeName::Project => Scope::Project,
    };
    let installation =
        Installation { agent, scope, homes: &files.settings.homes, project: &project, program: &program };
    // A file that cannot be edited safely can still be edited by the user, so the hint contains the text to
    // add.
    let failed = |error: ChangeError| {
        let failure = change_failure(error);
        if arguments.undo {
            return failure;
        }
        failure.hint(format!(
            "fix the file and try again, or add this by hand:\n{}",
            installation.by_hand().trim_end()
        ))
    };
    let path = installation.file().map_err(change_failure)?;
    let directory = context.directories.data.join(JOURNAL);
    let reason = installation.reason();
    let journal = Journal { directory: &directory, reason: &reason };
    let (change, undone) = if arguments.undo {
        installation
            .undoing(&journal)
            .map_err(failed)?
            .map_or((None, None), |(change, how)| (Some(change), Some(how)))
    } else {
        (installation.change().map_err(failed)?, None)
    };
    let name = shown_path(&path);
    let will_change = !arguments.dry_run && change.is_some();
    let installed = Installed {
        agent: agent.profile.name,
        path: path.to_string_lossy().into_owned(),
        change: change.as_ref().map(|change| ChangedFile::new(change, &name)),
        done: will_change,
        undone,
    };
    // People review the change before it is made; programs get the result.
    if !context.output.is_json() {
        print(&change.as_ref().map(|change| change.describe(&name)).unwrap_or_default())?;
    }
    let title = agent.profile.agent.title;
    let notes = agent.notes.iter().filter(|note| scope == Scope::Project || !note.is_for_projects);
    let scope = if scope == Scope::Project { " --scope project" } else { "" };
    match (&change, undone) {
        (None, _) => {
            let what =
                if arguments.undo { "there is nothing of ours in" } else { "there is nothing to change in" };
            context.output.note(format!("{what} {name}"));
        }
        (Some(_), _) if arguments.dry_run => {
            context.output.note("nothing was changed; run without --dry-run to make the change");
        }
        (Some(change), None) => {
            journal.apply(change).map_err(change_failure)?;
            let undo = format!("`foreword install {}{scope} --undo`", agent.profile.name);
            context.output.note(format!("{title} is connected; {undo} disconnects it"));
            notes.for_each(|note| context.output.note(note.text));
            match agent.asking() {
                None => context
                    .output
                    .note(format!("{title} cannot deny a call by a hook, so guards are only text there")),
                Some(Asking::Denied) => {
                    context
                        .output
                        .note(format!("{title} cannot ask by a hook, so guards with `ask` deny there"));
                }
                Some(Asking::Supported) => {}
            }
        }
        (Some(change), Some(how)) => {
            journal.undo(change).map_err(change_failure)?;
            context.output.note(match how {
                Undone::Restored => format!("{name} was restored"),
                Undone::TakenOut => format!("{name} was changed since, so only our entries were removed"),
            });
        }
    }
    if context.output.is_json() {
        context.output.json(&installed)?;
    }
    Ok(Exit::Done)
}

/// Returns the name of the profile that a name or alias means, or the name itself.
pub(crate) fn profile_name(name: &str) -> &str {
    instructions::Profile::find(name).map_or(name, |profile| profile.name)
}

/// Creates the error for an agent that is not supported here.
pub(crate) fn unknown_agent(name: &str, what: &str, known: &[&str]) -> Failure {
    let agents = format!("the agents are {}", known.join(", "));
    if let Some(profile) = instructions::Profile::find(name) {
        let title = profile.agent.title;
        return Failure::usage(format!("{title} has no known {what}")).hint(agents);
    }
    let failure = Failure::usage(format!("there is no agent `{name}`"));
    let unknown = compare::UnknownAgent { name: name.to_owned() };
    let meant = unknown.nearest().filter(|nearest| known.contains(nearest));
    let failure = match meant {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure,
    };
    failure.hint(agents)
}

pub(crate) fn change_failure(error: ChangeError) -> Failure {
    Failure::new(Exit::Failed, error.to_string())
}
