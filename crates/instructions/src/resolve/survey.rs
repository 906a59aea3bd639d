//! Explains files that look like instructions but are not read: other agents' names, other letter cases, and files
//! above the root. This runs only for surveys, because it costs a directory listing per directory.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::chain::{Candidate, Chain};
use crate::fs::file::Found;
use crate::profile::{Fallbacks, LetterCase, Links, RootOverride};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;
use crate::resolve::relation::only_imports;
use crate::settings::{AboveRoot, FALLBACK_FILENAMES, MARKERS};
use crate::text::content_hash::ContentHash;
use crate::text::markup::Markup;

/// Maximum number of entries of one directory that are compared in other letter cases.
const MAX_ENTRIES: usize = 200_000;

/// Name that most agents read.
const DEFAULT_NAME: &str = "AGENTS.md";

/// Paths below a directory that agents read, with the agents that read them.
pub const OTHER_AGENTS: &[(&str, &str)] = &[
    ("CLAUDE.md", "Claude Code"),
    ("CLAUDE.local.md", "Claude Code"),
    (".claude/CLAUDE.md", "Claude Code"),
    ("GEMINI.md", "Gemini CLI"),
    ("QWEN.md", "Qwen Code"),
    (".qwen/QWEN.local.md", "Qwen Code"),
    ("CONTEXT.md", "opencode"),
    ("AGENT.md", "Amp"),
    (".github/copilot-instructions.md", "GitHub Copilot"),
    (".cursorrules", "Cursor"),
    (".windsurfrules", "Windsurf"),
    (".clinerules", "Cline"),
    (".goosehints", "Goose"),
    ("CONVENTIONS.md", "Aider"),
    ("AGENTS.override.md", "Codex and Foreword"),
    ("AGENTS.local.md", "Foreword"),
    ("AGENTS.md", "most agents"),
];

impl Chain<'_> {
    /// Records decisions about files that are not read.
    pub(super) fn survey_unread_files(&mut self, directories: &[PathBuf], names: &[String]) {
        for directory in directories {
            self.other_names(directory, names);
        }
        let top = directories.first().map_or(self.request.cwd, PathBuf::as_path);
        let profile = self.request.settings.profile;
        let remedy = match profile.search.root_override {
            RootOverride::Allowed => "--root, or a marker further up,".to_owned(),
            RootOverride::Ignored => format!("a marker further up ({})", profile.setting_name(MARKERS)),
        };
        // The ancestors of an empty path without itself are empty, so both arms have the same type.
        let above = match self.request.settings.above_root {
            AboveRoot::Named => top.ancestors().skip(1),
            AboveRoot::Hidden => Path::new("").ancestors().skip(1),
        };
        for directory in above {
            for name in names {
                let path = directory.join(name);
                if self.source().is_file(&path) && !self.is_decided(&path) {
                    let reason = DecisionReason::AboveRoot { top: top.to_owned(), remedy: remedy.clone() };
                    self.decisions.push(Decision::new(path, Outcome::AboveRoot).because(reason));
                }
            }
        }
    }

    /// Returns the selected file that `path` also leads to.
    fn same_file(&self, path: &Path) -> Option<&Path> {
        let stamp = self.source().state(path).ok()?.stamp;
        let is_same =
            |chosen: &&Candidate| (chosen.stamp.device, chosen.stamp.inode) == (stamp.device, stamp.inode);
        self.chosen.iter().find(is_same).map(|chosen| chosen.path.as_path())
    }

    fn is_decided(&self, path: &Path) -> bool {
        self.decisions.iter().any(|decision| decision.path == path)
    }

    /// Describes how an unread file relates to one that is read: it is a link, a copy, or only imports it.
    fn relation(&self, path: &Path) -> Option<String> {
        let directory = path.parent()?;
        let shown = |chosen: &Path| {
            let beside = chosen.file_name().filter(|_| chosen.parent() == Some(directory));
            beside.map_or(chosen, Path::new).display().to_string()
        };
        if let Some(same) = self.same_file(path) {
            return Some(format!("it is the same file as {}, which is read", shown(same)));
        }
        let Found::File { content, .. } = self.source().read(path, &self.bounds, self.max_file_bytes) else {
            return None;
        };
        // The hash of a part does not cover the rest, so cut files are never called copies.
        let repeats = |chosen: &&Candidate| content.whole && chosen.content.sha256 == content.sha256;
        if let Some(chosen) = self.chosen.iter().find(repeats) {
            return Some(format!("it repeats {}, which is read", shown(&chosen.path)));
        }
        let known = |path: &Path| self.same_file(path).map(shown);
        let imported = only_imports(path, &content.bytes, content.whole, known)?;
        Some(format!("it only imports {}, which is read", imported.join(", ")))
    }

    /// Notes files whose content duplicates another file.
    pub(super) fn note_repetitions(&mut self, chosen: &[Candidate]) {
        let mut texts: HashMap<&ContentHash, &Path> = HashMap::new();
        for chosen in chosen.iter().filter(|chosen| chosen.content.whole) {
            let first = *texts.entry(&chosen.content.sha256).or_insert(&chosen.path);
            // Equal relative imports in two directories lead to different files.
            let is_elsewhere = first.parent() != chosen.path.parent();
            let bytes = &chosen.content.bytes;
            let has_imports = || !Markup::find(bytes, true).references.found.is_empty();
            if first != chosen.path && !(is_elsewhere && has_imports()) {
                self.decisions[chosen.decision].add(DecisionReason::Repeats(first.to_owned()));
            }
        }
    }

    /// Drops `Ignored` decisions for files that were imported after all.
    pub(super) fn drop_ignored_if_imported(&mut self) {
        let is_ignored = |decision: &Decision| decision.outcome == Outcome::Ignored;
        let others = self.decisions.iter().filter(|decision| !is_ignored(decision));
        let decided: HashSet<PathBuf> = others.map(|decision| decision.path.clone()).collect();
        self.decisions.retain(|decision| !is_ignored(decision) || !decided.contains(&decision.path));
    }

    pub(super) fn other_names(&mut self, directory: &Path, names: &[String]) {
        let profile = self.request.settings.profile;
        for (name, agent) in OTHER_AGENTS {
            let path = directory.join(name);
            // A file of another agent may still be read as an import, which has decided about it.
            if names.iter().any(|known| known == name)
                || !self.source().has_entry(&path)
                || self.is_decided(&path)
            {
                continue;
            }
            let present = names.iter().find(|name| self.source().has_entry(&directory.join(name)));
            let remedy = match (self.relation(&path), present) {
                (Some(relation), _) => relation,
                // A link or a configured name would have lower precedence than a file that is present.
                (None, Some(present)) => format!("copy what should count into {present}"),
                (None, None) if names.is_empty() => {
                    format!("{} reads no file by itself", profile.agent.title)
                }
                (None, None) if profile.search.links == Links::Never => {
                    format!(
                        "copy it (cp {name} {}), because {} follows no links",
                        link_name(names),
                        profile.agent.title
                    )
                }
                (None, None) if name.contains('/') || profile.choose.fallbacks == Fallbacks::Unsupported => {
                    format!("link it (ln -s {name} {})", link_name(names))
                }
                (None, None) => {
                    let flag = if profile.settings_file().is_some() { "" } else { "with --fallback or " };
                    let setting = profile.setting_name(FALLBACK_FILENAMES);
                    let link = link_name(names);
                    format!("link it (ln -s {name} {link}), or name it {flag}in {setting}")
                }
            };
            let reason = DecisionReason::OtherAgent { agent, profile: profile.name, remedy };
            self.decisions.push(Decision::new(path, Outcome::Ignored).because(reason));
        }
        let Ok(entries) = self.source().entries(directory) else { return };
        let mut variants: Vec<(PathBuf, &String)> = entries
            .iter()
            .take(MAX_ENTRIES)
            .filter_map(|entry| {
                let entry = entry.name.to_str()?;
                let name = names.iter().find(|name| name.eq_ignore_ascii_case(entry))?;
                let known = names.iter().any(|name| name == entry);
                (!known).then(|| (directory.join(entry), name))
            })
            // It may be read nevertheless: as an import, or because the profile ignores letter case.
            .filter(|(path, _)| !self.is_decided(path))
            .collect();
        variants.sort();
        for (path, name) in variants {
            let reason = match profile.choose.find(name).map_or(LetterCase::Exact, |name| name.letter_case) {
                LetterCase::Exact => DecisionReason::OtherCase { name: name.clone() },
                LetterCase::Any => DecisionReason::OtherCaseRead { name: name.clone() },
            };
            self.decisions.push(Decision::new(path, Outcome::Ignored).because(reason));
        }
    }
}

/// Returns the name for a suggested link: the one that most agents share if the profile reads it, else the
/// profile's first.
fn link_name(names: &[String]) -> &str {
    let shared = names.iter().find(|name| *name == DEFAULT_NAME);
    shared.or(names.first()).map_or(DEFAULT_NAME, String::as_str)
}
