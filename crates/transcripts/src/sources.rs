//! Finds the transcripts of every agent below its own directory.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use instructions::HomeDirectories;

use crate::agent::TranscriptAgent;
use crate::digest::{Digest, Digester, Search};
use crate::event::Sink;
use crate::import::{self, opencode::Database};
use crate::lines::Problems;
use crate::model::{ReadError, TranscriptHeader};
use crate::recorder::Recorder;

/// Directories nested deeper are not searched.
const MAX_DEPTH: usize = 8;
/// Entries after which the search in one agent's directory ends.
const MAX_ENTRIES: usize = 500_000;
/// A file that was changed within this time may belong to a running agent.
const RECENT: Duration = Duration::from_secs(3600);
/// Largest file beside a transcript that is read.
const SMALL: u64 = 256 * 1024;

/// Directories of the agents.
#[derive(Debug, Clone)]
pub struct Homes {
    /// Directories of the agents' own files.
    pub agents: HomeDirectories,
    /// Directory of program data, in which opencode keeps its database; `None` if unknown.
    pub data: Option<PathBuf>,
}

impl Homes {
    /// Returns the directory in which an agent keeps its transcripts.
    pub fn of(&self, agent: TranscriptAgent) -> Option<PathBuf> {
        match agent {
            TranscriptAgent::Opencode => Some(self.data.as_ref()?.join("opencode")),
            agent => self.agents.of(agent.profile()).map(Path::to_owned),
        }
    }
}

/// Place of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// A file.
    File(PathBuf),
    /// The events of a subagent in a file.
    Part { path: PathBuf, agent: String },
    /// A session in a database.
    Row { path: PathBuf, id: String },
}

impl Location {
    /// Returns the file or database.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Part { path, .. } | Self::Row { path, .. } => path,
        }
    }
}

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub agent: TranscriptAgent,
    pub location: Location,
    /// Size of the file, or a counter that changes with the session.
    pub size: u64,
    /// Last change in nanoseconds since 1970.
    pub changed: u64,
}

/// Returns the transcripts of an agent, and clauses about what could not be searched.
pub fn sources(agent: TranscriptAgent, homes: &Homes) -> (Vec<Source>, Vec<String>) {
    let Some(home) = homes.of(agent) else { return (Vec::new(), Vec::new()) };
    // Links inside must not lead out, but the directory itself may be one: it is the user's own.
    let Ok(home) = home.canonicalize() else { return (Vec::new(), Vec::new()) };
    let mut search = Finder { agent, home: &home, found: Vec::new(), problems: Vec::new(), entries: 0 };
    match agent {
        TranscriptAgent::ClaudeCode => search.walk(&home.join("projects"), 0, &|path| {
            let is_one = |name: &str| !path.ancestors().any(|above| above.ends_with(name));
            has_extension(path, "jsonl") && is_one("tool-results")
        }),
        TranscriptAgent::Codex => {
            let is_rollout = |path: &Path| {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.starts_with("rollout-") && has_extension(path, "jsonl")
            };
            search.walk(&home.join("sessions"), 0, &is_rollout);
            search.walk(&home.join("archived_sessions"), 0, &is_rollout);
        }
        TranscriptAgent::GeminiCli => search.walk(&home.join("tmp"), 0, &|path| {
            let is_session = has_extension(path, "jsonl") || has_extension(path, "json");
            is_session && path.ancestors().any(|above| above.ends_with("chats"))
        }),
        TranscriptAgent::QwenCode => search.walk(&home.join("projects"), 0, &|path| {
            let is_below = |name: &str| path.ancestors().skip(1).any(|above| above.ends_with(name));
            has_extension(path, "jsonl") && (is_below("chats") || is_below("subagents"))
        }),
        TranscriptAgent::Pi => search.walk(&home.join("sessions"), 0, &|path| has_extension(path, "jsonl")),
        TranscriptAgent::Copilot => {
            search.walk(&home.join("session-state"), 0, &|path| path.ends_with("events.jsonl"));
            search.add_parts();
        }
        TranscriptAgent::Opencode => search.add_rows(),
        TranscriptAgent::Foreword => {}
    }
    (search.found, search.problems)
}

struct Finder<'a> {
    agent: TranscriptAgent,
    home: &'a Path,
    found: Vec<Source>,
    problems: Vec<String>,
    entries: usize,
}

impl Finder<'_> {
    fn walk(&mut self, directory: &Path, depth: usize, is_wanted: &dyn Fn(&Path) -> bool) {
        // A planted link must not make us read files elsewhere.
        if !directory.canonicalize().is_ok_and(|real| real.starts_with(self.home)) {
            return;
        }
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.problems.push(format!("could not list {}: {error}", directory.display()));
                return;
            }
        };
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < MAX_DEPTH {
                self.walk(&path, depth + 1, is_wanted);
            } else if kind.is_file() && is_wanted(&path) {
                self.add(path);
            }
        }
    }

    fn add(&mut self, path: PathBuf) {
        let Ok(metadata) = path.symlink_metadata() else { return };
        let changed = nanoseconds(metadata.modified().ok());
        self.found.push(Source {
            agent: self.agent,
            location: Location::File(path),
            size: metadata.len(),
            changed,
        });
    }

    /// Adds the subagents of every file.
    fn add_parts(&mut self) {
        let mut parts = Vec::new();
        for source in &self.found {
            let path = source.location.path();
            for agent in import::copilot::subagents(path) {
                let location = Location::Part { path: path.to_owned(), agent };
                parts.push(Source { location, ..source.clone() });
            }
        }
        self.found.extend(parts);
    }

    /// Adds the sessions of opencode's database.
    fn add_rows(&mut self) {
        let path = self.home.join("opencode.db");
        if !path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            return;
        }
        match Database::open(&path).and_then(|database| database.sessions()) {
            Ok(rows) => self.found.extend(rows.into_iter().map(|row| Source {
                agent: self.agent,
                changed: u64::try_from(row.updated).unwrap_or_default(),
                size: row.directory.len() as u64,
                location: Location::Row { path: path.clone(), id: row.id },
            })),
            Err(error) => self.problems.push(error.to_string()),
        }
    }
}

impl Source {
    /// Reads the transcript, passes its events to a sink, and returns its facts and problems.
    pub fn read(&self, sink: &mut dyn Sink) -> Result<(TranscriptHeader, Vec<String>), ReadError> {
        let mut recorder = Recorder::new(sink);
        match (&self.location, self.agent) {
            (Location::Row { path, id }, _) => Database::open(path)?.read(id, &mut recorder)?,
            (Location::Part { path, agent }, _) => import::copilot::read(path, Some(agent), &mut recorder)?,
            (Location::File(path), TranscriptAgent::ClaudeCode) => {
                import::claude_code::read(path, &mut recorder)?;
            }
            (Location::File(path), TranscriptAgent::Codex) => import::codex::read(path, &mut recorder)?,
            (Location::File(path), TranscriptAgent::GeminiCli) => {
                import::gemini_cli::read(path, &mut recorder)?;
                if recorder.header.cwd.is_none() {
                    recorder.header.cwd = gemini_directory(path);
                }
            }
            (Location::File(path), TranscriptAgent::QwenCode) => {
                import::qwen_code::read(path, &mut recorder)?;
            }
            (Location::File(path), TranscriptAgent::Pi) => import::pi::read(path, &mut recorder)?,
            (Location::File(path), _) => import::copilot::read(path, None, &mut recorder)?,
        }
        let Recorder { mut header, problems, .. } = recorder;
        header.running |= self.is_running(&header);
        if header.id.is_empty() {
            let stem = self.location.path().file_stem().unwrap_or_default();
            header.id = stem.to_string_lossy().into_owned();
        }
        Ok((header, words(&problems)))
    }

    /// Reads the transcript into a digest.
    pub fn digest(&self, search: Option<&Search>) -> Result<Digest, ReadError> {
        let mut digester = Digester::new(search);
        let (header, problems) = self.read(&mut digester)?;
        Ok(digester.finish(self.agent, header, problems))
    }

    /// Returns true if a session whose digest was kept still seems to be in use.
    pub(crate) fn still_runs(&self, header: &TranscriptHeader) -> bool {
        let was_running = header.running && self.agent == TranscriptAgent::Codex;
        self.is_running(header) || (was_running && is_recent(self.location.path()))
    }

    /// Returns true if a lock of the agent shows that the session is in use.
    fn is_running(&self, header: &TranscriptHeader) -> bool {
        let path = self.location.path();
        match self.agent {
            TranscriptAgent::Codex => {
                let mut above = path.ancestors();
                let home = above.find(|above| above.ends_with("sessions")).and_then(Path::parent);
                let lock =
                    home.map(|home| home.join("thread-writer-locks").join(format!("{}.lock", header.id)));
                lock.is_some_and(|lock| lock.exists())
            }
            TranscriptAgent::ClaudeCode => {
                let mut above = path.ancestors();
                let home = above.find(|above| above.ends_with("projects")).and_then(Path::parent);
                home.is_some_and(|home| claude_is_running(&home.join("sessions"), &header.id))
            }
            TranscriptAgent::Copilot => {
                let entries = path.parent().map(fs::read_dir).and_then(Result::ok);
                entries.into_iter().flatten().flatten().any(|entry| {
                    let name = entry.file_name();
                    let name = name.to_string_lossy();
                    name.starts_with("inuse.") && name.ends_with(".lock")
                })
            }
            // These leave no trace that is removed at their end.
            _ => false,
        }
    }
}

fn words(problems: &Problems) -> Vec<String> {
    problems.words()
}

fn claude_is_running(directory: &Path, id: &str) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().take(1000).any(|entry| {
        let bytes = small_file(&entry.path()).unwrap_or_default();
        memchr::memmem::find(&bytes, format!("\"{id}\"").as_bytes()).is_some()
    })
}

/// Returns the directory of Gemini CLI's project from the file beside its transcripts.
fn gemini_directory(path: &Path) -> Option<PathBuf> {
    let project = path.ancestors().find(|above| above.ends_with("chats"))?.parent()?;
    let bytes = small_file(&project.join(".project_root"))?;
    let text = String::from_utf8(bytes).ok()?;
    Some(PathBuf::from(text.trim()))
}

/// Returns the content of a small regular file.
pub(crate) fn small_file(path: &Path) -> Option<Vec<u8>> {
    file_of_at_most(path, SMALL)
}

/// Returns the beginning of a regular file.
pub(crate) fn file_of_at_most(path: &Path, limit: u64) -> Option<Vec<u8>> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns true if a file was changed recently.
pub(crate) fn is_recent(path: &Path) -> bool {
    let changed = path.metadata().and_then(|metadata| metadata.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < RECENT))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn nanoseconds(time: Option<SystemTime>) -> u64 {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
