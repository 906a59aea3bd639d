//! What a tool that reads a file brings in after the start: files of the directories on the way there, and rules that
//! match it.

use std::path::{Path, PathBuf};

use super::chain::{Chain, Chosen, Origin, Place, Survey};
use crate::fs::file::{Bounds, Found};
use crate::fs::path;
use crate::profile::{Blank, ChainOrder, Links, NameChoice, NameRole, NestedFiles, RuleBody};
use crate::resolve::applies_to::{AppliesTo, Target};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::eligibility::Judged;
use crate::resolve::resolution::Resolution;
use crate::text::decode;
use crate::text::header::{self, Fence};
use crate::text::transform::{RuleHeader, rule_header};

/// When files are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment<'a> {
    /// When an agent starts.
    Start,
    /// The same, for a file that it will work on: rules of our own that match it apply.
    StartFor { file: &'a Path },
    /// When a tool of an agent that has started reads a file.
    Reading { file: &'a Path, nested: NestedFiles },
}

/// What there was at the start, so that it can be told from what came later.
pub(super) struct Started {
    decisions: Vec<Decision>,
    diagnostics: usize,
    max_characters: Option<usize>,
}

impl<'a> Chain<'a> {
    /// Leaves what was chosen for the start behind, and chooses what reading a file brings in.
    pub(super) fn go_on_to(&mut self, file: &Path, nested: NestedFiles) -> Started {
        let started = Started {
            decisions: self.decisions.clone(),
            diagnostics: self.diagnostics.len(),
            max_characters: nested.max_characters,
        };
        let profile = self.request.settings.profile;
        let has_text = self.chosen.iter().find(|file| {
            let is_own = !profile.names_with(NameRole::Fallback).any(|name| file.path.ends_with(name));
            file.origin == Origin::Project && file.folder.is_none() && file.depth == 0 && is_own
        });
        let text_at_start = has_text.map(|file| file.path.clone());
        self.chosen.clear();
        self.waiting.clear();
        let mut waiting = std::mem::take(&mut self.dormant);
        if nested.links == Links::InsideRoot {
            self.bounds = Bounds::inside(&self.top).without(&self.request.settings.private_paths);
        }
        let directory = file.parent().unwrap_or(file);
        let mut directories = path::chain(self.request.cwd, directory);
        // The working directory's own files were there at the start.
        if !directories.is_empty() {
            directories.remove(0);
        }
        if nested.order == ChainOrder::NearestFirst {
            directories.reverse();
        }
        if self.switched_off.is_none() {
            let mut with_text: Vec<Option<PathBuf>> = Vec::with_capacity(directories.len());
            for (index, directory) in directories.iter().enumerate() {
                self.place = Place { directory: index, name: 0 };
                with_text.push(self.choose_nested(directory, nested));
            }
            waiting.append(&mut self.dormant);
            for rule in waiting {
                self.wake(rule, file);
            }
            for (directory, winner) in directories.iter().zip(with_text) {
                self.choose_nested_instead(directory, nested, text_at_start.as_ref().or(winner.as_ref()));
            }
            self.follow_imports();
        }
        if self.survey == Survey::Everything {
            let names = self.nested_names(nested).into_iter().chain(nested.instead.iter().copied());
            let names: Vec<String> = names.map(str::to_owned).collect();
            for directory in &directories {
                self.other_names(directory, &names);
            }
        }
        started
    }

    /// The names that count further down: where settings list names, those.
    fn nested_names(&self, nested: NestedFiles) -> Vec<&'a str> {
        match self.named {
            Some(named) if !nested.names.is_empty() => named.names.iter().map(String::as_str).collect(),
            _ => nested.names.to_vec(),
        }
    }

    /// The files of one directory; answers with the first that has a text.
    fn choose_nested(&mut self, directory: &Path, nested: NestedFiles) -> Option<PathBuf> {
        let profile = self.request.settings.profile;
        let (mut winner, mut first): (Option<PathBuf>, Option<PathBuf>) = (None, None);
        for name in self.nested_names(nested) {
            let path = directory.join(name);
            if let Some(winner) = &winner {
                if self.survey == Survey::Everything && path.symlink_metadata().is_ok() {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                continue;
            }
            let is_taken = self.try_nested(&path);
            self.say_who_named(name, &path);
            if is_taken {
                first.get_or_insert_with(|| path.clone());
                if nested.choice == NameChoice::FirstOfDirectory {
                    winner = Some(path);
                }
            }
        }
        for folder in profile.choose.rule_folders {
            if nested.rule_folders.contains(&folder.directory) {
                self.choose_rules(directory, folder, Origin::Project);
            }
        }
        first
    }

    /// The names that are read where there is no text of the others.
    fn choose_nested_instead(&mut self, directory: &Path, nested: NestedFiles, winner: Option<&PathBuf>) {
        for name in nested.instead {
            let path = directory.join(name);
            match winner {
                None => drop(self.try_nested(&path)),
                Some(winner) if self.survey == Survey::Everything && path.symlink_metadata().is_ok() => {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                Some(_) => {}
            }
        }
    }

    /// Considers a file; true when it has a text.
    fn try_nested(&mut self, path: &Path) -> bool {
        let found = self.reader.read_path(path, &self.bounds, self.max_file_bytes);
        match &found {
            Found::Absent => false,
            Found::File { content, .. }
                if self.request.settings.profile.choose.blank == Blank::FallsThrough
                    && self.is_blank(content) =>
            {
                let detail = "it is only white space, so it counts as if it were not there";
                self.decisions.push(Decision::new(path, Outcome::Blank).because(detail));
                false
            }
            _ => self.consider(path.to_owned(), Origin::Project, found),
        }
    }

    /// Takes a rule that waited for a path like this one.
    fn wake(&mut self, rule: Chosen, file: &Path) {
        let Some(folder) = rule.folder else { return };
        let text = decode(&rule.content.bytes, self.request.settings.profile.text.byte_order_mark).text;
        let header = match folder.body {
            RuleBody::AsOthers => header::find(&text, Fence::Loose),
            RuleBody::Raw | RuleBody::Bare => header::find(&text, Fence::Exact),
        };
        let RuleHeader::Globs { globs, .. } = rule_header(header, &folder.conditions) else { return };
        // The folder is in the directory that its globs count from; your own is in none of the project's.
        let base = match rule.origin {
            Origin::Home => Some(self.root.as_path()),
            Origin::Project => rule.path.ancestors().find_map(|above| {
                above.ends_with(folder.directory).then(|| {
                    let parts = Path::new(folder.directory).components().count();
                    above.ancestors().nth(parts)
                })?
            }),
        };
        let applies_to = AppliesTo::of_agent(&globs, folder.conditions.matching);
        let is_meant =
            base.is_some_and(|base| applies_to.is_some_and(|globs| globs.matches(Target::File(file), base)));
        if !is_meant {
            return;
        }
        let via = format!("{} matches", file.display());
        if let Judged::Taken(taken) = self.judge(rule, Some(&via)) {
            self.chosen.push(taken);
        }
    }
}

impl Started {
    /// Takes what was there at the start out of an answer, and cuts what is too long to come with a tool's result.
    pub(super) fn leave(self, resolution: &mut Resolution) {
        resolution.decisions.retain(|decision| !self.decisions.contains(decision));
        resolution.diagnostics.drain(..self.diagnostics.min(resolution.diagnostics.len()));
        let Some(max_characters) = self.max_characters else { return };
        for file in &mut resolution.files {
            let Some((end, _)) = file.text.char_indices().nth(max_characters) else { continue };
            // At the end of a line, where there is one.
            let end = file.text[..end].rfind('\n').map_or(end, |line| line + 1);
            file.text.truncate(end);
            (file.kept_bytes, file.truncated) = (end as u64, true);
            let cut = resolution.decisions.iter_mut().filter(|decision| decision.path == file.path);
            for decision in cut {
                decision.outcome = Outcome::Truncated;
                decision.add(format!(
                    "what comes with a tool's result is cut at {max_characters} characters; the model is told to read the rest"
                ));
            }
        }
    }
}
