//! Files that could be meant for an agent but are not read: other agents' names, other letter cases, files above
//! the root. Looked for only when somebody asks why.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::chain::{Chain, Chosen};
use crate::fs::file::{self, Found, Stamp};
use crate::profile::{Fallbacks, LetterCase, RootOverride};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::relation::only_imports;
use crate::settings::{AboveRoot, FALLBACK_FILENAMES, MARKERS};
use crate::text::content_hash::ContentHash;

/// Entries of one directory that are looked at for other letter cases.
const MAX_ENTRIES: usize = 200_000;

/// The name that most agents read.
const DEFAULT_NAME: &str = "AGENTS.md";

/// Files that agents read, by the way from a directory, and who reads them.
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
    /// Decides about what is not read.
    pub(super) fn look_around(&mut self, directories: &[PathBuf], names: &[String]) {
        for directory in directories {
            self.other_names(directory, names);
        }
        let top = directories.first().map_or(self.request.cwd, PathBuf::as_path);
        let profile = self.request.settings.profile;
        let remedy = match profile.search.root_override {
            RootOverride::Allowed => "--root, or a marker further up,".to_owned(),
            RootOverride::Ignored => format!("a marker further up ({})", profile.setting_name(MARKERS)),
        };
        let above = match self.request.settings.above_root {
            AboveRoot::Named => top.ancestors().skip(1),
            AboveRoot::Hidden => Path::new("").ancestors().skip(1),
        };
        for directory in above {
            for name in names {
                let path = directory.join(name);
                if path.is_file() && !self.is_decided(&path) {
                    let detail =
                        format!("it is above the root {}; give {remedy} if it should count", top.display());
                    self.decisions.push(Decision::new(path, Outcome::AboveRoot).because(detail));
                }
            }
        }
    }

    /// The chosen file that a path leads to as well.
    fn same_file(&self, path: &Path) -> Option<&Path> {
        let stamp = Stamp::of(&rustix::fs::stat(path).ok()?);
        let is_same =
            |chosen: &&Chosen| (chosen.stamp.device, chosen.stamp.inode) == (stamp.device, stamp.inode);
        self.chosen.iter().find(is_same).map(|chosen| chosen.path.as_path())
    }

    fn is_decided(&self, path: &Path) -> bool {
        self.decisions.iter().any(|decision| decision.path == path)
    }

    /// What a file that is not read has to do with one that is: it leads there, repeats it, or only imports it.
    fn relation(&self, path: &Path) -> Option<String> {
        let directory = path.parent()?;
        let shown = |chosen: &Path| {
            let beside = chosen.file_name().filter(|_| chosen.parent() == Some(directory));
            beside.map_or(chosen, Path::new).display().to_string()
        };
        if let Some(same) = self.same_file(path) {
            return Some(format!("it is the same file as {}, which is read", shown(same)));
        }
        let Found::File { content, .. } = file::read(path, &self.bounds, self.max_file_bytes) else {
            return None;
        };
        let repeats = |chosen: &&Chosen| content.whole && chosen.content.sha256 == content.sha256;
        if let Some(chosen) = self.chosen.iter().find(repeats) {
            return Some(format!("it repeats {}, which is read", shown(&chosen.path)));
        }
        let known = |path: &Path| self.same_file(path).map(shown);
        let imported = only_imports(path, &content.bytes, content.whole, known)?;
        Some(format!("it only imports {}, which is read", imported.join(", ")))
    }

    /// Says of files that are used twice in all but name.
    pub(super) fn note_repetitions(&mut self, chosen: &[Chosen]) {
        let mut texts: HashMap<&ContentHash, &Path> = HashMap::new();
        for chosen in chosen.iter().filter(|chosen| chosen.content.whole) {
            let first = *texts.entry(&chosen.content.sha256).or_insert(&chosen.path);
            if first != chosen.path {
                self.decisions[chosen.decision].add(format!("it repeats {}", first.display()));
            }
        }
    }

    /// Takes back that a file is not read where a text that was put together later has it.
    pub(super) fn forget_what_was_imported(&mut self) {
        let is_ignored = |decision: &Decision| decision.outcome == Outcome::Ignored;
        let others = self.decisions.iter().filter(|decision| !is_ignored(decision));
        let decided: HashSet<PathBuf> = others.map(|decision| decision.path.clone()).collect();
        self.decisions.retain(|decision| !is_ignored(decision) || !decided.contains(&decision.path));
    }

    pub(super) fn other_names(&mut self, directory: &Path, names: &[String]) {
        let profile = self.request.settings.profile;
        for (name, agent) in OTHER_AGENTS {
            let path = directory.join(name);
            // It may be imported.
            if names.iter().any(|known| known == name)
                || path.symlink_metadata().is_err()
                || self.is_decided(&path)
            {
                continue;
            }
            let present = names.iter().find(|name| directory.join(name).symlink_metadata().is_ok());
            let remedy = match (self.relation(&path), present) {
                (Some(relation), _) => relation,
                // A link or another name would not come first.
                (None, Some(present)) => format!("copy what should count into {present}"),
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
            let detail =
                format!("it is for {agent}, the profile `{}` does not read it; {remedy}", profile.name);
            self.decisions.push(Decision::new(path, Outcome::Ignored).because(detail));
        }
        let Ok(entries) = std::fs::read_dir(directory) else { return };
        let mut variants: Vec<(PathBuf, &String)> = entries
            .take(MAX_ENTRIES)
            .flatten()
            .filter_map(|entry| {
                let entry = entry.file_name();
                let entry = entry.to_str()?;
                let name = names.iter().find(|name| name.eq_ignore_ascii_case(entry))?;
                let known = names.iter().any(|name| name == entry);
                (!known).then(|| (directory.join(entry), name))
            })
            // It may be read for all that: imported, or because letters do not matter.
            .filter(|(path, _)| !self.is_decided(path))
            .collect();
        variants.sort();
        for (path, name) in variants {
            let detail = match profile.choose.find(name).map_or(LetterCase::Exact, |name| name.letter_case) {
                LetterCase::Exact => {
                    format!("names are read exactly as they are written; rename it to {name}")
                }
                LetterCase::Any => {
                    format!("one file is read of each name; copy what should count into {name}")
                }
            };
            self.decisions.push(Decision::new(path, Outcome::Ignored).because(detail));
        }
    }
}

/// The name under which a profile would read a file that is linked: the one that most agents share, else its own first.
fn link_name(names: &[String]) -> &str {
    let shared = names.iter().find(|name| *name == DEFAULT_NAME);
    shared.or(names.first()).map_or(DEFAULT_NAME, String::as_str)
}
