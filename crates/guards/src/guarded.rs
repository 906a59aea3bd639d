//! The guards that hold in a directory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use instructions::{Cache, ContentHash, FileSettings, Outcome, Request, ResolveError, survey_for};
use parking_lot::Mutex;

use crate::comment::{FoundGuard, find};
use crate::decision::{Action, Decision};
use crate::guard::{Guard, GuardKind};
use crate::shell::{ShellLine, Splitting};

/// Largest file that is searched for guards.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most files whose guards are remembered.
const MAX_REMEMBERED: usize = 512;

/// Guards by the content of their file.
type Remembered = Vec<(ContentHash, Arc<Vec<FoundGuard>>)>;
static REMEMBERED: LazyLock<Mutex<Remembered>> = LazyLock::new(Mutex::default);

/// The guards that hold in a directory, or for a file in it.
#[derive(Debug, Clone, Default)]
pub struct Guarded {
    guards: Vec<Guard>,
}

impl Guarded {
    /// Finds the guards that hold in a directory: those in the files that the agents with these settings read there, or
    /// would read if there were no limits. With `file`, rules that match this file apply, too.
    pub fn at(
        directory: &Path,
        file: Option<&Path>,
        settings: &[FileSettings],
        cache: Option<&Cache>,
    ) -> Result<Self, ResolveError> {
        let mut guarded = Self::default();
        let mut seen: Vec<PathBuf> = Vec::new();
        for settings in settings {
            let request = Request { cwd: directory, settings };
            let mut resolution = instructions::resolve(&request, cache)?;
            // A survey costs much more, and only a rule that waits for a path could change the result.
            let waits = |decision: &instructions::Decision| decision.outcome == Outcome::NotApplicable;
            if let Some(file) = file
                && resolution.decisions.iter().any(waits)
            {
                resolution = Arc::new(survey_for(&request, file)?);
            }
            let root = resolution.directories.first().map_or(directory, PathBuf::as_path);
            let root = resolution.root.as_deref().unwrap_or(root);
            for decision in &resolution.decisions {
                let holds =
                    matches!(decision.outcome, Outcome::Used | Outcome::Truncated | Outcome::OverBudget);
                if holds && !seen.contains(&decision.path) {
                    seen.push(decision.path.clone());
                    guarded.add(&decision.path, root, settings);
                }
            }
        }
        Ok(guarded)
    }

    fn add(&mut self, file: &Path, root: &Path, settings: &FileSettings) {
        let instructions::file::Found::File { content, .. } = settings.source.read_anywhere(file, MAX_BYTES)
        else {
            return;
        };
        let guards = remembered(&content.sha256, &content.bytes);
        if guards.is_empty() {
            return;
        }
        let (path, directory) = match file.strip_prefix(root) {
            Ok(below) => (below, file.parent().unwrap_or(root)),
            // The user's own file holds in the whole project.
            Err(_) => (file, root),
        };
        let directory = guarded_directory(directory, root);
        for found in guards.iter() {
            if let Ok(guard) = &found.guard {
                let path = path.to_string_lossy().into_owned();
                self.guards.push(guard.in_file(path, found.line, file, &directory));
            }
        }
    }

    /// Returns the guards, in the order of their files.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Returns true if there are no guards.
    pub fn is_empty(&self) -> bool {
        self.guards.is_empty()
    }

    /// Returns true if a guard for commands holds.
    pub fn guards_commands(&self) -> bool {
        self.guards.iter().any(|guard| guard.kind == GuardKind::Command)
    }

    /// Decides about a call. Any matching `deny` wins over `ask`.
    pub fn decide(&self, action: &Action<'_>) -> Decision {
        let strongest = |matches: &dyn Fn(&Guard) -> bool| {
            let decisions = self.guards.iter().filter(|guard| matches(guard)).map(Decision::of);
            decisions.fold(Decision::ALLOW, Decision::or_stronger)
        };
        match action {
            Action::Write(path) => strongest(&|guard| guard.matches_path(GuardKind::Write, path)),
            Action::Read(path) => strongest(&|guard| guard.matches_path(GuardKind::Read, path)),
            Action::Command(_) if !self.guards_commands() => Decision::ALLOW,
            Action::Command(line) => {
                let line = ShellLine::split(line);
                let matches = |guard: &Guard| line.commands.iter().any(|words| guard.matches_command(words));
                let decision = strongest(&matches);
                match line.splitting {
                    Splitting::Complete => decision,
                    Splitting::Incomplete => decision.or_stronger(Decision::UNKNOWN),
                }
            }
        }
    }
}

/// Returns the directory in which the guards of a file hold. Files in folders such as `.claude` hold beside the folder.
fn guarded_directory(directory: &Path, root: &Path) -> PathBuf {
    let is_hidden =
        |part: &Path| part.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let hidden = directory.ancestors().take_while(|above| *above != root && above.starts_with(root));
    let outermost = hidden.filter(|above| is_hidden(above)).last();
    outermost.and_then(Path::parent).unwrap_or(directory).to_owned()
}

/// Returns the guards of a text. Texts rarely change, and parsing one takes longer than looking it up.
fn remembered(sha256: &ContentHash, bytes: &[u8]) -> Arc<Vec<FoundGuard>> {
    if let Some((_, known)) = REMEMBERED.lock().iter().find(|(known, _)| known == sha256) {
        return Arc::clone(known);
    }
    let found = Arc::new(find(&String::from_utf8_lossy(bytes)));
    let mut remembered = REMEMBERED.lock();
    if remembered.len() >= MAX_REMEMBERED {
        remembered.clear();
    }
    remembered.push((sha256.clone(), Arc::clone(&found)));
    found
}
