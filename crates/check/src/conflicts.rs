//! Contradictions between texts that an agent reads together.

use std::path::{Path, PathBuf};

use crate::document::Document;
use crate::rules::contradictions;

/// Returns the contradictions between texts in reading order, one sentence each. Paths are relative to
/// `base`.
pub fn conflicts<'a>(texts: impl IntoIterator<Item = (&'a Path, &'a str)>, base: &Path) -> Vec<String> {
    let documents: Vec<Document> = texts
        .into_iter()
        .map(|(path, text)| {
            let directory: PathBuf = path.parent().unwrap_or(path).to_owned();
            // The texts come from a resolution and need no project around them: the search for contradictions looks
            // only at the commands in them.
            Document::new(path, &directory, text.as_bytes().to_vec(), None)
        })
        .collect();
    let shown = |path: &Path| {
        let below = path.strip_prefix(base).unwrap_or(path);
        crate::finding::quoted(&below.to_string_lossy())
    };
    contradictions::between(&documents, &shown)
}
