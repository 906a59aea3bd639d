//! Where Git looks for programs that it runs by itself, found out without running it.
//!
//! Whoever can write there runs a program with the next commit. Which setting wins depends on more than files say (other
//! files, variables, conditions), so every place that is named counts.

use std::path::{Path, PathBuf};

use crate::fs::git::{common_directory, directory_of};
use crate::fs::path::normalise;

/// What is in a repository's own directory and leads to programs.
const PLACES: [&str; 3] = ["config", "config.worktree", "hooks"];
/// How much of a file is read.
const MAX_BYTES: u64 = 1 << 20;
/// Files that are read, the included ones too.
const MAX_FILES: usize = 32;

/// Hooks and settings of the repository around `directory`, wherever it is kept, and the directories of hooks that are
/// configured for it. `home` is the user's own, whose settings count for every repository.
pub fn git_places(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(top) = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) else {
        return Vec::new();
    };
    let dot_git = top.join(".git");
    let repository = if dot_git.is_dir() { dot_git } else { directory_of(&dot_git).unwrap_or(dot_git) };
    let common = common_directory(&repository).unwrap_or_else(|| repository.clone());
    let mut configuration = Configuration { home, files: 0, hooks: Vec::new() };
    for file in [common.join("config"), repository.join("config.worktree"), PathBuf::from("/etc/gitconfig")] {
        configuration.read(&file);
    }
    if let Some(home) = home {
        configuration.read(&home.join(".gitconfig"));
        configuration.read(&home.join(".config/git/config"));
    }
    let named = configuration.hooks.into_iter().map(|hooks| normalise(&hooks, top));
    let own = [repository, common].into_iter().flat_map(|kept| PLACES.map(|place| kept.join(place)));
    let mut places: Vec<PathBuf> = own.chain(named).collect();
    places.sort();
    places.dedup();
    places
}

struct Configuration<'a> {
    home: Option<&'a Path>,
    files: usize,
    /// As they are written; relative ones count from the top of the working tree.
    hooks: Vec<PathBuf>,
}

impl Configuration<'_> {
    fn read(&mut self, file: &Path) {
        use std::io::Read as _;
        self.files += 1;
        if self.files > MAX_FILES || !file.is_file() {
            return;
        }
        let mut text = String::new();
        let read =
            std::fs::File::open(file).and_then(|opened| opened.take(MAX_BYTES).read_to_string(&mut text));
        if read.is_err() {
            return;
        }
        for (section, key, value) in settings(&text) {
            match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => self.hooks.push(self.expand(&value)),
                ("include" | "includeif", "path") => {
                    let included = self.expand(&value);
                    self.read(&normalise(&included, file.parent().unwrap_or(Path::new("/"))));
                }
                _ => {}
            }
        }
    }

    fn expand(&self, value: &str) -> PathBuf {
        match (value.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(value),
        }
    }
}

/// The settings of a file: section and key in small letters, and the value.
fn settings(text: &str) -> Vec<(String, String, String)> {
    let mut settings = Vec::new();
    let mut section = String::new();
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    for line in joined.lines() {
        let mut rest = line.trim_start();
        if let Some(header) = rest.strip_prefix('[') {
            let Some((name, after)) = header.split_once(']') else { continue };
            let name = name.split(|end: char| end.is_whitespace() || end == '"').next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            rest = after.trim_start();
        }
        if let Some((key, value)) = rest.split_once('=')
            && !rest.starts_with(['#', ';'])
        {
            settings.push((section.clone(), key.trim().to_ascii_lowercase(), unquoted(value.trim())));
        }
    }
    settings
}

/// A value without quotes, escapes and what is behind it.
fn unquoted(value: &str) -> String {
    let mut result = String::new();
    let (mut is_quoted, mut characters) = (false, value.chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => result.extend(characters.next()),
            '#' | ';' if !is_quoted => break,
            _ => result.push(character),
        }
    }
    if is_quoted { result } else { result.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn hooks_are_found_wherever_they_are_configured() {
        let directory = tempfile::tempdir().unwrap();
        let (root, home) = (directory.path().join("project"), directory.path().join("home"));
        let places = || -> Vec<String> {
            let found = git_places(&root.join("a/b"), Some(&home));
            let below = |path: PathBuf| {
                let shown = path.strip_prefix(directory.path()).unwrap_or(&path);
                shown.display().to_string()
            };
            found.into_iter().map(below).collect()
        };
        assert_eq!(places(), Vec::<String>::new(), "no repository");
        write(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        let own = PLACES.map(|place| format!("project/.git/{place}"));
        assert_eq!(places(), own);
        write(
            &root.join(".git/config"),
            "[core]\n\tbare = false\n\tHooksPath = \"tools/my hooks\" ; ours\n[include]\npath = more\n# [core] hooksPath = no\n",
        );
        write(&root.join(".git/more"), "[Core] hookspath = ~/shared\n[other \"x\"]\nhooksPath = no\n");
        write(&home.join(".gitconfig"), "[includeIf \"gitdir:~/x/\"]\npath = ~/work\n");
        write(&home.join("work"), "[core]\nhooksPath = .git\\\nhooks\n");
        let named: Vec<String> = places().into_iter().filter(|place| !own.contains(place)).collect();
        assert_eq!(named, ["home/shared", "project/.githooks", "project/tools/my hooks"]);
        // A file that includes itself ends.
        write(&root.join(".git/more"), "[include]\npath = more\n");
        assert!(places().contains(&"project/tools/my hooks".to_owned()));
    }

    #[test]
    fn a_worktree_has_the_hooks_of_its_repository() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write(&path("main/config"), "[core]\nhooksPath = hooks-of-all\n");
        write(&path("main/worktrees/w/commondir"), "../..\n");
        write(&path("main/worktrees/w/config.worktree"), "[core]\nhooksPath = own\n");
        write(&path("w/.git"), "gitdir: ../main/worktrees/w\n");
        let found = git_places(&path("w"), None);
        for place in
            ["main/config", "main/hooks", "main/worktrees/w/config.worktree", "w/hooks-of-all", "w/own"]
        {
            assert!(found.contains(&path(place)), "{place}: {found:?}");
        }
    }
}
