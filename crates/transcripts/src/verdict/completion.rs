//! Completes a session with the instruction texts that its transcript does not contain.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use instructions::{FileScope, FileSettings, InstructionFile, Request, Resolution};
use protocol::{DeliveryTime, Timestamp, TranscriptEvidence};

use crate::agent::TranscriptAgent;
use crate::digest::{Digest, DigestEntry, NewText};
use crate::event::Layer;
use crate::verdict::git::Repository;

/// A session with all texts, and the source of each.
pub(crate) struct Completed {
    pub(crate) digest: Digest,
    /// Sources of texts that are not in the transcript.
    sources: BTreeMap<usize, TextSource>,
    /// Description of the missing parts; `None` if the session is complete.
    pub(crate) missing: Option<String>,
    /// Decisions of the agent's profile; `None` if the directory is gone.
    pub(crate) resolution: Option<Resolution>,
    /// Files that changed while the session ran, if the transcript does not show restarts of the agent.
    pub(crate) changed: Vec<ChangedFile>,
    /// Statement about the state of the files, for verdicts without a text.
    pub(crate) basis: Option<String>,
}

/// A file with its texts at the start and at the end of a session.
pub(crate) struct ChangedFile {
    pub(crate) path: PathBuf,
    pub(crate) start: String,
    pub(crate) end: String,
}

/// Source of a text.
#[derive(Debug, Clone)]
pub(crate) struct TextSource {
    pub(crate) evidence: TranscriptEvidence,
    pub(crate) note: String,
}

impl Completed {
    /// Returns the evidence for a text.
    pub(crate) fn evidence(&self, text: usize) -> TranscriptEvidence {
        self.sources.get(&text).map_or(TranscriptEvidence::Recorded, |source| source.evidence)
    }

    /// Returns how a text was reconstructed; `None` if it is recorded.
    pub(crate) fn note(&self, text: usize) -> Option<&str> {
        self.sources.get(&text).map(|source| source.note.as_str())
    }
}

/// Returns a session with the texts that an agent loaded.
///
/// `process` is the start of the process that ran a subagent.
pub(crate) fn complete(digest: Digest, settings: &FileSettings, process: Option<Timestamp>) -> Completed {
    let profile = digest.agent.profile();
    let settings = compare::settings_for(profile, settings);
    let cwd = digest.header.cwd.clone().unwrap_or_default();
    let resolution = match cwd.is_dir() {
        true => instructions::survey(&Request { cwd: &cwd, settings: &settings }).ok(),
        false => None,
    };
    let recorded = digest.header.recorded;
    let mut completed = Completed {
        sources: BTreeMap::new(),
        missing: None,
        resolution,
        changed: Vec::new(),
        basis: None,
        digest,
    };
    let needs_chain = !(recorded.start && recorded.home);
    let has_announced =
        completed.digest.entries.iter().any(|entry| matches!(entry, DigestEntry::Announced { .. }));
    if !needs_chain && !has_announced {
        return completed;
    }
    if completed.resolution.is_none() {
        if !recorded.start {
            let reason = if cwd.as_os_str().is_empty() {
                "the transcript does not name its directory, and it does not contain the instruction texts"
                    .to_owned()
            } else {
                format!(
                    "{} is gone, and the transcript does not contain the instruction texts",
                    cwd.display()
                )
            };
            completed.missing = Some(reason);
        }
        return completed;
    }
    let history =
        History { repository: Repository::around(&cwd), commit: completed.digest.header.commit.clone() };
    Completion { completed: &mut completed, history: &history, process }.run();
    completed
}

struct Completion<'a> {
    completed: &'a mut Completed,
    history: &'a History,
    process: Option<Timestamp>,
}

impl Completion<'_> {
    fn run(&mut self) {
        let entries = std::mem::take(&mut self.completed.digest.entries);
        let position = self.completed.digest.violation.as_ref().map(|found| found.position);
        let header = self.completed.digest.header.clone();
        let snapshots = header.snapshots.as_deref().map(Repository::bare);
        // Snapshots show every step, so the start itself needs no reconstruction.
        let by_snapshot = snapshots.as_ref().is_some_and(|repository| {
            entries
                .iter()
                .any(|entry| matches!(entry, DigestEntry::Snapshot { tree } if repository.has(tree)))
        });
        let started = self.process.or(header.started_at);
        let mut done = Vec::with_capacity(entries.len() + 2);
        let mut moved = None;
        for (index, entry) in entries.into_iter().enumerate() {
            if position == Some(index) {
                moved = Some(done.len());
            }
            let added = match &entry {
                DigestEntry::Start { at, resumed } => {
                    let when = if *resumed { DeliveryTime::Resume } else { DeliveryTime::Start };
                    let time = if *resumed { *at } else { self.process.or(*at).or(started) };
                    let needs = !(header.recorded.start && header.recorded.home);
                    (needs && !by_snapshot).then(|| self.system(time, when, None))
                }
                DigestEntry::Snapshot { tree } if by_snapshot => snapshots
                    .as_ref()
                    .map(|repository| self.system(started, DeliveryTime::Start, Some((repository, tree)))),
                DigestEntry::Announced { path, message, at } => self.announced(path, *message, *at),
                _ => None,
            };
            done.push(entry);
            done.extend(added);
        }
        self.completed.digest.entries = done;
        if let Some(found) = &mut self.completed.digest.violation {
            found.position = moved.unwrap_or(self.completed.digest.entries.len());
        }
        if !by_snapshot && !header.recorded.start && !shows_restarts(self.completed.digest.agent) {
            self.note_changes(started, header.ended_at);
        }
    }

    /// Returns the entry with the texts of the system prompt.
    fn system(
        &mut self,
        time: Option<Timestamp>,
        when: DeliveryTime,
        tree: Option<(&Repository, &str)>,
    ) -> DigestEntry {
        let recorded = self.completed.digest.header.recorded;
        let files: Vec<InstructionFile> = self
            .completed
            .resolution
            .iter()
            .flat_map(|resolution| &resolution.files)
            .filter(|file| if file.scope == FileScope::Home { !recorded.home } else { !recorded.start })
            .cloned()
            .collect();
        let mut indexes = Vec::new();
        for file in files {
            let found = match tree {
                Some((repository, tree)) if file.scope != FileScope::Home => {
                    self.history.in_tree(repository, tree, &file)
                }
                _ => self.history.text_at(&file, time),
            };
            let Some((body, source)) = found else { continue };
            self.completed.basis.get_or_insert_with(|| source.note.clone());
            indexes.push(
                self.keep(NewText { path: file.path, body, message: 0, when, layer: Layer::System }, source),
            );
        }
        DigestEntry::System(indexes)
    }

    /// Adds a text, unless the same text of the file was added before.
    fn keep(&mut self, text: NewText, source: TextSource) -> usize {
        let digest = &mut self.completed.digest;
        let known = self.completed.sources.keys().copied().find(|index| {
            let known = &digest.texts[*index];
            known.path.as_ref() == Some(&text.path)
                && digest.bodies[known.body] == text.body
                && known.layer == text.layer
        });
        known.unwrap_or_else(|| {
            let index = digest.add(text);
            self.completed.sources.insert(index, source);
            index
        })
    }

    fn announced(&mut self, path: &Path, message: u64, at: Option<Timestamp>) -> Option<DigestEntry> {
        let (body, source) = self.history.path_at(path, at)?;
        let text = NewText {
            path: path.to_owned(),
            body,
            message,
            when: DeliveryTime::Reading,
            layer: Layer::Conversation,
        };
        let index = self.completed.digest.add(text);
        self.completed.sources.insert(index, source);
        Some(DigestEntry::Text(index))
    }

    /// Notes the files whose text at the end differs from that at the start.
    fn note_changes(&mut self, started: Option<Timestamp>, ended: Option<Timestamp>) {
        let ended = self.completed.digest.violation.as_ref().and_then(|found| found.at).or(ended);
        let files = self.completed.resolution.iter().flat_map(|resolution| &resolution.files);
        let text = |file: &InstructionFile, time| {
            self.history.text_at(file, time).map(|(text, _)| text).unwrap_or_default()
        };
        let texts = files.map(|file| (file.path.clone(), text(file, started), text(file, ended)));
        let changed = texts.filter(|(_, start, end)| start != end);
        self.completed.changed = changed.map(|(path, start, end)| ChangedFile { path, start, end }).collect();
    }
}

/// Returns true if the transcripts of an agent show when it was started again.
fn shows_restarts(agent: TranscriptAgent) -> bool {
    !matches!(agent, TranscriptAgent::Pi | TranscriptAgent::ClaudeCode)
}

/// Texts of files at a time in the past.
struct History {
    repository: Option<Repository>,
    commit: Option<String>,
}

impl History {
    /// Returns the text of a file in a snapshot. `None` if it did not exist.
    fn in_tree(
        &self,
        repository: &Repository,
        tree: &str,
        file: &InstructionFile,
    ) -> Option<(String, TextSource)> {
        let relative = self.relative(&file.path)?;
        let source = TextSource {
            evidence: TranscriptEvidence::Recovered,
            note: "text from the agent's snapshot".to_owned(),
        };
        Some((repository.text(tree, &relative)?, source))
    }

    /// Returns the text of a file at a time. `None` if it did not exist.
    fn text_at(&self, file: &InstructionFile, time: Option<Timestamp>) -> Option<(String, TextSource)> {
        let inferred =
            |note: &str| TextSource { evidence: TranscriptEvidence::Inferred, note: note.to_owned() };
        if time.is_some_and(|time| file.mtime_ms <= time.milliseconds()) {
            return Some((file.text.clone(), inferred("inferred from the files, which are unchanged since")));
        }
        match self.committed(&file.path, time) {
            Past::Text(text, source) => Some((text, source)),
            Past::Absent => None,
            Past::Unknown => Some((file.text.clone(), inferred("inferred from the files as they are now"))),
        }
    }

    /// Returns the text of a path at a time. `None` if it did not exist or cannot be read.
    fn path_at(&self, path: &Path, time: Option<Timestamp>) -> Option<(String, TextSource)> {
        let inferred =
            |note: &str| TextSource { evidence: TranscriptEvidence::Inferred, note: note.to_owned() };
        let now = || {
            let bytes = crate::sources::small_file(&path.canonicalize().ok()?)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let changed = path.metadata().and_then(|metadata| metadata.modified()).ok();
        let changed =
            changed.and_then(|changed| changed.duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
        let changed = changed.and_then(|since| i64::try_from(since.as_millis()).ok());
        if let (Some(time), Some(changed)) = (time, changed)
            && changed <= time.milliseconds()
        {
            return Some((now()?, inferred("inferred from the file, which is unchanged since")));
        }
        match self.committed(path, time) {
            Past::Text(text, source) => Some((text, source)),
            Past::Absent => None,
            Past::Unknown => Some((now()?, inferred("inferred from the file as it is now"))),
        }
    }

    fn committed(&self, path: &Path, time: Option<Timestamp>) -> Past {
        let Some((repository, relative)) = self.repository.as_ref().zip(self.relative(path)) else {
            return Past::Unknown;
        };
        // A file that Git never had could have any text.
        if repository.commits_of(&relative, 1).is_empty() {
            return Past::Unknown;
        }
        let recorded = self.commit.as_ref().filter(|commit| repository.has(commit));
        let (commit, evidence, note) = match (recorded, time) {
            (Some(commit), _) => {
                let note = format!("text from the commit {} that the transcript names", short(commit));
                (commit.clone(), TranscriptEvidence::Recovered, note)
            }
            (None, Some(time)) => {
                let Some(commit) = repository.commit_at(time) else { return Past::Unknown };
                let note = format!("inferred from commit {}, the last one before", short(&commit));
                (commit, TranscriptEvidence::Inferred, note)
            }
            (None, None) => return Past::Unknown,
        };
        match repository.text(&commit, &relative) {
            Some(text) => Past::Text(text, TextSource { evidence, note }),
            None => Past::Absent,
        }
    }

    fn relative(&self, path: &Path) -> Option<PathBuf> {
        let top = self.repository.as_ref()?.top()?;
        // Git has the content of a link under the name of the file that it leads to.
        let real = path.canonicalize().ok();
        let top_real = top.canonicalize().ok()?;
        let relative = real.as_ref().and_then(|real| real.strip_prefix(&top_real).ok());
        relative.map(Path::to_owned).or_else(|| path.strip_prefix(top).ok().map(Path::to_owned))
    }
}

enum Past {
    Text(String, TextSource),
    Absent,
    Unknown,
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
