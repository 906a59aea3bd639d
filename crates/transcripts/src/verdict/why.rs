//! Selects sessions and judges each: the whole of `foreword why`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use instructions::FileSettings;
use protocol::{Timestamp, TranscriptSession, WhyReport};

use crate::agent::{AGENTS, TranscriptAgent};
use crate::digest::{Digest, Search};
use crate::index::Index;
use crate::sources::{Homes, Source, sources};
use crate::verdict::completion::complete;
use crate::verdict::git::Repository;
use crate::verdict::judge::judge;
use crate::verdict::rule::{Files, Reach, RuleError};

/// Names whose presence marks the root of a project.
const MARKERS: &[&str] = &[".git", ".foreword", ".jj", ".hg"];

/// Parameters of `why`.
#[derive(Debug, Clone)]
pub struct WhyRequest<'a> {
    /// Text of the rule, or `FILE:LINE`.
    pub rule: &'a str,
    /// Directory in the project; absolute.
    pub cwd: &'a Path,
    /// Agents whose sessions are judged.
    pub agents: &'a [TranscriptAgent],
    /// Sessions to judge.
    pub sessions: SessionChoice<'a>,
    /// Violation to search for.
    pub search: Option<&'a Search>,
    /// Earliest start of a session.
    pub since: Option<Timestamp>,
    /// Directories of the agents.
    pub homes: &'a Homes,
    /// Settings of files, for the home directories.
    pub settings: &'a FileSettings,
    /// Directory of the index; `None` to read everything.
    pub cache: Option<&'a Path>,
}

/// Sessions to judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChoice<'a> {
    /// The newest one of each agent.
    NewestOfEach,
    /// The newest one.
    Last,
    /// All, those of subagents included.
    All,
    /// The one with this id, or the beginning of it.
    Id(&'a str),
}

/// Reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WhyError {
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("no session has the id `{0}`")]
    Session(String),
    #[error("`{id}` is the beginning of {} sessions", candidates.len())]
    AmbiguousSession { id: String, candidates: Vec<String> },
}

impl WhyError {
    /// Returns what to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Rule(error) => error.hint(),
            Self::Session(_) => "list the sessions with `foreword transcript list`".to_owned(),
            Self::AmbiguousSession { candidates, .. } => {
                format!("name one of them: {}", candidates.join(", "))
            }
        }
    }
}

/// An answer, with clauses about transcripts that could not be read.
#[derive(Debug)]
pub struct WhyAnswer {
    pub report: WhyReport,
    pub problems: Vec<String>,
}

/// Answers why agents ignored a rule.
pub fn why(request: &WhyRequest<'_>) -> Result<WhyAnswer, WhyError> {
    let root = project_root(request.cwd);
    let files = Files::find(&root, request.cwd, request.settings, Reach::Project)?;
    let rule = files.select(request.rule, request.cwd)?;
    let found = find_sessions(&SessionsRequest {
        agents: request.agents,
        homes: request.homes,
        // A session that is named by its id need not have run here.
        project: Some(root.as_path()).filter(|_| !matches!(request.sessions, SessionChoice::Id(_))),
        cache: request.cache,
    });
    let mut problems = found.problems;
    let starts: HashMap<String, Timestamp> = found
        .sessions
        .iter()
        .filter_map(|found| Some((found.digest.header.id.clone(), found.digest.header.started_at?)))
        .collect();
    let mut chosen = Vec::new();
    for found in choose(found.sessions, request)? {
        // The index has no messages, so a search reads the transcript again.
        let digest = match request.search {
            Some(search) => match found.source.digest(Some(search)) {
                Ok(digest) => digest,
                Err(error) => {
                    problems.push(error.to_string());
                    continue;
                }
            },
            None => found.digest,
        };
        problems.extend(digest.problems.iter().map(|problem| format!("{}: {problem}", digest.header.id)));
        let process = digest.header.parent.as_ref().and_then(|parent| starts.get(parent)).copied();
        let completed = complete(digest, request.settings, process);
        chosen.push(judge(&completed, &rule, request.search.is_some()));
    }
    Ok(WhyAnswer { report: WhyReport { rule: rule.line, sessions: chosen }, problems })
}

/// Returns the chosen sessions, newest first.
fn choose(mut sessions: Vec<Found>, request: &WhyRequest<'_>) -> Result<Vec<Found>, WhyError> {
    if let Some(since) = request.since {
        sessions.retain(|found| found.digest.header.ended_at.is_none_or(|end| end >= since));
    }
    let is_main = |found: &Found| found.digest.header.parent.is_none();
    match request.sessions {
        SessionChoice::All => Ok(sessions),
        SessionChoice::Last => Ok(sessions.into_iter().find(is_main).into_iter().collect()),
        SessionChoice::NewestOfEach => {
            let mut agents = Vec::new();
            sessions.retain(|found| {
                let is_first = is_main(found) && !agents.contains(&found.digest.agent);
                if is_first {
                    agents.push(found.digest.agent);
                }
                is_first
            });
            Ok(sessions)
        }
        SessionChoice::Id(id) => one_with_id(sessions, id).map(|found| vec![found]),
    }
}

fn one_with_id(sessions: Vec<Found>, id: &str) -> Result<Found, WhyError> {
    let mut matching: Vec<Found> =
        sessions.into_iter().filter(|found| found.digest.header.id.starts_with(id)).collect();
    if let Some(exact) = matching.iter().position(|found| found.digest.header.id == id) {
        return Ok(matching.swap_remove(exact));
    }
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 => Err(WhyError::Session(id.to_owned())),
        _ => Err(WhyError::AmbiguousSession {
            id: id.to_owned(),
            candidates: matching.into_iter().map(|found| found.digest.header.id).collect(),
        }),
    }
}

/// A session and its transcript.
#[derive(Debug)]
pub struct Found {
    pub source: Source,
    pub digest: Digest,
}

/// Sessions found on this machine.
#[derive(Debug, Default)]
pub struct FoundSessions {
    /// Sessions, newest first.
    pub sessions: Vec<Found>,
    /// Clauses about transcripts that could not be read.
    pub problems: Vec<String>,
}

impl FoundSessions {
    /// Returns the list for printing.
    pub fn listed(&self) -> Vec<TranscriptSession> {
        let mut children: HashMap<&str, u64> = HashMap::new();
        for found in &self.sessions {
            if let Some(parent) = &found.digest.header.parent {
                *children.entry(parent).or_default() += 1;
            }
        }
        let sessions = self.sessions.iter();
        sessions
            .map(|found| {
                found.digest.session(children.get(found.digest.header.id.as_str()).copied().unwrap_or(0))
            })
            .collect()
    }

    /// Returns the session with an id, or the beginning of it.
    pub fn with_id(self, id: &str) -> Result<Found, WhyError> {
        one_with_id(self.sessions, id)
    }
}

/// Parameters of a search for sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionsRequest<'a> {
    pub agents: &'a [TranscriptAgent],
    pub homes: &'a Homes,
    /// Directory that the sessions ran in or below; `None` for all.
    pub project: Option<&'a Path>,
    /// Directory of the index; `None` to read everything.
    pub cache: Option<&'a Path>,
}

/// Returns the sessions of agents.
pub fn find_sessions(request: &SessionsRequest<'_>) -> FoundSessions {
    let mut result = FoundSessions::default();
    let agents = if request.agents.is_empty() { AGENTS } else { request.agents };
    let project = request.project.map(|project| (project, project.canonicalize().ok()));
    let repository = request.project.and_then(Repository::around);
    let known = RefCell::new(HashMap::new());
    let is_ours = |commit: &String| {
        let is_ours = || repository.as_ref().is_some_and(|repository| repository.has(commit));
        *known.borrow_mut().entry(commit.clone()).or_insert_with(is_ours)
    };
    for agent in agents {
        let (found, problems) = sources(*agent, request.homes);
        result.problems.extend(problems);
        let mut index = Index::open(request.cache, *agent);
        for source in found {
            let is_inside = |cwd: Option<&PathBuf>, commit: Option<&String>| {
                let Some((project, real)) = &project else { return true };
                let Some(cwd) = cwd else { return false };
                cwd.starts_with(project)
                    || real.as_ref().is_some_and(|real| {
                        cwd.starts_with(real) || cwd.canonicalize().is_ok_and(|cwd| cwd.starts_with(real))
                    })
                    // A project that was moved still has the commit that the session began with.
                    || (!cwd.exists() && commit.is_some_and(&is_ours))
            };
            match index.digest(&source, is_inside) {
                Ok(Some(digest)) => result.sessions.push(Found { source, digest }),
                Ok(None) => {}
                Err(error) => result.problems.push(error.to_string()),
            }
        }
        index.save();
    }
    let time = |found: &Found| found.digest.header.ended_at.or(found.digest.header.started_at);
    result.sessions.sort_by(|one, other| {
        time(other).cmp(&time(one)).then_with(|| one.source.location.cmp(&other.source.location))
    });
    // An agent can leave a second, nearly empty file of a session; the fullest one counts.
    let mut fullest: HashMap<(TranscriptAgent, String), u64> = HashMap::new();
    for found in &result.sessions {
        let most = fullest.entry((found.digest.agent, found.digest.header.id.clone())).or_default();
        *most = (*most).max(found.digest.messages);
    }
    result.sessions.retain(|found| {
        let key = (found.digest.agent, found.digest.header.id.clone());
        let is_fullest = fullest.get(&key) == Some(&found.digest.messages);
        if is_fullest {
            // Of several equally full ones, the first counts.
            fullest.insert(key, u64::MAX);
        }
        is_fullest && found.digest.messages > 0
    });
    result
}

/// Returns the nearest directory with a marker of a project, or the directory itself.
pub fn project_root(cwd: &Path) -> PathBuf {
    let is_root =
        |directory: &&Path| MARKERS.iter().any(|marker| directory.join(marker).symlink_metadata().is_ok());
    cwd.ancestors().find(is_root).unwrap_or(cwd).to_owned()
}
