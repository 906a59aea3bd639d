//! Questions that only a look at every file of the tree can answer, asked in one walk. It is not made where there are none,
//! and ends with the last answer.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::{DirEntry, WalkState};
use instructions::{AppliesTo, Target};

use crate::finding::{Finding, Findings};

/// The file that has a package's scripts.
pub(crate) const PACKAGE: &str = "package.json";
/// Most bytes of one that are read.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

/// A question, and what is found where the answer is no.
struct Question {
    about: About,
    finding: Finding,
    is_answered: AtomicBool,
}

enum About {
    /// Whether a file matches a glob.
    Glob { glob: AppliesTo, base: PathBuf },
    /// Whether a path ends like this.
    Ending(PathBuf),
    /// Whether a package has a script.
    Script(String),
}

/// All questions.
#[derive(Default)]
pub(crate) struct Search {
    questions: Vec<Question>,
}

impl Search {
    pub(crate) fn for_glob(&mut self, glob: AppliesTo, base: &Path, finding: Finding) {
        self.ask(About::Glob { glob, base: base.to_owned() }, finding);
    }

    pub(crate) fn for_ending(&mut self, ending: PathBuf, finding: Finding) {
        self.ask(About::Ending(ending), finding);
    }

    pub(crate) fn for_script(&mut self, name: &str, finding: Finding) {
        self.ask(About::Script(name.to_owned()), finding);
    }

    fn ask(&mut self, about: About, finding: Finding) {
        self.questions.push(Question { about, finding, is_answered: AtomicBool::new(false) });
    }

    /// Walks, and takes what is found where no answer was.
    pub(crate) fn run(self, root: &Path, findings: &mut Findings<'_>) {
        if self.questions.is_empty() {
            return;
        }
        let mut by_name: HashMap<OsString, Vec<usize>> = HashMap::new();
        let mut rest = Vec::new();
        for (index, question) in self.questions.iter().enumerate() {
            match &question.about {
                About::Ending(ending) => {
                    by_name.entry(ending.file_name().unwrap_or_default().to_owned()).or_default().push(index);
                }
                About::Script(_) => by_name.entry(PACKAGE.into()).or_default().push(index),
                About::Glob { .. } => rest.push(index),
            }
        }
        let open = AtomicUsize::new(self.questions.len());
        let answer = |index: usize, entry: &DirEntry| {
            let question = &self.questions[index];
            if !question.is_answered.load(Ordering::Relaxed)
                && question.about.is_answered_by(entry)
                && !question.is_answered.swap(true, Ordering::Relaxed)
            {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        };
        compare::walker(root).build_parallel().run(|| {
            Box::new(|entry| {
                let Ok(entry) = entry else { return WalkState::Continue };
                for index in by_name.get(entry.file_name()).into_iter().flatten().chain(&rest) {
                    answer(*index, &entry);
                }
                if open.load(Ordering::Relaxed) == 0 { WalkState::Quit } else { WalkState::Continue }
            })
        });
        for question in self.questions {
            if !question.is_answered.into_inner() {
                findings.push(question.finding);
            }
        }
    }
}

impl About {
    fn is_answered_by(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        match self {
            Self::Glob { glob, base } => {
                entry.file_type().is_some_and(|kind| !kind.is_dir()) && glob.matches(Target::File(path), base)
            }
            Self::Ending(ending) => path.ends_with(ending),
            Self::Script(name) => {
                scripts(path).is_some_and(|scripts| scripts.iter().any(|known| known == name))
            }
        }
    }
}

/// The names of a package's scripts; none where there is no such file, or it cannot be read.
pub(crate) fn scripts(path: &Path) -> Option<Vec<String>> {
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    if metadata.len() > MAX_PACKAGE_BYTES {
        return None;
    }
    let package: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let scripts = package.get("scripts").and_then(serde_json::Value::as_object);
    Some(scripts.map(|scripts| scripts.keys().cloned().collect()).unwrap_or_default())
}
