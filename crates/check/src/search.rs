//! Questions about the whole tree. Those about paths are answered by its directories, which are known; those about globs
//! need a walk over its files, which is not made where there are none, and ends with the last answer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use compare::{Names, Tree};
use ignore::WalkState;
use instructions::{AppliesTo, Target};

use crate::finding::{Finding, Findings};
use crate::project::Project;

/// The file that has a package's scripts.
pub(crate) const PACKAGE: &str = "package.json";
/// Most bytes of one that are read.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

/// Whether a file matches a glob, and what is found where none does.
struct GlobQuestion {
    glob: AppliesTo,
    base: PathBuf,
    finding: Finding,
    is_answered: AtomicBool,
}

/// All questions, each with what is found where the answer is no.
#[derive(Default)]
pub(crate) struct Search {
    globs: Vec<GlobQuestion>,
    /// Whether any path ends like this.
    endings: Vec<(PathBuf, Finding)>,
    /// Whether any package has a script of this name.
    scripts: Vec<(String, Finding)>,
}

impl Search {
    pub(crate) fn for_glob(&mut self, glob: AppliesTo, base: &Path, finding: Finding) {
        let base = base.to_owned();
        self.globs.push(GlobQuestion { glob, base, finding, is_answered: AtomicBool::new(false) });
    }

    pub(crate) fn for_ending(&mut self, ending: PathBuf, finding: Finding) {
        self.endings.push((ending, finding));
    }

    pub(crate) fn for_script(&mut self, name: &str, finding: Finding) {
        self.scripts.push((name.to_owned(), finding));
    }

    /// Looks, and takes what is found where no answer was.
    pub(crate) fn run(self, project: &Project, findings: &mut Findings<'_>) {
        walk(self.globs, &project.root, findings);
        if self.endings.is_empty() && self.scripts.is_empty() {
            return;
        }
        let directories = directories(project);
        let mut by_name: HashMap<&OsStr, Vec<&Path>> = HashMap::new();
        for directory in directories.iter() {
            by_name.entry(directory.file_name().unwrap_or_default()).or_default().push(directory);
        }
        for (ending, finding) in self.endings {
            if !is_there(&ending, &by_name) {
                findings.push(finding);
            }
        }
        if self.scripts.is_empty() {
            return;
        }
        let packages = directories.iter().filter_map(|directory| scripts(&directory.join(PACKAGE)));
        let known: HashSet<String> = packages.flatten().collect();
        for (name, finding) in self.scripts {
            if !known.contains(&name) {
                findings.push(finding);
            }
        }
    }
}

/// The directories of the project, also of what lies beside the part that was asked about.
fn directories(project: &Project) -> Cow<'_, [PathBuf]> {
    if project.directory == project.root {
        return Cow::Borrowed(&project.directories);
    }
    match Tree::walk(&project.root, &Names::new([])) {
        Ok(tree) => tree.directories().iter().map(|directory| directory.path.clone()).collect(),
        Err(_) => Cow::Borrowed(&project.directories),
    }
}

/// Whether a directory has the last part of a path, and ends with the others. A name alone is looked for by whoever asks.
fn is_there(ending: &Path, directories: &HashMap<&OsStr, Vec<&Path>>) -> bool {
    let (Some(parent), Some(name)) = (ending.parent(), ending.file_name()) else { return false };
    let Some(last) = parent.file_name() else { return false };
    let mut alike = directories.get(last).into_iter().flatten();
    alike.any(|directory| directory.ends_with(parent) && directory.join(name).symlink_metadata().is_ok())
}

fn walk(questions: Vec<GlobQuestion>, root: &Path, findings: &mut Findings<'_>) {
    if questions.is_empty() {
        return;
    }
    let open = AtomicUsize::new(questions.len());
    compare::walker(root).build_parallel().run(|| {
        Box::new(|entry| {
            let Ok(entry) = entry else { return WalkState::Continue };
            if entry.file_type().is_some_and(|kind| kind.is_dir()) {
                let is_passed_by = compare::is_version_control(&entry);
                return if is_passed_by { WalkState::Skip } else { WalkState::Continue };
            }
            for question in &questions {
                if !question.is_answered.load(Ordering::Relaxed)
                    && question.glob.matches(Target::File(entry.path()), &question.base)
                    && !question.is_answered.swap(true, Ordering::Relaxed)
                {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
            if open.load(Ordering::Relaxed) == 0 { WalkState::Quit } else { WalkState::Continue }
        })
    });
    for question in questions {
        if !question.is_answered.into_inner() {
            findings.push(question.finding);
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
