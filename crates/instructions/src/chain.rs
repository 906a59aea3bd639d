//! Loads a chain: finds the root, chooses a file in each directory, shares the limit, makes the text.

mod choice;
mod other_files;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::budget::{self, BudgetRequest, Limit, Share};
use crate::cache::{Cache, CacheEvidence, DirectoryReader};
use crate::decision::{Decision, Outcome};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::file::{BLOCK, Bounds, Content, Found, Inside, Stamp};
use crate::profile::{Blank, DanglingLink, Profile, SameFile, Unreadable};
use crate::render::{self, Part};
use crate::resolution::{EffectiveRequest, FileScope, InstructionFile, Request, Resolution, ResolveError};
use crate::root::{self, Root};
use crate::settings::{MAX_BYTES, ProjectBounds, candidate_names};
use crate::text::headings_after;
use crate::{path, reading, text};

/// Most bytes of a user's own file.
const MOST_HOME_BYTES: u64 = 16 * 1024 * 1024;

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
    /// Where its decision stands.
    pub(crate) decision: usize,
}

/// The chosen files of a project.
pub(crate) struct Choice {
    pub(crate) files: Vec<Chosen>,
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

/// The work of one resolution.
pub(crate) struct Chain<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) survey: Survey,
    pub(crate) reader: DirectoryReader<'a>,
    /// How many of the names that are looked for can win, and how many are added after the winner.
    pub(crate) winning: usize,
    pub(crate) added: usize,
    pub(crate) bounds: Bounds,
    pub(crate) most: u64,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) chosen: Vec<Chosen>,
    seen: HashSet<(u64, u64)>,
    /// Why no project file is read, if none is.
    switched_off: Option<String>,
    /// Set when an unreadable file costs the whole chain.
    pub(crate) lost: bool,
}

impl<'a> Chain<'a> {
    /// Does it all.
    pub(crate) fn load(
        effective: &EffectiveRequest<'_>,
        cache: Option<&Cache>,
        survey: Survey,
    ) -> Result<(Resolution, CacheEvidence), ResolveError> {
        let request = effective.request;
        let profile = request.settings.profile;
        let mut names = candidate_names(request.settings)?;
        let winning = names.len();
        names.extend(profile.added.iter().map(|name| (*name).to_owned()));
        names.extend(profile.home.iter().flat_map(|home| home.names).map(|name| (*name).to_owned()));
        let markers = root::markers(request.settings)?;
        names.extend(markers.iter().cloned());

        let mut reader = DirectoryReader::new(cache, &names);
        check_directory(request.cwd, &mut reader)?;
        let mut diagnostics = Vec::new();
        let root = root::find(&request, &markers, &mut reader, &mut diagnostics)?;
        let max_bytes = request.settings.max_bytes();
        let mut chain = Chain::new(request, survey, reader, winning, max_bytes);
        chain.diagnostics = diagnostics;
        chain.choose_home();
        let directories = chain.choose_project(effective, &root, &names, max_bytes)?;
        if survey == Survey::Everything {
            chain.look_around(&directories, &names[..winning + profile.added.len()]);
        }
        let evidence = std::mem::take(&mut chain.reader.evidence);
        Ok((chain.finish(root, markers, directories, max_bytes), evidence))
    }

    /// Only chooses the project's files between a root and a directory.
    pub(crate) fn choose(
        effective: &EffectiveRequest<'_>,
        root: &Path,
        directory: &Path,
        cache: Option<&Cache>,
    ) -> Result<Choice, ResolveError> {
        let request = Request { cwd: directory, ..effective.request };
        let profile = request.settings.profile;
        let mut names = candidate_names(request.settings)?;
        let winning = names.len();
        names.extend(profile.added.iter().map(|name| (*name).to_owned()));
        let max_bytes = request.settings.max_bytes();
        let mut chain =
            Chain::new(request, Survey::Needed, DirectoryReader::new(cache, &names), winning, max_bytes);
        let root = Root { directory: Some(root.to_owned()), reason: String::new() };
        chain.choose_project(effective, &root, &names, max_bytes)?;
        if profile.blank == Blank::HidesOthers {
            chain.chosen.retain(|chosen| !text::is_blank(&chosen.content.bytes, profile.byte_order_mark));
        }
        Ok(Choice { files: chain.chosen, diagnostics: chain.diagnostics, switched_off: chain.switched_off })
    }

    fn new(
        request: Request<'a>,
        survey: Survey,
        reader: DirectoryReader<'a>,
        winning: usize,
        max_bytes: u64,
    ) -> Self {
        Chain {
            request,
            survey,
            reader,
            winning,
            added: request.settings.profile.added.len(),
            bounds: Bounds::None,
            most: max_bytes.saturating_add(BLOCK),
            decisions: Vec::new(),
            diagnostics: Vec::new(),
            chosen: Vec::new(),
            seen: HashSet::new(),
            switched_off: None,
            lost: false,
        }
    }

    /// The user's own file: the first with text.
    fn choose_home(&mut self) {
        let settings = self.request.settings;
        let Some(home) = settings.profile.home else { return };
        let Some(directory) = settings.homes.of(settings.profile) else { return };
        if !settings.enabled() {
            if self.survey == Survey::Everything {
                self.switched_off(directory, home.names, SWITCHED_OFF);
            }
            return;
        }
        let mut winner: Option<PathBuf> = None;
        for (index, name) in home.names.iter().enumerate() {
            let path = directory.join(name);
            if let Some(winner) = &winner {
                if self.survey == Survey::Everything && path.symlink_metadata().is_ok() {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                continue;
            }
            let place = self.winning + self.added + index;
            let found = self.reader.read(directory, place, &Bounds::None, MOST_HOME_BYTES);
            if let Found::File { content, .. } = &found
                && text::is_blank(&content.bytes, self.request.settings.profile.byte_order_mark)
            {
                let detail = "it is only white space, so it counts as if it were not there";
                self.decisions.push(Decision::new(path, Outcome::Blank).because(detail));
                continue;
            }
            if self.consider(path.clone(), FileScope::Home, found) {
                winner = Some(path);
            }
        }
    }

    /// The project's files, in every directory from the root down.
    fn choose_project(
        &mut self,
        effective: &EffectiveRequest<'_>,
        root: &Root,
        names: &[String],
        max_bytes: u64,
    ) -> Result<Vec<PathBuf>, ResolveError> {
        let cwd = self.request.cwd;
        let top = root.directory.as_deref().unwrap_or(cwd);
        let directories = path::chain(top, cwd);
        if self.request.settings.profile.links == crate::profile::Links::InsideRoot
            && !self.request.settings.follow_external_links()
        {
            self.bounds = Bounds::Root(Inside::new(top));
            self.reader.bound_by(Some(top));
        } else {
            self.reader.bound_by(None);
        }
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
        for directory in &directories {
            match &off {
                Some(reason) if self.survey == Survey::Everything => {
                    self.switched_off(directory, &names[..self.winning + self.added], reason);
                }
                Some(_) => {}
                None => self.choose_in(directory, names),
            }
        }
        self.switched_off = off;
        if self.lost {
            self.lose_chain();
        }
        Ok(directories)
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
        for chosen in self.chosen.extract_if(.., |chosen| chosen.scope == FileScope::Project) {
            let decision = &mut self.decisions[chosen.decision];
            decision.outcome = Outcome::Unreadable;
            decision.detail =
                Some("another file of the chain cannot be read, which costs them all".to_owned());
        }
    }

    /// Notes what a candidate is; true when it hides the names after it.
    pub(crate) fn consider(&mut self, path: PathBuf, scope: FileScope, found: Found) -> bool {
        let profile = self.request.settings.profile;
        let decision = match found {
            Found::File { stamp, content } => {
                if profile.same_file == SameFile::UsedOnce && !self.seen.insert((stamp.device, stamp.inode)) {
                    let first = self.chosen.iter().find(|chosen| {
                        (chosen.stamp.device, chosen.stamp.inode) == (stamp.device, stamp.inode)
                    });
                    let decision = Decision::new(path, Outcome::Duplicate)
                        .because("it is the same file, under another name");
                    let decision = match first.map(|chosen| chosen.path.clone()) {
                        Some(first) => decision.by(first),
                        None => decision,
                    };
                    self.decisions.push(decision);
                } else {
                    self.take(path, scope, stamp, content);
                }
                return true;
            }
            Found::Absent if self.survey == Survey::Everything => absent(path, profile),
            Found::Absent => return false,
            Found::NotAFile { kind, .. } => Decision::new(path, Outcome::NotAFile)
                .because(format!("it is a {kind}; only regular files are read")),
            Found::Outside => Decision::new(path, Outcome::OutsideRoot).because(
                "it leads out of the project; copy the file, or allow it with agents.follow_external_links",
            ),
            Found::Unreadable { reason } => {
                self.lost |= scope == FileScope::Project && profile.unreadable == Unreadable::ChainLost;
                let message = format!("it cannot be read: {reason}");
                self.diagnostics.push(Diagnostic::new(
                    DiagnosticCode::Unreadable,
                    Severity::Error,
                    &path,
                    message.clone(),
                ));
                Decision::new(path, Outcome::Unreadable).because(message)
            }
        };
        self.decisions.push(decision);
        false
    }

    fn take(&mut self, path: PathBuf, scope: FileScope, stamp: Stamp, content: Arc<Content>) {
        self.decisions.push(Decision::new(path.clone(), Outcome::Used));
        self.chosen.push(Chosen { path, scope, stamp, content, decision: self.decisions.len() - 1 });
    }

    fn finish(
        mut self,
        root: Root,
        markers: Vec<String>,
        directories: Vec<PathBuf>,
        max_bytes: u64,
    ) -> Resolution {
        let profile = self.request.settings.profile;
        let chosen = std::mem::take(&mut self.chosen);
        let shares = self.shares(&chosen, max_bytes);
        let mut files = Vec::with_capacity(chosen.len());
        let mut marks = Vec::with_capacity(chosen.len());
        for (chosen, share) in chosen.iter().zip(shares) {
            let kept = self.keep(chosen, share, max_bytes);
            let Some((kept, mark)) = kept else { continue };
            let text = self.text(profile, chosen, kept);
            files.push(InstructionFile {
                path: chosen.path.clone(),
                scope: chosen.scope,
                bytes: chosen.size(),
                kept_bytes: kept as u64,
                sha256: chosen.content.sha256.clone(),
                mtime_ms: chosen.stamp.modified_ms(),
                truncated: (kept as u64) < chosen.size(),
                text,
            });
            marks.push(mark);
        }
        let parts: Vec<Part<'_>> = files
            .iter()
            .zip(marks)
            .map(|(file, mark)| Part {
                path: &file.path,
                home: file.scope == FileScope::Home,
                text: &file.text,
                mark,
            })
            .collect();
        let blocks = render::render(profile, self.request.cwd, &parts);
        let text = match blocks.as_slice() {
            [block] => block.text.clone(),
            blocks => blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n\n"),
        };
        Resolution {
            profile: profile.name,
            cwd: self.request.cwd.to_owned(),
            root: root.directory,
            root_reason: root.reason,
            markers,
            directories,
            limit_bytes: max_bytes,
            switched_off: self.switched_off,
            files,
            decisions: self.decisions,
            diagnostics: self.diagnostics,
            text: (!blocks.is_empty()).then_some(text),
            blocks,
        }
    }

    /// What each chosen file gets; the user's own file is not counted.
    fn shares(&self, chosen: &[Chosen], max_bytes: u64) -> Vec<Share> {
        let profile = self.request.settings.profile;
        let asking: Vec<BudgetRequest<'_>> = chosen
            .iter()
            .filter(|chosen| chosen.scope == FileScope::Project)
            .map(|chosen| BudgetRequest { bytes: &chosen.content.bytes, size: chosen.size() })
            .collect();
        let limit = Limit {
            bytes: max_bytes,
            files: self.request.settings.max_files(),
            over: profile.over_limit,
            mark: profile.byte_order_mark,
        };
        let mut project = budget::share(&asking, limit).into_iter();
        chosen
            .iter()
            .map(|chosen| match chosen.scope {
                FileScope::Home if chosen.content.whole => Share::Whole,
                FileScope::Home => Share::Cut(text::cut(&chosen.content.bytes, chosen.content.bytes.len())),
                FileScope::Project => project.next().unwrap_or(Share::Nothing),
            })
            .collect()
    }

    /// How many bytes of a file stay and what marks the cut; none when it has no place in the text.
    fn keep(&mut self, chosen: &Chosen, share: Share, max_bytes: u64) -> Option<(usize, Option<String>)> {
        let marked = self.request.settings.profile.over_limit == crate::profile::OverLimit::NearestFirst;
        let setting = self.request.settings.profile.setting_name(MAX_BYTES);
        let decision = &mut self.decisions[chosen.decision];
        let size = chosen.size();
        let kept = match share {
            Share::Whole => return Some((chosen.content.bytes.len(), None)),
            Share::Blank => {
                decision.outcome = Outcome::Blank;
                decision.detail =
                    Some("what fits of it is only white space; it still hides the names after it".to_owned());
                return None;
            }
            Share::Cut(kept) => {
                decision.outcome = Outcome::Truncated;
                decision.detail = Some(format!(
                    "the limit of {max_bytes} bytes leaves no more room for it; shorten the files, or raise {setting}"
                ));
                kept
            }
            Share::Nothing | Share::DoesNotFit | Share::Stopped | Share::TooMany => {
                decision.outcome = Outcome::OverBudget;
                let why = match share {
                    Share::DoesNotFit => {
                        format!("it does not fit into what is left of the limit of {max_bytes} bytes")
                    }
                    Share::Stopped => {
                        format!(
                            "a file before it does not fit into the limit of {max_bytes} bytes, and reading stops there"
                        )
                    }
                    Share::TooMany => "there are as many files as the limit allows without it".to_owned(),
                    _ => format!("nothing of the limit of {max_bytes} bytes is left for it"),
                };
                decision.detail = Some(match share {
                    Share::TooMany => format!("{why}; raise agents.initial.max_files"),
                    _ => format!("{why}; shorten the files, or raise {setting}"),
                });
                if !marked {
                    return None;
                }
                0
            }
        };
        if !marked {
            return Some((kept, None));
        }
        let omitted = headings_after(&chosen.content.bytes, kept);
        let unread = size.saturating_sub(chosen.content.bytes.len() as u64);
        Some((kept, Some(render::mark(&chosen.path, kept, size, &omitted, unread))))
    }

    /// A file's text as the profile wants it, with what was found in it.
    fn text(&mut self, profile: &Profile, chosen: &Chosen, kept: usize) -> String {
        let text = reading::read(&chosen.content, kept, &chosen.path, profile, &mut self.diagnostics);
        match profile.home {
            Some(home) if home.trimmed && chosen.scope == FileScope::Home => text.trim().to_owned(),
            _ => text,
        }
    }
}

/// A candidate that is not there: no such name, or a link of that name that leads nowhere.
fn absent(path: PathBuf, profile: &Profile) -> Decision {
    match std::fs::read_link(&path) {
        Ok(target) if profile.dangling_link == DanglingLink::NotAFile => {
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
