//! Globs of rules.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::profile::GlobMatching;

/// Maximum number of globs of one file, and maximum length of a glob.
const MAX_GLOBS: usize = 100;
const MAX_GLOB_BYTES: usize = 512;

/// A name that no glob contains literally, so that a glob that matches it matches any name.
const ANY_NAME: &str = "\u{1}";

/// Globs of the paths that a rule applies to. As in a `.gitignore`: a glob without a slash matches at any depth,
/// one that matches a directory matches everything in it, and one that begins with `!` excludes what earlier globs
/// match.
#[derive(Debug)]
pub struct AppliesTo {
    globs: Vec<String>,
    /// Two patterns for each glob: one for its matches, one for everything below them.
    set: GlobSet,
}

/// A path that files are selected for.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// A directory, for the files in it.
    Directory(&'a Path),
    /// A file.
    File(&'a Path),
}

impl AppliesTo {
    /// Compiles globs. The error describes the invalid one.
    pub fn new(globs: Vec<String>) -> Result<Self, String> {
        if globs.is_empty() {
            return Err("it lists no glob".to_owned());
        }
        if globs.len() > MAX_GLOBS {
            return Err(format!("it lists {} globs, more than {MAX_GLOBS}", globs.len()));
        }
        let mut set = GlobSetBuilder::new();
        for glob in &globs {
            if glob.len() > MAX_GLOB_BYTES {
                return Err(format!("a glob is longer than {MAX_GLOB_BYTES} bytes"));
            }
            let pattern = pattern(glob).ok_or_else(|| format!("`{glob}` is not a glob"))?;
            for pattern in [format!("{pattern}/**"), pattern] {
                let built = GlobBuilder::new(&pattern).literal_separator(true).build();
                set.add(built.map_err(|error| format!("`{glob}` is not a glob: {}", error.kind()))?);
            }
        }
        let set = set.build().map_err(|error| error.to_string())?;
        Ok(Self { globs, set })
    }

    /// Compiles the globs of another agent's rule as that agent interprets them. Invalid globs are skipped. `None`
    /// if no glob is left.
    pub(crate) fn compile_agent_globs(globs: &[String], matching: GlobMatching) -> Option<Self> {
        let mut set = GlobSetBuilder::new();
        let mut kept = Vec::new();
        for glob in globs.iter().take(MAX_GLOBS).filter(|glob| glob.len() <= MAX_GLOB_BYTES) {
            let (patterns, any_case) = match matching {
                // Gitignore syntax takes `.` for the name of a directory, which no path contains.
                GlobMatching::Gitignore if glob.starts_with("./") => continue,
                GlobMatching::Gitignore => {
                    let Some(pattern) = pattern(glob) else { continue };
                    ([format!("{pattern}/**"), pattern], true)
                }
                GlobMatching::WholePath if glob.starts_with('!') => continue,
                GlobMatching::WholePath => {
                    let name = glob.strip_prefix("./").unwrap_or(glob);
                    let pattern = if name.contains('/') { name.to_owned() } else { format!("**/{name}") };
                    ([pattern.clone(), pattern], false)
                }
            };
            let build = |pattern: &String| {
                GlobBuilder::new(pattern).literal_separator(true).case_insensitive(any_case).build().ok()
            };
            let [Some(below), Some(itself)] = patterns.each_ref().map(build) else { continue };
            set.add(below).add(itself);
            kept.push(glob.clone());
        }
        let set = set.build().ok().filter(|set| !set.is_empty())?;
        Some(Self { globs: kept, set })
    }

    /// Returns true if a target below `base` matches. A directory matches if any file in it would.
    pub fn matches(&self, target: Target<'_>, base: &Path) -> bool {
        match target {
            Target::File(path) => path.strip_prefix(base).is_ok_and(|below| self.is_match(below)),
            Target::Directory(path) => {
                path.strip_prefix(base).is_ok_and(|below| self.is_match(&below.join(ANY_NAME)))
            }
        }
    }

    fn is_match(&self, below: &Path) -> bool {
        let last = self.set.matches(below).into_iter().map(|index| index / 2).max();
        last.is_some_and(|last| !self.globs[last].starts_with('!'))
    }

    /// Returns the globs for display.
    pub fn describe(&self) -> String {
        let globs: Vec<String> = self.globs.iter().map(|glob| format!("`{glob}`")).collect();
        globs.join(", ")
    }
}

/// Returns a pattern for the whole path below the base. `None` if the glob is empty.
fn pattern(glob: &str) -> Option<String> {
    let glob = glob.strip_prefix('!').unwrap_or(glob).trim();
    let anchored = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/'));
    let name = anchored.unwrap_or(glob).trim_end_matches('/');
    if name.is_empty() {
        return None;
    }
    let anywhere = anchored.is_none() && !name.contains('/');
    Some(if anywhere { format!("**/{name}") } else { name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(globs: &[&str], path: &str) -> bool {
        let rule = AppliesTo::new(globs.iter().map(|glob| (*glob).to_owned()).collect()).unwrap();
        let base = Path::new("/r");
        match path.strip_suffix('/') {
            Some(directory) => rule.matches(Target::Directory(&base.join(directory)), base),
            None => rule.matches(Target::File(&base.join(path)), base),
        }
    }

    #[test]
    fn globs_match_paths() {
        for (glob, path, expected) in [
            ("src/**", "src/a.rs", true),
            ("src/**", "src/a/b.rs", true),
            ("src/**", "src/", true),
            ("src/**", "src/a/", true),
            ("src/**", "", false),
            ("src/**", "/", false),
            ("src/**", "lib/src/a.rs", false),
            ("**", "/", true),
            ("*.ts", "a.ts", true),
            ("*.ts", "src/deep/a.ts", true),
            ("*.ts", "src/", false),
            ("/*.ts", "src/a.ts", false),
            ("./src/*.ts", "src/a.ts", true),
            ("src/*.ts", "src/deep/a.ts", false),
            ("src/*.ts", "src/", false),
            ("src/*", "src/", true),
            ("src", "src/a.rs", true),
            ("src/", "src/a.rs", true),
            ("src/", "src/", true),
            ("**/*.{ts,tsx}", "a/b.tsx", true),
            ("**/*.{ts,tsx}", "a/b.js", false),
            ("SRC/**", "src/a.rs", false),
            ("a b/[0-9]?.md", "a b/1x.md", true),
        ] {
            assert_eq!(matches(&[glob], path), expected, "{glob} and {path}");
        }
    }

    /// Recorded from the agents when a tool read `src/a.ts`.
    #[test]
    fn globs_of_other_agents_match_as_recorded() {
        let matches = |globs: &[&str], matching| {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let target = Target::File(Path::new("/r/src/a.ts"));
            AppliesTo::compile_agent_globs(&globs, matching)
                .is_some_and(|rule| rule.matches(target, Path::new("/r")))
        };
        for (globs, gitignore, whole_path) in [
            (&["src/**/*.ts"][..], true, true),
            (&["b.ts", "src/**"], true, true),
            (&["src/*.{ts,tsx}"], true, true),
            (&["*.ts"], true, true),
            (&["**/a.ts"], true, true),
            (&["src/[a-b].ts"], true, true),
            (&["src"], true, false),
            (&["src/"], true, false),
            (&["/src/**"], true, false),
            (&["SRC/**"], true, false),
            (&["./src/**"], false, true),
            (&["**/*.ts", "!src/a.ts"], false, true),
            (&["**/*.py"], false, false),
            (&["{"], false, false),
        ] {
            assert_eq!(matches(globs, GlobMatching::Gitignore), gitignore, "{globs:?}");
            assert_eq!(matches(globs, GlobMatching::WholePath), whole_path, "{globs:?}");
        }
    }

    #[test]
    fn the_last_glob_decides() {
        let globs = &["src/**", "!src/generated/**", "src/generated/keep.rs"];
        assert!(matches(globs, "src/a.rs"));
        assert!(!matches(globs, "src/generated/a.rs"));
        assert!(matches(globs, "src/generated/keep.rs"));
    }

    #[test]
    fn paths_outside_the_base_do_not_match() {
        let rule = AppliesTo::new(vec!["**".to_owned()]).unwrap();
        assert!(!rule.matches(Target::File(Path::new("/rx/a")), Path::new("/r")));
        assert!(!rule.matches(Target::Directory(Path::new("/")), Path::new("/r")));
    }

    #[test]
    fn invalid_globs_are_rejected() {
        for globs in
            [vec![], vec!["".to_owned()], vec!["/".to_owned()], vec!["[".to_owned()], vec!["{a".to_owned()]]
        {
            assert!(AppliesTo::new(globs.clone()).is_err(), "{globs:?}");
        }
        assert!(AppliesTo::new(vec!["a".repeat(513)]).is_err());
        assert!(AppliesTo::new(vec!["a".to_owned(); 101]).is_err());
        // Deep nesting must return an error or a matcher, not overflow the stack.
        let _ = AppliesTo::new(vec!["{".repeat(256) + &"}".repeat(256)]);
    }
}
