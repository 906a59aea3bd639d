//! Files that an agent skips because another one of its names comes first.

use std::path::PathBuf;

use instructions::Profile;
use instructions::profile::NameRole;

use crate::chains::Chain;
use crate::document::Document;
use crate::project::Project;

/// An agent that skips a document in its own directory, and the file that comes first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shadow {
    pub(crate) agent: &'static Profile,
    pub(crate) by: PathBuf,
    /// True if the document names the file that comes first.
    pub(crate) is_named: bool,
}

/// Largest document that is a mere pointer to another file if it names it.
const MAX_POINTER_BYTES: usize = 400;

/// Returns the shadows of documents, with the index of each document.
pub(crate) fn find(project: &Project) -> Vec<(usize, Shadow)> {
    let mut found = Vec::new();
    for chain in
        project.chains.iter().filter(|chain| chain.agent.names_with(NameRole::Fallback).next().is_some())
    {
        let of_directory = project
            .documents
            .iter()
            .enumerate()
            .filter(|(_, document)| document.directory == chain.directory && !document.is_blank());
        for (place, document) in of_directory {
            let Some(by) = first(project, chain, document) else { continue };
            let is_named =
                by.file_name().is_some_and(|name| document.text.contains(&*name.to_string_lossy()));
            // "Read CLAUDE.md" in an AGENTS.md loses nothing where CLAUDE.md is read already.
            if !(is_named && document.bytes.len() <= MAX_POINTER_BYTES) {
                found.push((place, Shadow { agent: chain.agent, by, is_named }));
            }
        }
    }
    found
}

/// Returns the file that an agent reads instead of a document, unless it receives the same text otherwise.
fn first(project: &Project, chain: &Chain, document: &Document) -> Option<PathBuf> {
    let is_instead =
        |path: &std::path::Path| chain.agent.names_with(NameRole::Fallback).any(|name| path.ends_with(name));
    if !is_instead(&document.path) {
        return None;
    }
    let says_the_same = |path: &std::path::Path| {
        path == document.path
            || project
                .document(path)
                .is_some_and(|other| other.bytes.trim_ascii() == document.bytes.trim_ascii())
    };
    // A CLAUDE.md that is a copy of AGENTS.md, imports it or links to it costs the agent nothing. Only text that it
    // never receives is a loss.
    if chain.files.iter().any(|file| says_the_same(&file.path)) {
        return None;
    }
    // Rules and imported files do not shadow anything.
    let is_name = |path: &std::path::Path| {
        chain
            .agent
            .main_names()
            .chain(chain.agent.names_with(NameRole::Added))
            .any(|name| path.ends_with(name))
    };
    let by = chain.files.iter().find(|file| is_name(&file.path) && !is_instead(&file.path))?;
    Some(by.path.clone())
}
