//! Map of a tree for one agent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use instructions::Resolution;
use serde::Serialize;
use tokens::{Counter, Encoding};

use crate::effective::Effective;
use crate::side_by_side::is_in_place;
use crate::tree::Tree;
use crate::words::{bytes, grouped, one_line};

/// Instruction files of an agent in every directory of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Map {
    /// Name of the agent's profile.
    pub agent: &'static str,
    /// Directories, parents first.
    pub directories: Vec<MapDirectory>,
    /// Distinct results.
    pub sets: Vec<MapSet>,
}

/// A directory of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapDirectory {
    pub path: String,
    /// Files whose text the agent reads there, in its order.
    pub files: Vec<String>,
    /// Estimated tokens of these files.
    pub tokens: u64,
    /// Number of lost bytes.
    pub lost_bytes: u64,
    /// Index of its result in `sets`.
    pub set: usize,
}

/// Result shared by several directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapSet {
    /// Files whose text is included, in the agent's order.
    pub files: Vec<MapFile>,
    /// Estimated tokens of these files.
    pub tokens: u64,
    /// Files that lose text.
    pub lost: Vec<MapLoss>,
    /// Number of lost bytes.
    pub lost_bytes: u64,
    /// Contradictions between the files, one sentence each.
    pub conflicts: Vec<String>,
    /// Number of directories with this result.
    pub directories: usize,
}

/// A file of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapFile {
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes that reach the model.
    pub kept_bytes: u64,
    /// Estimated tokens; 0 if the text is counted with the file that imports it.
    pub tokens: u64,
}

/// A file that loses text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapLoss {
    pub path: String,
    /// Outcome that caused the loss.
    pub outcome: instructions::Outcome,
    /// Number of lost bytes.
    pub bytes: u64,
}

impl Map {
    /// Creates a map. `conflicts` returns the contradictions between the texts of a resolution.
    pub fn new(
        tree: &Tree,
        effective: &Effective,
        counter: &Counter,
        conflicts: impl Fn(&Resolution) -> Vec<String>,
    ) -> Self {
        let sets: Vec<MapSet> = effective
            .sets
            .iter()
            .map(|set| {
                let files: Vec<MapFile> = set
                    .resolution
                    .files
                    .iter()
                    .map(|file| MapFile {
                        path: text(&file.path),
                        bytes: file.bytes,
                        kept_bytes: file.kept_bytes,
                        // The importing file contains the text already, and counting it twice would exaggerate the sum.
                        tokens: if is_in_place(effective.profile, file) {
                            0
                        } else {
                            counter.count(Encoding::Cl100k, &file.text) as u64
                        },
                    })
                    .collect();
                let lost = set.lost.iter();
                let lost = lost.map(|file| MapLoss {
                    path: text(&file.path),
                    outcome: file.outcome,
                    bytes: file.bytes,
                });
                MapSet {
                    tokens: files.iter().map(|file| file.tokens).sum(),
                    files,
                    lost: lost.collect(),
                    lost_bytes: set.lost_bytes(),
                    conflicts: conflicts(&set.resolution),
                    directories: set.directories,
                }
            })
            .collect();
        let directories = tree.directories().iter().zip(&effective.of_directories);
        let directories = directories
            .filter_map(|(directory, set)| {
                let set = (*set)?;
                let MapSet { files, tokens, lost_bytes, .. } = &sets[set];
                Some(MapDirectory {
                    path: text(&directory.path),
                    files: files.iter().map(|file| file.path.clone()).collect(),
                    tokens: *tokens,
                    lost_bytes: *lost_bytes,
                    set,
                })
            })
            .collect();
        Self { agent: effective.profile.name, directories, sets }
    }

    /// Returns the tree for display: only directories with a different result than their parent, with added
    /// files and losses.
    pub fn outline(&self, tree: &Tree, root: &Path) -> String {
        let shown = |path: &str| {
            let below = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
            one_line(below.unwrap_or(path))
        };
        let sets: BTreeMap<&str, usize> =
            self.directories.iter().map(|directory| (directory.path.as_str(), directory.set)).collect();
        let mut lines: Vec<OutlineLine> = Vec::new();
        for directory in tree.directories() {
            let Some(set) = sets.get(text(&directory.path).as_str()).copied() else { continue };
            let parent = directory.parent.map(|parent| text(&tree.directories()[parent].path));
            let above = parent.and_then(|parent| sets.get(parent.as_str()).copied());
            // Directories with the result of their parent add nothing. In a large repository these are nearly all.
            if above == Some(set) {
                continue;
            }
            let depth = directory.path.components().count() - root.components().count();
            let name = match directory.path.file_name() {
                Some(name) if depth > 0 => one_line(&name.to_string_lossy()),
                _ => one_line(&root.to_string_lossy()),
            };
            // Directories in between that change nothing become part of the name.
            let name = if depth > 1 { shown(&text(&directory.path)) } else { name };
            let MapSet { files, tokens, lost_bytes, conflicts, .. } = &self.sets[set];
            let known: Vec<&str> = match above {
                Some(above) => self.sets[above].files.iter().map(|file| file.path.as_str()).collect(),
                None => Vec::new(),
            };
            let new: Vec<String> = files
                .iter()
                .filter(|file| !known.contains(&file.path.as_str()))
                .map(|file| shown(&file.path))
                .collect();
            let what = if files.is_empty() {
                "nothing".to_owned()
            } else {
                let tokens =
                    if *tokens == 1 { "1 token".to_owned() } else { format!("{} tokens", grouped(*tokens)) };
                let files =
                    if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
                format!("{files}, about {tokens}")
            };
            let mut rest = what;
            if *lost_bytes > 0 {
                let _ = write!(rest, ", {} lost", bytes(*lost_bytes));
            }
            if !new.is_empty() {
                let _ = write!(rest, "  + {}", new.join(", "));
            }
            // A contradiction between files of the root holds in every directory below. It is shown where it begins.
            let known: &[String] = above.map_or(&[], |above| &self.sets[above].conflicts);
            let conflicts = conflicts.iter().filter(|conflict| !known.contains(conflict));
            let conflicts: Vec<String> = conflicts.map(|conflict| one_line(conflict)).collect();
            // Only leaves are joined: lines below a directory belong to it.
            let parent = directory.parent;
            let alike = lines.iter_mut().find(|line| {
                line.parent == parent && line.rest == rest && line.conflicts == conflicts && !line.has_below
            });
            match alike.filter(|_| new.is_empty()) {
                Some(line) => line.names.push(name),
                None => {
                    for line in lines.iter_mut().filter(|line| directory.path.starts_with(&line.path)) {
                        line.has_below = true;
                    }
                    let path = directory.path.clone();
                    lines.push(OutlineLine {
                        path,
                        parent,
                        depth,
                        names: vec![name],
                        rest,
                        conflicts,
                        has_below: false,
                    });
                }
            }
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for conflict in lines.iter().flat_map(|line| &line.conflicts) {
            *counts.entry(conflict).or_default() += 1;
        }
        let mut outline = String::new();
        for line in &lines {
            let indent = "  ".repeat(line.depth);
            let _ = writeln!(outline, "{indent}{}  {}", line.shown_names(), line.rest);
            for conflict in &line.conflicts {
                // The same sentence in dozens of directories is shown with the first.
                let count = counts.remove(conflict.as_str()).unwrap_or(0);
                let places = if count > 1 { format!(" (in {count} directories)") } else { String::new() };
                if count > 0 {
                    let _ = writeln!(outline, "{indent}  ! {conflict}{places}");
                }
            }
        }
        outline
    }
}

/// Most names of equal directories in one line.
const NAMED: usize = 3;

/// A line of the outline, for one directory or several equal ones.
struct OutlineLine {
    path: std::path::PathBuf,
    parent: Option<usize>,
    depth: usize,
    names: Vec<String>,
    rest: String,
    conflicts: Vec<String>,
    /// True if a directory below has a line of its own.
    has_below: bool,
}

impl OutlineLine {
    fn shown_names(&self) -> String {
        let named = self.names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        match self.names.len().saturating_sub(NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
