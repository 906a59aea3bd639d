//! Follows what chosen files import.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chain::{Chain, Chosen, KEPT_PRIVATE, MAX_HOME_BYTES, Origin, Survey};
use super::eligibility::Judged;
use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::fs::file::{Bounds, Found};
use crate::fs::path;
use crate::profile::{ChainFiles, ImportBounds, ImportPlace, ImportRules, ImportSyntax, OwnBlock, ZeroByte};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::resolution::{FileScope, InstructionFile};
use crate::settings::IMPORTS;
use crate::text::decode;
use crate::text::mentions;
use crate::text::references::Reference;

/// Paths that are looked at for one answer, and files that are imported into it. Both are far more than people need, and
/// few enough that a hostile project costs no time and no room.
const MAX_LOOKS: usize = 4_096;
const MAX_FILES: usize = 256;
/// Bytes that are put into texts of one answer.
pub(super) const MAX_BYTES_IN_PLACE: u64 = 16 * 1024 * 1024;

/// How far the imports of one answer have been followed.
#[derive(Default)]
pub(super) struct Followed<'a> {
    pub(super) looks: usize,
    pub(super) files: usize,
    pub(super) bytes_in_place: u64,
    /// Bytes of the user's own directory.
    home_bytes: u64,
    has_ended: bool,
    /// Chosen files whose turn is still to come, the next one last.
    waiting: Vec<Chosen>,
    /// The file that names a path with a zero byte in it, which costs all of them.
    zero_byte_in: Option<PathBuf>,
    /// Where imports of the user's own files must stay.
    home_bounds: Option<Bounds<'static>>,
    /// Where imports of the project's files must stay, where that is not the root.
    bounds: Option<Bounds<'a>>,
}

/// A file with imports in it.
struct Importer {
    path: PathBuf,
    origin: Origin,
    depth: usize,
    /// The file of the chain that led here.
    owner: PathBuf,
    is_private: bool,
}

impl Chain<'_> {
    /// Puts after each chosen file what it imports, and after that what those import. The chain itself was chosen before:
    /// a file of it stays at its place, whoever else names it, unless the agent has it where it is named first.
    pub(super) fn follow_imports(&mut self) {
        let settings = self.request.settings;
        let Some(imports) = settings.profile.imports else { return };
        // Those are put into the texts when they are made.
        let ImportPlace::OwnBlockAfter(_) = imports.place else { return };
        let has_references = |chosen: &Chosen| match imports.syntax {
            ImportSyntax::Words => !chosen.content.markup(settings.profile).references.found.is_empty(),
            _ => chosen.content.bytes.contains(&b'@'),
        };
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
        self.imports.waiting.reverse();
        while let Some(chosen) = self.imports.waiting.pop() {
            if has_references(&chosen) {
                self.bound_imports(chosen.origin);
            }
            self.take_with_imports(chosen, imports);
        }
        if let Some(importer) = self.imports.zero_byte_in.take() {
            self.lose_everything(&importer);
        }
    }

    /// Drops all files, as an agent does that fails at one of them.
    fn lose_everything(&mut self, importer: &Path) {
        let why = format!("an import with a zero byte in {} costs all instructions", importer.display());
        for chosen in std::mem::take(&mut self.chosen) {
            let decision = &mut self.decisions[chosen.decision];
            decision.outcome = Outcome::Unreadable;
            decision.add(why.clone());
        }
    }

    /// A chosen file whose turn has not come, if it is the one that an import means and the agent reads it there.
    fn called_up(
        &mut self,
        identity: (u64, u64),
        via: &str,
        importer: &Importer,
        imports: ImportRules,
    ) -> Option<Chosen> {
        if own_block(imports).chain_files == ChainFiles::Stay || importer.depth >= imports.max_depth {
            return None;
        }
        let is_meant = |file: &Chosen| self.identity(&file.path, file.stamp) == identity;
        let place = self.imports.waiting.iter().position(is_meant)?;
        let mut file = self.imports.waiting.remove(place);
        self.decisions[file.decision].add(via);
        file.scope = FileScope::Import;
        file.origin = importer.origin;
        file.depth = importer.depth + 1;
        file.imported_by = Some(importer.owner.clone());
        file.folder = None;
        file.is_private = importer.is_private;
        Some(file)
    }

    /// Says where imports must stay from now on.
    fn bound_imports(&mut self, origin: Origin) {
        let settings = self.request.settings;
        if settings.profile.imports.is_some_and(|imports| imports.bounds == ImportBounds::WorkingDirectory) {
            self.imports.home_bounds = Some(Bounds::default());
            self.imports.bounds =
                Some(Bounds::inside(self.request.cwd).without(&self.request.settings.private_paths));
            match origin {
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

    fn take_with_imports(&mut self, chosen: Chosen, imports: ImportRules) {
        let content = Arc::clone(&chosen.content);
        let markup = content.markup(self.request.settings.profile);
        let references: Cow<'_, [Reference]> = match imports.syntax {
            ImportSyntax::Words => Cow::Borrowed(&markup.references.found),
            _ => Cow::Owned(self.mentioned_in(&chosen, imports)),
        };
        let importer = Importer {
            path: chosen.path.clone(),
            origin: chosen.origin,
            depth: chosen.depth,
            owner: chosen.imported_by.clone().unwrap_or_else(|| chosen.path.clone()),
            is_private: chosen.is_private,
        };
        let decision = chosen.decision;
        self.chosen.push(chosen);
        let mut imported = Vec::new();
        for reference in references.iter() {
            if self.has_enough(&importer.path, reference.line) {
                break;
            }
            let first = self.chosen.len();
            if let Some(import) = self.import(reference, &importer, imports) {
                self.take_with_imports(import, imports);
            }
            imported.extend(self.chosen.get(first).map(|import| import.path.clone()));
        }
        if markup.references.are_all && self.survey == Survey::Everything && !imported.is_empty() {
            let names = imported.iter().map(|path| path.display().to_string());
            let only = format!("it only imports {}", names.collect::<Vec<_>>().join(", "));
            self.decisions[decision].add(only);
        }
    }

    /// Whether no more is looked at; said once.
    pub(super) fn has_enough(&mut self, importer: &Path, line: usize) -> bool {
        let Followed { looks, files, bytes_in_place, has_ended, .. } = &mut self.imports;
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

    /// The file that a reference means; none where there is none, or it is not taken.
    fn import(&mut self, reference: &Reference, importer: &Importer, imports: ImportRules) -> Option<Chosen> {
        for candidate in reference.candidates() {
            let path = match (candidate.strip_prefix("~/"), imports.syntax) {
                (Some(below), ImportSyntax::MarkdownText) => {
                    self.request.settings.homes.user.as_ref()?.join(below)
                }
                _ => path::normalise(Path::new(candidate), importer.path.parent()?),
            };
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
                let max_bytes = MAX_HOME_BYTES.saturating_sub(self.imports.home_bytes);
                (settings.homes.of(settings.profile), self.imports.home_bounds.as_ref(), max_bytes)
            }
            Origin::Project => (Some(self.top.as_path()), Some(&self.bounds), self.max_file_bytes),
        };
        match (inside, bounds) {
            // What is outside is not looked at, so that nobody learns what there is.
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
        importer: &Importer,
        imports: ImportRules,
    ) -> Option<Chosen> {
        let via = format!("imported by {}, line {}", importer.path.display(), reference.line);
        let decision = match found {
            Found::File { stamp, content } => {
                let depth = importer.depth + 1;
                let identity = self.identity(&path, stamp);
                let is_known = self.seen.contains_key(&identity);
                if is_known && let Some(file) = self.called_up(identity, &via, importer, imports) {
                    return Some(file);
                }
                if !is_known && depth > imports.max_depth {
                    let why = format!(
                        "{via}, which is {} imports deep already; import it further up",
                        imports.max_depth
                    );
                    Decision::new(path, Outcome::TooDeep).because(why)
                } else if !is_known && self.is_blank(&content) {
                    Decision::new(path, Outcome::Blank).because(format!("{via}; it is only white space"))
                } else {
                    let file = Chosen {
                        path,
                        scope: FileScope::Import,
                        stamp,
                        content,
                        origin: importer.origin,
                        depth,
                        imported_by: Some(importer.owner.clone()),
                        decision: 0,
                        place: super::chain::Place::default(),
                        folder: None,
                        is_private: importer.is_private,
                    };
                    let Judged::Taken(taken) = self.judge(file, Some(&via)) else { return None };
                    self.imports.files += 1;
                    if taken.origin == Origin::Home {
                        self.imports.home_bytes += taken.content.bytes.len() as u64;
                    }
                    return Some(taken);
                }
            }
            Found::Absent => return None,
            Found::NotAFile { kind, .. } => Decision::new(path, Outcome::NotAFile)
                .because(format!("{via}; it is a {kind}, and only regular files are read")),
            Found::Outside => {
                let whose = match importer.origin {
                    Origin::Home => "your own directory",
                    Origin::Project => "the project",
                };
                Decision::new(path, Outcome::OutsideRoot)
                    .because(format!("{via}; it leads out of {whose}: copy the file into it"))
            }
            Found::Private => {
                Decision::new(path, Outcome::OutsideRoot).because(format!("{via}; {KEPT_PRIVATE}"))
            }
            Found::Unreadable { reason } => self.unreadable(path, &reason),
        };
        self.decisions.push(decision);
        None
    }

    /// What a file's text names, by the rules of another agent.
    fn mentioned_in(&mut self, chosen: &Chosen, imports: ImportRules) -> Vec<Reference> {
        let profile = self.request.settings.profile;
        let whole = decode(&chosen.content.bytes, profile.text.byte_order_mark).text.into_owned();
        let text = self.passed_on(whole.clone());
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
            // More are not looked at; one more says that there are more.
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
            // What stands before it may have been taken out.
            if let Some(further) = whole[at..].find(&text[mention.range]) {
                line += whole[at..at + further].matches('\n').count();
                at += further;
            }
            references.push(Reference::exact(mention.path, line));
        }
        references
    }

    /// Names what would be imported.
    fn imports_switched_off(&mut self) {
        let profile = self.request.settings.profile;
        for chosen in &self.chosen {
            let directory = chosen.path.parent().unwrap_or(&chosen.path);
            for reference in &chosen.content.markup(profile).references.found {
                let mut paths =
                    reference.candidates().map(|candidate| path::normalise(Path::new(candidate), directory));
                let inside = |path: &PathBuf| path.starts_with(&self.top) && path.is_file();
                if let Some(path) = paths.find(inside) {
                    let why = format!("imports are switched off ({IMPORTS})");
                    self.decisions.push(Decision::new(path, Outcome::Disabled).because(why));
                }
            }
        }
    }

    /// What rules that do not match would import, as far as their own words tell.
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

    /// A file that is too deep on one way may be used on a shorter one; that is what counts.
    pub(super) fn forget_shortcuts(&mut self, files: &[InstructionFile]) {
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
        ImportPlace::InPlace(_) => &OwnBlock::PLAIN,
    }
}
