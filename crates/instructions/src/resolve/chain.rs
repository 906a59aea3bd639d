//! Loads a chain: finds the root, chooses a file in each directory, shares the limit, makes the text.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::eligibility::Judged;
use super::nested::Moment;
use super::{imports, root};
use crate::cache::{Cache, CacheEvidence, DirectoryReader};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::{BLOCK, Bounds, Content, Found, Stamp};
use crate::fs::path;
use crate::profile::{
    Blank, DanglingLink, FrontMatterRule, NameChoice, NameRole, Profile, RuleFolder, RuleFolderPlace,
    Unreadable,
};
use crate::resolve::applies_to::Target;
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::resolution::{EffectiveRequest, FileScope, Request, Resolution, ResolveError};
use crate::settings::json::NamedFiles;
use crate::settings::{MAX_BYTES, ProjectBounds, SettingsError, candidate_names};
use crate::text;
use crate::text::transform::Waiting;

/// Most bytes of a user's own file.
pub(super) const MAX_HOME_BYTES: u64 = 16 * 1024 * 1024;

/// Why nothing is read when settings say so.
pub(crate) const SWITCHED_OFF: &str = "instruction files are switched off (agents.enabled)";

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survey {
    /// What the answer needs.
    Needed,
    /// Everything that could be meant for an agent.
    Everything,
}

/// A file that was chosen.
pub(crate) struct Chosen {
    pub(crate) path: PathBuf,
    pub(crate) scope: FileScope,
    pub(crate) stamp: Stamp,
    pub(crate) content: Arc<Content>,
    pub(crate) origin: Origin,
    /// How many imports led to it.
    pub(crate) depth: usize,
    /// The file of the chain that imports it, itself or through others.
    pub(crate) imported_by: Option<PathBuf>,
    /// Where its decision stands.
    pub(crate) decision: usize,
    pub(crate) place: Place,
    /// The folder of rules that it is from.
    pub(crate) folder: Option<&'static RuleFolder>,
    /// Whether it is one user's alone, or imported by such a file.
    pub(crate) is_private: bool,
}

/// Where a file stands in the chain: which directory, and which of the names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub(super) directory: usize,
    pub(super) name: usize,
}

/// From whose directory a file was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Home,
    Project,
}

/// The chosen files of a project.
pub(crate) struct Choice {
    pub(crate) files: Vec<Chosen>,
    /// Rules that do not match the target.
    pub(crate) dormant: Vec<Chosen>,
    /// What those import.
    pub(crate) dormant_imports: Vec<PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Why none is read, if none is.
    pub(crate) switched_off: Option<String>,
}

impl Chosen {
    /// Its size: what was read when that is all of it, because the system may say 0 for files it makes up.
    pub(crate) fn size(&self) -> u64 {
        let read = self.content.bytes.len() as u64;
        // One that shrank while it was read is still larger than what was read of it.
        if self.content.whole { read } else { self.stamp.size.max(read.saturating_add(1)) }
    }
}

/// Why a file that is there is none of the project's.
pub(super) const KEPT_PRIVATE: &str =
    "it is among the keys, tokens and data that are kept from every project";

/// The work of one resolution.
pub(crate) struct Chain<'a> {
    pub(crate) request: Request<'a>,
    /// What rules must match.
    pub(super) target: Target<'a>,
    /// The uppermost directory whose files are read.
    pub(super) top: PathBuf,
    /// The root, or the working directory where there is none.
    pub(super) root: PathBuf,
    pub(super) has_root: bool,
    pub(crate) survey: Survey,
    pub(crate) reader: DirectoryReader<'a>,
    /// How many of the names that are looked for can win, and how many are added after the winner.
    pub(crate) winning: usize,
    pub(crate) added: usize,
    /// How many of the user's own there are.
    pub(crate) own: usize,
    /// Names that the agent's settings list.
    pub(super) named: Option<&'a NamedFiles>,
    pub(super) place: Place,
    pub(crate) bounds: Bounds<'a>,
    pub(crate) max_file_bytes: u64,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) chosen: Vec<Chosen>,
    /// Rules that do not match the target.
    pub(super) dormant: Vec<Chosen>,
    /// Files by device and inode, and where their decisions stand.
    pub(super) seen: HashMap<(u64, u64), usize>,
    /// Paths of files, by rules that go by those.
    pub(super) seen_paths: HashSet<PathBuf>,
    /// The same of rules, by where links lead.
    pub(super) seen_rules: HashSet<PathBuf>,
    pub(super) imports: imports::Followed<'a>,
    /// Rules that a text lists.
    pub(super) waiting: Vec<Waiting>,
    /// Why no project file is read, if none is.
    pub(super) switched_off: Option<String>,
    /// Set when an unreadable file costs the whole chain.
    pub(crate) lost: bool,
}

impl<'a> Chain<'a> {
    /// Does it all.
    pub(crate) fn load(
        effective: &EffectiveRequest<'_>,
        cache: Option<&Cache>,
        survey: Survey,
        moment: Moment<'_>,
    ) -> Result<(Resolution, CacheEvidence), ResolveError> {
        let request = effective.request;
        let profile = request.settings.profile;
        let (mut names, winning) = names(effective)?;
        let markers = root::markers(request.settings)?;
        names.extend(markers.iter().cloned());

        let mut reader = DirectoryReader::new(cache, &names);
        check_directory(request.cwd, &mut reader)?;
        let mut diagnostics = effective.notes.to_vec();
        let root = root::find(&request, &markers, &mut reader, &mut diagnostics)?;
        let max_bytes = request.settings.max_bytes();
        let target = match moment {
            Moment::StartFor { file } => Target::File(file),
            Moment::Start | Moment::Reading { .. } => Target::Directory(request.cwd),
        };
        let mut chain = Chain::new(effective, target, &root.top, survey, reader, winning);
        chain.has_root = root.directory.is_some();
        chain.root = root.directory.clone().unwrap_or_else(|| request.cwd.to_owned());
        chain.diagnostics = diagnostics;
        chain.choose_home();
        let directories = chain.choose_project(effective, &names, max_bytes);
        chain.put_in_order();
        chain.follow_imports();
        let started = match moment {
            Moment::Reading { file, nested } => Some(chain.go_on_to(file, nested)),
            Moment::Start | Moment::StartFor { .. } if survey == Survey::Everything => {
                chain.look_around(
                    &directories,
                    &names[..winning + profile.names_with(NameRole::Added).count()],
                );
                None
            }
            Moment::Start | Moment::StartFor { .. } => None,
        };
        let evidence = std::mem::take(&mut chain.reader.evidence);
        let mut resolution = chain.finish(root, markers, directories, max_bytes);
        if let Some(started) = started {
            started.leave(&mut resolution);
        }
        Ok((resolution, evidence))
    }

    /// Only chooses the files between a root and the request's directory, and those of the user's own that are rules: the
    /// others do not depend on the target.
    pub(crate) fn choose(
        effective: &EffectiveRequest<'_>,
        root: &Path,
        target: Target<'_>,
        cache: Option<&Cache>,
    ) -> Result<Choice, ResolveError> {
        let request = effective.request;
        let profile = request.settings.profile;
        let (names, winning) = names(effective)?;
        let reader = DirectoryReader::new(cache, &names);
        let mut chain = Chain::new(effective, target, root, Survey::Needed, reader, winning);
        if profile.text.front_matter == FrontMatterRule::Conditions {
            chain.choose_home();
            chain.chosen.retain(|chosen| chosen.scope == FileScope::Rule);
            let is_rule = |decision: &usize| chain.chosen.iter().any(|rule| rule.decision == *decision);
            chain.seen.retain(|_, decision| is_rule(decision));
        }
        chain.choose_project(effective, &names, request.settings.max_bytes());
        chain.follow_imports();
        if profile.choose.blank == Blank::HidesOthers {
            chain
                .chosen
                .retain(|chosen| !text::is_blank(chosen.content.text(profile), profile.text.byte_order_mark));
        }
        Ok(Choice {
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
            own: own_names(effective).count(),
            named: effective.named,
            place: Place::default(),
            bounds: Bounds::default().without(&request.settings.private_paths),
            max_file_bytes: request.settings.max_bytes().saturating_add(BLOCK),
            decisions: Vec::new(),
            diagnostics: Vec::new(),
            chosen: Vec::new(),
            dormant: Vec::new(),
            seen: HashMap::new(),
            seen_paths: HashSet::new(),
            seen_rules: HashSet::new(),
            imports: imports::Followed::default(),
            waiting: Vec::new(),
            switched_off: None,
            lost: false,
        }
    }

    /// The user's own file, or files, and rules.
    fn choose_home(&mut self) {
        let settings = self.request.settings;
        let Some(home) = settings.profile.choose.home else { return };
        let Some(directory) = settings.homes.of(settings.profile) else { return };
        if !settings.enabled() {
            if self.survey == Survey::Everything {
                let names: Vec<&str> = (0..self.own).map(|index| self.own_name(index)).collect();
                self.switched_off(directory, &names, SWITCHED_OFF);
            }
            return;
        }
        let mut winner: Option<PathBuf> = None;
        for index in 0..self.own {
            let path = directory.join(self.own_name(index));
            if let Some(winner) = &winner {
                if self.survey == Survey::Everything && path.symlink_metadata().is_ok() {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                continue;
            }
            let place = self.winning + self.added + index;
            let found = self.reader.read(directory, place, &Bounds::default(), MAX_HOME_BYTES);
            self.place = Place { directory: 0, name: index };
            let is_taken = self.consider_home(&path, found, home.blank);
            self.say_who_named(self.own_name(index), &path);
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
    }

    /// One of the names of the user's own files.
    pub(super) fn own_name(&self, index: usize) -> &'a str {
        self.reader.name(self.winning + self.added + index)
    }

    /// Says of the file that was just decided about that settings name it.
    pub(crate) fn say_who_named(&mut self, name: &str, path: &Path) {
        let reason = self.named.and_then(|named| named.reason(name));
        let decision = self.decisions.last_mut().filter(|decision| decision.path == path);
        if let (Some(reason), Some(decision)) = (reason, decision)
            && decision.outcome != Outcome::Absent
        {
            decision.add(reason);
        }
    }

    /// Considers a file of the user's own; true when it hides those after it.
    fn consider_home(&mut self, path: &Path, found: Found, blank: Blank) -> bool {
        if let Found::File { content, .. } = &found
            && blank == Blank::FallsThrough
            && self.is_blank(content)
        {
            let detail = "it is only white space, so it counts as if it were not there";
            self.decisions.push(Decision::new(path, Outcome::Blank).because(detail));
            return false;
        }
        self.consider(path.to_owned(), Origin::Home, found)
    }

    /// The project's files, in every directory from the root down.
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
            self.lose_chain();
        }
        directories
    }

    /// Says where the project's files must stay from now on.
    pub(super) fn bound_project(&mut self) {
        self.reader.bound_by(self.bounds.root(), &self.request.settings.private_paths);
    }

    fn switched_off(&mut self, directory: &Path, names: &[impl AsRef<Path>], reason: &str) {
        for name in names {
            let path = directory.join(name);
            if path.symlink_metadata().is_ok() {
                self.decisions.push(Decision::new(path, Outcome::Disabled).because(reason));
            }
        }
    }

    /// One unreadable file costs all project files, as it does in Codex.
    fn lose_chain(&mut self) {
        for chosen in self.chosen.extract_if(.., |chosen| chosen.origin == Origin::Project) {
            let decision = &mut self.decisions[chosen.decision];
            decision.outcome = Outcome::Unreadable;
            decision.detail =
                Some("another file of the chain cannot be read, which costs them all".to_owned());
        }
    }

    /// Notes what a candidate is; true when it hides the names after it.
    pub(crate) fn consider(&mut self, path: PathBuf, origin: Origin, found: Found) -> bool {
        let profile = self.request.settings.profile;
        let decision = match found {
            Found::File { stamp, content } => {
                let scope = match origin {
                    Origin::Home => FileScope::Home,
                    Origin::Project => FileScope::Project,
                };
                let is_private = profile.choose.is_private(&path);
                let file = Chosen {
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
                    is_private,
                };
                return match self.judge(file, None) {
                    Judged::Taken(chosen) => {
                        // A rule is added to what applies anyway.
                        let hides_others = chosen.scope != FileScope::Rule;
                        self.chosen.push(chosen);
                        hides_others
                    }
                    Judged::Duplicate => true,
                    Judged::NotApplicable => false,
                };
            }
            Found::Absent if self.survey == Survey::Everything => absent(path, profile),
            Found::Absent => return false,
            Found::NotAFile { kind, .. } => Decision::new(path, Outcome::NotAFile)
                .because(format!("it is a {kind}; only regular files are read")),
            Found::Outside => Decision::new(path, Outcome::OutsideRoot).because(
                "it leads out of the project; copy the file, or allow it with agents.follow_external_links",
            ),
            Found::Private => Decision::new(path, Outcome::OutsideRoot).because(KEPT_PRIVATE),
            Found::Unreadable { reason } => {
                self.lost |= origin == Origin::Project && profile.choose.unreadable == Unreadable::ChainLost;
                self.unreadable(path, &reason)
            }
        };
        self.decisions.push(decision);
        false
    }

    pub(super) fn unreadable(&mut self, path: PathBuf, reason: &str) -> Decision {
        let message = format!("it cannot be read: {reason}");
        let code = DiagnosticCode::Unreadable;
        self.diagnostics.push(Diagnostic::new(code, Severity::Error, &path, message.clone()));
        Decision::new(path, Outcome::Unreadable).because(message)
    }
}

/// The names that are looked for, and how many of them can win. Those that are added after the winner follow, then the user's
/// own, then those that are read instead of others, and in the root alone.
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
    names.extend(own_names(effective).map(str::to_owned));
    names.extend(with(NameRole::Fallback).chain(with(NameRole::RootFirst)).chain(with(NameRole::RootLast)));
    Ok((names, winning))
}

/// The names of the user's own files: where settings list names, those.
fn own_names<'a>(effective: &EffectiveRequest<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let home = effective.request.settings.profile.choose.home;
    let listed = effective.named.filter(|_| home.is_some());
    let fixed = home.filter(|_| listed.is_none());
    let listed = listed.into_iter().flat_map(|named| named.names.iter().map(String::as_str));
    listed.chain(fixed.into_iter().flat_map(|home| home.names.iter().copied()))
}

/// A candidate that is not there: no such name, or a link of that name that leads nowhere.
fn absent(path: PathBuf, profile: &Profile) -> Decision {
    match std::fs::read_link(&path) {
        Ok(target) if profile.search.dangling_link == DanglingLink::NotAFile => {
            let detail = format!(
                "it is a link to {}, which leads nowhere; mend the link, or remove it",
                target.display()
            );
            Decision::new(path, Outcome::NotAFile).because(detail)
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
