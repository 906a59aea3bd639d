//! Searches in the whole tree. Paths are looked up in its known directories. Globs need a walk over all
//! files, which is skipped if there are none and ends with the last match.

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

/// File that defines a package's scripts.
pub(crate) const PACKAGE: &str = "package.json";
/// Largest package file that is read.
const MAX_PACKAGE_BYTES: u64 = 1024 * 1024;

/// Most globs of one rule that are searched for.
const MAX_GLOBS: usize = 256;

/// Globs of one rule.
pub(crate) struct RuleGlobs {
    pub(crate) path: PathBuf,
    /// Directory that the globs are relative to.
    pub(crate) base: PathBuf,
    pub(crate) shown_base: String,
    pub(crate) globs: Vec<RuleGlob>,
    /// True if some globs are not searched for: those that match everything, are invalid, or exceed the
    /// limit.
    pub(crate) has_others: bool,
}

impl RuleGlobs {
    fn questions(&self) -> impl Iterator<Item = GlobQuestion<'_>> {
        let ask = |glob| GlobQuestion { rule: self, glob, is_answered: AtomicBool::new(false) };
        self.globs.iter().map(ask)
    }
}

/// A glob and its location.
pub(crate) struct RuleGlob {
    pub(crate) glob: AppliesTo,
    pub(crate) written: String,
    pub(crate) line: usize,
}

/// Search for a file that matches a glob.
struct GlobQuestion<'a> {
    rule: &'a RuleGlobs,
    glob: &'a RuleGlob,
    is_answered: AtomicBool,
}

/// Reason to believe that a path means a file of the project.
pub(crate) enum Anchor {
    /// Its first part exists.
    Known,
    /// Its first part does not exist where the text is, but its directory may exist further down.
    Parent {
        parent: PathBuf,
        /// True if the first part nearly always means the root of the project.
        is_common: bool,
    },
}

impl Anchor {
    fn holds(&self, directories: &HashMap<&OsStr, Vec<&Path>>) -> bool {
        let Self::Parent { parent, is_common } = self else { return true };
        let last = parent.file_name().unwrap_or_default();
        let alike = directories.get(last).into_iter().flatten();
        let alike = alike.filter(|directory| directory.ends_with(parent)).count();
        let first = parent.iter().next().unwrap_or_default();
        match parent.components().count() {
            // Many packages of one tree have a directory of the same name, and the text may describe their pattern.
            0 | 1 => alike == 1 || *is_common && alike == 0,
            _ => alike > 0 || *is_common && !directories.contains_key(first),
        }
    }
}

/// A path that is missing unless some path of the tree ends like it.
struct Ending {
    /// The path and the other files that it can mean.
    paths: Vec<PathBuf>,
    anchor: Anchor,
    finding: Finding,
}

/// Names defined by files, such as scripts and targets. Each file is read once.
type KnownNames = RefCell<HashMap<PathBuf, Option<Rc<HashSet<String>>>>>;

/// All searches, each with the finding to report if nothing is found.
#[derive(Default)]
pub(crate) struct Search {
    globs: Vec<RuleGlobs>,
    known: KnownNames,
    /// Paths that may exist further down.
    endings: Vec<Ending>,
    /// Findings that need no search.
    certain: Vec<Finding>,
    /// Names of scripts.
    scripts: Vec<(String, Finding)>,
}

impl Search {
    pub(crate) fn for_globs(&mut self, mut rule: RuleGlobs) {
        // Each glob is matched against each file of the tree. Beyond the limit nothing is claimed about the rule as a
        // whole, because a glob that was not searched for may match.
        rule.has_others |= rule.globs.len() > MAX_GLOBS;
        rule.globs.truncate(MAX_GLOBS);
        self.globs.push(rule);
    }

    /// Returns the names defined by a file, using `read` on first access.
    pub(crate) fn names_in(
        &self,
        path: &Path,
        read: impl FnOnce(&Path) -> Option<Vec<String>>,
    ) -> Option<Rc<HashSet<String>>> {
        let mut known = self.known.borrow_mut();
        let names = known.entry(path.to_owned());
        names.or_insert_with(|| Some(Rc::new(read(path)?.into_iter().collect()))).clone()
    }

    pub(crate) fn for_endings(&mut self, paths: Vec<PathBuf>, anchor: Anchor, finding: Finding) {
        self.endings.push(Ending { paths, anchor, finding });
    }

    /// Adds a finding that needs no search.
    pub(crate) fn for_nothing(&mut self, finding: Finding) {
        self.certain.push(finding);
    }

    pub(crate) fn for_script(&mut self, name: &str, finding: Finding) {
        self.scripts.push((name.to_owned(), finding));
    }

    /// Runs the searches and reports the findings of those without a match.
    pub(crate) fn run(self, project: &Project, findings: &mut Findings<'_>) {
        findings.extend(self.certain);
        // Everything is looked up at the end, in one walk and one pass over the directories, however many documents
        // mention paths.
        walk(&self.globs, &project.root, findings);
        if self.endings.is_empty() && self.scripts.is_empty() {
            return;
        }
        let directories = directories(project);
        // Texts often shorten paths to their last parts. Grouping the directories by name makes each lookup independent
        // of the size of the tree.
        let mut by_name: HashMap<&OsStr, Vec<&Path>> = HashMap::new();
        for directory in directories.iter() {
            by_name.entry(directory.file_name().unwrap_or_default()).or_default().push(directory);
        }
        for Ending { paths, anchor, finding } in self.endings {
            if anchor.holds(&by_name) && !paths.iter().any(|path| is_there(path, &by_name)) {
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

/// Returns the directories of the project, including those outside the checked part.
fn directories(project: &Project) -> Cow<'_, [PathBuf]> {
    if project.directory == project.root {
        return Cow::Borrowed(&project.directories);
    }
    match Tree::walk(&project.root, &Names::new([])) {
        Ok(tree) => tree.directories().iter().map(|directory| directory.path.clone()).collect(),
        Err(_) => Cow::Borrowed(&project.directories),
    }
}

/// Returns true if a path in the tree ends with `ending`, which has at least two parts.
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
                    // Two threads may find a match at the same moment. Only the one that changes the flag counts it, or
                    // `open` would reach zero too early.
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

/// Returns the finding for globs of a rule without a match.
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

/// Returns the names of a package's scripts, or `None` if the file is missing or unreadable.
pub(crate) fn scripts(path: &Path) -> Option<Vec<String>> {
    let bytes = read_whole(path, MAX_PACKAGE_BYTES)?;
    let package: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let scripts = package.get("scripts").and_then(serde_json::Value::as_object);
    Some(scripts.map(|scripts| scripts.keys().cloned().collect()).unwrap_or_default())
}
