//! The table at the end: every instruction file, which agents read it, what each loses.

use std::path::PathBuf;

use serde::Serialize;

use crate::finding::shown;
use crate::others::is_ambiguous;
use crate::project::Project;

/// A file, and who reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileCoverage {
    /// The file.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Whether it is there only because others import it.
    pub imported: bool,
    /// Agents that read it somewhere.
    pub agents: Vec<Reader>,
}

/// An agent that reads a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reader {
    /// The name of its profile.
    pub agent: &'static str,
    /// When it does.
    pub when: When,
    /// Most bytes of the file that are lost in one directory.
    pub lost_bytes: u64,
}

/// When an agent reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// When it is started in the directory of the file.
    Start,
    /// When something that its front matter names comes up.
    Matching,
}

pub(crate) fn of(project: &Project) -> Vec<FileCoverage> {
    let rows = project.documents.iter().map(|document| {
        let agents = document.readers.iter().map(|agent| {
            let losses = document.losses.iter().filter(|loss| loss.agent == *agent);
            Reader {
                agent: agent.name,
                when: if document.at_start.contains(agent) { When::Start } else { When::Matching },
                lost_bytes: losses.map(|loss| loss.lost).max().unwrap_or(0),
            }
        });
        FileCoverage {
            path: document.path.clone(),
            bytes: document.bytes.len() as u64,
            imported: document.is_import,
            agents: agents.collect(),
        }
    });
    // A name that means other things to most people is listed where an agent reads it.
    rows.filter(|row| !row.agents.is_empty() || !is_ambiguous(&row.path)).collect()
}
