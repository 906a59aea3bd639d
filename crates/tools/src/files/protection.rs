//! Files that tools may read but not write: those that instruct agents, and those that could widen their access.

use std::path::Path;

use instructions::{OTHER_AGENTS, PROFILES};

/// Directories whose content is protected, at any depth.
pub(crate) const DIRECTORIES: &[&str] = &[".git", ".foreword", ".agents", ".claude", ".codex", ".vscode"];
/// Protected files besides instruction files, at any depth.
const FILES: &[&str] = &["USER.md", ".envrc"];
/// Files of the home directory that the model may edit.
pub(crate) const HOME_FILES: &[&str] = &["SOUL.md", "IDENTITY.md"];

/// Reason for files that instruction files import.
pub(crate) const IMPORTED: &str = "files that instruction files import";

/// Reason for files that Git executes or that configure this.
pub(crate) const OF_GIT: &str = "Git's hooks and settings";

/// Reason for files in a folder of skills.
pub(crate) const OF_SKILLS: &str = "a folder of your own skills (skills.folders)";

/// Returns the reason why a file is protected. `None` if it is not. `path` is resolved and relative to the root.
///
/// Letter case is ignored: on some systems `agents.MD` is the same file.
pub(crate) fn reason(path: &Path, more_names: &[String]) -> Option<String> {
    let names = || path.iter().filter_map(|name| name.to_str());
    if let Some(directory) =
        names().find_map(|name| DIRECTORIES.iter().find(|directory| directory.eq_ignore_ascii_case(name)))
    {
        return Some(format!("{directory}/"));
    }
    let name = path.file_name()?.to_str()?;
    if is_instruction_file(name, more_names) || is_of_another_agent(path) {
        return Some("instruction files".to_owned());
    }
    FILES.iter().find(|file| file.eq_ignore_ascii_case(name)).map(|file| (*file).to_owned())
}

fn is_instruction_file(name: &str, more_names: &[String]) -> bool {
    let of_profiles = PROFILES.iter().any(|profile| {
        // A name that an agent reads only in a directory of its own may mean anything elsewhere.
        let home = profile.choose.home.iter().filter(|_| profile.search.home_directory.is_none());
        let at_home = home.flat_map(|home| home.names.iter().copied());
        profile.known_names().chain(at_home).any(|known| known.eq_ignore_ascii_case(name))
    });
    of_profiles || more_names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns true if a known agent reads the file, whichever agent works here.
fn is_of_another_agent(path: &Path) -> bool {
    OTHER_AGENTS.iter().any(|(known, _)| {
        let known = Path::new(known);
        // Compared from the end, because such a file counts in every directory of the project and not only in its root.
        let end = path.iter().rev().zip(known.iter().rev());
        path.iter().count() >= known.iter().count()
            && end.into_iter().all(|(one, other)| one.eq_ignore_ascii_case(other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_paths_have_a_reason() {
        for (path, why) in [
            ("AGENTS.md", Some("instruction files")),
            ("a/b/AGENTS.override.md", Some("instruction files")),
            ("AGENTS.local.md", Some("instruction files")),
            ("a/agents.MD", Some("instruction files")),
            ("GUIDE.md", Some("instruction files")),
            ("a/USER.md", Some("USER.md")),
            (".git", Some(".git/")),
            ("a/.git/hooks/pre-commit", Some(".git/")),
            (".Git/config", Some(".git/")),
            (".foreword/config.toml", Some(".foreword/")),
            ("x/.agents/skills/a/SKILL.md", Some(".agents/")),
            ("AGENTS.md/file", None),
            (".claude/settings.json", Some(".claude/")),
            ("a/.vscode/tasks.json", Some(".vscode/")),
            (".codex/config.toml", Some(".codex/")),
            ("a/.envrc", Some(".envrc")),
            (".gitignore", None),
            (".github/workflows/a.yml", None),
            ("CLAUDE.md", Some("instruction files")),
            ("a/gemini.md", Some("instruction files")),
            (".github/copilot-instructions.md", Some("instruction files")),
            ("docs/copilot-instructions.md", None),
            (".cursorrules", Some("instruction files")),
            ("SOUL.md", None),
            ("", None),
        ] {
            assert_eq!(reason(Path::new(path), &["GUIDE.md".to_owned()]).as_deref(), why, "{path}");
        }
    }
}
