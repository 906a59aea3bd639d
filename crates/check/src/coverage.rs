//! Table of all instruction files with the agents that read them and their losses.

use std::path::PathBuf;

use serde::Serialize;

use crate::finding::shown;
use crate::others::is_ambiguous;
use crate::project::{Kind, Project};

/// A file and its readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCoverage {
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// True if it is an instruction file only because others import it.
    pub imported: bool,
    /// Agents that read it somewhere, or would without a file that comes first.
    pub agents: Vec<CoverageReader>,
}

/// An agent that reads a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoverageReader {
    /// Name of the agent's profile.
    pub agent: &'static str,
    /// Time of reading.
    pub when: CoverageTime,
    /// Most bytes of the file lost in one directory.
    pub lost_bytes: u64,
}

/// Time at which an agent reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageTime {
    /// At startup in the file's directory.
    Start,
    /// Later, once a path matches its front matter.
    Matching,
    /// Never in its own directory, because another name comes first.
    Never,
}

pub(crate) fn of(project: &Project) -> Vec<FileCoverage> {
    let rows = project.documents.iter().map(|document| {
        let bytes = document.bytes.len() as u64;
        let agents = document.readers.iter().map(|agent| {
            let losses = document.losses.iter().filter(|loss| loss.agent == *agent);
            // The losses of different directories are never added up: each belongs to another session, and the worst of
            // them is the one worth fixing.
            let dropped = losses.map(|loss| loss.lost).max().unwrap_or(0);
            let is_dropped = document.not_imported.contains(agent);
            CoverageReader {
                agent: agent.name,
                when: if document.at_start.contains(agent) {
                    CoverageTime::Start
                } else {
                    CoverageTime::Matching
                },
                lost_bytes: if is_dropped { bytes } else { dropped },
            }
        });
        let unread = document.shadows.iter().map(|shadow| shadow.agent);
        let unread = unread.filter(|agent| !document.readers.contains(agent));
        let never = unread.map(|agent| CoverageReader {
            agent: agent.name,
            when: CoverageTime::Never,
            // As in `compare`, only text counts as lost that the agent should read by its own rules.
            lost_bytes: 0,
        });
        let agents = agents.chain(never);
        FileCoverage {
            path: document.path.clone(),
            bytes,
            imported: document.is_import,
            agents: agents.collect(),
        }
    });
    // Names that usually mean something else are listed only where an agent reads them.
    let mut rows: Vec<FileCoverage> =
        rows.filter(|row| !row.agents.is_empty() || !is_ambiguous(&row.path)).collect();
    rows.extend(linked(project));
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    rows
}

/// Returns links that lead outside the project. Their texts are not checked, although agents read them.
fn linked(project: &Project) -> impl Iterator<Item = FileCoverage> {
    let outside = project
        .entries
        .iter()
        .filter(|entry| entry.known.is_some() && entry.kind == Kind::LinkToFile { outside: true });
    outside.map(|entry| {
        let files =
            project.chains.iter().flat_map(|chain| chain.files.iter().map(move |file| (chain.agent, file)));
        let mut agents: Vec<CoverageReader> = Vec::new();
        let mut bytes = 0;
        for (agent, file) in files.filter(|(_, file)| file.path == entry.path) {
            bytes = file.bytes;
            let lost_bytes = file.bytes.saturating_sub(file.kept);
            match agents.iter_mut().find(|reader| reader.agent == agent.name) {
                Some(reader) => reader.lost_bytes = reader.lost_bytes.max(lost_bytes),
                None => {
                    agents.push(CoverageReader { agent: agent.name, when: CoverageTime::Start, lost_bytes })
                }
            }
        }
        FileCoverage { path: entry.path.clone(), bytes, imported: false, agents }
    })
}
