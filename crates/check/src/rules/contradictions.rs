//! Package managers and test tools that contradict each other or the lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::paths::directories;
use crate::document::Document;
use crate::finding::{Finding, Findings, list, quoted};
use crate::project::Project;
use crate::rule::RuleId;
use crate::shell::{Command, commands};

/// Package managers of one language, with their lock files.
type Managers = &'static [(&'static str, &'static [&'static str])];

const JAVASCRIPT: Managers = &[
    ("npm", &["package-lock.json", "npm-shrinkwrap.json"]),
    ("pnpm", &["pnpm-lock.yaml"]),
    ("yarn", &["yarn.lock"]),
    ("bun", &["bun.lock", "bun.lockb"]),
];
const PYTHON: Managers = &[
    ("uv", &["uv.lock"]),
    ("poetry", &["poetry.lock"]),
    ("pipenv", &["Pipfile.lock"]),
    ("pdm", &["pdm.lock"]),
];
/// Verbs of commands that manage the project's packages.
const VERBS: &[&str] = &["install", "i", "ci", "add", "sync", "run", "test", "lock", "remove"];

/// Test tools by language. Those in one row are alternatives.
const TEST_TOOLS: &[&[&str]] = &[
    &["jest", "vitest", "mocha", "ava"],
    &["pytest", "nosetests", "nose2"],
    &["cargo test", "cargo nextest"],
];

pub(super) fn run(project: &Project, findings: &mut Findings<'_>) {
    let mut by_directory: BTreeMap<&Path, Vec<(&Document, Vec<Command>)>> = BTreeMap::new();
    for document in
        project.documents.iter().filter(|document| !document.is_alias && !document.readers.is_empty())
    {
        let commands: Vec<Command> =
            // "Use pnpm, never `npm install`" agrees with a file that uses pnpm, so commands that a text advises
            // against do not count.
            commands(document).into_iter().filter(|command| !command.is_denied).collect();
        for managers in [JAVASCRIPT, PYTHON] {
            against_lock_file(project, document, managers, &commands, findings);
        }
        // Rules in folders often apply to different paths and are not read together, so they are compared only with the
        // lock file.
        if document.folder.is_none() {
            by_directory.entry(&document.directory).or_default().push((document, commands));
        }
    }
    for documents in by_directory.values() {
        for Clash { rule, file, line, message } in
            clashes(documents, &|other| quoted(&other.name()), "beside it ")
        {
            findings.push(Finding::new(rule, &file.path, message).at_line(line));
        }
    }
    for (directory, documents) in &by_directory {
        against_those_above(directory, documents, &by_directory, project, findings);
    }
}

/// Files that make a directory a package with tools of its own.
const PACKAGE_FILES: &[&str] =
    &["package.json", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod", "pom.xml", "build.gradle"];

/// Compares documents of a directory with those above it that an agent reads together with them.
fn against_those_above(
    directory: &Path,
    documents: &[(&Document, Vec<Command>)],
    by_directory: &BTreeMap<&Path, Vec<(&Document, Vec<Command>)>>,
    project: &Project,
    findings: &mut Findings<'_>,
) {
    for (document, commands) in documents {
        let mut together: Vec<(&Document, Vec<Command>)> = Vec::new();
        let mut below = directory;
        // A directory with a package of its own may well use other tools than its parents. The search upward ends
        // there.
        while !PACKAGE_FILES.iter().any(|name| below.join(name).is_file())
            && let Some(above) = below.parent().filter(|above| above.starts_with(&project.root))
        {
            let shares_reader =
                |(other, _): &&(&Document, _)| other.readers.iter().any(|it| document.readers.contains(it));
            together.extend(by_directory.get(above).into_iter().flatten().filter(shares_reader).cloned());
            below = above;
        }
        together.push((*document, commands.clone()));
        for Clash { rule, file, line, message } in clashes(&together, &|other| project.shown(&other.path), "")
        {
            // Clashes among the upper documents are reported in their own directory.
            if std::ptr::eq(file, *document) {
                findings.push(Finding::new(rule, &file.path, message).at_line(line));
            }
        }
    }
}

/// Returns contradictions between texts that one agent reads together, as sentences.
pub(crate) fn between(documents: &[Document], shown: &dyn Fn(&Path) -> String) -> Vec<String> {
    let is_meant = |command: &Command| !command.is_denied;
    let with_commands: Vec<(&Document, Vec<Command>)> = documents
        .iter()
        .map(|document| (document, commands(document).into_iter().filter(is_meant).collect()))
        .collect();
    let clashes = clashes(&with_commands, &|other| shown(&other.path), "");
    clashes
        .into_iter()
        .map(|Clash { file, line, message, .. }| format!("{}, line {line}: {message}", shown(&file.path)))
        .collect()
}

/// Two texts that recommend different tools for one purpose.
struct Clash<'a> {
    rule: RuleId,
    file: &'a Document,
    line: usize,
    message: String,
}

fn clashes<'a>(
    documents: &[(&'a Document, Vec<Command>)],
    shown: &dyn Fn(&Document) -> String,
    place: &str,
) -> Vec<Clash<'a>> {
    let mut clashes = Vec::new();
    for tools in TEST_TOOLS {
        let used = |commands: &[Command]| test_tools(tools, commands);
        clashes.extend(against_each_other(
            RuleId::TestCommands,
            "run tests with",
            documents,
            used,
            shown,
            place,
        ));
    }
    for managers in [JAVASCRIPT, PYTHON] {
        let used = |commands: &[Command]| {
            let uses = commands.iter().filter(|command| !command.is_elsewhere);
            // Iterating in reverse keeps the first line of each manager.
            uses.rev().filter_map(|command| Some((manager(command, managers)?, command.line))).collect()
        };
        clashes.extend(against_each_other(RuleId::PackageManagers, "use", documents, used, shown, place));
    }
    clashes
}

/// Returns the package manager that a command runs for this project.
fn manager(command: &Command, managers: Managers) -> Option<&'static str> {
    let (name, _) = managers.iter().find(|(name, _)| *name == command.word(0))?;
    let verb = command.word(1);
    let is_global = command.words.iter().any(|word| word == "-g" || word == "--global");
    // `uv run` and `uv pip` work with any lock file.
    let is_neutral = *name == "uv" && verb != "sync" && verb != "lock" && verb != "add";
    // A single package may be installed for another purpose.
    let is_package =
        matches!(verb, "install" | "i") && command.words[2..].iter().any(|word| !word.starts_with('-'));
    (VERBS.contains(&verb) && !is_global && !is_neutral && !is_package).then_some(name)
}

fn against_lock_file(
    project: &Project,
    document: &Document,
    managers: Managers,
    commands: &[Command],
    findings: &mut Findings<'_>,
) {
    let there = |directory: &Path| -> Vec<(&'static str, &'static str)> {
        let locks = managers.iter().flat_map(|(name, locks)| locks.iter().map(move |lock| (*name, *lock)));
        locks.filter(|(_, lock)| directory.join(lock).is_file()).collect()
    };
    let nearest =
        directories(project, document).map(there).find(|locks| !locks.is_empty()).unwrap_or_default();
    let [(locked, lock), ..] = nearest.as_slice() else { return };
    // With several lock files the intended manager is unclear.
    if nearest.iter().any(|(name, _)| name != locked) {
        return;
    }
    let uses = commands.iter().filter(|command| !command.is_elsewhere);
    let mut uses = uses.filter_map(|command| Some((manager(command, managers)?, command)));
    let other = uses.find(|(name, command)| name != locked && !is_offered(document, command.line, locked));
    if let Some((name, command)) = other {
        let message = format!(
            "{} is a command of {name}, but {} is the lock file of {locked}",
            quoted(&command.words.join(" ")),
            quoted(lock)
        );
        findings.push(Finding::new(RuleId::PackageManagers, &document.path, message).at_line(command.line));
    }
}

/// Returns true if a line also offers the right manager, and so leaves the choice.
fn is_offered(document: &Document, line: usize, manager: &str) -> bool {
    document.markdown.around(line).split(|letter: char| !letter.is_alphanumeric()).any(|word| word == manager)
}

fn test_tools(tools: &[&'static str], commands: &[Command]) -> BTreeMap<&'static str, usize> {
    let mut used = BTreeMap::new();
    for command in commands.iter().filter(|command| !command.is_elsewhere) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        // The tool may follow `npx`, `uv run` and similar commands.
        let words = match words.as_slice() {
            ["npx" | "bunx" | "pnpx", rest @ ..]
            | ["uv" | "poetry" | "pdm" | "pnpm" | "yarn", "run" | "exec", rest @ ..] => rest,
            ["python" | "python3", "-m", rest @ ..] => rest,
            words => words,
        };
        let line = words.join(" ");
        for tool in tools {
            let rest = line.strip_prefix(tool);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
                used.entry(*tool).or_insert(command.line);
            }
        }
    }
    used
}

/// Returns clashes between documents whose tools have nothing in common.
fn against_each_other<'a>(
    rule: RuleId,
    verb: &str,
    documents: &[(&'a Document, Vec<Command>)],
    used: impl Fn(&[Command]) -> BTreeMap<&'static str, usize>,
    shown: &dyn Fn(&Document) -> String,
    place: &str,
) -> Vec<Clash<'a>> {
    let mut clashes = Vec::new();
    let mut earlier: Vec<(&Document, BTreeSet<&'static str>)> = Vec::new();
    for (document, commands) in documents {
        let used = used(commands);
        let names: BTreeSet<&'static str> = used.keys().copied().collect();
        if names.is_empty() {
            continue;
        }
        // Texts that share one tool do not contradict each other: one of them merely names more alternatives.
        let against = earlier.iter().find(|(_, others)| others.is_disjoint(&names));
        if let (Some((other, others)), Some(line)) = (against, used.values().min()) {
            let show = |names: &BTreeSet<&str>| list(names.iter().map(|name| quoted(name)), "and");
            let message = format!(
                "it says to {verb} {}, but {} {place}says {}",
                show(&names),
                shown(other),
                show(others)
            );
            clashes.push(Clash { rule, file: document, line: *line, message });
        }
        earlier.push((document, names));
    }
    clashes
}
