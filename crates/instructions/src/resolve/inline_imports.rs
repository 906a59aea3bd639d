//! A file's text as an agent passes it on: without what the agent takes out, with what it puts in.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::assemble::instruction_file;
use super::chain::{Chain, Chosen, KEPT_PRIVATE, Origin};
use super::imports::MAX_BYTES_IN_PLACE;
use crate::cache::Marker;
use crate::fs::file::{Bounds, Content, Found};
use crate::fs::git;
use crate::fs::path;
use crate::profile::{
    Blank, FrontMatterRule, ImportBounds, ImportPlace, ImportRepeats, ImportRules, InPlace, MarkerCheck,
    Piece, RemovedPart, RuleBody, SameFile, WhiteSpace,
};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::render::{Words, write_pieces};
use crate::resolve::resolution::{FileScope, InstructionFile};
use crate::text::header::{self, Fence};
use crate::text::mentions::{self, Mention};
use crate::text::transform::{without_comment_blocks, without_comments, without_invisible};
use crate::text::{self, decode};

/// A text into which others are put.
struct Host<'h> {
    path: &'h Path,
    origin: Origin,
    /// The file of the chain that it belongs to.
    owner: &'h Path,
    /// What led here, that file first.
    way: Vec<PathBuf>,
    /// Where imports may be.
    inside: PathBuf,
}

impl Chain<'_> {
    /// The text that a file has for the agent, and the files whose text is put into it; none where nothing is left.
    pub(super) fn rewrite(
        &mut self,
        chosen: &Chosen,
        text: String,
        imported: &mut Vec<InstructionFile>,
    ) -> Option<String> {
        let profile = self.request.settings.profile;
        let body = chosen.folder.map_or(RuleBody::AsOthers, |folder| folder.body);
        let text = match body {
            RuleBody::Raw if profile.text.removes(RemovedPart::HiddenCharacters) => {
                without_invisible(&text).into_owned()
            }
            RuleBody::Raw => text,
            RuleBody::Bare => bare(&text),
            RuleBody::AsOthers => {
                let text = self.passed_on(text);
                let text = match profile.imports {
                    Some(imports) if chosen.folder.is_none() => self.put_in(chosen, text, &imports, imported),
                    _ => text,
                };
                let is_trimmed = profile.text.white_space == WhiteSpace::Trimmed;
                if is_trimmed { trim(&text).to_owned() } else { text }
            }
        };
        let is_lost = match profile.choose.blank {
            Blank::FallsThrough if profile.text.white_space == WhiteSpace::Trimmed => trim(&text).is_empty(),
            Blank::FallsThrough => text.chars().all(char::is_whitespace),
            Blank::IncludedUnlessEmpty => text.is_empty(),
            Blank::HidesOthers | Blank::Included => false,
        };
        if !is_lost {
            return Some(text);
        }
        let decision = &mut self.decisions[chosen.decision];
        decision.outcome = Outcome::Blank;
        decision.detail = Some("nothing of it is left that the agent would pass on".to_owned());
        None
    }

    /// Whether an agent takes a file for one of only white space.
    pub(super) fn is_blank(&self, content: &Content) -> bool {
        let profile = self.request.settings.profile;
        if profile.text.white_space == WhiteSpace::Trimmed {
            // What is left to trim is what that runtime takes for white space.
            let text = decode(&content.bytes, profile.text.byte_order_mark).text;
            if trim(&text).is_empty() {
                return true;
            }
        } else if text::is_blank(content.text(profile), profile.text.byte_order_mark) {
            return true;
        }
        if profile.text.front_matter != FrontMatterRule::Stripped {
            return false;
        }
        let text = decode(&content.bytes, profile.text.byte_order_mark).text.into_owned();
        trim(&self.passed_on(text)).is_empty()
    }

    /// A text without what the agent takes out of every file.
    pub(super) fn passed_on(&self, text: String) -> String {
        let profile = self.request.settings.profile;
        let mut text = Cow::Owned(text);
        if profile.text.front_matter == FrontMatterRule::Stripped
            && let Some(header) = header::find(&text, Fence::Loose)
        {
            text = Cow::Owned(header.body.to_owned());
        }
        if profile.text.removes(RemovedPart::CommentBlocks) {
            text = Cow::Owned(without_comment_blocks(&text).into_owned());
        }
        if profile.text.removes(RemovedPart::HiddenCharacters) {
            text = Cow::Owned(without_invisible(&text).into_owned());
        }
        text.into_owned()
    }

    /// Whether another file has had this text, by rules that count that.
    pub(super) fn is_repeated(&mut self, chosen: &Chosen, text: &str, files: &[InstructionFile]) -> bool {
        if self.request.settings.profile.choose.same_file != SameFile::OncePerPathAndText
            || chosen.folder.is_some()
        {
            return false;
        }
        let is_same = |file: &&InstructionFile| {
            !matches!(file.scope, FileScope::Import | FileScope::Rule) && file.text == text
        };
        let Some(first) = files.iter().find(is_same) else { return false };
        let decision = &mut self.decisions[chosen.decision];
        decision.outcome = Outcome::Duplicate;
        decision.by = Some(first.path.clone());
        decision.detail = Some("it has the same text, which is passed on once".to_owned());
        true
    }

    /// A text with what it imports where it names that.
    fn put_in(
        &mut self,
        chosen: &Chosen,
        text: String,
        imports: &ImportRules,
        imported: &mut Vec<InstructionFile>,
    ) -> String {
        let ImportPlace::InPlace(form) = imports.place else { return text };
        let settings = self.request.settings;
        let profile = settings.profile;
        if !text.contains('@') || !settings.imports() {
            return text;
        }
        let directory = chosen.path.parent().unwrap_or(&chosen.path);
        let way = match form.repeats {
            ImportRepeats::OnTheWay => Vec::new(),
            ImportRepeats::OnTheWayWithFirst | ImportRepeats::Anywhere if form.resolves_links => {
                vec![chosen.path.canonicalize().unwrap_or_else(|_| chosen.path.clone())]
            }
            ImportRepeats::OnTheWayWithFirst | ImportRepeats::Anywhere => vec![chosen.path.clone()],
        };
        let inside = match imports.bounds {
            ImportBounds::Root => {
                let home = settings.homes.of(profile).filter(|_| chosen.origin == Origin::Home);
                home.unwrap_or(&self.root).to_owned()
            }
            ImportBounds::WorkingDirectory => self.request.cwd.to_owned(),
            ImportBounds::Repository | ImportBounds::RepositoryByPath => {
                repository(directory, profile.search.marker_check)
            }
        };
        let (path, origin) = (chosen.path.as_path(), chosen.origin);
        let mut host = Host { path, origin, owner: path, way, inside };
        self.expand(&text, &mut host, imports, form, 0, imported)
    }

    fn expand(
        &mut self,
        text: &str,
        host: &mut Host<'_>,
        imports: &ImportRules,
        form: &InPlace,
        depth: usize,
        imported: &mut Vec<InstructionFile>,
    ) -> String {
        if depth >= imports.max_depth {
            return text.to_owned();
        }
        let mut expanded = String::with_capacity(text.len());
        let (mut at, mut line) = (0, 1);
        for mention in mentions::find(text, imports.syntax) {
            line += text[at..mention.range.start].matches('\n').count();
            if self.has_enough(host.path, line) {
                break;
            }
            expanded.push_str(&text[at..mention.range.start]);
            at = mention.range.end;
            match self.mentioned(&mention, host, imports, form, depth, imported, line) {
                Some(put_in) => expanded.push_str(&put_in),
                None => expanded.push_str(&text[mention.range.clone()]),
            }
            line += text[mention.range].matches('\n').count();
        }
        expanded.push_str(&text[at..]);
        expanded
    }

    /// What stands for a mention; none where it stays as it is.
    #[expect(clippy::too_many_arguments, reason = "a recursion that carries what it has collected")]
    fn mentioned(
        &mut self,
        mention: &Mention,
        host: &mut Host<'_>,
        imports: &ImportRules,
        form: &InPlace,
        depth: usize,
        imported: &mut Vec<InstructionFile>,
        line: usize,
    ) -> Option<String> {
        let directory = host.path.parent()?;
        let mut path = path::normalise(Path::new(&mention.path), directory);
        if form.resolves_links
            && path.starts_with(&host.inside)
            && let (Ok(real), Ok(inside)) = (path.canonicalize(), host.inside.canonicalize())
            && let Ok(below) = real.strip_prefix(inside)
        {
            path = host.inside.join(below);
        }
        let via = format!("imported by {}, line {line}", host.path.display());
        let shown = path.to_string_lossy().into_owned();
        let words = |reason: &str, pieces: &[Piece]| {
            let mut text = String::new();
            let words = Words { path: &shown, reference: &mention.path, reason, ..Words::default() };
            write_pieces(&mut text, pieces, &words);
            text
        };
        let is_address =
            ["http://", "https://", "file://"].iter().any(|scheme| mention.path.starts_with(scheme));
        if is_address || !path.starts_with(&host.inside) {
            let why = format!("{via}; it is outside of {}", host.inside.display());
            self.decisions.push(Decision::new(path, Outcome::OutsideRoot).because(why));
            return form.outside.map(|pieces| words("", pieces));
        }
        if host.way.contains(&path) {
            return Some(words("", form.repeated));
        }
        self.imports.looks += 1;
        let (stamp, content) = match self.read_beside(&path, host, imports.bounds) {
            Found::File { stamp, content } => (stamp, content),
            Found::Absent => {
                let reason = format!("ENOENT: no such file or directory, access '{shown}'");
                return form.missing.map(|pieces| words(&reason, pieces));
            }
            Found::Outside => {
                let why = format!("{via}; it leads out of {}", host.inside.display());
                self.decisions.push(Decision::new(path, Outcome::OutsideRoot).because(why));
                return form.outside.map(|pieces| words("", pieces));
            }
            Found::Private => {
                let why = format!("{via}; {KEPT_PRIVATE}");
                self.decisions.push(Decision::new(path, Outcome::OutsideRoot).because(why));
                return form.outside.map(|pieces| words("", pieces));
            }
            Found::NotAFile { kind, .. } => {
                let why = format!("{via}; it is a {kind}, and only regular files are read");
                self.decisions.push(Decision::new(path, Outcome::NotAFile).because(why));
                // Other things than directories would keep the agent waiting.
                let pieces = form.unreadable.filter(|_| kind == "directory");
                return pieces.map(|pieces| words("EISDIR: illegal operation on a directory, read", pieces));
            }
            Found::Unreadable { reason } => {
                let decision = self.unreadable(path, &reason);
                self.decisions.push(decision);
                let reason = format!("EACCES: permission denied, access '{shown}'");
                return form.unreadable.map(|pieces| words(&reason, pieces));
            }
        };
        if form.utf8_only && std::str::from_utf8(&content.bytes).is_err() {
            let why = format!("{via}; it is not UTF-8, so the agent leaves the import as it is written");
            self.decisions.push(Decision::new(path, Outcome::Unreadable).because(why));
            return None;
        }
        self.imports.files += 1;
        self.imports.bytes_in_place += content.bytes.len() as u64;
        let decision = self.decisions.len();
        self.decisions.push(Decision::new(path.clone(), Outcome::Used).because(via));
        let own = decode(&content.bytes, form.byte_order_mark).text.into_owned();
        let file = Chosen {
            path: path.clone(),
            scope: FileScope::Import,
            stamp,
            content,
            origin: host.origin,
            depth: depth + 1,
            imported_by: Some(host.owner.to_owned()),
            decision,
            place: super::chain::Place::default(),
            folder: None,
            is_private: false,
        };
        imported.push(instruction_file(&file, own.clone(), file.content.bytes.len(), 0));
        host.way.push(path.clone());
        let mut below = Host {
            path: &path,
            origin: host.origin,
            owner: host.owner,
            way: std::mem::take(&mut host.way),
            inside: host.inside.clone(),
        };
        let expanded = self.expand(&own, &mut below, imports, form, depth + 1, imported);
        host.way = below.way;
        if form.repeats != ImportRepeats::Anywhere {
            host.way.pop();
        }
        let body = if form.trimmed_end { expanded.trim_end() } else { &expanded };
        Some(format!("{}{body}{}", words("", form.before), words("", form.after)))
    }

    /// Reads an imported file where its bounds allow; a workspace's directory bounds it, too.
    fn read_beside(&mut self, path: &Path, host: &Host<'_>, bounds: ImportBounds) -> Found {
        let workspace = self.request.settings.bounds.workspace().filter(|_| host.origin == Origin::Project);
        let root = match bounds {
            ImportBounds::RepositoryByPath => workspace,
            _ => match workspace {
                Some(workspace) if !host.inside.starts_with(workspace) => Some(workspace),
                _ => Some(host.inside.as_path()),
            },
        };
        let private_paths: &[PathBuf] = match host.origin {
            Origin::Home => &[],
            Origin::Project => &self.request.settings.private_paths,
        };
        self.reader.bound_by(root, private_paths);
        let bounds = root.map_or_else(Bounds::default, Bounds::inside).without(private_paths);
        let left = MAX_BYTES_IN_PLACE.saturating_sub(self.imports.bytes_in_place);
        self.reader.read_path(path, &bounds, self.max_file_bytes.min(left))
    }
}

/// The nearest directory that a `.git` makes a repository's, or the directory itself.
fn repository(directory: &Path, check: MarkerCheck) -> PathBuf {
    let is_repository = |directory: &&Path| {
        let dot_git = directory.join(".git");
        match check {
            MarkerCheck::Present => dot_git.exists(),
            check => git::marker(&dot_git, check) == Marker::Present,
        }
    };
    directory.ancestors().find(is_repository).unwrap_or(directory).to_owned()
}

/// A rule's text without front matter and comments.
fn bare(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let body = header::find(&text, Fence::Exact).map_or(text.as_str(), |header| header.body);
    trim(&without_comments(body)).to_owned()
}

/// Trims what JavaScript does: a byte order mark is white space there.
fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter == '\u{feff}' || letter.is_whitespace() && letter != '\u{85}')
}
