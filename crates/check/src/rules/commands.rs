//! Commands that cannot work: missing scripts, targets and recipes.

use std::collections::HashSet;
use std::path::Path;

use super::paths::directories;
use crate::document::Document;
use crate::finding::{Finding, Findings, quoted};
use crate::policy::CheckPolicy;
use crate::project::Project;
use crate::rule::RuleId;
use crate::search::{PACKAGE, Search, scripts};
use crate::shell::Command;

/// Flags of package managers that select another package.
const ELSEWHERE: &[&str] = &[
    "-w",
    "--workspace",
    "--workspaces",
    "-ws",
    "--prefix",
    "-C",
    "--dir",
    "--cwd",
    "--filter",
    "-F",
    "-r",
    "--recursive",
];
/// A program that runs definitions in a file.
struct Runner {
    program: &'static str,
    /// Word for such a definition.
    thing: &'static str,
    files: &'static [&'static str],
    /// Returns the names defined in a file, or `None` if they cannot be determined.
    names: fn(&str) -> Option<Vec<String>>,
}

const RUNNERS: &[Runner] = &[
    Runner {
        program: "make",
        thing: "target",
        files: &["GNUmakefile", "Makefile", "makefile"],
        names: targets,
    },
    Runner {
        program: "just",
        thing: "recipe",
        files: &["justfile", "Justfile", ".justfile"],
        names: recipes,
    },
];
/// Most bytes of a Makefile or justfile that are read.
const MAX_BYTES: u64 = 1024 * 1024;

pub(super) fn run(
    project: &Project,
    document: &Document,
    policy: &CheckPolicy,
    commands: &[Command],
    search: &mut Search,
    findings: &mut Findings<'_>,
) {
    if !policy.is_on(RuleId::MissingCommand) || document.readers.is_empty() {
        return;
    }
    let mut known: HashSet<String> = HashSet::new();
    for command in commands.iter().filter(|command| !command.is_denied) {
        let finding = |message: String| {
            Finding::new(RuleId::MissingCommand, &document.path, message).at_line(command.line)
        };
        if let Some(script) = script(command) {
            // The nearest package is not the only candidate: in a workspace, texts of a member also describe scripts of
            // the root. Elsewhere in the tree is searched at the end.
            let is_there = directories(project, document)
                .filter_map(|directory| search.names_in(&directory.join(PACKAGE), scripts))
                .any(|scripts| scripts.contains(script));
            let call = format!("{} {script}", command.word(0));
            if !is_there && has_package(project, document) && !known.contains(&call) {
                let message = format!("no {PACKAGE} has a script {}", quoted(script));
                search.for_script(script, finding(message));
                known.insert(call);
            }
            continue;
        }
        if command.is_elsewhere {
            continue;
        }
        let Some(Runner { thing, files, names, .. }) =
            RUNNERS.iter().find(|runner| runner.program == command.word(0))
        else {
            continue;
        };
        let Some(wanted) = command.words.get(1).filter(|word| is_name(word)) else { continue };
        if command
            .words
            .iter()
            .any(|word| ["-C", "-f", "--directory", "--file", "--makefile"].contains(&word.as_str()))
        {
            continue;
        }
        let mut there = directories(project, document)
            .flat_map(|directory| files.iter().map(move |name| directory.join(name)))
            .filter(|path| path.is_file());
        let Some(file) = there.next() else { continue };
        let call = format!("{thing} {wanted}");
        let mut all = std::iter::once(file.clone()).chain(there);
        // A file whose definitions cannot be determined may define any name.
        let is_missing = all.all(|path| {
            let names = search.names_in(&path, |path| names(&read(path)?));
            names.is_some_and(|names| !names.contains(wanted))
        });
        if is_missing && !known.contains(&call) {
            let message = format!("{} has no {thing} {}", project.shown(&file), quoted(wanted));
            findings.push(finding(message));
            known.insert(call);
        }
    }
}

/// Returns the script that a package manager's command runs.
fn script(command: &Command) -> Option<&str> {
    let is_run = matches!(command.word(1), "run" | "run-script");
    let script = match command.word(0) {
        "npm" | "pnpm" | "yarn" | "bun" if is_run => command.word(2),
        _ => return None,
    };
    let is_elsewhere = command.words.iter().any(|word| ELSEWHERE.iter().any(|flag| word.starts_with(flag)));
    // `bun run` also runs files.
    let is_file = script.contains(['.', '/']);
    (is_name(script) && !is_elsewhere && !is_file).then_some(script)
}

/// Returns true if a word is a literal name rather than a placeholder.
fn is_name(word: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_:./".contains(letter);
    let is_capital = word.chars().all(|letter| letter.is_ascii_uppercase() || "-_".contains(letter));
    !word.is_empty()
        && !word.starts_with('-')
        && !is_capital
        && word.chars().all(is_plain)
        && !["foo", "bar", "target", "script", "script-name", "recipe", "name", "..."].contains(&word)
}

fn has_package(project: &Project, document: &Document) -> bool {
    directories(project, document).any(|directory| directory.join(PACKAGE).is_file())
}

fn read(path: &Path) -> Option<String> {
    let bytes = instructions::file::read_whole(path, MAX_BYTES)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the targets of a Makefile, or `None` if includes, patterns or variables may define others.
fn targets(text: &str) -> Option<Vec<String>> {
    let mut targets = Vec::new();
    for line in text.lines() {
        // One construct that may define further names makes the whole file unknown. Guessing would report commands that
        // work.
        let is_include =
            line.starts_with("include") || line.starts_with("-include") || line.starts_with("sinclude");
        if is_include || line.contains("$(eval") {
            return None;
        }
        if line.starts_with(['\t', '#', ' ']) {
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        // These are assignments (`:=` and `::=`), whose left side is a variable.
        if rest.starts_with('=') || rest.starts_with(":=") {
            continue;
        }
        if names.contains(['%', '$']) {
            return None;
        }
        // A phony target may have no rule of its own.
        let needed = if names.trim() == ".PHONY" { rest } else { "" };
        targets.extend(names.split_whitespace().chain(needed.split_whitespace()).map(str::to_owned));
    }
    Some(targets)
}

/// Returns the recipes of a justfile, or `None` if imports may define others.
fn recipes(text: &str) -> Option<Vec<String>> {
    let mut recipes = Vec::new();
    for line in text.lines() {
        if line.starts_with("import") || line.starts_with("mod ") || line.starts_with("mod?") {
            return None;
        }
        if let Some(alias) = line.strip_prefix("alias ") {
            recipes.extend(alias.split(":=").next().map(|name| name.trim().to_owned()));
            continue;
        }
        if line.starts_with([' ', '\t', '#', '[']) {
            continue;
        }
        let Some((head, rest)) = line.split_once(':') else { continue };
        if !rest.starts_with('=') {
            recipes
                .extend(head.split_whitespace().next().map(|name| name.trim_start_matches('@').to_owned()));
        }
    }
    Some(recipes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &str) -> Command {
        let words = words.split_whitespace().map(str::to_owned).collect();
        Command { line: 1, words, is_elsewhere: false, is_denied: false }
    }

    #[test]
    fn scripts_are_run_by_name() {
        for (words, expected) in [
            ("npm run build", Some("build")),
            ("pnpm run test:unit", Some("test:unit")),
            ("npm test", None),
            ("npm run build -w web", None),
            ("pnpm --filter web run build", None),
            ("npm run", None),
            ("npm run <script>", None),
            ("npm run SCRIPT", None),
            ("bun run src/index.ts", None),
            ("yarn build", None),
        ] {
            assert_eq!(script(&command(words)), expected, "{words}");
        }
    }

    #[test]
    fn targets_and_recipes_are_found() {
        let text = ".PHONY: all check\nX := y\nall: build\nbuild test:\n\tcargo build\n";
        assert_eq!(targets(text).unwrap(), [".PHONY", "all", "check", "all", "build", "test"]);
        assert_eq!(targets("include x.mk\na:\n"), None);
        assert_eq!(targets("%.o: %.c\n"), None);
        let text =
            "set shell := [\"sh\"]\nalias t := test\n# x: y\n@test *args: build\n  cargo test\nbuild:\n";
        assert_eq!(recipes(text).unwrap(), ["t", "test", "build"]);
        assert_eq!(recipes("import 'x'\na:\n"), None);
    }
}
