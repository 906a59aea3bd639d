//! Files that tools may read but not write: those that instruct agents, and those that could widen their access.

use std::path::Path;

use instructions::{ProtectedPlace, protected_place};

/// Files of the home directory that the model may edit.
pub(crate) const HOME_FILES: &[&str] = &["SOUL.md", "IDENTITY.md"];

/// Reason for files that instruction files import.
pub(crate) const IMPORTED: &str = "files that instruction files import";

/// Reason for files that protected links lead to, and for hooks of bare repositories.
pub(crate) const LINKED: &str = "the target of a protected link, or a part of a bare repository";

/// Reason for files that Git executes or that configure this.
pub(crate) const OF_GIT: &str = "Git's hooks and settings";

/// Reason for files in a folder of skills.
pub(crate) const OF_SKILLS: &str = "a folder of your own skills (skills.folders)";

/// Returns the reason why a file is protected. `None` if it is not. `path` is resolved and relative to the root.
///
/// Letter case is ignored: on some systems `agents.MD` is the same file.
pub(crate) fn reason(path: &Path, more_names: &[String]) -> Option<String> {
    let instructions = || "instruction files".to_owned();
    if let Some(place) = protected_place(path) {
        return Some(match place {
            ProtectedPlace::Instructions => instructions(),
            ProtectedPlace::File(name) => name.to_owned(),
            ProtectedPlace::Directory(name) => format!("{name}/"),
        });
    }
    let name = path.file_name()?.to_str()?;
    more_names.iter().any(|known| known.eq_ignore_ascii_case(name)).then(instructions)
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
