//! `foreword skill`: lists, shows and checks the skills of a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use protocol::{SkillOutcome, SkillSummary};
use serde::Serialize;
use skills::{Activation, Catalogue, Situation, SkillRequest, TrustFile, candidates};

use crate::arguments::SkillCommand;
use crate::command::files::explain::paint;
use crate::context::Context;
use crate::enum_names::enum_str;
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::count;
use crate::output::terminal::{self, wrap};
use crate::output::{one_line, print, seen_line, shown_path};
use crate::shell_quote::shell_word;

/// Indentation of details below a skill.
const INDENT: usize = 4;
/// Maximum length of a description in a list.
const DESCRIPTION: usize = 200;

#[derive(Serialize)]
struct Listed {
    skills: Vec<SkillSummary>,
}

#[derive(Serialize)]
struct Checked {
    findings: Vec<SkillSummary>,
    checked: usize,
}

pub(crate) fn run(context: &Context, command: &SkillCommand) -> Result<Exit, Failure> {
    match command {
        SkillCommand::List { path } => list(context, path.as_deref()),
        SkillCommand::Show { slug, path } => show(context, slug, path.as_deref()),
        SkillCommand::Check { path } => check(context, path.as_deref()),
    }
}

fn list(context: &Context, path: Option<&Path>) -> Result<Exit, Failure> {
    let here = Here::find(context, path)?;
    let listed = Listed { skills: here.activation().summaries() };
    here.warn(context);
    if listed.skills.is_empty() && !context.output.is_json() {
        let home = shown_path(context.directories.home.join("skills"));
        context.output.note(format!("no skills found; create one in {home} or in .agents/skills"));
        return Ok(Exit::Done);
    }
    context.output.data(&listed, || listed.skills.iter().map(|skill| entry(skill, &here.cwd)).collect())?;
    Ok(Exit::Done)
}

fn show(context: &Context, slug: &str, path: Option<&Path>) -> Result<Exit, Failure> {
    let here = Here::find(context, path)?;
    here.warn(context);
    let activation = here.activation();
    let Some(skill) = activation.details(slug) else {
        let slugs = here.catalogue.skills().iter().map(|skill| skill.slug.as_str());
        let failure = Failure::usage(format!("there is no skill `{}` here", one_line(slug, 64)));
        return Err(match protocol::similar(slug, slugs) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
            None => failure.hint("list skills with `foreword skill list`"),
        });
    };
    context.output.data(&skill, || {
        let mut text = entry(&skill.summary, &here.cwd);
        let joined = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
        let keys = [
            ("license", skill.license.clone()),
            ("compatibility", skill.compatibility.clone()),
            ("allowed-tools", skill.allowed_tools.as_ref().map(|tools| format!("{tools} (grants nothing)"))),
            ("paths", joined(&skill.paths)),
            ("requires", joined(&skill.requires)),
        ];
        for (key, value) in keys.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            text.push_str(&format!("{:INDENT$}{key}: {}\n", "", one_line(&value, usize::MAX)));
        }
        for (key, value) in &skill.other_keys {
            text.push_str(&format!("{:INDENT$}{}: {value}\n", "", seen_line(key)));
        }
        for file in &skill.files {
            let bytes = count(file.bytes, "byte");
            text.push_str(&format!("{:INDENT$}{}  {bytes}  {}\n", "", seen_line(&file.path), file.sha256));
        }
        // An untrusted text must only be shown by `trust`, in full and behind margins that it cannot imitate.
        if skill.body.is_none() && skill.summary.outcome != SkillOutcome::Invalid {
            let folder = Path::new(&skill.summary.path).parent().unwrap_or(Path::new(".")).to_string_lossy();
            let how = format!(
                "the text of an untrusted skill is not shown; review it with `foreword trust {}`",
                shell_word(&folder)
            );
            text.push_str(&format!(
                "{}\n",
                wrap(&format!("{:INDENT$}{how}", ""), terminal::columns(), INDENT)
            ));
        }
        if let Some(body) = &skill.body {
            text.push('\n');
            body.lines().for_each(|line| text.push_str(&format!("{}\n", seen_line(line))));
        }
        text
    })?;
    Ok(Exit::Done)
}

fn check(context: &Context, path: Option<&Path>) -> Result<Exit, Failure> {
    let named = directory(path)?;
    // A path of one skill checks exactly that skill, even outside the folders that are searched for skills.
    let is_skill = named.ends_with("SKILL.md") || named.join("SKILL.md").exists();
    let (summaries, base) = if is_skill {
        (of_one(context, &named)?, named)
    } else {
        let here = Here::find(context, path)?;
        here.warn(context);
        (here.activation().summaries(), here.cwd)
    };
    let checked = summaries.len();
    let is_wrong = |skill: &SkillSummary| {
        use SkillOutcome::{ChangedSinceTrusted, Invalid, MissingDependency};
        matches!(skill.outcome, Invalid | ChangedSinceTrusted | MissingDependency)
    };
    let findings: Vec<SkillSummary> = summaries.into_iter().filter(is_wrong).collect();
    let wrong = findings.len();
    let result = Checked { findings, checked };
    if context.output.is_json() {
        context.output.json(&result)?;
    } else {
        let text: String = result.findings.iter().map(|skill| entry(skill, &base)).collect();
        print(&text)?;
        let what = if wrong == 0 { "no problems".to_owned() } else { count(wrong as u64, "problem") };
        context.output.note(format!("{}: {what}", count(checked as u64, "skill")));
    }
    Ok(if wrong == 0 { Exit::Done } else { Exit::CheckFailed })
}

/// Returns the problems of a skill, wherever it is and whether or not it is trusted.
fn of_one(context: &Context, path: &Path) -> Result<Vec<SkillSummary>, Failure> {
    // The check does not depend on trust, so an unreadable list of trusted skills does not matter here.
    let trusted = TrustFile::new(&context.directories.home).read().unwrap_or_default();
    let (found, _) =
        candidates(path, &trusted).map_err(|error| Failure::file("look for skills in", path, error))?;
    let summaries = found.into_iter().map(|candidate| {
        let (outcome, reason, detail) = match candidate.problem {
            Some((reason, detail)) => (SkillOutcome::Invalid, Some(reason), Some(detail)),
            None => (SkillOutcome::Active, None, None),
        };
        let path = candidate.folder.join("SKILL.md").to_string_lossy().into_owned();
        SkillSummary { slug: candidate.slug, description: String::new(), path, outcome, reason, detail }
    });
    Ok(summaries.collect())
}

/// Skills of a directory.
struct Here {
    cwd: PathBuf,
    catalogue: Arc<Catalogue>,
    implicit: skills::Implicit,
}

impl Here {
    fn find(context: &Context, path: Option<&Path>) -> Result<Self, Failure> {
        let settings = &context.configuration.sections().skills;
        let files = Files::new(context)?;
        let cwd = directory(path)?;
        let resolution = instructions::resolve(&files.request(&cwd), None);
        let root = resolution.map_err(|error| files.failure(&error))?.root.clone();
        let request = SkillRequest {
            // A directory without a project root counts as its own project.
            root: Some(root.as_deref().unwrap_or(&cwd)),
            cwd: Some(&cwd),
            folders: &settings.folders,
            ..SkillRequest::new(&context.directories.home)
        };
        let catalogue = skills::resolve(&request, None);
        if !settings.enabled {
            let origin = context.configuration.origin("skills.enabled");
            context.output.warning(&format!("skills are switched off (from {origin})"), None);
        }
        Ok(Self { cwd, catalogue, implicit: settings.implicit() })
    }

    fn activation(&self) -> Activation {
        let situation = Situation { cwd: Some(&self.cwd), implicit: self.implicit, ..Situation::default() };
        self.catalogue.activate(&situation)
    }

    /// Prints warnings if the list may be incomplete.
    fn warn(&self, context: &Context) {
        if let Some(problem) = self.catalogue.trust_problem() {
            let hint = "no project skill is trusted until the file is fixed or removed";
            context.output.warning(problem, Some(hint));
        }
        if self.catalogue.is_cut() {
            let message = format!("only the first {} skills were examined", skills::MAX_SKILLS);
            context.output.warning(&message, None);
        }
    }
}

/// Formats a skill: sign, slug and outcome, then its purpose and location.
fn entry(skill: &SkillSummary, base: &Path) -> String {
    let screen = terminal::columns();
    let (sign, style) = appearance(skill.outcome);
    let outcome = paint(style, &enum_str(&skill.outcome).replace('_', " "));
    let reason =
        skill.reason.filter(|_| matches!(skill.outcome, SkillOutcome::Active | SkillOutcome::Disabled));
    let reason =
        reason.map(|reason| format!(" ({})", enum_str(&reason).replace('_', " "))).unwrap_or_default();
    let mut text = format!("{sign} {}  {outcome}{reason}\n", seen_line(&skill.slug));
    let path = Path::new(&skill.path);
    let path = path.strip_prefix(base).unwrap_or(path);
    let lines = [
        (!skill.description.is_empty()).then(|| one_line(&skill.description, DESCRIPTION)),
        skill.detail.as_ref().map(|detail| one_line(detail, usize::MAX)),
        Some(shown_path(path)),
    ];
    for line in lines.into_iter().flatten() {
        text.push_str(&format!("{}\n", wrap(&format!("{:INDENT$}{line}", ""), screen, INDENT)));
    }
    text
}

fn appearance(outcome: SkillOutcome) -> (&'static str, Style) {
    let good = AnsiColor::Green.on_default();
    let poor = AnsiColor::Yellow.on_default();
    let bad = AnsiColor::Red.on_default();
    match outcome {
        SkillOutcome::Active => ("+", good),
        SkillOutcome::Shadowed | SkillOutcome::Disabled => ("-", Style::new()),
        SkillOutcome::Untrusted | SkillOutcome::MissingDependency => ("!", poor),
        SkillOutcome::Invalid | SkillOutcome::ChangedSinceTrusted => ("!", bad),
    }
}
