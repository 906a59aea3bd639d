//! Paths of a project that instruct an agent, or from which an agent, an editor or Git runs programs.
//!
//! Text that is planted there acts later, outside of any sandbox. The set is derived from the profiles, so that a new
//! profile protects its own files; the tables below add what no profile reads.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use super::rules::rule_folders::RuleFolderPlace;
use super::rules::settings::AgentSettings;
use super::{PROFILES, Profile};
use crate::resolve::survey::OTHER_AGENTS;

/// Directories that are protected with their content, at any depth. Most agents keep settings, hooks, commands, skills
/// and MCP servers in a directory of their own.
const DIRECTORIES: &[&str] = &[
    ".git",
    ".foreword",
    ".agents",
    ".claude",
    ".codex",
    ".vscode",
    ".gemini",
    ".qwen",
    ".opencode",
    ".pi",
    ".cursor",
    ".zed",
    ".goose",
    ".copilot",
    ".codelia",
    ".windsurf",
    ".clinerules",
    ".roo",
    ".continue",
    ".kiro",
    ".amazonq",
    ".junie",
    ".augment",
    ".trae",
    ".cline",
    ".factory",
    ".grok",
    ".kimi-code",
    ".kilo",
    ".kilocode",
    ".amp",
    ".devin",
    ".antigravity",
    // The rest of `.github` belongs to the project.
    ".github/hooks",
    ".github/instructions",
    ".github/agents",
    ".github/prompts",
    ".github/chatmodes",
    ".github/skills",
];

/// Files that are protected at any depth, besides instruction files.
const FILES: &[&str] = &[
    "USER.md",
    ".envrc",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
    "kilo.json",
    "kilo.jsonc",
    "crush.json",
    ".crush.json",
    ".roomodes",
    ".continuerc.json",
    ".aider.conf.yml",
];

/// Kind of a protected path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedPlace {
    /// A file that agents read as instructions.
    Instructions,
    /// A file of settings, by its name.
    File(&'static str),
    /// Part of a directory, by the directory's name.
    Directory(&'static str),
}

/// Returns the kind of a path relative to a project's root. `None` if it is not protected.
///
/// Letter case is ignored: on some systems `agents.MD` is the same file.
pub fn protected_place(path: &Path) -> Option<ProtectedPlace> {
    let names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap_or_default()).collect();
    // Directories count wherever they are above the path, files only at its end.
    let directories = (1..=names.len()).find_map(|end| PLACES.directories.find(&names[..end]));
    directories
        .map(ProtectedPlace::Directory)
        .or_else(|| PLACES.instructions.find(&names).map(|_| ProtectedPlace::Instructions))
        .or_else(|| PLACES.files.find(&names).map(ProtectedPlace::File))
}

/// Returns all protected paths below a directory of a project.
pub fn protected_paths() -> impl Iterator<Item = &'static str> {
    let Places { directories, instructions, files } = &*PLACES;
    [directories, instructions, files].into_iter().flat_map(|endings| endings.0.values().flatten().copied())
}

static PLACES: LazyLock<Places> = LazyLock::new(Places::new);

struct Places {
    directories: Endings,
    instructions: Endings,
    files: Endings,
}

impl Places {
    fn new() -> Self {
        let mut places = Self {
            directories: Endings::default(),
            instructions: Endings::default(),
            files: Endings::default(),
        };
        places.instructions.extend(OTHER_AGENTS.iter().map(|(path, _)| *path));
        for profile in PROFILES {
            places.instructions.extend(profile.known_names());
            places.instructions.extend(names_at_home(profile));
            places.directories.extend(rule_folders(profile));
            places.files.extend(project_settings(profile));
        }
        places.directories.extend(DIRECTORIES.iter().copied());
        places.files.extend(FILES.iter().copied());
        places
    }
}

/// Returns the names of the user's own file that mean the same in a project. A name that an agent reads only in a directory
/// of its own may mean anything elsewhere.
fn names_at_home(profile: &Profile) -> impl Iterator<Item = &'static str> {
    let home = profile.choose.home.iter().filter(|_| profile.search.home_directory.is_none());
    home.flat_map(|home| home.names.iter().copied())
}

fn rule_folders(profile: &'static Profile) -> impl Iterator<Item = &'static str> {
    let folders = profile.choose.rule_folders.iter();
    folders.filter(|folder| folder.place != RuleFolderPlace::Home).map(|folder| folder.directory)
}

fn project_settings(profile: &Profile) -> Vec<&'static str> {
    match profile.search.settings {
        Some(AgentSettings::Toml(settings)) => vec![settings.in_project],
        Some(AgentSettings::Json(settings)) => settings.in_project.to_vec(),
        None => Vec::new(),
    }
}

/// Paths that match the end of another path, by their last name in lower case.
#[derive(Default)]
struct Endings(HashMap<String, Vec<&'static str>>);

impl Endings {
    fn extend(&mut self, paths: impl IntoIterator<Item = &'static str>) {
        for path in paths {
            let last = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
            self.0.entry(last).or_default().push(path);
        }
    }

    /// Returns the ending of a path, given by its names.
    fn find(&self, names: &[&str]) -> Option<&'static str> {
        let last = names.last()?;
        // Most names of a workspace have no upper case, and this runs for each of them.
        let found = if last.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.0.get(&last.to_ascii_lowercase())?
        } else {
            self.0.get(*last)?
        };
        found.iter().copied().find(|ending| ends_with(names, ending))
    }
}

fn ends_with(names: &[&str], ending: &str) -> bool {
    let mut names = names.iter().rev();
    ending.rsplit('/').all(|part| names.next().is_some_and(|name| name.eq_ignore_ascii_case(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_of_profiles_are_protected() {
        for profile in PROFILES {
            let in_rules = rule_folders(profile).map(|folder| format!("{folder}/any.md"));
            let named = profile.known_names().map(str::to_owned);
            let settings = project_settings(profile).into_iter().map(str::to_owned);
            // A trace is a file or a directory.
            let traces = profile.agent.traces.in_project.iter().map(|trace| (*trace).to_owned());
            for path in in_rules.chain(named).chain(settings).chain(traces) {
                for path in [path.clone(), format!("a/b/{path}"), path.to_uppercase()] {
                    assert!(protected_place(Path::new(&path)).is_some(), "{}: {path}", profile.name);
                }
            }
        }
    }

    // Each of these is run or obeyed by an agent, an editor or Git without a question.
    #[test]
    fn files_that_agents_run_from_are_protected() {
        for path in [
            ".gemini/settings.json",
            ".qwen/settings.json",
            ".github/hooks/any.json",
            ".github/instructions/any.instructions.md",
            "opencode.json",
            "opencode.jsonc",
            ".opencode/plugin/any.ts",
            ".mcp.json",
            ".cursor/mcp.json",
            ".cursor/hooks.json",
            ".cursor/rules/any.mdc",
            ".pi/extensions/any.ts",
            ".claude/settings.local.json",
            ".codex/hooks.json",
            ".zed/tasks.json",
            ".vscode/tasks.json",
            ".git/hooks/pre-commit",
        ] {
            assert!(protected_place(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn files_of_the_project_are_not_protected() {
        for path in ["", "src/main.rs", ".github/workflows/a.yml", "docs/copilot-instructions.md", "x.git/a"]
        {
            assert_eq!(protected_place(Path::new(path)), None, "{path}");
        }
    }
}
