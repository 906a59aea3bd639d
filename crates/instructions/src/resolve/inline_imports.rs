//! A file's text as an agent passes it on: parts are removed, and imports are expanded in place.

mod replaced;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::assemble::instruction_file;
use super::chain::{Candidate, Chain, Origin};
use super::imports::MAX_BYTES_IN_PLACE;
use crate::cache::Marker;
use crate::fs::file::{Bounds, Content, Found};
use crate::fs::git;
use crate::fs::path;
use crate::fs::source::FileSource;
use crate::profile::{
    Blank, Encoding, FrontMatterRule, ImportBounds, ImportPlace, ImportRepeats, ImportRules, InPlace,
    MarkerCheck, NormalForm, Piece, RemovedPart, RuleBody, RuleConditions, RuleFolder, SameFile, WhiteSpace,
};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;
use crate::resolve::render::{PieceValues, write_pieces};
use crate::resolve::resolution::{FileScope, InstructionFile};
use crate::text::decode::plain_line_ends;
use crate::text::header::{self, Fence};
use crate::text::mentions::{self, Mention};
use crate::text::rule_header::{RuleHeader, rule_header};
use crate::text::transform::{composed, without_comment_blocks, without_comments, without_invisible};
use crate::text::{self, decode};

/// The text whose imports are expanded.
struct ExpandedText<'h> {
    path: &'h Path,
    origin: Origin,
    /// The file of the chain that it belongs to.
    owner: &'h Path,
    /// Paths of the imports that led here, that file first.
    way: Vec<PathBuf>,
    /// Directory that imports must not leave.
    inside: PathBuf,
}

impl Chain<'_> {
    /// Returns the text of a file as the agent passes it on, and collects the files imported into it. `None` if
    /// nothing is left.
    pub(super) fn rewrite(
        &mut self,
        chosen: &Candidate,
        text: String,
        imported: &mut Vec<InstructionFile>,
    ) -> Option<String> {
        let profile = self.request.settings.profile;
        let text = match profile.text.encoding {
            Encoding::Dropped => text.replace(char::REPLACEMENT_CHARACTER, ""),
            Encoding::Replaced | Encoding::Required => text,
        };
        let body = chosen.folder.map_or(RuleBody::AsOthers, |folder| folder.body);
        let text = match body {
            RuleBody::Raw if profile.text.removes(RemovedPart::HiddenCharacters) => {
                without_invisible(&text).into_owned()
            }
            RuleBody::Raw => text,
            RuleBody::Bare => bare(&text),
            RuleBody::BelowHeader => {
                let text = below_header(&text, chosen.folder);
                if profile.text.white_space == WhiteSpace::Kept { text } else { text.trim().to_owned() }
            }
            RuleBody::AsOthers => {
                let text = self.strip_for_agent(text);
                let text = match profile.imports {
                    Some(imports)
                        if chosen.folder.is_none() && profile.choose.follows_imports_of(&chosen.path) =>
                    {
                        self.expand_imports(chosen, text, &imports, imported)
                    }
                    _ => text,
                };
                match profile.text.white_space {
                    WhiteSpace::Kept => text,
                    WhiteSpace::Trimmed => trim(&text).to_owned(),
                    WhiteSpace::TrimmedAsUnicode => text.trim().to_owned(),
                    WhiteSpace::TrimmedAtEnd => text.trim_end().to_owned(),
                }
            }
        };
        // The transformations can remove the whole text, for example if it consists of comments. Agents test for blank
        // files before or after them.
        let is_lost = match profile.choose.blank {
            Blank::FallsThrough if profile.text.white_space == WhiteSpace::Trimmed => trim(&text).is_empty(),
            Blank::FallsThrough => text.chars().all(char::is_whitespace),
            Blank::IncludedUnlessEmpty => text.is_empty(),
            Blank::HidesOthers | Blank::Included => false,
        };
        if !is_lost {
            return Some(match profile.text.normal_form {
                NormalForm::AsWritten => text,
                NormalForm::Composed => composed(text),
            });
        }
        let decision = &mut self.decisions[chosen.decision];
        decision.outcome = Outcome::Blank;
        decision.reasons = vec![DecisionReason::BlankAfterTransform];
        None
    }

    /// Returns true if the agent treats the file as blank.
    pub(super) fn is_blank(&self, content: &Content) -> bool {
        let profile = self.request.settings.profile;
        if profile.text.white_space == WhiteSpace::Trimmed {
            // These agents trim with their runtime's definition of white space, which differs from Rust's.
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
        trim(&self.strip_for_agent(text)).is_empty()
    }

    /// Returns a text without its front matter, if the agent removes it.
    pub(super) fn without_header<'t>(&self, text: &'t str) -> &'t str {
        match self.request.settings.profile.text.front_matter {
            FrontMatterRule::Stripped => header::find(text, Fence::Loose).map_or(text, |header| header.body),
            FrontMatterRule::StrippedLines => {
                header::find(text, Fence::Exact).map_or(text, |header| header.body)
            }
            FrontMatterRule::Text | FrontMatterRule::Conditions => text,
        }
    }

    /// Removes the parts of a text that the agent does not pass on.
    pub(super) fn strip_for_agent(&self, text: String) -> String {
        let profile = self.request.settings.profile;
        // The order is that of the agents: a comment before the front matter makes it text, so front matter is removed
        // first.
        let mut text = Cow::Borrowed(self.without_header(&text));
        if profile.text.removes(RemovedPart::CommentBlocks) {
            text = Cow::Owned(without_comment_blocks(&text).into_owned());
        }
        if profile.text.removes(RemovedPart::HiddenCharacters) {
            text = Cow::Owned(without_invisible(&text).into_owned());
        }
        text.into_owned()
    }

    /// Returns true if an earlier file has the same text and the agent passes equal texts on once.
    pub(super) fn is_repeated(&mut self, chosen: &Candidate, text: &str, files: &[InstructionFile]) -> bool {
        if self.request.settings.profile.choose.same_file != SameFile::OncePerPathAndText
            || chosen.folder.is_some()
            || self.is_reading
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
        decision.reasons = vec![DecisionReason::SameText];
        true
    }

    /// Expands the imports of a text in place.
    fn expand_imports(
        &mut self,
        chosen: &Candidate,
        text: String,
        imports: &ImportRules,
        imported: &mut Vec<InstructionFile>,
    ) -> String {
        let (ImportPlace::InPlace(form) | ImportPlace::Replaced(form)) = imports.place else { return text };
        let settings = self.request.settings;
        let profile = settings.profile;
        if !text.contains('@') || !settings.imports() {
            return text;
        }
        let directory = chosen.path.parent().unwrap_or(&chosen.path);
        // Agents differ in what counts as a repetition: a file on the path of imports to this place, the first file as
        // well, or any file imported before.
        let way = match form.repeats {
            ImportRepeats::OnTheWay => Vec::new(),
            ImportRepeats::OnTheWayWithFirst | ImportRepeats::Anywhere if form.resolves_links => {
                vec![self.source().canonicalize(&chosen.path).unwrap_or_else(|_| chosen.path.clone())]
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
                repository(directory, profile.search.marker_check, self.source())
            }
        };
        let (path, origin) = (chosen.path.as_path(), chosen.origin);
        let mut host = ExpandedText { path, origin, owner: path, way, inside };
        if let ImportPlace::Replaced(_) = imports.place {
            return self.replace_mentions(&text, &host, (imports, form), &mut Vec::new(), imported);
        }
        self.expand(&text, &mut host, imports, form, 0, imported)
    }

    fn expand(
        &mut self,
        text: &str,
        host: &mut ExpandedText<'_>,
        imports: &ImportRules,
        form: &InPlace,
        depth: usize,
        imported: &mut Vec<InstructionFile>,
    ) -> String {
        // Beyond the limit the agent leaves the mention as it is written, without any message.
        if depth >= imports.max_depth {
            return text.to_owned();
        }
        let mut expanded = String::with_capacity(text.len());
        let (mut at, mut line) = (0, 1);
        for mention in mentions::find(text, imports.syntax) {
            line += text[at..mention.range.start].matches('\n').count();
            if self.limit_reached(host.path, line) {
                break;
            }
            expanded.push_str(&text[at..mention.range.start]);
            at = mention.range.end;
            match self.expand_mention(&mention, host, imports, form, depth, imported, line) {
                Some(replacement) => expanded.push_str(&replacement),
                None => expanded.push_str(&text[mention.range.clone()]),
            }
            line += text[mention.range].matches('\n').count();
        }
        expanded.push_str(&text[at..]);
        expanded
    }

    /// Returns the replacement of an import. `None` if it stays as it is written.
    #[expect(clippy::too_many_arguments, reason = "a recursion that carries what it has collected")]
    fn expand_mention(
        &mut self,
        mention: &Mention,
        host: &mut ExpandedText<'_>,
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
            && let (Ok(real), Ok(inside)) =
                (self.source().canonicalize(&path), self.source().canonicalize(&host.inside))
            && let Ok(below) = real.strip_prefix(inside)
        {
            path = host.inside.join(below);
        }
        let via = DecisionReason::Imported { by: host.path.to_owned(), line };
        let because = |outcome, path: PathBuf, reason| {
            let mut decision = Decision::new(path, outcome).because(via.clone());
            decision.add(reason);
            decision
        };
        let shown = path.to_string_lossy().into_owned();
        let words = |reason: &str, pieces: &[Piece]| {
            let mut text = String::new();
            let words =
                PieceValues { path: &shown, reference: &mention.path, reason, ..PieceValues::default() };
            write_pieces(&mut text, pieces, &words);
            text
        };
        let is_address =
            ["http://", "https://", "file://"].iter().any(|scheme| mention.path.starts_with(scheme));
        if is_address || !path.starts_with(&host.inside) {
            let reason = DecisionReason::ImportOutside { directory: host.inside.clone() };
            self.decisions.push(because(Outcome::OutsideRoot, path, reason));
            return form.outside.map(|pieces| words("", pieces));
        }
        // Checked before reading, so that a cycle costs no more than one visit of each file.
        if host.way.contains(&path) {
            return Some(words("", form.repeated));
        }
        self.imports.looks += 1;
        let (stamp, content) = match self.read_inline_import(&path, host, imports.bounds) {
            Found::File { stamp, content } => (stamp, content),
            Found::Absent => {
                let reason = format!("ENOENT: no such file or directory, access '{shown}'");
                return form.missing.map(|pieces| words(&reason, pieces));
            }
            Found::Outside => {
                let reason = DecisionReason::ImportLinkedOutside { directory: host.inside.clone() };
                self.decisions.push(because(Outcome::OutsideRoot, path, reason));
                return form.outside.map(|pieces| words("", pieces));
            }
            Found::Private => {
                let reason = DecisionReason::HoldsPrivateData;
                self.decisions.push(because(Outcome::OutsideRoot, path, reason));
                return form.outside.map(|pieces| words("", pieces));
            }
            Found::NotAFile { kind, .. } => {
                let reason = DecisionReason::NotRegular { kind };
                self.decisions.push(because(Outcome::NotAFile, path, reason));
                // Reading a pipe or device would block the agent, so there is no recorded text for it.
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
            let reason = DecisionReason::ImportNotUtf8;
            self.decisions.push(because(Outcome::Unreadable, path, reason));
            return None;
        }
        self.imports.files += 1;
        self.imports.bytes_in_place += content.bytes.len() as u64;
        let decision = self.decisions.len();
        self.decisions.push(Decision::new(path.clone(), Outcome::Used).because(via.clone()));
        let own = decode(&content.bytes, form.byte_order_mark).text.into_owned();
        let file = Candidate {
            path: path.clone(),
            scope: FileScope::Import,
            stamp,
            content,
            origin: host.origin,
            depth: depth + 1,
            imported_by: Some(host.owner.to_owned()),
            decision,
            place: super::chain::ChainPosition::default(),
            folder: None,
            imported_by_rule: None,
            waits: false,
            title: None,
            is_private: false,
        };
        imported.push(instruction_file(&file, own.clone(), file.content.bytes.len(), 0));
        host.way.push(path.clone());
        // The list of visited files moves into the recursion and back, which is cheaper than a clone per import.
        let mut below = ExpandedText {
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

    /// Reads an imported file inside its bounds. A workspace's directory is an additional bound.
    fn read_inline_import(&mut self, path: &Path, host: &ExpandedText<'_>, bounds: ImportBounds) -> Found {
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
        // An import can be named many times, so the total is limited, not only each file.
        let left = MAX_BYTES_IN_PLACE.saturating_sub(self.imports.bytes_in_place);
        self.reader.read_path(path, &bounds, self.max_file_bytes.min(left))
    }
}

/// Returns the text before and after an imported text.
fn words_around(form: &InPlace, reference: &str) -> (String, String) {
    let values = PieceValues { reference, ..PieceValues::default() };
    let (mut before, mut after) = (String::new(), String::new());
    write_pieces(&mut before, form.before, &values);
    write_pieces(&mut after, form.after, &values);
    (before, after)
}

/// Returns the nearest directory with a `.git`, or the directory itself.
fn repository(directory: &Path, check: MarkerCheck, source: &FileSource) -> PathBuf {
    let is_repository = |directory: &&Path| {
        let dot_git = directory.join(".git");
        match check {
            MarkerCheck::Present => source.exists(&dot_git),
            check => git::marker(&dot_git, check, source) == Marker::Present,
        }
    };
    directory.ancestors().find(is_repository).unwrap_or(directory).to_owned()
}

/// Returns the text of a rule without front matter and comments.
fn bare(text: &str) -> String {
    let text = plain_line_ends(text);
    let body = header::find(&text, Fence::Bare).map_or(&*text, |header| header.body);
    trim(&without_comments(body)).to_owned()
}

/// Returns the trimmed text of a rule without front matter, or the whole text if it has none that can be read.
fn below_header(text: &str, folder: Option<&RuleFolder>) -> String {
    let header = header::find(text, Fence::Exact);
    let is_readable = folder.is_none_or(|folder| {
        rule_header(header, &RuleConditions { invalid_is_lost: true, ..folder.conditions })
            != RuleHeader::Invalid
    });
    match header.filter(|_| is_readable) {
        Some(header) => trim(header.body).to_owned(),
        None => text.to_owned(),
    }
}

/// Trims like JavaScript, where a byte order mark is white space and U+0085 is not.
fn trim(text: &str) -> &str {
    text.trim_matches(|letter: char| letter == '\u{feff}' || letter.is_whitespace() && letter != '\u{85}')
}
