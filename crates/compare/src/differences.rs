//! Sentences about relevant differences between agents.

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use instructions::profile::{ChainOrder, ImportBounds};
use instructions::{BlockRole, Diagnostic, DiagnosticCode, Outcome, Profile, Relation, Resolution};
use protocol::ReadingTime;

use crate::loss::is_loss;
use crate::side_by_side::{CompareRequest, Seen, SeenFile, known_role};
use crate::words::{alternatives, bytes, list, one_line, verb};

/// Most files named per sentence or agent; longer lists are summarized.
const NAMED: usize = 4;

/// Returns the sentences, most serious first.
// The order is the order of harm: an agent that does not start, ignored settings, hangs, lost text, and only
// then texts that are merely read differently. Readers often stop after the first line.
pub(crate) fn find(request: &CompareRequest<'_>, seen: &[Seen], base: &Path) -> Vec<String> {
    let view = View::new(request, seen, base);
    let mut sentences = Vec::new();
    for agent in seen {
        sentences.extend(agent.refusal.clone());
    }
    view.not_followed(&mut sentences);
    view.traps(&mut sentences);
    for agent in seen {
        view.losses(agent, &mut sentences);
    }
    view.nothing(&mut sentences);
    view.relations(&mut sentences);
    view.not_read(&mut sentences);
    view.twice(&mut sentences);
    view.twice_by_import(&mut sentences);
    view.order(&mut sentences);
    view.roles(&mut sentences);
    if let Some(file) = request.reading {
        view.reading(file, &mut sentences);
    }
    sentences
}

/// The compared agents and the base of displayed paths.
struct View<'a> {
    seen: &'a [Seen],
    base: &'a Path,
    user: Option<&'a Path>,
    /// Relations between project files that any agent reads.
    relations: Vec<(&'a Path, Relation)>,
}

impl<'a> View<'a> {
    fn new(request: &'a CompareRequest<'_>, seen: &'a [Seen], base: &'a Path) -> Self {
        let mut view = Self { seen, base, user: request.settings.homes.user(), relations: Vec::new() };
        // Relations are found once for all agents and among files that some agent reads. A copy that no agent reads
        // would only lengthen the answer.
        let read: Vec<&Path> = view.project_files().into_iter().collect();
        let main = |path: &&Path| path.file_name().is_some_and(|name| name == "AGENTS.md");
        let (agents, others): (Vec<&Path>, Vec<&Path>) = read.into_iter().partition(main);
        // A copy of AGENTS.md is described as its copy. Of two other files, the second is described by the
        // first.
        let mut known = agents;
        for path in others {
            if let Some(relation) = Relation::find(path, &known, request.settings) {
                view.relations.push((path, relation));
            }
            known.push(path);
        }
        view
    }

    /// Returns every project file that any agent reads at startup.
    fn project_files(&self) -> BTreeSet<&'a Path> {
        let files = self.seen.iter().flat_map(at_start);
        files.map(|file| file.path.as_path()).collect()
    }

    /// Returns a path for display: relative to the project or the home directory, on one line.
    fn shown(&self, path: &Path) -> String {
        let shown = match (path.strip_prefix(self.base), self.user.map(|user| path.strip_prefix(user))) {
            (Ok(below), _) if below.as_os_str().is_empty() => ".".to_owned(),
            // With `/` as base every path would be below it, and those in the home directory would lose their `~`.
            (Ok(below), _) if self.base.parent().is_some() => below.to_string_lossy().into_owned(),
            (_, Some(Ok(below))) => format!("~/{}", below.to_string_lossy()),
            _ => path.to_string_lossy().into_owned(),
        };
        one_line(&shown)
    }

    fn losses(&self, seen: &Seen, sentences: &mut Vec<String>) {
        let title = seen.profile.agent.title;
        let lost: Vec<&SeenFile> = seen.files.iter().filter(|file| file.lost_bytes() > 0).collect();
        for file in lost.iter().take(NAMED) {
            let path = self.shown(&file.path);
            let size = bytes(file.lost_bytes());
            sentences.push(match file.outcome {
                Outcome::Truncated => format!("{title} drops the last {size} of {path}"),
                Outcome::OverBudget => format!("{title} drops all {size} of {path}, which no longer fits"),
                Outcome::TooDeep => {
                    format!("{title} does not follow the imports as far as {path}, and loses its {size}")
                }
                Outcome::OutsideRoot if stays_where_it_is_started(seen.profile) => format!(
                    "{title} follows nothing out of the directory that it is started in, and loses the {size} of {path}"
                ),
                Outcome::OutsideRoot => {
                    format!("{title} follows no link or import as far as {path}, and loses its {size}")
                }
                _ => format!("{title} cannot read {path}, and loses its {size}"),
            });
        }
        if let Some(more @ [_, ..]) = lost.get(NAMED..) {
            let size = bytes(more.iter().map(|file| file.lost_bytes()).sum());
            let files = if more.len() == 1 { "1 more file" } else { &format!("{} more files", more.len()) };
            sentences.push(format!("{title} drops {size} of {files}"));
        }
    }

    /// Adds settings that change what an agent reads and are not supported.
    fn not_followed(&self, sentences: &mut Vec<String>) {
        for diagnostic in self.seen.iter().filter_map(|seen| seen.start.as_ref()).flat_map(not_followed) {
            let path = diagnostic.path.as_deref().map_or_else(String::new, |path| self.shown(path));
            sentences.push(format!("{path}: {}", one_line(&diagnostic.message)));
        }
    }

    /// Adds pipes in the place of files, which keep some agents from starting.
    fn traps(&self, sentences: &mut Vec<String>) {
        let mut pipes: BTreeSet<&Path> = BTreeSet::new();
        let no_file = |file: &&SeenFile| file.outcome == Outcome::NotAFile;
        // Directories and sockets in the place of a file do no harm; only opening a pipe blocks. The metadata follows
        // links, as the agents do.
        for file in self.seen.iter().flat_map(|seen| seen.files.iter().filter(no_file)) {
            if file.path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
                pipes.insert(&file.path);
            }
        }
        for pipe in pipes {
            let waits = |seen: &&Seen| {
                let looks = seen.files.iter().any(|file| no_file(&file) && file.path == pipe);
                looks && seen.profile.agent.hazards.pipe
            };
            let waiting = titles(self.seen.iter().filter(waits));
            if !waiting.is_empty() {
                let keeps = format!("{} is a FIFO and keeps", self.shown(pipe));
                sentences.push(format!("{keeps} {} waiting for ever", list(&waiting)));
            }
        }
    }

    fn nothing(&self, sentences: &mut Vec<String>) {
        let started = || self.seen.iter().filter(|seen| seen.start.is_some());
        let nothing = titles(started().filter(|seen| !seen.files.iter().any(SeenFile::is_read)));
        // With a single agent, its name is more useful than a statement about all of them.
        if nothing.len() == started().count() && nothing.len() > 1 {
            sentences.push("no agent reads anything here".to_owned());
        } else if !nothing.is_empty() {
            let read = verb(nothing.len(), "reads", "read");
            sentences.push(format!("{} {read} nothing here", list(&nothing)));
        }
        let only_own = |seen: &&Seen| {
            let at_start = |file: &&SeenFile| file.is_read() && file.when == ReadingTime::Start;
            seen.files.iter().filter(at_start).count() > 0
                && seen.files.iter().filter(at_start).all(|file| file.is_own)
        };
        let own = titles(self.seen.iter().filter(only_own));
        if !own.is_empty() {
            let read = verb(own.len(), "reads", "read");
            sentences.push(format!("{} {read} only your own files here", list(&own)));
        }
    }

    fn relations(&self, sentences: &mut Vec<String>) {
        for (path, relation) in &self.relations {
            let relation = relation.describe(|other| self.shown(other));
            sentences.push(format!("{} {relation}", self.shown(path)));
        }
    }

    /// Returns true if an agent has the content of a file, from it or from an equivalent file.
    fn has(&self, seen: &Seen, path: &Path) -> bool {
        let only_imports = |(one, relation): &(&Path, Relation)| match relation {
            // A file that only imports others has no text of its own, so an agent with all of them misses nothing.
            Relation::OnlyImports(others) => {
                *one == path && others.iter().all(|other| self.has_equal(seen, other))
            }
            _ => false,
        };
        self.has_equal(seen, path) || self.relations.iter().any(only_imports)
    }

    /// Returns true if an agent has a file, or one with the same text.
    fn has_equal(&self, seen: &Seen, path: &Path) -> bool {
        let reads = |path: &Path| at_start(seen).any(|file| file.path == path);
        let equals = |(one, relation): &(&Path, Relation)| match relation {
            Relation::Link(other) | Relation::SameFile(other) | Relation::Repeats(other) => {
                *one == path && reads(other) || other == path && reads(one)
            }
            Relation::OnlyImports(_) => false,
        };
        reads(path) || self.relations.iter().any(equals)
    }

    /// Adds files that some agents read and others, which read at least one file here, do not.
    fn not_read(&self, sentences: &mut Vec<String>) {
        // Files that the same agents miss for the same reason share a sentence.
        let mut missing: Vec<(Vec<&'static Profile>, Reason, Vec<String>)> = Vec::new();
        for path in self.project_files() {
            // Lost text is reported in a sentence of its own.
            let loses =
                |seen: &Seen| seen.files.iter().any(|file| file.path == path && is_loss(file.outcome));
            let misses =
                |seen: &&Seen| at_start(seen).next().is_some() && !self.has(seen, path) && !loses(seen);
            let mut reasons: Vec<(Reason, Vec<&'static Profile>)> = Vec::new();
            for seen in self.seen.iter().filter(misses) {
                let reason = self.reason(seen, path);
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, agents)) => agents.push(seen.profile),
                    None => reasons.push((reason, vec![seen.profile])),
                }
            }
            for (reason, agents) in reasons {
                let shown = self.shown(path);
                let is_same = |(known, why, _): &&mut (Vec<&'static Profile>, Reason, Vec<String>)| {
                    *known == agents && *why == reason
                };
                match missing.iter_mut().find(is_same) {
                    Some((_, _, files)) => files.push(shown),
                    None => missing.push((agents, reason, vec![shown])),
                }
            }
        }
        for (agents, reason, mut files) in missing {
            let titles: Vec<String> = agents.iter().map(|profile| profile.agent.title.to_owned()).collect();
            let more = files.len().saturating_sub(NAMED);
            files.truncate(NAMED);
            if more > 0 {
                files.push(format!("{more} more"));
            }
            let read = verb(titles.len(), "does not read", "do not read");
            let why = match reason {
                Reason::OtherName => String::new(),
                Reason::Shadowed(by) => format!(", because {by} comes first"),
                Reason::HiddenByBlank(by) => format!(", because {by} comes first, which is blank"),
                Reason::Disabled => ", because it is switched off".to_owned(),
            };
            sentences.push(format!("{} {read} {}{why}", list(&titles), alternatives(&files)));
        }
    }

    fn reason(&self, seen: &Seen, path: &Path) -> Reason {
        let Some(file) = seen.files.iter().find(|file| file.path == path) else { return Reason::OtherName };
        match (file.outcome, &file.by) {
            (Outcome::Disabled, _) => Reason::Disabled,
            (Outcome::Shadowed, Some(by)) => {
                let is_blank = |file: &SeenFile| file.path == *by && file.outcome == Outcome::Blank;
                // Blank files deserve other words: a reader who opens one would not expect that it hides anything.
                let hides = seen.files.iter().any(is_blank);
                let by = self.shown(by);
                if hides { Reason::HiddenByBlank(by) } else { Reason::Shadowed(by) }
            }
            _ => Reason::OtherName,
        }
    }

    /// Adds equal files of which an agent reads both.
    fn twice(&self, sentences: &mut Vec<String>) {
        for (path, relation) in &self.relations {
            let (Relation::Link(other) | Relation::SameFile(other) | Relation::Repeats(other)) = relation
            else {
                continue;
            };
            let reads_both = |seen: &&Seen| {
                [*path, other.as_path()].iter().all(|path| at_start(seen).any(|file| file.path == **path))
            };
            let agents = titles(self.seen.iter().filter(reads_both));
            if !agents.is_empty() {
                let get = verb(agents.len(), "gets", "get");
                let one = self.shown(path);
                let other = self.shown(other);
                sentences.push(format!("{} {get} the same text twice: {other} and {one}", list(&agents)));
            }
        }
    }

    /// Adds files that an agent reads, and that another file imports once more.
    fn twice_by_import(&self, sentences: &mut Vec<String>) {
        for path in self.project_files() {
            let is_twice = |seen: &&Seen| at_start(seen).any(|file| file.path == path && file.is_twice);
            let agents = titles(self.seen.iter().filter(is_twice));
            if !agents.is_empty() {
                let get = verb(agents.len(), "gets", "get");
                let path = self.shown(path);
                sentences.push(format!("{} {get} {path} twice, once where it is imported", list(&agents)));
            }
        }
    }

    fn order(&self, sentences: &mut Vec<String>) {
        // Root first is the usual order and is not mentioned, nor is any order that makes no difference for the files
        // that are here.
        let mut orders: Vec<([&'static str; 3], Vec<String>)> = Vec::new();
        for seen in self.seen {
            let chain: Vec<&SeenFile> = at_start(seen).collect();
            let directories: BTreeSet<_> = chain.iter().filter_map(|file| file.path.parent()).collect();
            let names: BTreeSet<_> = chain.iter().filter_map(|file| file.path.file_name()).collect();
            let sentence = match seen.profile.render.order {
                ChainOrder::NearestFirst if directories.len() > 1 => {
                    ["puts", "put", "the nearest file first"]
                }
                ChainOrder::RootThenNearest if directories.len() > 2 => {
                    ["puts", "put", "the root's files first, then the nearest"]
                }
                ChainOrder::ByName if directories.len() > 1 && names.len() > 1 => {
                    ["groups", "group", "files by their names"]
                }
                _ => continue,
            };
            match orders.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, agents)) => agents.push(seen.profile.agent.title.to_owned()),
                None => orders.push((sentence, vec![seen.profile.agent.title.to_owned()])),
            }
        }
        for ([one, many, what], agents) in orders {
            sentences.push(format!("{} {} {what}", list(&agents), verb(agents.len(), one, many)));
        }
    }

    fn roles(&self, sentences: &mut Vec<String>) {
        let reading = || self.seen.iter().filter(|seen| at_start(seen).next().is_some());
        let of_role =
            |role: BlockRole| titles(reading().filter(|seen| known_role(seen.profile) == Some(role)));
        let roles = [
            (BlockRole::User, "a user message"),
            (BlockRole::Developer, "a developer message"),
            (BlockRole::System, "the system prompt"),
        ];
        let mut parts: Vec<(Vec<String>, &str)> = roles
            .into_iter()
            .map(|(role, place)| (of_role(role), place))
            .filter(|(agents, _)| !agents.is_empty())
            .collect();
        if parts.len() < 2 {
            return;
        }
        // The smallest groups come first; the largest one is described as the rest.
        parts.sort_by_key(|(agents, _)| agents.len());
        let last = parts.len() - 1;
        // The role of agents that were never run is unknown.
        let are_all_known = reading().all(|seen| known_role(seen.profile).is_some());
        let parts: Vec<String> = parts
            .into_iter()
            .enumerate()
            .map(|(index, (agents, place))| match index {
                0 => {
                    let put = verb(agents.len(), "puts", "put");
                    format!("{} {put} the files into {place}", list(&agents))
                }
                _ if index == last && are_all_known => format!("the others into {place}"),
                _ => format!("{} into {place}", list(&agents)),
            })
            .collect();
        sentences.push(parts.join(", "));
    }

    fn reading(&self, file: &Path, sentences: &mut Vec<String>) {
        let mut brought: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for seen in self.seen.iter().filter(|seen| seen.start.is_some()) {
            let later = |file: &&SeenFile| file.is_read() && file.when == ReadingTime::Reading;
            let files: Vec<String> =
                seen.files.iter().filter(later).map(|file| self.shown(&file.path)).collect();
            let title = seen.profile.agent.title.to_owned();
            match brought.iter_mut().find(|(known, _)| *known == files) {
                Some((_, agents)) => agents.push(title),
                None => brought.push((files, vec![title])),
            }
        }
        // Agents without any of the files come last.
        brought.sort_by_key(|(files, _)| files.is_empty());
        let read = self.shown(file);
        for (files, agents) in brought {
            let get = verb(agents.len(), "gets", "get");
            let what = if files.is_empty() { "nothing more".to_owned() } else { list(&files) };
            sentences.push(format!("when a tool reads {read}, {} {get} {what}", list(&agents)));
        }
    }
}

/// Reason why an agent does not read a file that others read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reason {
    OtherName,
    Shadowed(String),
    HiddenByBlank(String),
    Disabled,
}

/// Returns true if an agent follows imports only inside the directory in which it is started.
fn stays_where_it_is_started(profile: &Profile) -> bool {
    profile.imports.is_some_and(|imports| imports.bounds == ImportBounds::WorkingDirectory)
}

/// Returns diagnostics about unsupported settings.
pub(crate) fn not_followed(resolution: &Resolution) -> impl Iterator<Item = &Diagnostic> {
    let is_meant = |diagnostic: &&Diagnostic| diagnostic.code == DiagnosticCode::SettingNotFollowed;
    resolution.diagnostics.iter().filter(is_meant)
}

/// Returns the project files whose text an agent has at startup.
fn at_start(seen: &Seen) -> impl Iterator<Item = &SeenFile> {
    let is_meant = |file: &&SeenFile| file.is_read() && file.when == ReadingTime::Start && !file.is_own;
    seen.files.iter().filter(is_meant)
}

fn titles<'a>(seen: impl Iterator<Item = &'a Seen>) -> Vec<String> {
    seen.map(|seen| seen.profile.agent.title.to_owned()).collect()
}
