//! Locations from which Git runs programs automatically, found without running Git.
//!
//! A process that can write there runs a program with the next commit. The effective setting depends on more
//! than files (variables, conditions), so every configured location counts.

use std::path::{Path, PathBuf};

use crate::fs::git::{common_directory, directory_of};
use crate::fs::path::normalise;

/// Entries of a repository's own directory that lead to programs.
const PLACES: [&str; 3] = ["config", "config.worktree", "hooks"];
/// Settings whose value begins with a program, if it is a path.
const PROGRAMS: &[(&str, &str)] = &[
    ("core", "fsmonitor"),
    ("core", "sshcommand"),
    ("core", "editor"),
    ("core", "pager"),
    ("core", "askpass"),
    ("sequence", "editor"),
    ("gpg", "program"),
    ("credential", "helper"),
    ("diff", "external"),
    ("diff", "command"),
    ("diff", "textconv"),
    ("merge", "driver"),
    ("filter", "clean"),
    ("filter", "smudge"),
    ("filter", "process"),
];
/// Most bytes read of a configuration file.
const MAX_BYTES: u64 = 1 << 20;
/// Most configuration files that are read, including included ones.
const MAX_FILES: usize = 32;

/// Returns hooks and configuration of the repository around `directory`, all configured hook directories, included
/// configuration files, and configured programs that are paths.
/// `home` is the user's home directory, whose configuration applies to every repository.
pub fn git_program_paths(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(top) = directory.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) else {
        return Vec::new();
    };
    let dot_git = top.join(".git");
    let repository = if dot_git.is_dir() { dot_git } else { directory_of(&dot_git).unwrap_or(dot_git) };
    // A worktree has its own directory but shares hooks and configuration with its repository, so both are protected.
    let common = common_directory(&repository).unwrap_or_else(|| repository.clone());
    let mut configuration = Configuration { home, files: 0, named: Vec::new() };
    for file in [common.join("config"), repository.join("config.worktree"), PathBuf::from("/etc/gitconfig")] {
        configuration.read(&file);
    }
    if let Some(home) = home {
        configuration.read(&home.join(".gitconfig"));
        configuration.read(&home.join(".config/git/config"));
    }
    let named = configuration.named.into_iter().map(|named| normalise(&named, top));
    let own = [repository, common].into_iter().flat_map(|kept| PLACES.map(|place| kept.join(place)));
    let mut places: Vec<PathBuf> = own.chain(named).collect();
    places.sort();
    places.dedup();
    places
}

struct Configuration<'a> {
    home: Option<&'a Path>,
    files: usize,
    /// Hook directories, programs and included files. Relative ones count from the top of the working tree.
    named: Vec<PathBuf>,
}

impl Configuration<'_> {
    fn read(&mut self, file: &Path) {
        use std::io::Read as _;
        // The limit counts across all included files, so that files which include each other end.
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
                ("core", "hookspath") => self.named.push(self.expand(&value)),
                ("include" | "includeif", "path") => {
                    let included = self.expand(&value);
                    let included = normalise(&included, file.parent().unwrap_or(Path::new("/")));
                    // Protected even if it does not exist yet: whoever creates it decides what Git runs.
                    self.named.push(included.clone());
                    self.read(&included);
                }
                (section, key) if PROGRAMS.contains(&(section, key)) => {
                    let program = value.trim_start_matches('!').split_whitespace().next();
                    let program = program.filter(|program| program.contains('/'));
                    self.named.extend(program.map(|program| self.expand(program)));
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

/// Returns the settings of a file: section and key in lower case, and the value.
fn settings(text: &str) -> Vec<(String, String, String)> {
    let mut settings = Vec::new();
    let mut section = String::new();
    // A backslash at the end of a line continues the value. Without joining, a path could be hidden from this check.
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

/// Returns a value without quotes, escapes and trailing comments.
fn unquoted(value: &str) -> String {
    let mut result = String::new();
    let mut is_quoted = false;
    let mut characters = value.chars();
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
        let root = directory.path().join("project");
        let home = directory.path().join("home");
        let places = || -> Vec<String> {
            let found = git_program_paths(&root.join("a/b"), Some(&home));
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
        let expected =
            ["home/shared", "home/work", "project/.git/more", "project/.githooks", "project/tools/my hooks"];
        assert_eq!(named, expected);
        // Inclusion of a file in itself must terminate.
        write(&root.join(".git/more"), "[include]\npath = more\n");
        assert!(places().contains(&"project/tools/my hooks".to_owned()));
    }

    #[test]
    fn included_files_and_programs_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        let text = "[include]\npath = ../shared/git.conf\n[core]\nfsmonitor = tools/watch --fast\npager = less\n\
                    [filter \"x\"]\nsmudge = ./bin/smudge %f\n";
        write(&root.join(".git/config"), text);
        let found = git_program_paths(&root, None);
        for place in ["shared/git.conf", "tools/watch", "bin/smudge"] {
            assert!(found.contains(&root.join(place)), "{place}: {found:?}");
        }
        assert!(!found.contains(&root.join("less")), "a program of PATH");
    }

    #[test]
    fn a_worktree_has_the_hooks_of_its_repository() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write(&path("main/config"), "[core]\nhooksPath = hooks-of-all\n");
        write(&path("main/worktrees/w/commondir"), "../..\n");
        write(&path("main/worktrees/w/config.worktree"), "[core]\nhooksPath = own\n");
        write(&path("w/.git"), "gitdir: ../main/worktrees/w\n");
        let found = git_program_paths(&path("w"), None);
        for place in
            ["main/config", "main/hooks", "main/worktrees/w/config.worktree", "w/hooks-of-all", "w/own"]
        {
            assert!(found.contains(&path(place)), "{place}: {found:?}");
        }
    }
}
