//! The resolution of one directory: runs the stages in order and carries their state.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::eligibility::Eligibility;
use super::nested::LoadPhase;
use super::{imports, root};
use crate::cache::{Cache, CacheEvidence, DirectoryReader};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::{BLOCK, Bounds, Content, Found, Stamp};
use crate::fs::path;
use crate::fs::source::FileSource;
use crate::profile::{
    Blank, DanglingLink, DirectoryEffect, Encoding, FrontMatterRule, LetterCase, NameChoice, NameRole,
    OnReading, Profile, RuleFolder, RuleFolderPlace, Unreadable,
};
use crate::resolve::applies_to::Target;
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::{EffectiveRequest, FileScope, Request, Resolution, ResolveError};
use crate::settings::json::NamedFiles;
use crate::settings::{MAX_BYTES, ProjectBounds, SettingsError, candidate_names};
use crate::text;
use crate::text::transform::WaitingRule;

/// Maximum size of the user's own files. They do not count towards the limit of the project's.
pub(super) const MAX_HOME_BYTES: u64 = 16 * 1024 * 1024;

/// Reason for files that settings switch off.
pub(crate) const SWITCHED_OFF: &str = "instruction files are switched off (agents.enabled)";

/// Extent of a resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survey {
    /// Only files that the text needs.
    Needed,
    /// Every file that could be meant for an agent, so that it can be explained.
    Everything,
}

/// A file that was found and applies, before the limit is shared.
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    pub(crate) scope: FileScope,
    pub(crate) stamp: Stamp,
    pub(crate) content: Arc<Content>,
    pub(crate) origin: Origin,
    /// Number of imports that led to it.
    pub(crate) depth: usize,
    /// The file of the chain that imports it, directly or through others.
    pub(crate) imported_by: Option<PathBuf>,
    /// Index of its decision.
    pub(crate) decision: usize,
    pub(crate) place: ChainPosition,
    /// Folder of rules that contains it.
    pub(crate) folder: Option<&'static RuleFolder>,
    /// Folder of the rule that imports it, directly or through others.
    pub(crate) imported_by_rule: Option<&'static RuleFolder>,
    /// True for a rule that no path matches yet. It keeps its position only until its imports are followed.
    pub(crate) waits: bool,
    /// Title, for agents that name one.
    pub(crate) title: Option<String>,
    /// Belongs to one user alone, or is imported by such a file.
    pub(crate) is_private: bool,
}

/// Position of a file in the chain: index of its directory and of its name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChainPosition {
    pub(super) directory: usize,
    pub(super) name: usize,
}

/// Directory through which a file was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Home,
    Project,
}

/// The candidates of a project, for sessions, which render them on their own.
pub(crate) struct SelectedFiles {
    pub(crate) files: Vec<Candidate>,
    /// Rules that do not match the target.
    pub(crate) dormant: Vec<Candidate>,
    /// Files that the dormant rules import.
    pub(crate) dormant_imports: Vec<PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Reason if project files were skipped.
    pub(crate) switched_off: Option<String>,
}

impl Candidate {
    /// Returns the size: the bytes read if that is the whole file, because the system reports 0 for files in /proc.
    pub(crate) fn size(&self) -> u64 {
        let read = self.content.bytes.len() as u64;
        // A file that shrank while it was read must still count as cut, so it is larger than what was read.
        if self.content.whole { read } else { self.stamp.size.max(read.saturating_add(1)) }
    }
}

/// State of one resolution.
pub(crate) struct Chain<'a> {
    pub(crate) request: Request<'a>,
    /// Path that rule globs are matched against.
    pub(super) target: Target<'a>,
    /// Topmost directory that is searched.
    pub(super) top: PathBuf,
    /// The root, or the working directory if there is none.
    pub(super) root: PathBuf,
    pub(super) has_root: bool,
    pub(crate) survey: Survey,
    pub(crate) reader: DirectoryReader<'a>,
    /// Number of names that compete, of those that are added, and of the user's own, in the order of the reader's names.
    pub(crate) winning: usize,
    pub(crate) added: usize,
    pub(crate) own: usize,
    /// Names from the agent's settings.
    pub(super) named: Option<&'a NamedFiles>,
    pub(super) place: ChainPosition,
    pub(crate) bounds: Bounds<'a>,
    pub(crate) max_file_bytes: u64,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) chosen: Vec<Candidate>,
    /// Rules that do not match the target.
    pub(super) dormant: Vec<Candidate>,
    /// Index of each file's decision, keyed by device and inode.
    pub(super) seen: HashMap<(u64, u64), usize>,
    /// Paths of files, for profiles that compare files by path.
    pub(super) seen_paths: HashSet<PathBuf>,
    /// Canonical paths of rule files already seen.
    pub(super) seen_rules: HashSet<PathBuf>,
    pub(super) imports: imports::ImportProgress<'a>,
    /// Rules that the text lists without including them.
    pub(super) waiting: Vec<WaitingRule>,
    /// Reason if project files were skipped.
    pub(super) switched_off: Option<String>,
    /// True once an unreadable file has discarded all project files.
    pub(crate) lost: bool,
    /// File in the checkout around a worktree that is not read.
    pub(super) shadowing: Option<PathBuf>,
    /// True while files are loaded because a tool reads a file.
    pub(super) is_reading: bool,
}

impl<'a> Chain<'a> {
    /// Loads a chain: finds the root, selects files, follows imports, applies the limit and renders the text.
    pub(crate) fn load(
        effective: &EffectiveRequest<'_>,
        cache: Option<&Cache>,
        survey: Survey,
        moment: LoadPhase<'_>,
    ) -> Result<(Resolution, CacheEvidence), ResolveError> {
        let request = effective.request;
        let profile = request.settings.profile;
        let (mut names, winning) = names(effective)?;
        let markers = root::markers(request.settings)?;
        // The markers come last, so that the positions of the other names stay valid as indexes.
        names.extend(markers.iter().cloned());

        let mut reader = DirectoryReader::new(&request.settings.source, cache, &names);
        // A missing working directory is an error of the caller. Without this check the answer would merely be empty.
        check_directory(effective.started_in, &mut reader)?;
        let mut diagnostics = effective.notes.to_vec();
        // The root must be known before any project file is read: it bounds which symlinks may be followed.
        let root = root::find(&request, &markers, &mut reader, &mut diagnostics)?;
        let max_bytes = request.settings.max_bytes();
        let target = match moment {
            LoadPhase::StartFor { file } => Target::File(file),
            LoadPhase::Start | LoadPhase::Reading { .. } => Target::Directory(request.cwd),
        };
        let mut chain = Chain::new(effective, target, &root.top, survey, reader, winning);
        chain.has_root = root.directory.is_some();
        chain.root = root.directory.clone().unwrap_or_else(|| request.cwd.to_owned());
        // Problems of settings and of the root come first, since they can explain all that follows.
        chain.diagnostics = diagnostics;
        // The user's own files come first in every profile, so that duplicates among project files are decided
        // against them.
        chain.choose_home();
        let directories = chain.choose_project(effective, &names, max_bytes);
        chain.put_in_order();
        chain.set_titles();
        chain.follow_imports();
        let started = match moment {
            LoadPhase::Reading { file, nested } => Some(chain.load_on_read(file, nested)),
            LoadPhase::Start | LoadPhase::StartFor { .. } if survey == Survey::Everything => {
                chain.survey_unread_files(
                    &directories,
                    &names[..winning + profile.names_with(NameRole::Added).count()],
                );
                None
            }
            LoadPhase::Start | LoadPhase::StartFor { .. } => None,
        };
        let evidence = std::mem::take(&mut chain.reader.evidence);
        let mut resolution = chain.finish(root, markers, directories, max_bytes);
        resolution.cwd = effective.started_in.to_owned();
        if let Some(started) = started {
            started.remove_from(&mut resolution);
        }
        Ok((resolution, evidence))
    }

    /// Selects the files between `root` and the request's directory without rendering them. Of the user's own files
    /// only rules are included: the others do not depend on the target.
    pub(crate) fn choose(
        effective: &EffectiveRequest<'_>,
        root: &Path,
        target: Target<'_>,
        cache: Option<&Cache>,
    ) -> Result<SelectedFiles, ResolveError> {
        let request = effective.request;
        let profile = request.settings.profile;
        let (names, winning) = names(effective)?;
        let reader = DirectoryReader::new(&request.settings.source, cache, &names);
        let mut chain = Chain::new(effective, target, root, Survey::Needed, reader, winning);
        if profile.text.front_matter == FrontMatterRule::Conditions {
            // The user's own files come first in every profile, so that duplicates among project files are decided
            // against them.
            chain.choose_home();
            chain.chosen.retain(|chosen| chosen.scope == FileScope::Rule);
            let is_rule = |decision: &usize| chain.chosen.iter().any(|rule| rule.decision == *decision);
            // The dropped files must not count as seen, or a project file with the same inode would be a duplicate of a
            // file that is not in the result.
            chain.seen.retain(|_, decision| is_rule(decision));
        }
        chain.choose_project(effective, &names, request.settings.max_bytes());
        chain.follow_imports();
        if profile.choose.blank == Blank::HidesOthers {
            chain
                .chosen
                .retain(|chosen| !text::is_blank(chosen.content.text(profile), profile.text.byte_order_mark));
        }
        Ok(SelectedFiles {
            dormant_imports: chain.dormant_imports(),
            files: chain.chosen,
            dormant: chain.dormant,
            diagnostics: chain.diagnostics,
            switched_off: chain.switched_off,
        })
    }

    fn new(
        effective: &EffectiveRequest<'a>,
        target: Target<'a>,
        top: &Path,
        survey: Survey,
        reader: DirectoryReader<'a>,
        winning: usize,
    ) -> Self {
        let request = effective.request;
        Chain {
            request,
            target,
            top: top.to_owned(),
            root: top.to_owned(),
            has_root: true,
            survey,
            reader,
            winning,
            added: request.settings.profile.names_with(NameRole::Added).count(),
            own: home_file_names(effective).count(),
            named: effective.named,
            place: ChainPosition::default(),
            bounds: Bounds::default().without(&request.settings.private_paths),
            max_file_bytes: request.settings.max_bytes().saturating_add(BLOCK),
            decisions: Vec::new(),
            diagnostics: Vec::new(),
            chosen: Vec::new(),
            dormant: Vec::new(),
            seen: HashMap::new(),
            seen_paths: HashSet::new(),
            seen_rules: HashSet::new(),
            imports: imports::ImportProgress::default(),
            waiting: Vec::new(),
            switched_off: None,
            lost: false,
            is_reading: false,
            shadowing: None,
        }
    }

    /// Returns the source of the files.
    pub(super) fn source(&self) -> &'a FileSource {
        &self.request.settings.source
    }

    /// Selects the user's own files and rules.
    fn choose_home(&mut self) {
        let settings = self.request.settings;
        let Some(home) = settings.profile.choose.home else { return };
        let Some(directory) = settings.homes.of(settings.profile) else { return };
        if !settings.enabled() {
            if self.survey == Survey::Everything {
                let names: Vec<&str> = (0..self.own).map(|index| self.home_file_name(index)).collect();
                self.switched_off(directory, &names, SWITCHED_OFF);
            }
            return;
        }
        // Later names are still visited after a winner is found: a survey explains why they are hidden.
        let mut winner: Option<PathBuf> = None;
        for index in 0..self.own {
            let mut path = directory.join(self.home_file_name(index));
            if let Some(winner) = &winner {
                if self.survey == Survey::Everything && self.source().has_entry(&path) {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                continue;
            }
            let place = self.winning + self.added + index;
            let mut found = self.reader.read(directory, place, &Bounds::default(), MAX_HOME_BYTES);
            if home.letter_case == LetterCase::Any
                && !matches!(found, Found::File { .. })
                && let Some(variant) = self.variant(&path)
            {
                found = self.reader.read_path(&variant, &Bounds::default(), MAX_HOME_BYTES);
                path = variant;
            }
            if let (true, Found::File { content, .. }) = (home.utf8_only, &found)
                && std::str::from_utf8(&content.bytes).is_err()
            {
                let reason = DecisionReason::NotUtf8;
                self.decisions.push(Decision::new(path, Outcome::Unreadable).because(reason));
                continue;
            }
            self.place = ChainPosition { directory: 0, name: index };
            let is_taken = self.consider_home(&path, found, home.blank);
            self.note_configured_name(self.home_file_name(index), &path);
            if is_taken && home.choice != NameChoice::All {
                winner = Some(path);
            }
        }
        for name in home.elsewhere {
            let Some(path) = settings.homes.user.as_ref().map(|user| user.join(name)) else { continue };
            if winner.is_none() {
                let found = self.reader.read_path(&path, &Bounds::default(), MAX_HOME_BYTES);
                if self.consider_home(&path, found, home.blank) {
                    winner = Some(path);
                }
            }
        }
        for folder in settings.profile.choose.rule_folders {
            if folder.place == RuleFolderPlace::Home {
                self.choose_rules(directory, folder, Origin::Home);
            }
        }
        let Some(user) = settings.homes.user.as_deref() else { return };
        for group in home.also {
            let mut is_taken = false;
            for name in *group {
                let path = user.join(name);
                if !is_taken && !self.chosen.iter().any(|file| file.path == path) {
                    let found = self.reader.read_path(&path, &Bounds::default(), MAX_HOME_BYTES);
                    is_taken = self.consider_home(&path, found, home.blank);
                }
            }
        }
        for folder in settings.profile.choose.rule_folders {
            if folder.place == RuleFolderPlace::UserHome {
                self.choose_rules(user, folder, Origin::Home);
            }
        }
    }

    pub(super) fn home_file_name(&self, index: usize) -> &'a str {
        self.reader.name(self.winning + self.added + index)
    }

    /// Adds to the decision just made that settings name the file.
    pub(crate) fn note_configured_name(&mut self, name: &str, path: &Path) {
        let reason = self.named.and_then(|named| named.reason(name));
        let decision = self.decisions.last_mut().filter(|decision| decision.path == path);
        if let (Some(reason), Some(decision)) = (reason, decision)
            && decision.outcome != Outcome::Absent
        {
            decision.add(reason);
        }
    }

    /// Considers one of the user's own files. Returns true if it hides the names after it.
    fn consider_home(&mut self, path: &Path, found: Found, blank: Blank) -> bool {
        if let Found::File { content, .. } = &found
            && blank == Blank::FallsThrough
            && self.is_blank(content)
        {
            self.decisions.push(Decision::new(path, Outcome::Blank).because(DecisionReason::Blank));
            return false;
        }
        self.consider(path.to_owned(), Origin::Home, found)
    }

    /// Selects the project's files in every directory from the root down.
    fn choose_project(
        &mut self,
        effective: &EffectiveRequest<'_>,
        names: &[String],
        max_bytes: u64,
    ) -> Vec<PathBuf> {
        let directories = path::chain(&self.top, self.request.cwd);
        if let Some(inside) = self.request.settings.links_inside(&self.top) {
            let private_paths = &self.request.settings.private_paths;
            self.bounds = Bounds::inside(inside).without(private_paths);
        }
        self.bound_project();
        let off = match (self.request.settings.enabled(), effective.distrusted, max_bytes) {
            (false, ..) => Some(SWITCHED_OFF.to_owned()),
            _ if self.request.settings.bounds == ProjectBounds::HomeOnly => {
                Some("there is no project, so only the user's own file is read".to_owned())
            }
            (_, Some(reason), _) => Some(reason.to_owned()),
            (_, _, 0) => {
                let setting = self.request.settings.profile.setting_name(MAX_BYTES);
                Some(format!("the limit is 0 bytes, so no project file is read ({setting})"))
            }
            _ => None,
        };
        match &off {
            Some(reason) if self.survey == Survey::Everything => {
                for directory in &directories {
                    self.switched_off(directory, &names[..self.winning + self.added], reason);
                }
            }
            Some(_) => {}
            None => self.choose_files(&directories, names),
        }
        self.switched_off = off;
        if self.lost {
            self.discard_project_files();
        }
        directories
    }

    /// Sets the directory that the project's files must not leave.
    pub(super) fn bound_project(&mut self) {
        self.reader.bound_by(self.bounds.root(), &self.request.settings.private_paths);
    }

    fn switched_off(&mut self, directory: &Path, names: &[impl AsRef<Path>], reason: &str) {
        for name in names {
            let path = directory.join(name);
            if self.source().has_entry(&path) {
                self.decisions.push(
                    Decision::new(path, Outcome::Disabled)
                        .because(DecisionReason::SwitchedOff(reason.to_owned())),
                );
            }
        }
    }

    /// Discards all project files because one is unreadable, as Codex does.
    fn discard_project_files(&mut self) {
        for chosen in self.chosen.extract_if(.., |chosen| chosen.origin == Origin::Project) {
            let decision = &mut self.decisions[chosen.decision];
            decision.outcome = Outcome::Unreadable;
            decision.reasons = vec![DecisionReason::ChainUnreadable];
        }
    }

    /// Records what was found under a name. Returns true if it hides the names after it.
    pub(crate) fn consider(&mut self, path: PathBuf, origin: Origin, found: Found) -> bool {
        let profile = self.request.settings.profile;
        let decision = match found {
            Found::File { content, .. } if self.is_refused(&content) => {
                Decision::new(path, Outcome::Unreadable).because(DecisionReason::NotUtf8)
            }
            Found::File { stamp, content } => {
                let scope = match origin {
                    Origin::Home => FileScope::Home,
                    Origin::Project => FileScope::Project,
                };
                let is_private = profile.choose.is_private(&path);
                let file = Candidate {
                    path,
                    scope,
                    stamp,
                    content,
                    origin,
                    depth: 0,
                    imported_by: None,
                    decision: 0,
                    place: self.place,
                    folder: None,
                    imported_by_rule: None,
                    waits: false,
                    title: None,
                    is_private,
                };
                return match self.check_eligibility(file, None) {
                    Eligibility::Taken(chosen) => {
                        // A rule applies in addition to other files, so it never hides another name.
                        let hides_others = chosen.scope != FileScope::Rule;
                        self.chosen.push(*chosen);
                        hides_others
                    }
                    Eligibility::Duplicate => true,
                    Eligibility::NotApplicable => false,
                };
            }
            Found::Absent if self.survey == Survey::Everything => absent(path, profile, self.source()),
            Found::Absent => return false,
            Found::NotAFile { kind, .. } => {
                let reason = DecisionReason::NotRegular { kind };
                self.decisions.push(Decision::new(path, Outcome::NotAFile).because(reason));
                let directories = match (profile.session.on_reading, self.is_reading) {
                    (OnReading::Nested(nested), true) => nested.directories,
                    _ => profile.choose.directories,
                };
                return kind == "directory" && directories == DirectoryEffect::HidesOthers;
            }
            Found::Outside => {
                Decision::new(path, Outcome::OutsideRoot).because(DecisionReason::OutsideProject)
            }
            Found::Private => {
                Decision::new(path, Outcome::OutsideRoot).because(DecisionReason::HoldsPrivateData)
            }
            Found::Unreadable { reason } => {
                self.lost |= origin == Origin::Project && profile.choose.unreadable == Unreadable::ChainLost;
                self.unreadable(path, &reason)
            }
        };
        self.decisions.push(decision);
        false
    }

    /// Returns true if the agent does not read a file because of its encoding.
    pub(super) fn is_refused(&self, content: &Content) -> bool {
        self.request.settings.profile.text.encoding == Encoding::Required
            && std::str::from_utf8(&content.bytes).is_err()
    }

    pub(super) fn unreadable(&mut self, path: PathBuf, reason: &str) -> Decision {
        let reason = DecisionReason::Unreadable(reason.to_owned());
        let code = DiagnosticCode::Unreadable;
        self.diagnostics.push(Diagnostic::new(code, Severity::Error, &path, reason.to_string()));
        Decision::new(path, Outcome::Unreadable).because(reason)
    }
}

/// Returns the names to look for, and how many of them compete. Added names follow, then the user's own, then fallbacks,
/// then those of the root alone. The reader identifies a name by its index, so this order is fixed.
fn names(effective: &EffectiveRequest<'_>) -> Result<(Vec<String>, usize), SettingsError> {
    let settings = effective.request.settings;
    let profile = settings.profile;
    let mut names = match effective.named {
        Some(named) => named.names.clone(),
        None => candidate_names(settings)?,
    };
    let winning = names.len();
    let with = |role| profile.names_with(role).map(str::to_owned);
    names.extend(with(NameRole::Added));
    names.extend(home_file_names(effective).map(str::to_owned));
    names.extend(with(NameRole::Fallback).chain(with(NameRole::RootFirst)).chain(with(NameRole::RootLast)));
    Ok((names, winning))
}

/// Returns the names of the user's own files: those from settings if there are any, else the profile's.
fn home_file_names<'a>(effective: &EffectiveRequest<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let home = effective.request.settings.profile.choose.home;
    let listed = effective.named.filter(|_| home.is_some());
    let fixed = home.filter(|_| listed.is_none());
    let listed = listed.into_iter().flat_map(|named| named.names.iter().map(String::as_str));
    listed.chain(fixed.into_iter().flat_map(|home| home.names.iter().copied()))
}

/// Returns the decision about a missing file, which may be a symlink without a target.
fn absent(path: PathBuf, profile: &Profile, source: &FileSource) -> Decision {
    match source.read_link(&path) {
        Ok(target) if profile.search.dangling_link == DanglingLink::NotAFile => {
            Decision::new(path, Outcome::NotAFile).because(DecisionReason::DanglingLink { target })
        }
        _ => Decision::new(path, Outcome::Absent),
    }
}

fn check_directory(path: &Path, reader: &mut DirectoryReader<'_>) -> Result<(), ResolveError> {
    match reader.kind(path) {
        Ok("directory") => Ok(()),
        Ok(_) => Err(ResolveError::NotADirectory { path: path.to_owned() }),
        Err(errno) => Err(ResolveError::Directory { path: path.to_owned(), source: errno.into() }),
    }
}
