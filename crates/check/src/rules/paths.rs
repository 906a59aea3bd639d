//! Paths in texts that do not exist. Only what is certain is reported: a link that a reader would follow into nothing,
//! and a path in backticks that can mean nothing else than a file of this project.

mod context;
mod written;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use instructions::PROFILES;
use instructions::path::normalise;

use crate::document::Document;
use crate::finding::{Finding, quoted};
use crate::markdown::Piece;
use crate::others::OTHERS;
use crate::policy::CheckPolicy;
use crate::project::Project;
use crate::rule::RuleId;
use crate::search::{Anchor, Search};

/// Directories whose files are copied into other projects, so that their paths mean files there.
const COPIED: &[&str] = &[
    "template",
    "templates",
    "__templates__",
    "fixtures",
    "__fixtures__",
    "testdata",
    "test-data",
    "starters",
    "scaffold",
    "scaffolds",
    "boilerplate",
    "cassettes",
    "snapshots",
    "__snapshots__",
];
/// First parts of paths that nearly always mean the root of the text's own project.
const COMMON_ROOTS: &[&str] = &[
    "app", "apps", "cmd", "crates", "docs", "internal", "lib", "libs", "packages", "scripts", "src", "test",
    "tests",
];

pub(super) fn run(project: &Project, document: &Document, policy: &CheckPolicy, search: &mut Search) {
    if !policy.is_on(RuleId::MissingPath)
        || document.readers.is_empty()
        || is_copied(project, document)
        || project.is_sparse
    {
        return;
    }
    // A path is reported only once per file, at its first mention.
    let mut known = HashSet::new();
    for link in &document.markdown.links {
        if let Some(path) = written::in_link(&link.text)
            && known.insert(path.clone())
            && is_broken(project, document, &path)
        {
            search.for_nothing(missing(document, &path, link));
        }
    }
    for span in &document.markdown.spans {
        let Some(path) = written::in_code(&span.text) else { continue };
        if !known.insert(path.clone()) || !context::claims(&document.markdown, span) {
            continue;
        }
        // A path that leads up is relative to the file alone. From further up it would leave the project.
        let bases: Vec<&Path> = match path.starts_with("..") {
            true => vec![own_directory(document)],
            false => directories(project, document).collect(),
        };
        if is_there(project, document, &path) || is_made(project, &bases, &path) || is_instructions(&path) {
            continue;
        }
        let Some(anchor) = anchor(project, document, &path) else { continue };
        let ending = normalise(Path::new(path.trim_end_matches('/')), Path::new(""));
        // The text may mean a path further down, as in `components/button.tsx` for `web/src/components/button.tsx`. The
        // finding is reported only if no path in the tree ends like this.
        let endings =
            std::iter::once(ending).chain(written::alternatives(&path).into_iter().map(PathBuf::from));
        search.for_endings(endings.collect(), anchor, missing(document, &path, span));
    }
}

fn missing(document: &Document, path: &str, piece: &Piece) -> Finding {
    let message = format!("{} does not exist", quoted(path));
    Finding::new(RuleId::MissingPath, &document.path, message).at_line(piece.line)
}

/// Returns true if a document is below a directory whose files are meant for other projects.
fn is_copied(project: &Project, document: &Document) -> bool {
    let below = document.path.strip_prefix(&project.root).unwrap_or(&document.path);
    below.components().any(|part| COPIED.iter().any(|name| part.as_os_str() == *name))
}

/// Returns true if a link leads nowhere for a reader of the file.
fn is_broken(project: &Project, document: &Document, path: &str) -> bool {
    !is_there(project, document, path)
        && !written::alternatives(path).iter().any(|path| is_there(project, document, path))
        && !is_made(project, &[own_directory(document)], path)
}

/// Returns the reason to believe that a path means a file of this project, or `None` if it may be about another tree.
fn anchor(project: &Project, document: &Document, path: &str) -> Option<Anchor> {
    let first = path.split('/').find(|part| *part != "..").unwrap_or(path);
    let is_begun = is_there(project, document, first);
    if path.ends_with('/') {
        return is_begun.then_some(Anchor::Known);
    }
    let parent = Path::new(path).parent().map(Path::to_owned).unwrap_or_default();
    match is_begun {
        true => Some(Anchor::Known),
        false => Some(Anchor::Parent { parent, is_common: COMMON_ROOTS.contains(&first) }),
    }
}

/// Returns true if an agent looks for a path. Texts often list such paths without having them.
fn is_instructions(path: &str) -> bool {
    let names = PROFILES.iter().flat_map(|profile| profile.known_names());
    let folders =
        PROFILES.iter().flat_map(|profile| profile.choose.rule_folders).map(|folder| folder.directory);
    let others = OTHERS.iter().map(|(name, _)| *name);
    let path = Path::new(path);
    names.chain(folders).chain(others).any(|name| path.ends_with(name))
}

/// Returns true if a path exists, relative to the file, to the target of a link to it, or to any directory up to the
/// root.
fn is_there(project: &Project, document: &Document, path: &str) -> bool {
    let exists = |directory: &Path| normalise(Path::new(path), directory).symlink_metadata().is_ok();
    directories(project, document).any(exists)
        || document.target.as_deref().and_then(Path::parent).is_some_and(exists)
}

/// Returns the directory of a document and its ancestors up to the root.
pub(super) fn directories<'a>(
    project: &'a Project,
    document: &'a Document,
) -> impl Iterator<Item = &'a Path> {
    own_directory(document).ancestors().take_while(|directory| directory.starts_with(&project.root))
}

fn own_directory(document: &Document) -> &Path {
    document.path.parent().unwrap_or(&document.path)
}

/// Returns true if a path is generated, ignored by version control, or in a submodule that need not be checked out.
fn is_made(project: &Project, bases: &[&Path], path: &str) -> bool {
    let is_ignored = |base: &&Path| {
        let target = normalise(Path::new(path), base);
        project.ignored.contains(&project.root, &target, path.ends_with('/'))
            || project.is_in_submodule(&target)
    };
    written::is_made(path) || bases.iter().any(is_ignored)
}
