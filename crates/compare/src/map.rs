//! A tree by what one agent gets in each of its directories.

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

/// What an agent gets in every directory of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Map {
    /// The agent's profile.
    pub agent: &'static str,
    /// The directories, each before those in it.
    pub directories: Vec<MapDirectory>,
    /// The different things that the agent gets.
    pub sets: Vec<MapSet>,
}

/// A directory of a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapDirectory {
    /// The directory.
    pub path: String,
    /// Files whose text the agent gets there, in its order.
    pub files: Vec<String>,
    /// Tokens of those, estimated.
    pub tokens: u64,
    /// Bytes that are lost there.
    pub lost_bytes: u64,
    /// The place in `sets` of what it gets.
    pub set: usize,
}

/// What an agent gets in some directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapSet {
    /// Files whose text is there, in its order.
    pub files: Vec<MapFile>,
    /// Tokens of those, estimated.
    pub tokens: u64,
    /// Files of which something is lost.
    pub lost: Vec<MapLoss>,
    /// Bytes that are lost.
    pub lost_bytes: u64,
    /// What its files contradict each other in, one sentence each.
    pub conflicts: Vec<String>,
    /// How many directories get this.
    pub directories: usize,
}

/// A file of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapFile {
    /// The file.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// How much of it is there.
    pub kept_bytes: u64,
    /// Tokens of that, estimated; 0 for one whose text is in that of the file that names it, where they count.
    pub tokens: u64,
}

/// A file of which something is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MapLoss {
    /// The file.
    pub path: String,
    /// Why.
    pub outcome: instructions::Outcome,
    /// How many bytes.
    pub bytes: u64,
}

impl Map {
    /// Counts what an agent gets; `conflicts` says what texts that are read together contradict each other in.
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

    /// The tree for people: only where something changes, with what each such directory adds or loses.
    pub fn outline(&self, tree: &Tree, root: &Path) -> String {
        let shown = |path: &str| {
            let below = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
            one_line(below.unwrap_or(path))
        };
        let sets: BTreeMap<&str, usize> =
            self.directories.iter().map(|directory| (directory.path.as_str(), directory.set)).collect();
        let mut outline = String::new();
        for directory in tree.directories() {
            let Some(set) = sets.get(text(&directory.path).as_str()).copied() else { continue };
            let parent = directory.parent.map(|parent| text(&tree.directories()[parent].path));
            let above = parent.and_then(|parent| sets.get(parent.as_str()).copied());
            if above == Some(set) {
                continue;
            }
            let depth = directory.path.components().count() - root.components().count();
            let name = match directory.path.file_name() {
                Some(name) if depth > 0 => one_line(&name.to_string_lossy()),
                _ => one_line(&root.to_string_lossy()),
            };
            // Directories between that change nothing are part of the name.
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
            let _ = write!(outline, "{}{name}  {what}", "  ".repeat(depth));
            if *lost_bytes > 0 {
                let _ = write!(outline, ", {} lost", bytes(*lost_bytes));
            }
            if !new.is_empty() {
                let _ = write!(outline, "  + {}", new.join(", "));
            }
            outline.push('\n');
            let known: &[String] = above.map_or(&[], |above| &self.sets[above].conflicts);
            for conflict in conflicts.iter().filter(|conflict| !known.contains(conflict)) {
                let _ = writeln!(outline, "{}  ! {}", "  ".repeat(depth), one_line(conflict));
            }
        }
        outline
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
