//! Display of paths relative to the project root, or without one to the working directory. Programs get absolute paths.

use std::path::Path;

use instructions::{Resolution, Session};

use crate::output::{plain, shown_path};

/// Base directory of displayed paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewpoint<'a>(&'a Path);

impl<'a> Viewpoint<'a> {
    /// Displays paths relative to a root or working directory.
    pub(crate) fn at(directory: &'a Path) -> Self {
        Self(directory)
    }

    pub(crate) fn of(resolution: &'a Resolution) -> Self {
        Self(resolution.root.as_ref().unwrap_or(&resolution.cwd))
    }

    pub(crate) fn of_session(session: &'a Session) -> Self {
        Self(session.root.as_ref().unwrap_or(&session.cwd))
    }

    pub(crate) fn path(self, path: &Path) -> String {
        match path.strip_prefix(self.0) {
            Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
            Ok(below) if !self.is_everything() => shown_path(below),
            _ => shown_path(path),
        }
    }

    /// Rewrites the paths in a sentence. A path at the root keeps `./`, to distinguish it from a path beside the file that
    /// the sentence describes.
    pub(crate) fn sentence(self, text: &str) -> String {
        if self.is_everything() {
            return plain(text);
        }
        // The replaced text ends with a slash, so only whole components match.
        plain(text.replace(&format!("{}/", self.0.display()), "./"))
    }

    /// Returns true for the file system's root. Shortening paths below it would only hide that they are absolute.
    fn is_everything(self) -> bool {
        self.0.parent().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_root() {
        let root = Viewpoint(Path::new("/src/web"));
        for (path, shown) in [
            ("/src/web", "."),
            ("/src/web/a/AGENTS.md", "a/AGENTS.md"),
            ("/src/webs/AGENTS.md", "/src/webs/AGENTS.md"),
            ("/src/web/a\nb", "a\\nb"),
        ] {
            assert_eq!(root.path(Path::new(path)), shown);
        }
        assert_eq!(
            root.sentence("imported by /src/web/AGENTS.md, line 1"),
            "imported by ./AGENTS.md, line 1"
        );
        let everything = Viewpoint(Path::new("/"));
        assert_eq!(everything.path(Path::new("/etc/AGENTS.md")), "/etc/AGENTS.md");
        assert_eq!(everything.sentence("imported by /AGENTS.md"), "imported by /AGENTS.md");
    }
}
