//! `foreword guard`: lists and tests the guards of instruction files.

use std::path::{Path, PathBuf};

use bridge::{Asking, Connected};
use guards::{Action, Guard, Guarded, Verdict};
use instructions::{FOREWORD, FileSettings, Profile};
use serde::Serialize;

use crate::arguments::{GuardCommand, GuardTest};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::plain;
use crate::output::terminal::{self, wrap};

/// Guards that hold in a directory.
#[derive(Debug, Serialize)]
pub(crate) struct ListedGuards {
    pub(crate) guards: Vec<ListedGuard>,
}

/// A guard with the agents that enforce it.
#[derive(Debug, Serialize)]
pub(crate) struct ListedGuard {
    #[serde(flatten)]
    guard: Guard,
    enforced_by: Vec<&'static str>,
}

pub(crate) fn run(context: &Context, command: &GuardCommand) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(command.directory().map(PathBuf::as_path))?;
    match command {
        GuardCommand::List { .. } => {
            let listed = list(&files, &cwd)?;
            context.output.data(&listed, || text(&listed))?;
            Ok(Exit::Done)
        }
        GuardCommand::Test(test) => self::test(context, &files, &cwd, test),
    }
}

/// Returns the guards that hold in a directory.
pub(crate) fn list(files: &Files, cwd: &Path) -> Result<ListedGuards, Failure> {
    let all = held(files, cwd, None, instructions::PROFILES)?;
    let mut guards: Vec<ListedGuard> = all
        .guards()
        .iter()
        .map(|guard| ListedGuard { guard: guard.clone(), enforced_by: Vec::new() })
        .collect();
    if guards.is_empty() {
        return Ok(ListedGuards { guards });
    }
    let enforcing = Connected::names().filter_map(Connected::find).filter(|agent| agent.asking().is_some());
    let own: Vec<&'static Profile> =
        std::iter::once(&FOREWORD).chain(enforcing.map(|agent| agent.profile)).collect();
    for profile in own {
        // A hook enforces the guards in the files that its agent reads, and in those that Foreword reads.
        let held = held(files, cwd, None, &[&FOREWORD, profile])?;
        for listed in &mut guards {
            let is_same = |guard: &Guard| guard.file == listed.guard.file && guard.line == listed.guard.line;
            if held.guards().iter().any(is_same) && !listed.enforced_by.contains(&profile.name) {
                listed.enforced_by.push(profile.name);
            }
        }
    }
    Ok(ListedGuards { guards })
}

fn held(
    files: &Files,
    directory: &Path,
    file: Option<&Path>,
    profiles: &[&'static Profile],
) -> Result<Guarded, Failure> {
    let settings = profiles.iter().map(|profile| compare::settings_for(profile, &files.settings));
    let settings: Vec<FileSettings> = settings.collect();
    // An agent that would not start here has no guards of its own, and must not hide those of the others.
    let starts = |settings: &&FileSettings| {
        let request = instructions::Request { cwd: directory, settings };
        !matches!(instructions::resolve(&request, None), Err(instructions::ResolveError::SettingsFile(_)))
    };
    let settings: Vec<FileSettings> = settings.iter().filter(starts).cloned().collect();
    Guarded::at(directory, file, &settings, None).map_err(|error| files.failure(&error))
}

fn test(context: &Context, files: &Files, cwd: &Path, test: &GuardTest) -> Result<Exit, Failure> {
    let call = &test.call;
    let path = call.write.as_ref().or(call.read.as_ref());
    let path = path.map(|path| instructions::path::normalise(path, cwd));
    // The guards beside a file hold for it, wherever the call runs.
    let beside = path.as_deref().and_then(|path| path.ancestors().skip(1).find(|above| above.is_dir()));
    let held = held(files, beside.unwrap_or(cwd), path.as_deref(), instructions::PROFILES)?;
    let decision = match (&call.command, &path) {
        (Some(line), _) => held.decide(&Action::Command(line)),
        (None, Some(path)) if call.write.is_some() => held.decide(&Action::Write(path)),
        (None, Some(path)) => held.decide(&Action::Read(path)),
        (None, None) => return Err(Failure::usage("name a call with --command, --write or --read")),
    };
    context.output.data(&decision, || match decision.reason() {
        Some(reason) => format!("{}\n", wrap(&plain(reason), terminal::columns(), 0)),
        None => "allowed: no guard matches\n".to_owned(),
    })?;
    Ok(if decision.verdict == Verdict::Deny { Exit::CheckFailed } else { Exit::Done })
}

/// Formats the guards, one per line, and the agents that do not enforce all of them.
pub(crate) fn text(listed: &ListedGuards) -> String {
    if listed.guards.is_empty() {
        return "no guards hold here\n".to_owned();
    }
    let screen = terminal::columns();
    let mut text = String::new();
    for ListedGuard { guard, enforced_by } in &listed.guards {
        let place = format!("{}:{}", guard.path, guard.line);
        let (effect, kind) = (guard.effect.word(), guard.kind.word());
        let line = format!("{place}  {effect} {kind} \"{}\"  {}", guard.pattern, guard.rule);
        text.push_str(&format!("{}\n", wrap(&plain(line), screen, 4)));
        let by = if enforced_by.is_empty() { "no agent".to_owned() } else { enforced_by.join(", ") };
        text.push_str(&format!("{}\n", wrap(&format!("    enforced by {by}"), screen, 6)));
    }
    for note in notes() {
        text.push_str(&format!("{}\n", wrap(&note, screen, 0)));
    }
    text
}

/// Returns the limits of agents as sentences.
pub(crate) fn notes() -> Vec<String> {
    let agents: Vec<&Connected> = Connected::names().filter_map(Connected::find).collect();
    let named = |is_meant: &dyn Fn(&Connected) -> bool| {
        let names =
            agents.iter().filter(|agent| is_meant(agent)).map(|agent| agent.profile.agent.title.to_owned());
        compare::joined(&names.collect::<Vec<_>>(), "and")
    };
    let unable = named(&|agent| agent.asking().is_none());
    let denying = named(&|agent| agent.asking() == Some(Asking::Denied));
    let mut notes = vec!["agents enforce guards once they are connected with `foreword install`".to_owned()];
    if !unable.is_empty() {
        notes.push(format!("{unable} cannot deny a call by a hook, so guards are only text there"));
    }
    if !denying.is_empty() {
        notes.push(format!("{denying} cannot ask by a hook, so guards with `ask` deny there"));
    }
    notes
}

/// Returns the sentence that `foreword compare` adds about guards, or `None` if none hold.
pub(crate) fn sentence(listed: &ListedGuards, agents: &[&'static Profile]) -> Option<String> {
    let count = listed.guards.len();
    let enforces = |profile: &&&'static Profile| {
        listed.guards.iter().all(|guard| guard.enforced_by.contains(&profile.name))
    };
    let (all, others): (Vec<_>, Vec<_>) = agents.iter().partition(|profile| enforces(profile));
    let names = |profiles: &[&&'static Profile]| {
        compare::joined(
            &profiles.iter().map(|profile| profile.agent.title.to_owned()).collect::<Vec<_>>(),
            "and",
        )
    };
    let hold = if count == 1 { "1 guard holds".to_owned() } else { format!("{count} guards hold") };
    match (count, all.is_empty(), others.is_empty()) {
        (0, ..) => None,
        (_, true, _) => Some(format!("{hold} here; none of these agents enforces all of them")),
        (_, false, true) => Some(format!("{hold} here; all of these agents can enforce them")),
        (_, false, false) => {
            Some(format!("{hold} here; {} can enforce them, {} cannot", names(&all), names(&others)))
        }
    }
}
