//! Follows the imports of the selected files.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chain::{Candidate, Chain, MAX_HOME_BYTES, Origin, Survey};
use super::eligibility::Eligibility;
use super::rules::describe_globs;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::{Bounds, Found};
use crate::fs::path;
use crate::profile::{
    ChainFiles, ImportBounds, ImportPlace, ImportRules, ImportSyntax, OwnBlock, RuleFolder, ZeroByte,
};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::{FileScope, InstructionFile};
use crate::text::decode;
use crate::text::mentions;
use crate::text::references::Reference;
use crate::text::rule_header::RuleHeader;

/// Maximum number of paths that are tried, and of files that are imported, for one answer. Both are far above real
/// use, and low enough that a hostile project costs little time and memory.
const MAX_LOOKS: usize = 4_096;
const MAX_FILES: usize = 256;
/// Maximum number of bytes that are inserted into the texts of one answer.
pub(super) const MAX_BYTES_IN_PLACE: u64 = 16 * 1024 * 1024;

/// Progress of following the imports of one answer.
#[derive(Default)]
pub(super) struct ImportProgress<'a> {
    pub(super) looks: usize,
    pub(super) files: usize,
    pub(super) bytes_in_place: u64,
    /// Bytes read from the user's own directory.
    home_bytes: u64,
    has_ended: bool,
    /// Selected files that are not visited yet, the next one last.
    waiting: Vec<Candidate>,
    /// File that imports a path with a zero byte, which discards all files.
    zero_byte_in: Option<PathBuf>,
    /// Bounds of the imports of the user's own files.
    home_bounds: Option<Bounds<'static>>,
    /// Bounds of the imports of the project's files if they differ from the root.
    bounds: Option<Bounds<'a>>,
}

/// The importing file.
struct ImportingFile {
    path: PathBuf,
    origin: Origin,
    depth: usize,
    /// The file of the chain that led here.
    owner: PathBuf,
    /// Folder of the rule that led here.
    rules: Option<&'static RuleFolder>,
    is_private: bool,
}

impl Chain<'_> {
    /// Inserts the imports of each selected file after it, recursively. A file of the chain keeps its own position
    /// even if another imports it, unless the agent moves it to its first import.
    pub(super) fn follow_imports(&mut self) {
        self.insert_imports();
        self.dormant.extend(self.chosen.extract_if(.., |file| file.waits));
    }

    fn insert_imports(&mut self) {
        let settings = self.request.settings;
        let Some(imports) = settings.profile.imports else { return };
        // Imports in place are expanded when the text is made.
        let ImportPlace::OwnBlockAfter(_) = imports.place else { return };
        let has_references = |chosen: &Candidate| match imports.syntax {
            ImportSyntax::Words => !chosen.content.markup(settings.profile).references.found.is_empty(),
            _ => chosen.content.bytes.contains(&b'@'),
        };
        // Most chains import nothing. Returning early avoids moving every file through the stack.
        if !self.chosen.iter().any(has_references) {
            return;
        }
        if !settings.imports() {
            if self.survey == Survey::Everything {
                self.imports_switched_off();
            }
            return;
        }
        let chosen = std::mem::take(&mut self.chosen);
        let home = chosen.iter().filter(|chosen| chosen.origin == Origin::Home);
        self.imports.home_bytes = home.map(|chosen| chosen.content.bytes.len() as u64).sum();
        self.imports.waiting = chosen;
        // Reversed, because `pop` takes the last element and the root comes first.
        self.imports.waiting.reverse();
        while let Some(chosen) = self.imports.waiting.pop() {
            if has_references(&chosen) {
                self.bound_imports(chosen.origin);
            }
            self.take_with_imports(chosen, imports);
        }
        // Applied after all files were visited, because files found later are lost, too.
        if let Some(importer) = self.imports.zero_byte_in.take() {
            self.discard_all_files(&importer);
        }
    }

    /// Discards all files, as an agent does that fails on one of them.
    fn discard_all_files(&mut self, importer: &Path) {
        let reason = DecisionReason::ZeroByteImport { by: importer.to_owned() };
        for chosen in std::mem::take(&mut self.chosen) {
            let decision = &mut self.decisions[chosen.decision];
            // The files themselves are readable, but none of them reaches the model, which is what a survey has to
            // show.
            decision.outcome = Outcome::Unreadable;
            decision.add(reason.clone());
        }
    }

    /// Returns the unvisited file of the chain that an import names, if the agent moves such files to the import.
    fn take_waiting_file(
        &mut self,
        identity: (u64, u64),
        via: &DecisionReason,
        importer: &ImportingFile,
        imports: ImportRules,
    ) -> Option<Candidate> {
        if own_block(imports).chain_files == ChainFiles::Stay || importer.depth >= imports.max_depth {
            return None;
        }
        // The profile decides what makes two paths one file, the inode or the path itself.
        let is_meant = |file: &Candidate| self.identity(&file.path, file.stamp) == identity;
        let place = self.imports.waiting.iter().position(is_meant)?;
        let mut file = self.imports.waiting.remove(place);
        self.decisions[file.decision].add(via.clone());
        // From here on it is treated like any other import: it takes over origin, depth and privacy of its importer.
        file.scope = FileScope::Import;
        file.origin = importer.origin;
        file.depth = importer.depth + 1;
        file.imported_by = Some(importer.owner.clone());
        file.folder = None;
        file.is_private = importer.is_private;
        Some(file)
    }

    /// Sets the bounds of imports for files of this origin.
    fn bound_imports(&mut self, origin: Origin) {
        let settings = self.request.settings;
        if settings.profile.imports.is_some_and(|imports| imports.bounds == ImportBounds::WorkingDirectory) {
            self.imports.home_bounds = Some(Bounds::default());
            self.imports.bounds =
                Some(Bounds::inside(self.request.cwd).without(&self.request.settings.private_paths));
            match origin {
                // The user's own imports may lead anywhere, because only the user can write them.
                Origin::Home => self.reader.bound_by(None, &[]),
                Origin::Project => self.reader.bound_by(Some(self.request.cwd), &settings.private_paths),
            }
            return;
        }
        match origin {
            Origin::Home => {
                let home = settings.homes.of(settings.profile);
                self.reader.bound_by(home, &[]);
                self.imports.home_bounds = home.map(Bounds::inside);
            }
            Origin::Project => self.bound_project(),
        }
    }

    fn take_with_imports(&mut self, chosen: Candidate, imports: ImportRules) {
        let content = Arc::clone(&chosen.content);
        let markup = content.markup(self.request.settings.profile);
        let references: Cow<'_, [Reference]> = match imports.syntax {
            ImportSyntax::Words => Cow::Borrowed(&markup.references.found),
            _ => Cow::Owned(self.mentions_in(&chosen, imports)),
        };
        let importer = ImportingFile {
            path: chosen.path.clone(),
            origin: chosen.origin,
            depth: chosen.depth,
            // Of a chain of imports, only the first file belongs to a directory. Sessions need it to know where the
            // import applies.
            owner: chosen.imported_by.clone().unwrap_or_else(|| chosen.path.clone()),
            rules: chosen.folder.or(chosen.imported_by_rule),
            is_private: chosen.is_private,
        };
        let decision = chosen.decision;
        self.chosen.push(chosen);
        let mut imported = Vec::new();
        for reference in references.iter() {
            if self.limit_reached(&importer.path, reference.line) {
                break;
            }
            // The recursion appends the import and its own imports, so the first new entry is the file that this
            // reference names.
            let first = self.chosen.len();
            if let Some(import) = self.import(reference, &importer, imports) {
                self.take_with_imports(import, imports);
            }
            imported.extend(self.chosen.get(first).map(|import| import.path.clone()));
        }
        if markup.references.are_all && self.survey == Survey::Everything && !imported.is_empty() {
            self.decisions[decision].add(DecisionReason::OnlyImports(imported));
        }
    }

    /// Returns true once the limits are reached, and reports that once.
    pub(super) fn limit_reached(&mut self, importer: &Path, line: usize) -> bool {
        let ImportProgress { looks, files, bytes_in_place, has_ended, .. } = &mut self.imports;
        if *looks < MAX_LOOKS && *files < MAX_FILES && *bytes_in_place < MAX_BYTES_IN_PLACE {
            return false;
        }
        if !std::mem::replace(has_ended, true) {
            let message = format!(
                "imports are not followed from here on: {MAX_FILES} files, or {MAX_LOOKS} paths that could be one, \
                 are enough"
            );
            let code = DiagnosticCode::TooManyImports;
            let diagnostic = Diagnostic::new(code, Severity::Warning, importer, message);
            self.diagnostics.push(diagnostic.at_line(line));
        }
        true
    }

    /// Returns the file that a reference names. `None` if there is no such file, or it does not apply.
    fn import(
        &mut self,
        reference: &Reference,
        importer: &ImportingFile,
        imports: ImportRules,
    ) -> Option<Candidate> {
        for candidate in reference.candidates() {
            let path = match (candidate.strip_prefix("~/"), imports.syntax) {
                (Some(below), ImportSyntax::MarkdownText) => {
                    self.request.settings.homes.user.as_ref()?.join(below)
                }
                _ => path::normalise(Path::new(candidate), importer.path.parent()?),
            };
            // Attempts are counted, not only files: words with `@` in a long text may name thousands of files that do
            // not exist.
            self.imports.looks += 1;
            match self.read_import(&path, importer.origin) {
                Found::Absent => {}
                found => return self.consider_import(path, found, reference, importer, imports),
            }
        }
        None
    }

    fn read_import(&mut self, path: &Path, origin: Origin) -> Found {
        let settings = self.request.settings;
        if let (Some(home_bounds), Some(bounds)) = (&self.imports.home_bounds, &self.imports.bounds) {
            let bounds = match origin {
                Origin::Home => home_bounds,
                Origin::Project => bounds,
            };
            return self.reader.read_path(path, bounds, self.max_file_bytes);
        }
        let (inside, bounds, max_bytes) = match origin {
            Origin::Home => {
                // All imports of the user's own files share one cap with these files.
                let max_bytes = MAX_HOME_BYTES.saturating_sub(self.imports.home_bytes);
                (settings.homes.of(settings.profile), self.imports.home_bounds.as_ref(), max_bytes)
            }
            Origin::Project => (Some(self.top.as_path()), Some(&self.bounds), self.max_file_bytes),
        };
        match (inside, bounds) {
            // A path outside the bounds is not even tested, so that a hostile project cannot probe which files
            // exist.
            (Some(inside), Some(bounds)) if path.starts_with(inside) => {
                self.reader.read_path(path, bounds, max_bytes)
            }
            _ => Found::Outside,
        }
    }

    fn consider_import(
        &mut self,
        path: PathBuf,
        found: Found,
        reference: &Reference,
        importer: &ImportingFile,
        imports: ImportRules,
    ) -> Option<Candidate> {
        let via = DecisionReason::Imported { by: importer.path.clone(), line: reference.line };
        let because = |outcome, path: PathBuf, reason| {
            let mut decision = Decision::new(path, outcome).because(via.clone());
            decision.add(reason);
            decision
        };
        let decision = match found {
            Found::File { stamp, content } => {
                let depth = importer.depth + 1;
                let identity = self.identity(&path, stamp);
                let is_known = self.seen.contains_key(&identity);
                // A file of the chain that was not visited yet moves here for some agents. Otherwise it is a
                // duplicate, decided below.
                if is_known && let Some(file) = self.take_waiting_file(identity, &via, importer, imports) {
                    return Some(file);
                }
                // A known file is a duplicate at any depth, which is the more useful explanation.
                if !is_known && depth > imports.max_depth {
                    because(Outcome::TooDeep, path, DecisionReason::TooDeep { max_depth: imports.max_depth })
                } else if !is_known && self.is_blank(&content) {
                    because(Outcome::Blank, path, DecisionReason::BlankImport)
                } else {
                    let file = Candidate {
                        path,
                        scope: FileScope::Import,
                        stamp,
                        content,
                        origin: importer.origin,
                        depth,
                        imported_by: Some(importer.owner.clone()),
                        decision: 0,
                        place: super::chain::ChainPosition::default(),
                        folder: None,
                        imported_by_rule: importer.rules,
                        waits: false,
                        title: None,
                        is_private: importer.is_private,
                    };
                    if let Some(globs) = self.globs_of_import(&file, imports) {
                        return Some(self.wait_with_import(file, via, globs));
                    }
                    let Eligibility::Taken(taken) = self.check_eligibility(file, Some(&via)) else {
                        return None;
                    };
                    self.imports.files += 1;
                    if taken.origin == Origin::Home {
                        self.imports.home_bytes += taken.content.bytes.len() as u64;
                    }
                    return Some(*taken);
                }
            }
            Found::Absent => return None,
            Found::NotAFile { kind, .. } => {
                because(Outcome::NotAFile, path, DecisionReason::NotRegular { kind })
            }
            Found::Outside => {
                let home = importer.origin == Origin::Home;
                because(Outcome::OutsideRoot, path, DecisionReason::ImportLeadsOut { home })
            }
            Found::Private => because(Outcome::OutsideRoot, path, DecisionReason::HoldsPrivateData),
            Found::Unreadable { reason } => self.unreadable(path, &reason),
        };
        self.decisions.push(decision);
        None
    }

    /// Returns the globs of a file that a rule imports, if the agent judges such files by their own front matter.
    fn globs_of_import(&self, file: &Candidate, imports: ImportRules) -> Option<String> {
        let folder = file.imported_by_rule.filter(|_| imports.judges_imports_of_rules())?;
        match self.condition(file, folder) {
            RuleHeader::Globs { globs, .. } => Some(describe_globs(&globs)),
            RuleHeader::Always | RuleHeader::NotAlways | RuleHeader::Invalid => None,
        }
    }

    /// Keeps an imported file that no path matches yet, so that its own imports are followed.
    fn wait_with_import(&mut self, mut file: Candidate, via: DecisionReason, globs: String) -> Candidate {
        file.decision = self.decisions.len();
        let mut decision = Decision::new(file.path.clone(), Outcome::NotApplicable).because(via);
        decision.add(DecisionReason::WaitsForPath { globs });
        self.decisions.push(decision.waiting());
        self.seen.insert(self.identity(&file.path, file.stamp), file.decision);
        self.imports.files += 1;
        file.waits = true;
        file
    }

    /// Returns the files that a text imports by another agent's syntax.
    fn mentions_in(&mut self, chosen: &Candidate, imports: ImportRules) -> Vec<Reference> {
        let profile = self.request.settings.profile;
        let whole = decode(&chosen.content.bytes, profile.text.byte_order_mark).text.into_owned();
        // Comments are still in the text here: the agent searches it before it removes them.
        let text = self.without_header(&whole).to_owned();
        let may_be_read = |path: &str| {
            let extension =
                Path::new(path).extension().map(|extension| extension.to_string_lossy().to_lowercase());
            own_block(imports).extensions.is_empty()
                || extension
                    .is_none_or(|extension| own_block(imports).extensions.contains(&extension.as_str()))
        };
        let mut known = HashSet::new();
        let mut references = Vec::new();
        let (mut at, mut line) = (0, 1);
        for mention in mentions::find(&text, imports.syntax) {
            // One reference above the limit is kept, so that reaching the limit is reported.
            if references.len() > MAX_LOOKS {
                break;
            }
            if own_block(imports).zero_byte == ZeroByte::LosesAll
                && text[mention.range.clone()].contains('\0')
            {
                self.imports.zero_byte_in = Some(chosen.path.clone());
            }
            if !may_be_read(&mention.path) || !known.insert(mention.path.clone()) {
                continue;
            }
            // Comments and front matter may have been removed from `text`, so the line is counted in the whole
            // file.
            if let Some(further) = whole[at..].find(&text[mention.range]) {
                line += whole[at..at + further].matches('\n').count();
                at += further;
            }
            references.push(Reference::exact(mention.path, line));
        }
        references
    }

    /// Records the files that would be imported.
    fn imports_switched_off(&mut self) {
        let profile = self.request.settings.profile;
        for chosen in &self.chosen {
            let directory = chosen.path.parent().unwrap_or(&chosen.path);
            for reference in &chosen.content.markup(profile).references.found {
                let mut paths =
                    reference.candidates().map(|candidate| path::normalise(Path::new(candidate), directory));
                let inside = |path: &PathBuf| path.starts_with(&self.top) && self.source().is_file(path);
                if let Some(path) = paths.find(inside) {
                    let reason = DecisionReason::ImportsSwitchedOff;
                    self.decisions.push(Decision::new(path, Outcome::Disabled).because(reason));
                }
            }
        }
    }

    /// Returns the paths that dormant rules may import, without reading them.
    pub(super) fn dormant_imports(&self) -> Vec<PathBuf> {
        let profile = self.request.settings.profile;
        let paths = self.dormant.iter().flat_map(|rule| {
            let directory = rule.path.parent().unwrap_or(&rule.path);
            let references = rule.content.markup(profile).references.found.iter();
            references
                .flat_map(Reference::candidates)
                .map(|candidate| path::normalise(Path::new(candidate), directory))
        });
        paths.collect()
    }

    /// Drops "too deep" decisions for files that a shorter path of imports included.
    pub(super) fn drop_too_deep_if_used(&mut self, files: &[InstructionFile]) {
        if self.decisions.iter().any(|decision| decision.outcome == Outcome::TooDeep) {
            let used: HashSet<&PathBuf> = files.iter().map(|file| &file.path).collect();
            self.decisions
                .retain(|decision| decision.outcome != Outcome::TooDeep || !used.contains(&decision.path));
        }
    }
}

fn own_block(imports: ImportRules) -> &'static OwnBlock {
    match imports.place {
        ImportPlace::OwnBlockAfter(details) => details,
        ImportPlace::InPlace(_) | ImportPlace::Replaced(_) => &OwnBlock::PLAIN,
    }
}
