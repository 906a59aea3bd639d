//! Comparison of agents in one directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::profile::{Evidence, ImportPlace, OnReading, PartOf, Rendering, Rule};
use instructions::{
    BlockRole, Cache, Decision, FileReader, FileSettings, InstructionFile, LinkBounds, OTHER_AGENTS, Outcome,
    Profile, Reminder, Request, Resolution, ResolveError, Resolver, Session,
};
use protocol::{ComparedAgent, ComparedFile, Comparison, ReadingTime};
use tokens::{Counter, Encoding};

use crate::differences;
use crate::loss::{is_loss, size};

/// Role of tool results and of messages that follow them.
const READING_ROLE: BlockRole = BlockRole::User;

/// Parameters of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct CompareRequest<'a> {
    /// Directory in which the agents are started; absolute, without dots.
    pub cwd: &'a Path,
    /// File that a tool reads afterwards; absolute, without dots. It need not exist.
    pub reading: Option<&'a Path>,
    /// Agents to compare.
    pub agents: &'a [&'static Profile],
    /// Settings of the agent with this profile. Other agents use their own rules with the same home
    /// directories and bounds.
    pub settings: &'a FileSettings,
}

/// Result of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// Files of each agent.
    pub comparison: Comparison,
    /// Root of the project, for displaying relative paths.
    pub base: PathBuf,
    /// Agents that would not start here, with the reason.
    pub refusals: Vec<(&'static Profile, String)>,
}

/// Files of one agent, with the resolution that differences are found in.
pub(crate) struct Seen {
    pub(crate) profile: &'static Profile,
    /// `None` if the agent would not start.
    pub(crate) start: Option<Resolution>,
    pub(crate) files: Vec<SeenFile>,
    pub(crate) refusal: Option<String>,
}

/// A file and its outcome.
pub(crate) struct SeenFile {
    pub(crate) path: PathBuf,
    pub(crate) outcome: Outcome,
    pub(crate) by: Option<PathBuf>,
    pub(crate) role: Option<BlockRole>,
    pub(crate) when: ReadingTime,
    pub(crate) bytes: u64,
    pub(crate) kept_bytes: u64,
    pub(crate) tokens: u64,
    /// True for files in the user's own directory.
    pub(crate) is_own: bool,
    /// True if the text is included a second time, in a file that imports it.
    pub(crate) is_twice: bool,
}

impl SeenFile {
    /// Returns true if the file's text is included, at least in part.
    pub(crate) fn is_read(&self) -> bool {
        self.role.is_some()
    }

    pub(crate) fn lost_bytes(&self) -> u64 {
        if is_loss(self.outcome) { self.bytes.saturating_sub(self.kept_bytes) } else { 0 }
    }
}

/// Returns the settings of an agent that correspond to those of another agent.
pub fn settings_for(profile: &'static Profile, others: &FileSettings) -> FileSettings {
    if others.profile == profile {
        // The comparison shows what the agent itself would read, regardless of who chose the profile.
        return FileSettings { links: LinkBounds::OfProfile, ..others.clone() };
    }
    FileSettings {
        homes: others.homes.clone(),
        bounds: others.bounds.clone(),
        above_root: others.above_root,
        private_paths: others.private_paths.clone(),
        audience: others.audience,
        source: others.source.clone(),
        ..FileSettings::of(profile)
    }
}

/// Compares agents in a directory. Fails if the directory cannot be read at all.
pub fn compare(request: &CompareRequest<'_>) -> Result<Compared, ResolveError> {
    let counter = Counter::default();
    let mut seen = Vec::with_capacity(request.agents.len());
    for profile in request.agents {
        let settings = settings_for(profile, request.settings);
        seen.push(match look(request, &settings, &counter) {
            Ok(seen) => seen,
            // That an agent refuses to start is itself a difference. Other errors concern the directory and would be
            // the same for every agent.
            Err(ResolveError::SettingsFile(error)) => {
                Seen { profile, start: None, files: Vec::new(), refusal: Some(error.to_string()) }
            }
            Err(error) => return Err(error),
        });
    }
    let roots = seen.iter().filter_map(|seen| seen.start.as_ref()?.root.as_deref());
    // The innermost root counts, because an agent may find a root further up.
    let base = roots.max_by_key(|root| root.components().count()).unwrap_or(request.cwd).to_owned();
    let differences = differences::find(request, &seen, &base);
    let refusals = seen.iter().filter_map(|seen| Some((seen.profile, seen.refusal.clone()?))).collect();
    let agents = seen.into_iter().map(ComparedAgent::from).collect();
    let path = request.cwd.to_string_lossy().into_owned();
    Ok(Compared { comparison: Comparison { path, agents, differences }, base, refusals })
}

fn look(
    request: &CompareRequest<'_>,
    settings: &FileSettings,
    counter: &Counter,
) -> Result<Seen, ResolveError> {
    let asked = Request { cwd: request.cwd, settings };
    let start = instructions::survey(&asked)?;
    let mut view = View { settings, counter, files: Vec::new() };
    view.add(&start, ReadingTime::Start);
    if let Some(file) = request.reading {
        match settings.profile.session.on_reading {
            OnReading::Nothing => {}
            OnReading::Session => view.add_announced(&asked, file)?,
            OnReading::Nested(_) => {
                if let Some(reading) = instructions::survey_reading(&asked, file)? {
                    view.add(&reading, ReadingTime::Reading);
                }
            }
        }
        view.add_unread(request.cwd, file);
    }
    // Files that are read come first, in the order of the text.
    let (mut files, others): (Vec<_>, Vec<_>) = view.files.into_iter().partition(SeenFile::is_read);
    files.sort_by_key(|file| file.when == ReadingTime::Reading);
    files.extend(others);
    Ok(Seen { profile: settings.profile, start: Some(start), files, refusal: None })
}

/// Files of one agent while they are collected.
struct View<'a> {
    settings: &'a FileSettings,
    counter: &'a Counter,
    files: Vec<SeenFile>,
}

impl View<'_> {
    fn add(&mut self, resolution: &Resolution, when: ReadingTime) {
        let profile = self.settings.profile;
        for file in &resolution.files {
            // A shadowed file can still be read through an import.
            let mut outcomes = resolution
                .decisions
                .iter()
                .filter(|decision| decision.path == file.path)
                .map(|decision| decision.outcome);
            let first = outcomes.clone().next().unwrap_or(Outcome::Used);
            let is_there = |outcome: &Outcome| matches!(outcome, Outcome::Used | Outcome::Truncated);
            let outcome = outcomes.find(is_there).unwrap_or(first);
            let role = match (outcome, when) {
                (Outcome::Used | Outcome::Truncated, ReadingTime::Start) => Some(role(profile, file)),
                (Outcome::Used | Outcome::Truncated, ReadingTime::Reading) => Some(READING_ROLE),
                _ => None,
            };
            let is_inside = is_in_place(profile, file);
            let tokens = if role.is_some() && !is_inside { self.tokens(&file.text) } else { 0 };
            if is_inside && let Some(known) = self.files.iter_mut().find(|known| known.path == file.path) {
                // The file was read by its name before. The decisions do not show the second copy, because it is part
                // of another file's text.
                known.is_twice |= known.is_read();
            }
            self.put(SeenFile {
                path: file.path.clone(),
                outcome,
                by: None,
                role,
                when,
                bytes: file.bytes,
                kept_bytes: file.kept_bytes,
                tokens,
                is_own: !file.limited,
                is_twice: false,
            });
        }
        for decision in &resolution.decisions {
            let is_known = resolution.files.iter().any(|file| file.path == decision.path);
            if decision.outcome != Outcome::Absent && !is_known {
                self.put_unread(decision, when);
            }
        }
    }

    fn put_unread(&mut self, decision: &Decision, when: ReadingTime) {
        let profile = self.settings.profile;
        // A rule with globs is read once one of its files is touched.
        let waits =
            decision.outcome == Outcome::NotApplicable && profile.session.on_reading != OnReading::Nothing;
        let home = self.settings.homes.of(profile);
        self.put(SeenFile {
            path: decision.path.clone(),
            outcome: decision.outcome,
            by: decision.by.clone(),
            role: None,
            when: if waits { ReadingTime::Reading } else { when },
            bytes: size(&decision.path, self.settings),
            kept_bytes: 0,
            tokens: 0,
            is_own: home.is_some_and(|home| decision.path.starts_with(home)),
            is_twice: false,
        });
    }

    /// Adds files that Foreword's own session announces when a path is touched.
    fn add_announced(&mut self, request: &Request<'_>, file: &Path) -> Result<(), ResolveError> {
        let (session, _) = Session::start(request, None)?;
        let resolver = Resolver::new(session, request.settings.clone(), Arc::new(Cache::new()));
        // The model receives the file in either case, as text or by reading the path. Without a reader the
        // text is always available for counting.
        let announcement = resolver.with_reader(FileReader::Absent).resolve(file)?;
        let Some(Reminder::AgentsResolvePaths { files, .. }) = announcement.reminder() else { return Ok(()) };
        for file in files {
            let bytes = file.size_bytes.unwrap_or_default();
            let tokens = file.block.as_deref().map_or(0, |block| self.tokens(block));
            self.put(SeenFile {
                path: file.path,
                outcome: Outcome::Used,
                by: None,
                role: Some(READING_ROLE),
                when: ReadingTime::Reading,
                bytes,
                kept_bytes: bytes,
                tokens,
                is_own: false,
                is_twice: false,
            });
        }
        Ok(())
    }

    /// Adds files between the working directory and the read file that mean nothing to the agent.
    fn add_unread(&mut self, cwd: &Path, file: &Path) {
        let directories =
            file.ancestors().skip(1).take_while(|directory| directory.starts_with(cwd) && *directory != cwd);
        let mut directories: Vec<&Path> = directories.collect();
        directories.reverse();
        for directory in directories {
            for (name, _) in OTHER_AGENTS {
                let path = directory.join(name);
                let is_known = self.files.iter().any(|file| file.path == path);
                if !is_known && self.settings.source.has_entry(&path) {
                    let bytes = size(&path, self.settings);
                    self.put(SeenFile {
                        path,
                        outcome: Outcome::Ignored,
                        by: None,
                        role: None,
                        when: ReadingTime::Reading,
                        bytes,
                        kept_bytes: 0,
                        tokens: 0,
                        is_own: false,
                        is_twice: false,
                    });
                }
            }
        }
    }

    /// Adds a file. A later result replaces an earlier one, unless that already included the text.
    fn put(&mut self, file: SeenFile) {
        match self.files.iter_mut().find(|known| known.path == file.path) {
            Some(known) if known.is_read() => {}
            Some(known) => *known = file,
            None => self.files.push(file),
        }
    }

    fn tokens(&self, text: &str) -> u64 {
        self.counter.count(Encoding::Cl100k, text) as u64
    }
}

/// Returns true if a file's text is included in a file that imports it.
pub(crate) fn is_in_place(profile: &Profile, file: &InstructionFile) -> bool {
    let place = profile.imports.map(|imports| imports.place);
    file.imported_by.is_some() && matches!(place, Some(ImportPlace::InPlace(_)))
}

/// Returns the role of the message with a file that is read at startup.
fn role(profile: &Profile, file: &InstructionFile) -> BlockRole {
    let Rendering::Forms(forms) = profile.render.form else { return profile.render.role };
    let is_own = !file.limited;
    let is_rule = file.scope == instructions::FileScope::Rule;
    let holds = |of: PartOf| match of {
        PartOf::Everything => true,
        PartOf::Home => is_own,
        PartOf::Project => !is_own,
        PartOf::Files => !is_rule,
        PartOf::Rules => is_rule,
    };
    let form = forms.iter().find(|form| form.sections.iter().any(|section| holds(section.of)));
    form.map_or(profile.render.role, |form| form.role)
}

/// Returns the role of the message with the project's files, or `None` if the agent was never run.
pub(crate) fn known_role(profile: &Profile) -> Option<BlockRole> {
    // The role of a message is rarely documented. It is trusted only if some rule of the agent was observed in its
    // requests.
    let is_documented = |rule: &Rule| rule.evidence == Evidence::Documented;
    let rules = profile.agent.rules;
    (rules.is_empty() || !rules.iter().all(is_documented)).then_some(profile.render.role)
}

impl From<Seen> for ComparedAgent {
    fn from(seen: Seen) -> Self {
        let read = || seen.files.iter().filter(|file| file.is_read());
        Self {
            agent: seen.profile.name.to_owned(),
            version: seen.profile.agent.version.map(str::to_owned),
            role: known_role(seen.profile),
            bytes: read().map(|file| if file.is_twice { 2 * file.kept_bytes } else { file.kept_bytes }).sum(),
            tokens: read().map(|file| file.tokens).sum(),
            lost_bytes: seen.files.iter().map(SeenFile::lost_bytes).sum(),
            files: seen.files.iter().map(ComparedFile::from).collect(),
        }
    }
}

impl From<&SeenFile> for ComparedFile {
    fn from(file: &SeenFile) -> Self {
        Self {
            path: file.path.to_string_lossy().into_owned(),
            outcome: file.outcome,
            role: file.role,
            when: file.when,
            bytes: file.bytes,
            kept_bytes: file.kept_bytes,
            tokens: file.tokens,
        }
    }
}
