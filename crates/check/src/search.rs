//! Questions about the whole tree. Those about paths are answered by its directories, which are known; those about globs
//! need a walk over its files, which is not made where there are none, and ends with the last answer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use compare::{Names, Tree};
use ignore::WalkState;
use instructions::file::read_whole;
use instructions::{AppliesTo, Target};

use crate::finding::{Finding, Findings, list, quoted};
use crate::project::Project;
use crate::rule::RuleId;

/// The file that has a package's scripts.
pub(crate) const PACKAGE: &str = "package.json";
/// Most bytes of one that are read.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

/// Globs of one rule that are looked for; nobody writes more by hand.
const MAX_GLOBS: usize = 256;

/// The globs of one rule.
pub(crate) struct RuleGlobs {
    pub(crate) path: PathBuf,
    /// What they count from, and how that is shown.
    pub(crate) base: PathBuf,
    pub(crate) shown_base: String,
    pub(crate) globs: Vec<RuleGlob>,
    /// Whether it has globs that nothing is looked for with: those that match everything, cannot be understood, or are too many.
    pub(crate) has_others: bool,
}

impl RuleGlobs {
    fn questions(&self) -> impl Iterator<Item = GlobQuestion<'_>> {
        let ask = |glob| GlobQuestion { rule: self, glob, is_answered: AtomicBool::new(false) };
        self.globs.iter().map(ask)
    }
}

/// A glob as it is written, and where.
pub(crate) struct RuleGlob {
    pub(crate) glob: AppliesTo,
    pub(crate) written: String,
    pub(crate) line: usize,
}

/// Whether a file matches a glob of a rule.
struct GlobQuestion<'a> {
    rule: &'a RuleGlobs,
    glob: &'a RuleGlob,
    is_answered: AtomicBool,
}

/// What files define that commands run, by their paths: each is read once.
type KnownNames = RefCell<HashMap<PathBuf, Option<Rc<HashSet<String>>>>>;

/// All questions, each with what is found where the answer is no.
#[derive(Default)]
pub(crate) struct Search {
    globs: Vec<RuleGlobs>,
    known: KnownNames,
    /// Whether any path ends like this.
    endings: Vec<(PathBuf, Finding)>,
    /// Whether any package has a script of this name.
    scripts: Vec<(String, Finding)>,
}

impl Search {
    pub(crate) fn for_globs(&mut self, mut rule: RuleGlobs) {
        rule.has_others |= rule.globs.len() > MAX_GLOBS;
        rule.globs.truncate(MAX_GLOBS);
        self.globs.push(rule);
    }

    /// The names that a file defines, as `read` finds them.
    pub(crate) fn names_in(
        &self,
        path: &Path,
        read: impl FnOnce(&Path) -> Option<Vec<String>>,
    ) -> Option<Rc<HashSet<String>>> {
        let mut known = self.known.borrow_mut();
        let names = known.entry(path.to_owned());
        names.or_insert_with(|| Some(Rc::new(read(path)?.into_iter().collect()))).clone()
    }

    pub(crate) fn for_ending(&mut self, ending: PathBuf, finding: Finding) {
        self.endings.push((ending, finding));
    }

    pub(crate) fn for_script(&mut self, name: &str, finding: Finding) {
        self.scripts.push((name.to_owned(), finding));
    }

    /// Looks, and takes what is found where no answer was.
    pub(crate) fn run(self, project: &Project, findings: &mut Findings<'_>) {
        walk(&self.globs, &project.root, findings);
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

fn walk(rules: &[RuleGlobs], root: &Path, findings: &mut Findings<'_>) {
    let questions: Vec<GlobQuestion<'_>> = rules.iter().flat_map(RuleGlobs::questions).collect();
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
                    && question.glob.glob.matches(Target::File(entry.path()), &question.rule.base)
                    && !question.is_answered.swap(true, Ordering::Relaxed)
                {
                    open.fetch_sub(1, Ordering::Relaxed);
                }
            }
            if open.load(Ordering::Relaxed) == 0 { WalkState::Quit } else { WalkState::Continue }
        })
    });
    for rule in rules {
        let of_rule = questions.iter().filter(|question| std::ptr::eq(question.rule, rule));
        let unmatched: Vec<&RuleGlob> = of_rule
            .filter(|question| !question.is_answered.load(Ordering::Relaxed))
            .map(|question| question.glob)
            .collect();
        findings.extend(unmatched_globs(rule, &unmatched));
    }
}

/// What is found where globs of a rule match nothing.
fn unmatched_globs(rule: &RuleGlobs, unmatched: &[&RuleGlob]) -> Option<Finding> {
    const NAMED: usize = 3;
    let first = unmatched.first()?;
    let mut named: Vec<String> = unmatched.iter().take(NAMED).map(|glob| quoted(&glob.written)).collect();
    if unmatched.len() > NAMED {
        named.push(format!("{} more", unmatched.len() - NAMED));
    }
    let is_never = unmatched.len() == rule.globs.len() && !rule.has_others;
    let effect = if is_never { ", so the rule never applies" } else { "" };
    let message = format!("no file below {} matches {}{effect}", rule.shown_base, list(named, "or"));
    Some(Finding::new(RuleId::GlobMatchesNothing, &rule.path, message).at_line(first.line))
}

/// The names of a package's scripts; none where there is no such file, or it cannot be read.
pub(crate) fn scripts(path: &Path) -> Option<Vec<String>> {
    let bytes = read_whole(path, MAX_PACKAGE_BYTES)?;
    let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let scripts = package.get("scripts").and_then(serde_json::Value::as_object);
    Some(scripts.map(|scripts| scripts.keys().cloned().collect()).unwrap_or_default())
}
