//! `foreword trust` and `untrust`: shows a project's skills byte by byte and records which may be used.

use std::path::Path;

use protocol::{SkillFile, Timestamp};
use serde::Serialize;
use skills::{PinnedSkill, TrustCandidate, TrustError, TrustFile, Trusted, candidates};

use crate::arguments::Trust;
use crate::confirm::confirm;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::directory;
use crate::output::count;
use crate::output::quoted_block;
use crate::output::terminal::columns;
use crate::output::{print, seen_line, shown_path};
use crate::shell_quote::shell_word;

/// Maximum number of bytes shown of one file.
const MAX_SHOWN: usize = 256 * 1024;

/// State of a skill compared with its trusted version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    New,
    Changed,
    Unchanged,
    Refused,
}

#[derive(Serialize)]
struct Offered {
    skills: Vec<OfferedSkill>,
    /// True if the skills are trusted now.
    trusted: bool,
}

#[derive(Serialize)]
struct OfferedSkill {
    slug: String,
    folder: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    files: Vec<SkillFile>,
    left_out: Vec<LeftOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

#[derive(Serialize)]
struct LeftOut {
    path: String,
    reason: String,
}

#[derive(Serialize)]
struct TrustedSkills {
    skills: Vec<TrustedSkill>,
}

#[derive(Serialize)]
struct TrustedSkill {
    slug: String,
    folder: String,
    files: usize,
    trusted_at: Timestamp,
}

pub(crate) fn run(context: &Context, arguments: &Trust) -> Result<Exit, Failure> {
    let trust_file = TrustFile::new(&context.directories.home);
    let trusted = trust_file.read().map_err(failure)?;
    if arguments.list {
        return list(context, &trusted, arguments.path.as_deref());
    }
    let path = directory(arguments.path.as_deref())?;
    let (found, is_cut) =
        candidates(&path, &trusted).map_err(|error| Failure::file("look for skills in", &path, error))?;
    if is_cut {
        let hint = "name a subdirectory";
        context.output.warning("there are too many skills to examine all of them", Some(hint));
    }
    if found.is_empty() {
        let message = format!("no project skills found in {}", shown_path(&path));
        let failure =
            Failure::usage(message).hint("project skills are in .agents/skills and .foreword/skills");
        // Users often name a subdirectory, so point to the nearest directory above it that does have skills.
        let above = path.ancestors().skip(1).find(|above| {
            [".agents/skills", ".foreword/skills"].iter().any(|folder| above.join(folder).is_dir())
        });
        return Err(match above {
            Some(above) => failure.hint(format!(
                "trust those of {} with `foreword trust {}`",
                shown_path(above),
                shell_word(&above.to_string_lossy())
            )),
            None => failure,
        });
    }
    let wanted: Vec<&TrustCandidate> =
        found.iter().filter(|found| matches!(state(found), State::New | State::Changed)).collect();
    if !context.output.is_json() {
        let shown: String = found.iter().map(|found| describe(found, &trust_file, arguments.diff)).collect();
        print(&shown)?;
    }
    // With nothing new there is nothing to ask, and `--diff` never trusts anything.
    let consent = if wanted.is_empty() || arguments.diff {
        None
    } else if arguments.yes {
        Some(true)
    } else {
        let question = format!("Trust {} as shown?", count(wanted.len() as u64, "skill"));
        match confirm(&question) {
            Some(answer) => Some(answer),
            None => {
                context.output.note(format!(
                    "no terminal to ask on, so nothing was trusted; `foreword trust --yes {}` trusts what is shown",
                    shell_word(&path.to_string_lossy())
                ));
                Some(false)
            }
        }
    };
    if consent == Some(true) {
        trust_file.trust(&wanted).map_err(failure)?;
    }
    if context.output.is_json() {
        let skills = found.iter().map(|found| offered(found, &trust_file, arguments.diff)).collect();
        context.output.json(&Offered { skills, trusted: consent == Some(true) })?;
    }
    Ok(match consent {
        Some(true) => {
            context.output.note(format!("trusted {}", count(wanted.len() as u64, "skill")));
            Exit::Done
        }
        // A refusal has exit code 1, so that scripts notice that the skills are still untrusted.
        Some(false) => Exit::CheckFailed,
        None => {
            if !arguments.diff {
                context.output.note("there is nothing new to trust");
            } else if !wanted.is_empty() {
                let path = path.to_string_lossy();
                let path = shell_word(&path);
                context.output.note(format!("`foreword trust {path}` trusts the current state"));
            }
            Exit::Done
        }
    })
}

pub(crate) fn untrust(context: &Context, path: &Path) -> Result<Exit, Failure> {
    let named = directory(Some(path))?;
    let trust_file = TrustFile::new(&context.directories.home);
    // Trust is recorded for real paths. A deleted skill can only be found by the path as named.
    let real = named.canonicalize().unwrap_or_else(|_| named.clone());
    // A user may name the file of a skill, but trust is recorded for its folder.
    let real = if real.ends_with("SKILL.md") { real.parent().unwrap_or(&real).to_owned() } else { real };
    let taken = trust_file.untrust(&real).map_err(failure)?;
    if taken.is_empty() {
        let message = format!("nothing is trusted in {}", shown_path(&named));
        return Err(Failure::usage(message).hint("list trusted skills with `foreword trust --list`"));
    }
    let skills: Vec<TrustedSkill> = taken.iter().map(trusted_skill).collect();
    context.output.data(&TrustedSkills { skills }, || {
        let lines = taken.iter().map(|skill| format!("no longer trusted: {}\n", shown_path(&skill.folder)));
        lines.collect()
    })?;
    Ok(Exit::Done)
}

fn list(context: &Context, trusted: &Trusted, path: Option<&Path>) -> Result<Exit, Failure> {
    let below = path.map(|path| directory(Some(path))).transpose()?;
    let below = below.map(|path| path.canonicalize().unwrap_or(path));
    let is_meant = |skill: &&PinnedSkill| below.as_ref().is_none_or(|path| skill.folder.starts_with(path));
    let skills: Vec<TrustedSkill> = trusted.skills().filter(is_meant).map(trusted_skill).collect();
    if skills.is_empty() && !context.output.is_json() {
        context.output.note("no skill is trusted; review a project's skills with `foreword trust PATH`");
        return Ok(Exit::Done);
    }
    let listed = TrustedSkills { skills };
    context.output.data(&listed, || {
        let rows = listed.skills.iter().map(|skill| {
            let slug = seen_line(&skill.slug);
            let folder = seen_line(&skill.folder);
            vec![slug, skill.files.to_string(), skill.trusted_at.to_string(), folder]
        });
        crate::output::table(&["skill", "files", "trusted", "folder"], rows)
    })?;
    Ok(Exit::Done)
}

fn trusted_skill(skill: &PinnedSkill) -> TrustedSkill {
    TrustedSkill {
        slug: skill.slug.clone(),
        folder: skill.folder.to_string_lossy().into_owned(),
        files: skill.files.len(),
        trusted_at: skill.trusted_at,
    }
}

fn state(candidate: &TrustCandidate) -> State {
    match (&candidate.problem, &candidate.changes) {
        (Some(_), _) => State::Refused,
        (None, None) => State::New,
        (None, Some(_)) if candidate.is_trusted() => State::Unchanged,
        (None, Some(_)) => State::Changed,
    }
}

/// Formats everything that would be trusted: nothing is cut or invisible, and no line can imitate our output. For a skill
/// that was trusted before, formats only the differences.
fn describe(candidate: &TrustCandidate, trust_file: &TrustFile, only_differences: bool) -> String {
    let state = state(candidate);
    let word = match state {
        State::New => "not trusted yet",
        State::Changed => "changed since it was trusted",
        State::Unchanged => "trusted",
        State::Refused => "cannot be trusted",
    };
    let mut text = format!("{}: {word}\n  {}\n", seen_line(&candidate.slug), shown_path(&candidate.folder));
    if let Some((_, problem)) = &candidate.problem {
        text.push_str(&format!("  {}\n", seen_line(problem)));
    }
    for (path, why) in &candidate.left_out {
        text.push_str(&format!("  {}: left out, {}\n", shown_path(path), seen_line(why)));
    }
    match state {
        State::Changed => add_block(&mut text, &diff(candidate, trust_file)),
        State::New if !only_differences => {
            // Every file of the skill is listed, even one that cannot be shown, so that none can be trusted unnoticed.
            for (path, bytes, sha256) in candidate.files() {
                let size = count(bytes.len() as u64, "byte");
                text.push_str(&format!("  {}  {size}  {sha256}\n", shown_path(path)));
                // A NUL byte marks a binary file, which a terminal cannot show faithfully.
                if bytes.contains(&0) || bytes.len() > MAX_SHOWN {
                    text.push_str("    binary or too long to show: inspect it before you trust it\n");
                } else {
                    add_block(&mut text, &String::from_utf8_lossy(bytes));
                }
            }
        }
        _ => {}
    }
    text.push('\n');
    text
}

fn diff(candidate: &TrustCandidate, trust_file: &TrustFile) -> String {
    let changes = candidate.changes.iter().flatten();
    changes.map(|change| candidate.diff(change, trust_file)).collect()
}

/// Appends the lines of an untrusted text behind margins.
fn add_block(text: &mut String, block: &str) {
    let mut rows = Vec::new();
    quoted_block::add_block(&mut rows, block, columns());
    rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
}

fn offered(candidate: &TrustCandidate, trust_file: &TrustFile, with_differences: bool) -> OfferedSkill {
    let state = state(candidate);
    let files = candidate.files().map(|(path, bytes, sha256)| SkillFile {
        path: path.to_string_lossy().into_owned(),
        bytes: bytes.len() as u64,
        sha256: sha256.clone(),
    });
    let left_out = candidate
        .left_out
        .iter()
        .map(|(path, reason)| LeftOut { path: path.to_string_lossy().into_owned(), reason: reason.clone() });
    OfferedSkill {
        slug: candidate.slug.clone(),
        folder: candidate.folder.to_string_lossy().into_owned(),
        state,
        problem: candidate.problem.as_ref().map(|(_, message)| message.clone()),
        files: files.collect(),
        left_out: left_out.collect(),
        diff: (with_differences && state == State::Changed).then(|| diff(candidate, trust_file)),
    }
}

fn failure(error: TrustError) -> Failure {
    let hint = match &error {
        TrustError::Malformed { .. } => Some("fix the file, or remove it and trust the skills again"),
        TrustError::Io { .. } => None,
    };
    Failure::caused_by(Exit::Failed, "could not access the list of trusted skills", error).hints(hint)
}
