//! Stored sessions, one per session of an agent.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use instructions::{
    ContentHash, FileSettings, InitialChain, InstructionFile, PendingSessionWrite, Request, Session,
    SessionFile, is_named_by_digest, own_files, resolve,
};

use super::HookError;

/// Time to wait for another hook of the same session, and polling interval.
// Parallel tool calls run their hooks at the same time. Half of the agents' time limit for a hook leaves the other half
// for the work itself.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Age after which a session is deleted. Agents can resume old sessions, but rarely do after a month.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum number of session files examined per cleanup.
const MAX_LOOKED_AT: usize = 4_096;

/// Path of a stored session. An agent's session id may contain anything, so the file name is a digest.
pub(super) struct KeptPath(PathBuf);

impl KeptPath {
    pub(super) fn of(directory: &Path, agent: &str, session: &str) -> Self {
        let name = ContentHash::of(format!("{agent}\0{session}"));
        Self(directory.join(format!("{name}.json")))
    }

    /// Deletes the session, because its delivered texts have left the model's context.
    pub(super) fn forget(&self) -> Result<(), HookError> {
        if !self.0.exists() {
            return Ok(());
        }
        let _lock = lock(&self.0)?;
        match fs::remove_file(&self.0) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(HookError::Io { action: "remove", path: self.0.clone(), source })
            }
            _ => Ok(()),
        }
    }
}

/// A locked session; without a path it is discarded at the end.
pub(super) struct KeptSession(Option<SessionFile>);

impl KeptSession {
    pub(super) fn open(place: Option<KeptPath>) -> Result<Self, HookError> {
        let Some(KeptPath(path)) = place else { return Ok(Self(None)) };
        if let Some(directory) = path.parent() {
            make_private(directory)?;
            // Only a new session cleans up, so the cost arises once per session and not with every tool call.
            if !path.exists() {
                remove_old(directory);
            }
        }
        Ok(Self(Some(lock(&path)?)))
    }

    /// Reads the session. An unreadable one is treated as missing: repeating some instructions is better than a hook
    /// that fails forever.
    pub(super) fn read(&mut self) -> Result<Option<Session>, HookError> {
        use instructions::SessionFileError::{Io, Malformed, Schema};
        match self.0.as_ref().map(SessionFile::read) {
            None => Ok(None),
            Some(Ok(session)) => Ok(session),
            Some(Err(Malformed { .. } | Schema { .. })) => Ok(None),
            Some(Err(error @ Io { .. })) => Err(error.into()),
        }
    }

    pub(super) fn prepare(&self, session: &Session) -> Result<Option<PendingSessionWrite<'_>>, HookError> {
        Ok(self.0.as_ref().map(|file| file.prepare(session)).transpose()?)
    }
}

/// Starts a session with the files the agent loads on its own; `None` if the user has disabled project files.
pub(super) fn start(
    rules: &FileSettings,
    own: &FileSettings,
    cwd: &Path,
) -> Result<Option<Session>, HookError> {
    let agents = resolve(&Request { cwd, settings: own }, None)?;
    if agents.switched_off.is_some() {
        return Ok(None);
    }
    let (mut session, _) = Session::start(&Request { cwd, settings: rules }, None)?;
    let mut loaded = Texts::default();
    loaded.extend(&agents.files);
    // The session is started with our rules, but the model has only the files that the agent loads. All others must not
    // count as delivered, and their directories must not count as covered.
    session.loaded_versions.retain(|path, version| loaded.have(path, &version.sha256));
    session.covered_dirs.clear();
    session.initial = InitialChain {
        text: agents.text.clone(),
        sha256: agents.text.as_ref().map(ContentHash::of),
        files: session.loaded_versions.keys().cloned().collect(),
        versions: session.loaded_versions.clone(),
        ..session.initial
    };
    Ok(Some(session))
}

/// Complete texts that the model has, regardless of file names.
#[derive(Default)]
pub(super) struct Texts {
    paths: HashSet<PathBuf>,
    texts: HashSet<ContentHash>,
}

impl Texts {
    pub(super) fn extend(&mut self, files: &[InstructionFile]) {
        // The model has only the beginning of a truncated file, so the file is not complete yet.
        for file in files.iter().filter(|file| !file.truncated) {
            self.paths.insert(real(&file.path));
            self.texts.insert(file.sha256.clone());
        }
    }

    pub(super) fn have(&self, path: &Path, sha256: &ContentHash) -> bool {
        self.texts.contains(sha256) || self.paths.contains(&real(path))
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn lock(path: &Path) -> Result<SessionFile, HookError> {
    let begun = Instant::now();
    loop {
        // The lock has no time limit of its own, so it is polled. The interval is short because the agent waits for the
        // answer.
        if let Some(file) = SessionFile::try_lock(path)? {
            return Ok(file);
        }
        if begun.elapsed() >= PATIENCE {
            return Err(HookError::Busy { path: SessionFile::lock_path(path) });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn make_private(directory: &Path) -> Result<(), HookError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let refused = |source| HookError::Io { action: "make", path: directory.to_owned(), source };
    builder.create(directory).map_err(refused)
}

/// Deletes sessions that were not used for long. Errors are ignored, because the next new session tries again.
fn remove_old(directory: &Path) {
    let now = SystemTime::now();
    let is_ours = |name: &str| is_named_by_digest(name, &[".json", ".json.lock"]);
    for path in own_files(directory, is_ours).take(MAX_LOOKED_AT) {
        let age = path.symlink_metadata().and_then(|metadata| metadata.modified()).ok();
        let age = age.and_then(|modified| now.duration_since(modified).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(path);
        }
    }
}
