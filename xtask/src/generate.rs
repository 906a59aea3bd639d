//! `cargo xtask generate`: writes the files generated from the protocol's types.

mod typescript;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::failure::check_failed;
use crate::print_status;

const SCHEMAS: &str = "schemas";
const REFERENCE: &str = "docs/protocol.md";
const TYPES: &str = "console/src/protocol/types.ts";

/// Difference between a file on disk and its generated content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    Missing,
    Changed,
    Stale,
}

impl Difference {
    fn as_str(self) -> &'static str {
        match self {
            Difference::Missing => "missing",
            Difference::Changed => "differs",
            Difference::Stale => "stale: no type of that name",
        }
    }
}

/// Writes files that differ and removes stale ones.
pub(crate) fn write(root: &Path) -> Result<()> {
    let wanted = wanted();
    let differences = differences(root, &wanted)?;
    for (path, difference) in &differences {
        let file = root.join(path);
        match (difference, wanted.get(path)) {
            (Difference::Missing | Difference::Changed, Some(text)) => {
                if let Some(directory) = file.parent() {
                    fs::create_dir_all(directory)
                        .with_context(|| format!("could not make {}", directory.display()))?;
                }
                fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
                print_status(format!("wrote {}", path.display()));
            }
            _ => {
                fs::remove_file(&file).with_context(|| format!("could not remove {}", file.display()))?;
                print_status(format!("removed {}", path.display()));
            }
        }
    }
    print_status(format!("{} generated files, {} changed", wanted.len(), differences.len()));
    Ok(())
}

/// Fails if a file on disk differs from its generated content.
pub(crate) fn check(root: &Path) -> Result<()> {
    let wanted = wanted();
    let differences = differences(root, &wanted)?;
    if differences.is_empty() {
        print_status(format!("{} generated files are up to date", wanted.len()));
        return Ok(());
    }
    for (path, difference) in &differences {
        print_status(format!("{}: {}", path.display(), difference.as_str()));
    }
    Err(check_failed(format!(
        "{} generated files differ\nhint: run `cargo xtask generate`",
        differences.len()
    )))
}

/// Returns the content of every generated file by its path relative to the root.
fn wanted() -> BTreeMap<PathBuf, String> {
    let schemas = protocol::schema::files();
    let mut files: BTreeMap<PathBuf, String> =
        schemas.into_iter().map(|(name, text)| (Path::new(SCHEMAS).join(name), text)).collect();
    files.insert(REFERENCE.into(), protocol::reference::markdown());
    files.insert(TYPES.into(), typescript::types());
    files
}

fn differences(root: &Path, wanted: &BTreeMap<PathBuf, String>) -> Result<BTreeMap<PathBuf, Difference>> {
    let mut found = BTreeMap::new();
    for (path, text) in wanted {
        match fs::read(root.join(path)) {
            // Compared byte by byte and written only if they differ, so that the modification time of unchanged files
            // stays.
            Ok(bytes) if bytes == text.as_bytes() => {}
            Ok(_) => drop(found.insert(path.clone(), Difference::Changed)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                found.insert(path.clone(), Difference::Missing);
            }
            Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
        }
    }
    // A type that was renamed leaves its old schema behind, which readers would still take for valid.
    for path in schemas_on_disk(root)? {
        if !wanted.contains_key(&path) {
            found.insert(path, Difference::Stale);
        }
    }
    Ok(found)
}

fn schemas_on_disk(root: &Path) -> Result<Vec<PathBuf>> {
    let directory = root.join(SCHEMAS);
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in
        fs::read_dir(&directory).with_context(|| format!("could not list {}", directory.display()))?
    {
        let name = PathBuf::from(entry?.file_name());
        if name.extension().is_some_and(|extension| extension == "json") {
            paths.push(Path::new(SCHEMAS).join(name));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::is_check_failure;

    #[test]
    fn missing_changed_and_stale_files_are_fixed() {
        let root = std::env::temp_dir().join(format!("xtask-{}-generate", std::process::id()));
        let schemas = root.join(SCHEMAS);
        fs::create_dir_all(&schemas).unwrap();
        fs::write(schemas.join("Gone.json"), "{}").unwrap();
        fs::write(schemas.join("Document.json"), "{}").unwrap();
        fs::write(schemas.join("notes.txt"), "not ours").unwrap();

        let found = differences(&root, &wanted()).unwrap();
        assert_eq!(found[Path::new("schemas/Gone.json")], Difference::Stale);
        assert_eq!(found[Path::new("schemas/Document.json")], Difference::Changed);
        assert_eq!(found[Path::new(REFERENCE)], Difference::Missing);
        assert!(is_check_failure(&check(&root).unwrap_err()));

        write(&root).unwrap();
        check(&root).unwrap();
        assert!(!schemas.join("Gone.json").exists() && schemas.join("notes.txt").exists());
        fs::remove_dir_all(&root).unwrap();
    }
}
