//! Relations between instruction files: links, copies, and files that only import others.

use std::path::{Path, PathBuf};

use crate::fs::file::{Bounds, Found};
use crate::fs::path;
use crate::fs::source::FileSource;
use crate::settings::FileSettings;
use crate::text::markup::Markup;

/// Maximum size of files that are compared.
const MAX_BYTES: u64 = 1024 * 1024;

/// Relation of one instruction file to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relation {
    /// It is a symlink to the other.
    Link(PathBuf),
    /// It is the same file under another name, which may be a symlink.
    SameFile(PathBuf),
    /// It has the same text.
    Repeats(PathBuf),
    /// It contains nothing but imports of the others.
    OnlyImports(Vec<PathBuf>),
}

impl Relation {
    /// Finds the relation of `path` to `others`, reading files within the bounds of `settings`.
    pub fn find(path: &Path, others: &[&Path], settings: &FileSettings) -> Option<Self> {
        let bounds = match settings.bounds.workspace() {
            Some(workspace) => Bounds::inside(workspace),
            None => Bounds::default(),
        };
        let bounds = bounds.without(&settings.private_paths);
        let others: Vec<&Path> = others.iter().copied().filter(|other| *other != path).collect();
        let source = &settings.source;
        let identity = |path: &Path| identity(path, source);
        let state = identity(path)?;
        // Inodes are compared first, because they settle the question without reading any file.
        if let Some(same) = others.iter().find(|other| identity(other) == Some(state)) {
            let is_link = |path: &Path| source.own_state(path).is_ok_and(|state| state.is_link());
            // If both are links to a third file, neither is called a link to the other.
            let is_link_to_it = is_link(path) && !is_link(same);
            let same = same.to_path_buf();
            return Some(if is_link_to_it { Self::Link(same) } else { Self::SameFile(same) });
        }
        let Found::File { content, .. } = source.read(path, &bounds, MAX_BYTES) else { return None };
        // Empty files are all equal; calling them copies of each other would not help.
        let has_text = content.whole && content.bytes.iter().any(|byte| !byte.is_ascii_whitespace());
        let repeats = |other: &&&Path| {
            // Files of another size cannot be copies, so nearly all of them are never read.
            source.file_size(other) == Some(content.bytes.len() as u64)
                && matches!(
                    source.read(other, &bounds, MAX_BYTES),
                    Found::File { content: theirs, .. } if theirs.whole && theirs.sha256 == content.sha256
                )
        };
        // Equal relative imports in two directories lead to different files.
        let has_imports = || !Markup::find(&content.bytes, content.whole).references.found.is_empty();
        let means_the_same = |other: &&&Path| other.parent() == path.parent() || !has_imports();
        if has_text && let Some(same) = others.iter().find(|other| repeats(other) && means_the_same(other)) {
            return Some(Self::Repeats(same.to_path_buf()));
        }
        let imported = only_imports(path, &content.bytes, content.whole, |path| {
            let state = identity(path)?;
            others.iter().find(|other| identity(other) == Some(state)).map(|other| other.to_path_buf())
        });
        imported.map(Self::OnlyImports)
    }

    /// Returns a phrase that follows the file's name.
    pub fn describe(&self, shown: impl Fn(&Path) -> String) -> String {
        match self {
            Self::Link(other) => format!("links to {}", shown(other)),
            Self::SameFile(other) => format!("is the same file as {}", shown(other)),
            Self::Repeats(other) => format!("equals {}", shown(other)),
            Self::OnlyImports(others) => {
                let others: Vec<String> = others.iter().map(|other| shown(other)).collect();
                format!("only imports {}", others.join(", "))
            }
        }
    }
}

fn identity(path: &Path, source: &FileSource) -> Option<(u64, u64)> {
    let stamp = source.state(path).ok()?.stamp;
    Some((stamp.device, stamp.inode))
}

/// Returns the known files that a text imports, if it contains nothing but these imports.
pub(crate) fn only_imports<T>(
    path: &Path,
    bytes: &[u8],
    is_whole: bool,
    known: impl Fn(&Path) -> Option<T>,
) -> Option<Vec<T>> {
    let directory = path.parent()?;
    let references = Markup::find(bytes, is_whole).references;
    if !references.are_all {
        return None;
    }
    // Collecting into an `Option` rejects the text as soon as one import leads to an unknown file.
    let imported = references.found.iter().map(|reference| {
        let mut paths = reference.candidates().map(|name| path::normalise(Path::new(name), directory));
        paths.find_map(|path| known(&path))
    });
    imported.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_copies_and_imports_are_recognized() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("AGENTS.md"), "Answer briefly.\n").unwrap();
        std::os::unix::fs::symlink("AGENTS.md", at("link.md")).unwrap();
        std::fs::hard_link(at("AGENTS.md"), at("same.md")).unwrap();
        std::fs::write(at("copy.md"), "Answer briefly.\n").unwrap();
        std::fs::write(at("import.md"), "@AGENTS.md\n").unwrap();
        std::fs::write(at("more.md"), "@AGENTS.md\n\nAnd in French.\n").unwrap();
        std::fs::write(at("blank.md"), "\n").unwrap();
        std::fs::write(at("lost.md"), "@missing.md\n").unwrap();
        std::fs::create_dir(at("sub")).unwrap();
        std::fs::write(at("sub/import.md"), "@AGENTS.md\n").unwrap();
        let elsewhere = Relation::find(&at("sub/import.md"), &[&at("import.md")], &FileSettings::default());
        assert_eq!(elsewhere, None, "its import leads to sub/AGENTS.md");
        let agents = at("AGENTS.md");
        let find = |name: &str| Relation::find(&at(name), &[&agents], &FileSettings::default());
        assert_eq!(find("link.md"), Some(Relation::Link(agents.clone())));
        assert_eq!(find("same.md"), Some(Relation::SameFile(agents.clone())));
        let of_link = Relation::find(&agents, &[&at("link.md")], &FileSettings::default());
        assert_eq!(of_link, Some(Relation::SameFile(at("link.md"))), "only one of them is the link");
        assert_eq!(find("copy.md"), Some(Relation::Repeats(agents.clone())));
        assert_eq!(find("import.md"), Some(Relation::OnlyImports(vec![agents.clone()])));
        for name in ["more.md", "blank.md", "lost.md", "none.md", "AGENTS.md"] {
            assert_eq!(find(name), None, "{name}");
        }
        let shown = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(find("import.md").unwrap().describe(shown), "only imports AGENTS.md");
    }
}
