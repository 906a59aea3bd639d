//! Comparison of agents: side by side in one directory, and across all directories of a tree.
//!
//! [`Tree::walk`] finds the directories and instruction files of a tree. [`effective`] resolves the files of
//! one agent in each of them, but only where the result can differ.
//!
//! ```
//! use compare::{Names, Tree, effective};
//! use instructions::{CODEX, FileSettings};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::create_dir_all(directory.path().join(".git"))?;
//! std::fs::create_dir_all(directory.path().join("src/deep"))?;
//! std::fs::write(directory.path().join("AGENTS.md"), "Answer briefly.\n")?;
//! let tree = Tree::walk(directory.path(), &Names::new([]))?;
//! let effective = effective(&tree, &FileSettings::of(&CODEX))?;
//! assert_eq!(effective.of_directories, [Some(0), Some(0), Some(0)], "all three get the same");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agents;
mod annotation;
mod changes;
mod differences;
mod effective;
mod ignored;
mod loss;
mod map;
mod markdown;
mod names;
mod page;
mod printed;
mod side_by_side;
mod traces;
mod tree;
mod words;

pub use agents::{UnknownAgent, agents, verified_agents};
pub use annotation::{annotation_data, annotation_property};
pub use changes::{
    AgentChanges, Change, ChangeSummary, Changes, ChangesError, NewlyLost, ReadFiles, Revision, Revisions,
    changes,
};
pub use effective::{Effective, EffectiveSet, effective};
pub use loss::{LostFile, is_loss, of as lost_in};
pub use map::{Map, MapDirectory, MapFile, MapLoss, MapSet};
pub use markdown::{cell, markdown, paths};
pub use names::{Agents, Names};
pub use page::page;
pub use printed::{Absent, Explained, Shown, kept_bytes, tokens};
pub use side_by_side::{CompareRequest, Compared, compare, settings_for};
pub use traces::{DefaultAgents, DefaultReason, default_agents, here, sentence};
pub use tree::{Tree, TreeDirectory, TreeError, is_version_control, walker};
pub use words::{grouped, joined, outcome_word};
