//! Finds the line of an instruction file that a rule names.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use compare::{Names, Tree};
use instructions::{FileScope, FileSettings, PROFILES, Request};
use protocol::RuleLine;

use crate::verdict::git::Repository;
use crate::verdict::rule_text::{plain_line, word_share};

/// Largest instruction file that is searched.
const MAX_FILE: u64 = 4 * 1024 * 1024;
/// Share of the rule's words that a line must have if it does not contain the rule.
const LEAST_SHARE: f64 = 0.6;
/// Commits of a file whose versions are compared.
const MAX_VERSIONS: usize = 20;
/// Candidates that an error lists.
const MAX_LISTED: usize = 10;

/// The rule, with the file that contains it.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) line: RuleLine,
    /// The line as it is compared.
    pub(crate) plain: String,
    pub(crate) file: RuleFile,
    /// True if the line exists only in an older commit.
    pub(crate) is_gone: bool,
}

/// A file with its names and versions.
#[derive(Debug, Clone)]
pub(crate) struct RuleFile {
    pub(crate) path: PathBuf,
    /// Other paths that lead to it.
    pub(crate) links: Vec<PathBuf>,
    pub(crate) text: String,
    /// Earlier texts, newest first.
    pub(crate) versions: Vec<String>,
    /// True if it is the user's own file.
    pub(crate) is_home: bool,
}

/// Reason why a rule selects no line.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    #[error("the rule is empty")]
    Empty,
    #[error("no instruction file of {} contains the rule `{rule}`", root.display())]
    NotFound { rule: String, root: PathBuf },
    #[error("the rule `{rule}` matches {} lines", candidates.len())]
    Ambiguous { rule: String, candidates: Vec<RuleLine> },
    #[error("could not read {}: {source}", path.display())]
    File {
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    #[error("{} has no rule in line {line}", path.display())]
    Line { path: PathBuf, line: u32 },
    #[error(transparent)]
    Tree(#[from] compare::TreeError),
}

impl RuleError {
    /// Returns what to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty => "give the text of a rule, or FILE:LINE".to_owned(),
            Self::NotFound { .. } => {
                "give a part of the line as it is written, or FILE:LINE; `foreword explain` lists the files"
                    .to_owned()
            }
            Self::Ambiguous { candidates, .. } => {
                let listed =
                    candidates.iter().take(MAX_LISTED).map(|line| format!("{}:{}", line.path, line.line));
                format!("name one of them: {}", listed.collect::<Vec<_>>().join(", "))
            }
            Self::File { .. } => "name a file that exists, or give the text of the rule".to_owned(),
            Self::Line { .. } => "name a line with text".to_owned(),
            Self::Tree(_) => "name a directory that exists".to_owned(),
        }
    }
}

/// The instruction files of a project and of the user.
pub(crate) struct Files {
    root: PathBuf,
    files: Vec<RuleFile>,
    reach: Reach,
}

/// Files that `FILE:LINE` may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Any file of the project, for users of this machine.
    Project,
    /// Instruction files only, for clients of a gateway.
    InstructionFiles,
}

impl Files {
    /// Finds the files of the project around a directory.
    pub(crate) fn find(
        root: &Path,
        cwd: &Path,
        settings: &FileSettings,
        reach: Reach,
    ) -> Result<Self, RuleError> {
        let tree = Tree::walk(root, &Names::new([]))?;
        let mut paths: Vec<(PathBuf, bool)> = tree.instruction_files().map(|path| (path, false)).collect();
        for profile in PROFILES {
            let settings = compare::settings_for(profile, settings);
            // An agent that would not start here has no files.
            let Ok(found) = instructions::survey(&Request { cwd, settings: &settings }) else { continue };
            paths.extend(found.files.into_iter().map(|file| (file.path, file.scope == FileScope::Home)));
        }
        let mut files: Vec<RuleFile> = Vec::new();
        let mut known: HashMap<PathBuf, usize> = HashMap::new();
        for (path, is_home) in paths {
            let Ok(real) = path.canonicalize() else { continue };
            if let Some(index) = known.get(&real) {
                let file: &mut RuleFile = &mut files[*index];
                if file.path != path && !file.links.contains(&path) {
                    // The file itself is a better name than a link to it.
                    let link = if path == real { std::mem::replace(&mut file.path, path) } else { path };
                    file.links.push(link);
                }
                continue;
            }
            if let Some(text) = read(&path) {
                known.insert(real, files.len());
                files.push(RuleFile { path, links: Vec::new(), text, versions: Vec::new(), is_home });
            }
        }
        Ok(Self { root: root.to_owned(), files, reach })
    }

    /// Creates an empty set, for threads without a directory.
    pub(crate) fn none(root: &Path) -> Self {
        Self { root: root.to_owned(), files: Vec::new(), reach: Reach::InstructionFiles }
    }

    /// Adds a text that is not a file.
    pub(crate) fn add(&mut self, path: PathBuf, text: String) {
        self.files.push(RuleFile { path, links: Vec::new(), text, versions: Vec::new(), is_home: false });
    }

    /// Returns the line that a rule selects.
    pub(crate) fn select(mut self, rule: &str, cwd: &Path) -> Result<Rule, RuleError> {
        let rule = rule.trim();
        let wanted = plain_line(rule);
        if wanted.is_empty() {
            return Err(RuleError::Empty);
        }
        if let Some((path, line)) = file_and_line(rule)
            && let Some(found) = self.named(&path, line, cwd)
        {
            return found;
        }
        let candidates = self.candidates(&wanted);
        let Some(best) = candidates.first().map(|candidate| candidate.score) else {
            return self
                .gone(&wanted)
                .ok_or_else(|| RuleError::NotFound { rule: rule.to_owned(), root: self.root.clone() });
        };
        // A line that only resembles the rule may be its successor, so the line itself in an older commit is better.
        if best.0 == Match::Similar
            && let Some(gone) = self.gone(&wanted)
        {
            return Ok(gone);
        }
        let mut ties: Vec<&Candidate> = candidates
            .iter()
            .filter(|candidate| candidate.score.1 >= best.1 && candidate.score.0 == best.0)
            .collect();
        // The same text twice in a file has the same verdict.
        ties.dedup_by_key(|candidate| candidate.file);
        if let [only] = ties.as_slice() {
            let (file, line) = (only.file, only.line);
            return Ok(self.rule(file, line));
        }
        let candidates = ties.iter().map(|candidate| self.line(candidate.file, candidate.line)).collect();
        Err(RuleError::Ambiguous { rule: rule.to_owned(), candidates })
    }

    fn named(&mut self, path: &Path, line: u32, cwd: &Path) -> Option<Result<Rule, RuleError>> {
        let bases = [cwd, &self.root];
        let is_known =
            |path: &PathBuf| self.files.iter().any(|file| file.path == *path || file.links.contains(path));
        let is_reachable = |path: &PathBuf| {
            let in_project = self.reach == Reach::Project && path.starts_with(&self.root) && path.is_file();
            is_known(path) || in_project
        };
        let found = bases.iter().map(|base| instructions::path::normalise(path, base)).find(is_reachable);
        let Some(found) = found else {
            // A rule may end like a line number; only a name without spaces is meant as a file.
            if path.to_string_lossy().contains(char::is_whitespace) {
                return None;
            }
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Some(Err(RuleError::File { path: path.to_owned(), source }));
        };
        let index = self.files.iter().position(|file| file.path == found || file.links.contains(&found));
        let index = match index {
            Some(index) => index,
            None => {
                let text = read(&found)?;
                self.files.push(RuleFile {
                    path: found.clone(),
                    links: Vec::new(),
                    text,
                    versions: Vec::new(),
                    is_home: false,
                });
                self.files.len() - 1
            }
        };
        let text = self.files[index].text.lines().nth((line as usize).checked_sub(1)?).map(plain_line);
        if text.is_none_or(|text| text.is_empty()) {
            return Some(Err(RuleError::Line { path: found, line }));
        }
        Some(Ok(self.rule(index, line)))
    }

    fn candidates(&self, wanted: &str) -> Vec<Candidate> {
        let folded = wanted.to_lowercase();
        let mut candidates = Vec::new();
        for (file, found) in self.files.iter().enumerate() {
            for (number, line) in found.text.lines().enumerate() {
                let plain = plain_line(line);
                let lower = plain.to_lowercase();
                let score = if lower == folded {
                    (Match::Equal, 1.0)
                } else if lower.contains(&folded) {
                    (Match::Contained, folded.len() as f64 / lower.len() as f64)
                } else {
                    (Match::Similar, word_share(&folded, &lower))
                };
                if score.0 != Match::Similar || score.1 >= LEAST_SHARE {
                    let line = u32::try_from(number + 1).unwrap_or(u32::MAX);
                    candidates.push(Candidate { score, file, line });
                }
            }
        }
        candidates.sort_by(|one, other| {
            other
                .score
                .0
                .cmp(&one.score.0)
                .then(other.score.1.total_cmp(&one.score.1))
                .then(one.file.cmp(&other.file))
        });
        candidates
    }

    /// Returns the rule from an older commit, if no file contains it any longer.
    fn gone(&self, wanted: &str) -> Option<Rule> {
        let repository = Repository::around(&self.root)?;
        for file in self.files.iter().filter(|file| !file.is_home) {
            let Ok(relative) = file.path.strip_prefix(repository.top()?) else { continue };
            // The newest commit that changed the number of occurrences removed the line; its parent had it.
            for commit in repository.commits_with(wanted, relative) {
                for tree in [repository.parent(&commit), commit] {
                    let Some(text) = repository.text(&tree, relative) else { continue };
                    let found = text
                        .lines()
                        .position(|line| plain_line(line).to_lowercase() == wanted.to_lowercase());
                    if let Some(number) = found {
                        let plain = text.lines().nth(number).map(plain_line)?;
                        let line = RuleLine {
                            text: plain.clone(),
                            path: file.path.to_string_lossy().into_owned(),
                            line: u32::try_from(number + 1).ok()?,
                        };
                        let mut file = with_versions(file.clone());
                        file.versions.retain(|version| *version != text);
                        let current = std::mem::replace(&mut file.text, text);
                        file.versions.insert(0, current);
                        return Some(Rule { line, plain, file, is_gone: true });
                    }
                }
            }
        }
        None
    }

    fn line(&self, file: usize, line: u32) -> RuleLine {
        let file = &self.files[file];
        let text = file.text.lines().nth((line as usize).saturating_sub(1)).map(plain_line);
        RuleLine { text: text.unwrap_or_default(), path: file.path.to_string_lossy().into_owned(), line }
    }

    fn rule(&self, file: usize, line: u32) -> Rule {
        let found = self.line(file, line);
        let file = with_versions(self.files[file].clone());
        Rule { plain: found.text.clone(), line: found, file, is_gone: false }
    }
}

fn with_versions(mut file: RuleFile) -> RuleFile {
    let real = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
    if let Some(repository) = real.parent().and_then(Repository::around)
        && let Some(relative) = repository.top().and_then(|top| real.strip_prefix(top).ok())
    {
        for commit in repository.commits_of(relative, MAX_VERSIONS) {
            if let Some(text) = repository.text(&commit, relative)
                && text != file.text
                && !file.versions.contains(&text)
            {
                file.versions.push(text);
            }
        }
    }
    file
}

/// Degree of a match, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Similar,
    Contained,
    Equal,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    score: (Match, f64),
    file: usize,
    line: u32,
}

/// Splits `FILE:LINE`.
fn file_and_line(rule: &str) -> Option<(PathBuf, u32)> {
    let (path, line) = rule.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!path.is_empty()).then(|| (PathBuf::from(path), line))
}

fn read(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE {
        return None;
    }
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}
