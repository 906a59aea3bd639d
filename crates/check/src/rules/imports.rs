//! Imports without a target, or that an agent does not follow.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use instructions::{Outcome, Profile, named_imports, path::normalise};

use crate::document::Document;
use crate::finding::{Finding, Findings, quoted, titles};
use crate::project::Project;
use crate::rule::RuleId;

/// Extensions of imported files. Words after `@` with other endings are mostly names, packages or decorators.
const IMPORTED: &[&str] = &["md", "mdc", "mdx", "markdown", "txt", "rst", "adoc"];
/// Most imports examined per file. Agents follow fewer.
const MAX_IMPORTS: usize = 4_096;
/// Characters that may follow a path in a sentence.
const PUNCTUATION: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*'];

/// An import in a document, and the agents that recognize it.
struct Import {
    line: usize,
    written: String,
    target: PathBuf,
    agents: Vec<&'static Profile>,
}

pub(super) fn run(project: &Project, findings: &mut Findings<'_>) {
    let mut targets: HashMap<PathBuf, Vec<(&Document, usize, String)>> = HashMap::new();
    for document in project.documents.iter().filter(|document| !document.is_alias) {
        for import in imports(document) {
            lead_nowhere(project, document, &import, findings);
            let Import { target, line, written, .. } = import;
            targets.entry(target).or_default().push((document, line, written));
        }
    }
    not_followed(project, &targets, findings);
}

fn imports(document: &Document) -> Vec<Import> {
    let mut imports: BTreeMap<(usize, String), Vec<&'static Profile>> = BTreeMap::new();
    // Each agent has rules of its own for what an import is. Most texts contain none, and the test for `@` saves
    // parsing them once per agent.
    for agent in document.readers.iter().filter(|_| document.text.contains('@')) {
        for named in named_imports(&document.text, agent) {
            let agents = imports.entry((named.line, named.path)).or_default();
            if !agents.contains(agent) {
                agents.push(agent);
            }
        }
    }
    let directory = document.path.parent().unwrap_or(&document.path);
    let found = imports.into_iter().take(MAX_IMPORTS).map(|((line, written), agents)| {
        let target = normalise(Path::new(&written), directory);
        Import { line, written, target, agents }
    });
    found.collect()
}

fn lead_nowhere(project: &Project, document: &Document, import: &Import, findings: &mut Findings<'_>) {
    let Import { line, written, target, agents } = import;
    // Agents differ in whether punctuation at the end of a word belongs to the path. The file is judged by the name
    // without it, and the message explains the difference.
    let bare = written.trim_end_matches(PUNCTUATION);
    if !looks_like_a_file(bare) || !target.starts_with(&project.root) {
        return;
    }
    let mut push = |message: String| {
        let finding = Finding::new(RuleId::BrokenImport, &document.path, message);
        findings.push(finding.at_line(*line).for_agents(agents));
    };
    let written = quoted(&format!("@{written}"));
    match target.metadata() {
        Ok(metadata) if metadata.is_file() && *target == document.path => {
            push(format!("{written} imports the file that it is in"));
        }
        Ok(metadata) if metadata.is_file() => {}
        Ok(metadata) if metadata.is_dir() => {
            push(format!("{written} is a directory, and only files are imported"))
        }
        Ok(_) => push(format!("{written} is a pipe or a device, and only files are imported")),
        Err(_) => {
            let directory = document.path.parent().unwrap_or(&document.path);
            let without = normalise(Path::new(bare), directory);
            if without == *target {
                push(format!("{written} leads nowhere: there is no {}", project.shown(target)));
            } else if without.is_file() {
                let verbs = if agents.len() == 1 { ("takes", "imports") } else { ("take", "import") };
                let (takes, imports) = verbs;
                let who = titles(agents);
                push(format!(
                    "{who} {takes} the punctuation behind {written} for a part of the path, and {imports} nothing"
                ));
            } else {
                push(format!("{written} leads nowhere: there is no {}", project.shown(&without)));
            }
        }
    }
}

fn looks_like_a_file(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    let is_text =
        extension.is_some_and(|extension| IMPORTED.contains(&extension.to_ascii_lowercase().as_str()));
    let is_plain = !path.contains("://") && !path.contains(['<', '>', '{', '}', '*', '$', '…']);
    is_plain && (is_text || path.starts_with("./") && extension.is_some()) && !path.starts_with(['/', '~'])
}

/// Adds findings for existing imports that agents do not follow.
fn not_followed(
    project: &Project,
    targets: &HashMap<PathBuf, Vec<(&Document, usize, String)>>,
    findings: &mut Findings<'_>,
) {
    type Place<'a> = (&'a Path, usize, &'a str, bool);
    let mut found: BTreeMap<Place<'_>, (Vec<&'static Profile>, BTreeSet<&Path>)> = BTreeMap::new();
    for chain in &project.chains {
        for decision in &chain.decisions {
            let is_too_deep = match decision.outcome {
                Outcome::OutsideRoot => false,
                Outcome::TooDeep => true,
                _ => continue,
            };
            for (document, line, written) in targets.get(&decision.path).into_iter().flatten() {
                // Another file of the chain may contain the import.
                if !document.readers.contains(&chain.agent)
                    || !chain.directory.starts_with(&document.directory)
                {
                    continue;
                }
                // A missing target has a finding of its own.
                let is_missing = decision.path.starts_with(&project.root) && !decision.path.is_file();
                let is_file = looks_like_a_file(written.trim_end_matches(PUNCTUATION));
                // A word without an extension may be a person's name, unless it begins with `../`.
                if is_missing || !is_file && !written.starts_with("../") {
                    continue;
                }
                let place = (&*document.path, *line, written.as_str(), is_too_deep);
                let (agents, directories) = found.entry(place).or_default();
                if !agents.contains(&chain.agent) {
                    agents.push(chain.agent);
                }
                // The same import usually fails in every directory below. One finding with a count is readable, one per
                // directory is not.
                directories.insert(&chain.directory);
            }
        }
    }
    for ((path, line, written, is_too_deep), (agents, directories)) in found {
        let who = titles(&agents);
        let verb = if agents.len() == 1 { "does" } else { "do" };
        let written = quoted(&format!("@{written}"));
        let (rule, message) = if is_too_deep {
            let message =
                format!("{who} {verb} not import {written}: too many imports lead to it, one in the other");
            (RuleId::BrokenImport, message)
        } else {
            let place = match directories.first() {
                Some(first) if directories.len() == 1 => format!("when started in {}", project.shown(first)),
                Some(first) if directories.len() == 2 => {
                    format!("when started in {} or one more directory", project.shown(first))
                }
                Some(first) => {
                    format!(
                        "when started in {} or {} more directories",
                        project.shown(first),
                        directories.len() - 1
                    )
                }
                None => String::new(),
            };
            (RuleId::EscapingImport, format!("{who} {verb} not import {written} {place}: it leads outside"))
        };
        findings.push(Finding::new(rule, path, message).at_line(line).for_agents(&agents));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_packages_are_not_files() {
        for path in ["docs/a.md", "./x.py", "../a/b.txt", "AGENTS.md"] {
            assert!(looks_like_a_file(path), "{path}");
        }
        for path in [
            "types/node",
            "alice",
            "pytest.mark",
            "app.route",
            "/etc/x.md",
            "~/x.md",
            "https://a/b.md",
            "{x}.md",
        ] {
            assert!(!looks_like_a_file(path), "{path}");
        }
    }
}
