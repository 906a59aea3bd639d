//! The table at the end: every instruction file, which agents read it, what each loses.

use std::path::PathBuf;

use instructions::Profile;
use serde::Serialize;

use crate::document::Document;
use crate::finding::shown;
use crate::others::is_ambiguous;
use crate::project::{Kind, Project};

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
    /// Agents that read it somewhere, and those that would if nothing else came first.
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
    /// Never in its own directory, because a file of another name comes first.
    Never,
}

pub(crate) fn of(project: &Project) -> Vec<FileCoverage> {
    let rows = project.documents.iter().map(|document| {
        let bytes = document.bytes.len() as u64;
        let agents = document.readers.iter().map(|agent| {
            let losses = document.losses.iter().filter(|loss| loss.agent == *agent);
            let dropped = losses.map(|loss| loss.lost).max().unwrap_or(0);
            let is_dropped = document.not_imported.contains(agent) || is_shadowed(document, agent);
            Reader {
                agent: agent.name,
                when: if document.at_start.contains(agent) { When::Start } else { When::Matching },
                lost_bytes: if is_dropped { bytes } else { dropped },
            }
        });
        let unread = document.shadows.iter().map(|shadow| shadow.agent);
        let unread = unread.filter(|agent| !document.readers.contains(agent));
        let never = unread.map(|agent| Reader { agent: agent.name, when: When::Never, lost_bytes: bytes });
        let agents = agents.chain(never);
        FileCoverage {
            path: document.path.clone(),
            bytes,
            imported: document.is_import,
            agents: agents.collect(),
        }
    });
    // A name that means other things to most people is listed where an agent reads it.
    let mut rows: Vec<FileCoverage> =
        rows.filter(|row| !row.agents.is_empty() || !is_ambiguous(&row.path)).collect();
    rows.extend(linked(project));
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    rows
}

fn is_shadowed(document: &Document, agent: &Profile) -> bool {
    document.shadows.iter().any(|shadow| shadow.agent == agent)
}

/// Links that lead out of the project: their texts are nobody's here, and agents read them all the same.
fn linked(project: &Project) -> impl Iterator<Item = FileCoverage> {
    let outside = project
        .entries
        .iter()
        .filter(|entry| entry.known.is_some() && entry.kind == Kind::LinkToFile { outside: true });
    outside.map(|entry| {
        let files =
            project.chains.iter().flat_map(|chain| chain.files.iter().map(move |file| (chain.agent, file)));
        let mut agents: Vec<Reader> = Vec::new();
        let mut bytes = 0;
        for (agent, file) in files.filter(|(_, file)| file.path == entry.path) {
            bytes = file.bytes;
            let lost_bytes = file.bytes.saturating_sub(file.kept);
            match agents.iter_mut().find(|reader| reader.agent == agent.name) {
                Some(reader) => reader.lost_bytes = reader.lost_bytes.max(lost_bytes),
                None => agents.push(Reader { agent: agent.name, when: When::Start, lost_bytes }),
            }
        }
        FileCoverage { path: entry.path.clone(), bytes, imported: false, agents }
    })
}
