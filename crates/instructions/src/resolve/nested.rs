//! Files that are loaded when a tool reads another file: those of the directories on the way to it, and rules that
//! match it.

use std::path::{Path, PathBuf};

use super::chain::{Candidate, Chain, ChainPosition, Origin, Survey};
use crate::fs::file::{Bounds, Found};
use crate::fs::path;
use crate::profile::{
    Blank, ChainOrder, LetterCase, Links, NameChoice, NameRole, NestedFiles, NestedRules, OnReading,
};
use crate::resolve::applies_to::{AppliesTo, Target};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::eligibility::Eligibility;
use crate::resolve::reason::DecisionReason;
use crate::resolve::resolution::Resolution;
use crate::text::rule_header::RuleHeader;

/// Phase of an agent run that files are loaded for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LoadPhase<'a> {
    /// The start of the agent.
    Start,
    /// The start, for work on one file: our own rules that match it apply.
    StartFor { file: &'a Path },
    /// A tool reads a file after the start.
    Reading { file: &'a Path, nested: NestedFiles },
}

/// State at the end of the start phase, to separate its decisions from later ones.
pub(super) struct StartState {
    decisions: Vec<Decision>,
    diagnostics: usize,
    max_characters: Option<usize>,
}

impl<'a> Chain<'a> {
    /// Sets aside the files of the start, and selects those that are loaded when a tool reads `file`.
    pub(super) fn load_on_read(&mut self, file: &Path, nested: NestedFiles) -> StartState {
        let started = StartState {
            // The caller reports only what the read file adds, so the state of the start is kept for comparison.
            decisions: self.decisions.clone(),
            diagnostics: self.diagnostics.len(),
            max_characters: nested.max_characters,
        };
        let profile = self.request.settings.profile;
        // A fallback file at the start does not count as a text, so nested fallback files are still read.
        let has_text = self.chosen.iter().find(|file| {
            let is_own = !profile.names_with(NameRole::Fallback).any(|name| file.path.ends_with(name));
            file.origin == Origin::Project && file.folder.is_none() && file.depth == 0 && is_own
        });
        let text_at_start = has_text.map(|file| file.path.clone());
        self.is_reading = true;
        self.chosen.clear();
        self.waiting.clear();
        let mut waiting = std::mem::take(&mut self.dormant);
        if nested.links == Links::InsideRoot {
            // Some agents are stricter after the start: links that they follow then may not leave the project any more.
            self.bounds = Bounds::inside(&self.top).without(&self.request.settings.private_paths);
        }
        let directory = file.parent().unwrap_or(file);
        let mut directories = path::chain(self.request.cwd, directory);
        // The files of the working directory were loaded at the start.
        if !directories.is_empty() {
            directories.remove(0);
        }
        if nested.order == ChainOrder::NearestFirst {
            directories.reverse();
        }
        if self.switched_off.is_none() {
            if nested.rules == NestedRules::WithTheirDirectory {
                for rule in std::mem::take(&mut waiting) {
                    self.load_waiting_rule(rule, file);
                }
            }
            let mut with_text: Vec<Option<PathBuf>> = Vec::with_capacity(directories.len());
            for (index, directory) in directories.iter().enumerate() {
                self.place = ChainPosition { directory: index, name: 0 };
                with_text.push(self.choose_nested(directory, nested, file));
            }
            // Rules of nested folders were found just now. They wait like those of the start, and may match the
            // same file.
            waiting.append(&mut self.dormant);
            for rule in waiting {
                self.load_waiting_rule(rule, file);
            }
            // Fallback names come last, as the agent adds them after the rules.
            for (directory, winner) in directories.iter().zip(with_text) {
                self.choose_nested_fallbacks(directory, nested, text_at_start.as_ref().or(winner.as_ref()));
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

    /// Returns the names that count in nested directories: those from settings if there are any.
    fn nested_names(&self, nested: NestedFiles) -> Vec<&'a str> {
        match self.named {
            Some(named) if !nested.names.is_empty() => named.names.iter().map(String::as_str).collect(),
            _ => nested.names.to_vec(),
        }
    }

    /// Selects the files of one directory. Returns the path of the first that has a text.
    fn choose_nested(&mut self, directory: &Path, nested: NestedFiles, file: &Path) -> Option<PathBuf> {
        let profile = self.request.settings.profile;
        let (mut winner, mut first): (Option<PathBuf>, Option<PathBuf>) = (None, None);
        for name in self.nested_names(nested) {
            let mut path = directory.join(name);
            if let Some(winner) = &winner {
                if self.survey == Survey::Everything && self.source().has_entry(&path) {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                continue;
            }
            if profile.choose.find(name).is_some_and(|name| name.letter_case == LetterCase::Any)
                && !self.source().is_file(&path)
                && let Some(variant) = self.variant(&path)
            {
                path = variant;
            }
            // Settings may name the file, which is noted only after its decision exists.
            let is_taken = self.try_nested(&path, nested.blank);
            self.note_configured_name(name, &path);
            if is_taken {
                first.get_or_insert_with(|| path.clone());
                if nested.choice == NameChoice::FirstOfDirectory {
                    winner = Some(path);
                }
            }
        }
        for folder in profile.choose.rule_folders {
            if nested.rule_folders.contains(&folder.directory) {
                // Rules that match and rules without a condition are passed on together, in the order of the folder.
                let known = self.dormant.len();
                let chosen = self.chosen.len();
                self.choose_rules(directory, folder, Origin::Project);
                if nested.rules == NestedRules::WithTheirDirectory {
                    for rule in self.dormant.split_off(known) {
                        self.load_waiting_rule(rule, file);
                    }
                    self.chosen[chosen..].sort_by(|one, other| one.path.cmp(&other.path));
                }
            }
        }
        first
    }

    /// Reads the fallback names of a directory without another text.
    fn choose_nested_fallbacks(&mut self, directory: &Path, nested: NestedFiles, winner: Option<&PathBuf>) {
        for name in nested.instead {
            let path = directory.join(name);
            match winner {
                None => drop(self.try_nested(&path, nested.blank)),
                Some(winner) if self.survey == Survey::Everything && self.source().has_entry(&path) => {
                    self.decisions.push(Decision::new(path, Outcome::Shadowed).by(winner));
                }
                Some(_) => {}
            }
        }
    }

    /// Considers a file. Returns true if it has a text.
    fn try_nested(&mut self, path: &Path, blank: Blank) -> bool {
        let found = self.reader.read_path(path, &self.bounds, self.max_file_bytes);
        match &found {
            Found::Absent => false,
            Found::File { content, .. } if blank == Blank::FallsThrough && self.is_blank(content) => {
                self.decisions.push(Decision::new(path, Outcome::Blank).because(DecisionReason::Blank));
                false
            }
            _ => self.consider(path.to_owned(), Origin::Project, found),
        }
    }

    /// Includes a waiting rule if its globs match `file`.
    fn load_waiting_rule(&mut self, rule: Candidate, file: &Path) {
        let Some(folder) = rule.folder.or(rule.imported_by_rule) else { return };
        let RuleHeader::Globs { globs, .. } = self.condition(&rule, folder) else { return };
        let counts_from_root = matches!(
            self.request.settings.profile.session.on_reading,
            OnReading::Nested(NestedFiles { rules: NestedRules::WithTheirDirectory, .. })
        );
        // Globs count from the directory that holds the folder. The user's own rules are outside the project, so
        // theirs count from the root.
        let base = match rule.origin {
            _ if counts_from_root => Some(self.root.as_path()),
            Origin::Home => Some(self.root.as_path()),
            Origin::Project => {
                rule.imported_by.as_ref().unwrap_or(&rule.path).ancestors().find_map(|above| {
                    above.ends_with(folder.directory).then(|| {
                        let parts = Path::new(folder.directory).components().count();
                        above.ancestors().nth(parts)
                    })?
                })
            }
        };
        let applies_to = AppliesTo::compile_agent_globs(&globs, folder.conditions.matching);
        let is_meant =
            base.is_some_and(|base| applies_to.is_some_and(|globs| globs.matches(Target::File(file), base)));
        if !is_meant {
            return;
        }
        let via = DecisionReason::RuleMatches { file: file.to_owned() };
        if let Eligibility::Taken(taken) = self.check_eligibility(rule, Some(&via)) {
            self.chosen.push(*taken);
        }
    }
}

impl StartState {
    /// Removes the start's decisions from an answer, and cuts files that are too long for a tool result.
    pub(super) fn remove_from(self, resolution: &mut Resolution) {
        resolution.decisions.retain(|decision| !self.decisions.contains(decision));
        resolution.diagnostics.drain(..self.diagnostics.min(resolution.diagnostics.len()));
        let Some(max_characters) = self.max_characters else { return };
        for file in &mut resolution.files {
            let Some((end, _)) = file.text.char_indices().nth(max_characters) else { continue };
            // Cut after a whole line if there is one.
            let end = file.text[..end].rfind('\n').map_or(end, |line| line + 1);
            file.text.truncate(end);
            (file.kept_bytes, file.truncated) = (end as u64, true);
            let cut = resolution.decisions.iter_mut().filter(|decision| decision.path == file.path);
            for decision in cut {
                decision.outcome = Outcome::Truncated;
                decision.add(DecisionReason::ToolResultCut { max_characters });
            }
        }
    }
}
