//! Selects the files of rule folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::chain::{Candidate, Chain, Origin};
use super::eligibility::Eligibility;
use crate::fs::file::{Bounds, Found};
use crate::fs::path;
use crate::fs::source::{EntryState, FileSource};
use crate::profile::{
    HiddenRules, LetterCase, RuleBody, RuleDepth, RuleEncoding, RuleFolder, RuleLinks, RuleOrder,
};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::FileScope;
use crate::text::decode;
use crate::text::decode::plain_line_ends;
use crate::text::header::{self, Fence};
use crate::text::rule_header::{RuleHeader, rule_header};
use crate::text::transform::WaitingRule;

/// Maximum number of files of one folder, of directories below it, and of nested directories.
const MAX_FILES: usize = 4_096;
const MAX_DIRECTORIES: usize = 4_096;
const MAX_DEPTH: usize = 32;

/// Files found below a folder of rules.
#[derive(Default)]
struct ListedRules {
    paths: Vec<PathBuf>,
    /// Device and inode of each visited directory. Symlinks may lead to one repeatedly, or in a circle.
    directories: HashSet<(u64, u64)>,
    /// Directory that links must not leave, as given and canonical.
    inside: Option<(PathBuf, PathBuf)>,
}

impl ListedRules {
    /// Returns the target of a link. `None` if it is out of bounds.
    fn resolved(&self, link: &Path, source: &FileSource) -> Option<PathBuf> {
        let Ok(real) = source.canonicalize(link) else { return Some(link.to_owned()) };
        match &self.inside {
            None => Some(real),
            Some((inside, real_inside)) => Some(inside.join(real.strip_prefix(real_inside).ok()?)),
        }
    }
}

impl Chain<'_> {
    /// Selects the files of a folder that apply at the start, and records those that wait.
    pub(super) fn choose_rules(&mut self, base: &Path, folder: &'static RuleFolder, origin: Origin) {
        // The user's own links are trusted, wherever they lead.
        let inside = match origin {
            Origin::Home => None,
            Origin::Project => self.request.settings.links_inside(&self.top).map(Path::to_owned),
        };
        // Agents that resolve links do not follow them out of the working directory.
        let linked_inside = match (origin, folder.links) {
            (Origin::Project, RuleLinks::Resolved) => Some(self.request.cwd.to_owned()),
            _ => inside.clone(),
        };
        let source = self.source();
        let real = |path: &Path| source.canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut listed = ListedRules {
            inside: linked_inside.map(|inside| (inside.clone(), real(&inside))),
            ..ListedRules::default()
        };
        let mut start = base.join(folder.directory);
        // The folder itself may be a link. It is judged like a link inside the folder.
        if source.is_directory(&start) && real(&start) != real(base).join(folder.directory) {
            match listed.resolved(&start, source) {
                Some(resolved) if folder.links == RuleLinks::Resolved => start = resolved,
                Some(_) => {}
                None => {
                    let reason = DecisionReason::LinkOutside;
                    self.decisions.push(Decision::new(start, Outcome::OutsideRoot).because(reason));
                    return;
                }
            }
        }
        if self.source().is_file(&start) {
            listed.paths.push(start);
        } else {
            self.list_rules(&start, folder, 0, &mut listed);
        }
        let mut paths = listed.paths;
        // Agents that do not sort use the order of the file system. Sorting here would hide that the result is not
        // stable.
        if folder.order == RuleOrder::ByPath {
            paths.sort();
        }
        let private_paths: &[PathBuf] = match origin {
            Origin::Home => &[],
            Origin::Project => &self.request.settings.private_paths,
        };
        self.reader.bound_by(inside.as_deref(), private_paths);
        let bounds = inside.as_deref().map_or_else(Bounds::default, Bounds::inside).without(private_paths);
        for path in paths {
            if let (Some(other), Some(name)) = (folder.hidden_by, path.file_name())
                && self.source().is_file(&base.join(other).join(name))
            {
                let winner = base.join(other).join(name);
                self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                continue;
            }
            let found = self.reader.read_path(&path, &bounds, self.max_file_bytes);
            match found {
                Found::File { content, .. }
                    if self.is_refused(&content)
                        || folder.encoding == RuleEncoding::Utf8
                            && std::str::from_utf8(&content.bytes).is_err() =>
                {
                    let reason = DecisionReason::NotUtf8;
                    self.decisions.push(Decision::new(path, Outcome::Unreadable).because(reason));
                }
                Found::File { stamp, content } => {
                    let file = Candidate {
                        path,
                        scope: FileScope::Rule,
                        stamp,
                        content,
                        origin,
                        depth: 0,
                        imported_by: None,
                        decision: 0,
                        place: self.place,
                        folder: Some(folder),
                        imported_by_rule: None,
                        waits: false,
                        title: None,
                        is_private: false,
                    };
                    self.consider_rule(file, folder, base);
                }
                found => {
                    self.consider(path, origin, found);
                }
            }
        }
        self.bound_project();
    }

    /// Returns the condition in the front matter of a rule.
    pub(super) fn condition(&self, file: &Candidate, folder: &RuleFolder) -> RuleHeader {
        let text = decode(&file.content.bytes, self.request.settings.profile.text.byte_order_mark).text;
        let header = match folder.body {
            RuleBody::AsOthers => header::find(&text, Fence::Loose),
            RuleBody::Raw | RuleBody::BelowHeader => header::find(&text, Fence::Exact),
            RuleBody::Bare => {
                let text = plain_line_ends(&text);
                return rule_header(header::find(&text, Fence::Bare), &folder.conditions);
            }
        };
        rule_header(header, &folder.conditions)
    }

    fn consider_rule(&mut self, mut file: Candidate, folder: &RuleFolder, base: &Path) {
        let profile = self.request.settings.profile;
        let header = self.condition(&file, folder);
        // A rule with invalid front matter never applies, so it does not wait for a path.
        let waits = header != RuleHeader::Invalid;
        let not_read = match header {
            RuleHeader::Always => None,
            RuleHeader::Globs { globs, description } => {
                let below = path::relative(base, &file.path);
                // The agent lists project rules by relative path, but its own by absolute path. A bar would break its
                // table.
                let path = if file.origin == Origin::Home { &file.path } else { &below };
                self.waiting.push(WaitingRule {
                    path: path.to_string_lossy().replace('|', "\\|"),
                    globs: globs.join(", ").replace('|', "\\|"),
                    description: description.replace('|', "\\|"),
                });
                Some(DecisionReason::WaitsForPath { globs: describe_globs(&globs) })
            }
            RuleHeader::NotAlways => Some(DecisionReason::NotAlways),
            RuleHeader::Invalid => Some(DecisionReason::InvalidFrontMatter),
        };
        match not_read {
            Some(why) => {
                file.decision = self.decisions.len();
                let decision = Decision::new(file.path.clone(), Outcome::NotApplicable).because(why);
                self.decisions.push(if waits { decision.waiting() } else { decision });
                // The imports of a waiting rule may apply without it, and then stand at its position.
                if profile.imports.is_some_and(|imports| imports.judges_imports_of_rules()) {
                    self.chosen.push(Candidate { waits: true, ..file });
                } else {
                    self.dormant.push(file);
                }
            }
            None => {
                if let Eligibility::Taken(taken) = self.check_eligibility(file, None) {
                    self.chosen.push(*taken);
                }
            }
        }
    }

    /// Lists the files below a directory whose names have the suffix.
    fn list_rules(&mut self, directory: &Path, folder: &RuleFolder, depth: usize, listed: &mut ListedRules) {
        let looked_at = SystemTime::now();
        let Ok(EntryState { stamp, .. }) = self.source().state(directory) else {
            self.reader.evidence.nothing(directory);
            return;
        };
        // Symlinks can lead back to a directory above. Each directory is listed once, known by its inode.
        let is_new = listed.directories.insert((stamp.device, stamp.inode));
        // The state is recorded before listing, so that an entry added meanwhile invalidates a cached answer.
        self.reader.evidence.state(directory, stamp, looked_at);
        if !is_new || listed.directories.len() > MAX_DIRECTORIES {
            return;
        }
        let Ok(entries) = self.source().entries(directory) else { return };
        let mut below = Vec::new();
        for entry in entries {
            if listed.paths.len() >= MAX_FILES {
                return;
            }
            // A link with a plain name may still lead to a hidden file.
            if folder.hidden == HiddenRules::Skipped && entry.name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let (mut path, mut is_directory) = (entry.path.clone(), entry.is_directory());
            if entry.is_link() {
                match (folder.links, self.source().state(&path)) {
                    (RuleLinks::ToFiles, Ok(target)) if !target.is_directory() => {}
                    (RuleLinks::Resolved, Ok(target)) => {
                        is_directory = target.is_directory();
                        let Some(resolved) = listed.resolved(&path, self.source()) else {
                            let reason = DecisionReason::LinkOutside;
                            self.decisions.push(Decision::new(path, Outcome::OutsideRoot).because(reason));
                            continue;
                        };
                        path = resolved;
                    }
                    _ => continue,
                }
            }
            if is_directory && folder.depth == RuleDepth::Flat {
                continue;
            }
            if is_directory && depth < MAX_DEPTH {
                match folder.order {
                    RuleOrder::ByPath => below.push(path),
                    RuleOrder::AsListed => self.list_rules(&path, folder, depth + 1, listed),
                }
            } else if has_suffix(&entry.name.to_string_lossy(), folder) {
                listed.paths.push(path);
            }
        }
        for directory in below {
            self.list_rules(&directory, folder, depth + 1, listed);
        }
    }
}

fn has_suffix(name: &str, folder: &RuleFolder) -> bool {
    let lower = name.to_ascii_lowercase();
    folder.suffixes.iter().any(|suffix| match folder.suffix_case {
        LetterCase::Exact => name.ends_with(suffix),
        LetterCase::Any => lower.ends_with(suffix),
    })
}

/// Returns globs for display.
pub(super) fn describe_globs(globs: &[String]) -> String {
    globs.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ")
}
