//! Selects the files of a project by name.

use std::path::{Path, PathBuf};

use super::chain::{Chain, ChainPosition, Origin, Survey};
use crate::fs::file::Found;
use crate::fs::git;
use crate::fs::source::SourceEntry;
use crate::profile::{
    Blank, ChainOrder, LetterCase, Links, NameChoice, NameRole, RuleFolderPlace, SkippedDirectory,
};
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::reason::DecisionReason;

/// Maximum number of entries of one directory that are compared in other letter cases.
const MAX_ENTRIES: usize = 200_000;

/// Effect of a candidate on the names after it.
#[derive(PartialEq, Eq)]
enum Effect {
    /// The next one is tried.
    TryNext,
    /// It wins over them.
    Wins,
}

impl Chain<'_> {
    /// Selects the files of all directories, root first.
    pub(super) fn choose_files(&mut self, directories: &[PathBuf], names: &[String]) {
        let profile = self.request.settings.profile;
        if profile.search.skipped.contains(&SkippedDirectory::SameNameAroundWorktree) {
            self.shadowing = git::nested_worktree(self.request.cwd, self.source())
                .and_then(|worktree| self.shadowed_in_checkout(&worktree, names));
        }
        let hidden = profile
            .search
            .skipped
            .contains(&SkippedDirectory::CheckoutAroundWorktree)
            .then(|| git::nested_worktree(self.request.cwd, self.source()))
            .flatten();
        if profile.choose.choice == NameChoice::FirstOfChain {
            self.choose_first_name_in_chain(directories, names);
        } else if profile.render.order == ChainOrder::ByName {
            for name in 0..self.winning {
                for (directory, path) in directories.iter().enumerate() {
                    self.place = ChainPosition { directory, name };
                    self.try_name(path, name, names);
                }
            }
        } else {
            for (index, directory) in directories.iter().enumerate() {
                self.place.directory = index;
                // Added names of the checkout are still read: they are private files, which are usually not committed,
                // so the worktree lacks them.
                if hidden.as_ref().is_some_and(|worktree| worktree.hides(directory)) {
                    self.add_names(directory, names);
                } else {
                    self.choose_in(directory, names);
                }
            }
        }
        if profile.names_with(NameRole::Fallback).next().is_some() {
            self.choose_fallback_names(directories, names, hidden.as_ref());
        }
        if profile.names_with(NameRole::RootLast).next().is_some() && self.has_root {
            self.place = ChainPosition { directory: directories.len(), name: names.len() };
            self.choose_root_files(names);
        }
        for folder in profile.choose.rule_folders {
            if folder.place == RuleFolderPlace::Root && directories.contains(&self.root) {
                let root = self.root.clone();
                self.choose_rules(&root, folder, Origin::Project);
            }
        }
        for folder in profile.choose.rule_folders {
            if folder.place == RuleFolderPlace::Cwd {
                let cwd = self.request.cwd;
                self.choose_rules(cwd, folder, Origin::Project);
            }
        }
        for base in [directories.first(), directories.get(1..).and_then(<[_]>::last)].into_iter().flatten() {
            for folder in profile.choose.rule_folders {
                if folder.place == RuleFolderPlace::RootAndCwd {
                    self.choose_rules(base, folder, Origin::Project);
                }
            }
        }
    }

    /// Returns the file of the checkout around a worktree that has the name of the worktree's own.
    fn shadowed_in_checkout(&mut self, worktree: &git::Worktree, names: &[String]) -> Option<PathBuf> {
        let name =
            names[..self.winning].iter().find(|name| self.source().is_file(&worktree.top.join(name)))?;
        Some(worktree.checkout.join(name))
    }

    /// Selects the files of one directory: the first usable main name or all of them, then the added names.
    pub(super) fn choose_in(&mut self, directory: &Path, names: &[String]) {
        let profile = self.request.settings.profile;
        if profile.names_with(NameRole::RootFirst).next().is_some() && *directory == self.root {
            self.place.name = 0;
            self.choose_root_files(names);
        }
        let mut winner: Option<usize> = None;
        let group = |name: usize| profile.choose.find(&names[name]).map_or(0, |name| name.group);
        for name in 0..self.winning {
            if profile.choose.choice == NameChoice::FirstOfGroup
                && winner.is_some_and(|winner| group(winner) != group(name))
            {
                winner = None;
            }
            if let Some(winner) = winner {
                if self.survey == Survey::Everything {
                    self.shadowed(directory, &names[name], &directory.join(&names[winner]));
                }
                continue;
            }
            // A few names count only in the directories between the root and the working directory.
            let is_end = directory == self.top || directory == self.request.cwd;
            if is_end && profile.choose.find(&names[name]).is_some_and(|name| name.role == NameRole::Between)
            {
                self.report_end_directory_name(directory.join(&names[name]));
                continue;
            }
            self.place.name = name;
            let effect =
                match profile.choose.find(&names[name]).map_or(LetterCase::Exact, |name| name.letter_case) {
                    LetterCase::Exact => self.try_name(directory, name, names),
                    LetterCase::Any => self.try_variants(directory, name, names),
                };
            let is_alone =
                matches!(profile.choose.choice, NameChoice::FirstOfDirectory | NameChoice::FirstOfGroup);
            if effect == Effect::Wins && is_alone {
                winner = Some(name);
            }
            // Names after the winner matter only to explain them, and each would cost a system call.
            if winner.is_some()
                && self.survey == Survey::Needed
                && profile.choose.choice == NameChoice::FirstOfDirectory
            {
                break;
            }
        }
        for folder in profile.choose.rule_folders {
            if folder.place == RuleFolderPlace::EveryDirectory {
                self.choose_rules(directory, folder, Origin::Project);
            }
        }
        self.add_names(directory, names);
    }

    /// Explains a file that would only count between the root and the working directory.
    fn report_end_directory_name(&mut self, path: PathBuf) {
        if self.survey == Survey::Everything && self.source().has_entry(&path) {
            self.decisions.push(Decision::new(path, Outcome::Ignored).because(DecisionReason::BetweenOnly));
        }
    }

    /// Reads the names that count in the root alone.
    fn choose_root_files(&mut self, names: &[String]) {
        let profile = self.request.settings.profile;
        let first = self.winning + self.added + self.own + profile.names_with(NameRole::Fallback).count();
        let names_end = first
            + profile.names_with(NameRole::RootFirst).count()
            + profile.names_with(NameRole::RootLast).count();
        let root = self.root.clone();
        for name in first..names_end {
            self.try_name(&root, name, names);
        }
    }

    fn add_names(&mut self, directory: &Path, names: &[String]) {
        for name in self.winning..self.winning + self.added {
            self.place.name = name;
            self.try_name(directory, name, names);
        }
    }

    /// Reads the first name that any directory has, in all of them. Other names are not read.
    fn choose_first_name_in_chain(&mut self, directories: &[PathBuf], names: &[String]) {
        let mut winner: Option<PathBuf> = None;
        for name in 0..self.winning {
            for (index, directory) in directories.iter().enumerate() {
                let path = directory.join(&names[name]);
                match &winner {
                    Some(winner) if !winner.ends_with(&names[name]) => {
                        if self.survey == Survey::Everything {
                            let winner = winner.clone();
                            self.shadowed(directory, &names[name], &winner);
                        }
                    }
                    _ => {
                        self.place = ChainPosition { directory: index, name };
                        self.try_name(directory, name, names);
                        // Any directory entry counts here, not only a readable file: opencode stops at a directory
                        // of that name, too.
                        if winner.is_none() && self.source().exists(&path) {
                            winner = Some(path);
                        }
                    }
                }
            }
        }
    }

    /// Reads the fallback names if no other name has a text in any directory.
    fn choose_fallback_names(
        &mut self,
        directories: &[PathBuf],
        names: &[String],
        hidden: Option<&git::Worktree>,
    ) {
        let profile = self.request.settings.profile;
        let first = self.winning + self.added + self.own;
        let has_text =
            self.chosen.iter().find(|file| file.origin == Origin::Project && file.folder.is_none());
        let winner = has_text.map(|file| file.path.clone());
        for (index, directory) in directories.iter().enumerate() {
            if hidden.is_some_and(|worktree| worktree.hides(directory)) {
                continue;
            }
            for name in first..first + profile.names_with(NameRole::Fallback).count() {
                match &winner {
                    Some(winner) if self.survey == Survey::Everything => {
                        self.shadowed(directory, &names[name], winner);
                    }
                    Some(_) => {}
                    None => {
                        self.place = ChainPosition { directory: index, name };
                        self.try_name(directory, name, names);
                    }
                }
            }
        }
        // Fallback files were found last but belong behind the rules of their own directories. The sort is stable,
        // so it keeps the order within a directory.
        self.chosen.sort_by_key(|file| (file.origin == Origin::Project, file.place.directory));
    }

    /// Reads a name in its exact spelling, or else in another letter case.
    fn try_variants(&mut self, directory: &Path, name: usize, names: &[String]) -> Effect {
        let path = directory.join(&names[name]);
        // Neither a symlink without a target nor a directory hides another spelling.
        if self.source().state(&path).is_ok_and(|state| !state.is_directory()) {
            return self.try_name(directory, name, names);
        }
        let Some(variant) = self.variant(&path) else {
            let is_something = self.source().has_entry(&path);
            return if is_something { self.try_name(directory, name, names) } else { Effect::TryNext };
        };
        let found = self.reader.read_path(&variant, &self.bounds, self.max_file_bytes);
        match self.consider(variant, Origin::Project, found) {
            true => Effect::Wins,
            false => Effect::TryNext,
        }
    }

    /// Returns a path in another letter case that exists.
    pub(super) fn variant(&mut self, path: &Path) -> Option<PathBuf> {
        // A new file in another spelling would not be noticed by the evidence of a cached answer.
        self.reader.disable_caching();
        let exact = path.file_name()?;
        let is_variant = |entry: &SourceEntry| entry.name.eq_ignore_ascii_case(exact) && entry.name != exact;
        let entries = self.source().entries(path.parent()?).ok()?;
        // The first variant in the order of the file system wins, so with several of them the result may differ between
        // machines.
        Some(entries.into_iter().take(MAX_ENTRIES).find(is_variant)?.path)
    }

    fn try_name(&mut self, directory: &Path, name: usize, names: &[String]) -> Effect {
        if self.request.settings.profile.search.skipped.contains(&SkippedDirectory::WithBackslash)
            && directory.as_os_str().as_encoded_bytes().contains(&b'\\')
        {
            let path = directory.join(&names[name]);
            if self.survey == Survey::Everything && self.source().is_file(&path) {
                self.decisions.push(Decision::new(path, Outcome::Ignored).because(DecisionReason::Backslash));
            }
            return Effect::TryNext;
        }
        let found = self.reader.read(directory, name, &self.bounds, self.max_file_bytes);
        let path = || directory.join(&names[name]);
        let profile = self.request.settings.profile;
        if self.shadowing.as_ref().is_some_and(|shadowed| *shadowed == path()) {
            if self.survey == Survey::Everything && self.source().is_file(&path()) {
                let reason = DecisionReason::InWorktree;
                self.decisions.push(Decision::new(path(), Outcome::Ignored).because(reason));
            }
            return Effect::Wins;
        }
        if profile.search.links == Links::Never
            && self.source().own_state(&path()).is_ok_and(|state| state.is_link())
        {
            if self.survey == Survey::Everything {
                let reason = DecisionReason::LinkNotFollowed;
                self.decisions.push(Decision::new(path(), Outcome::Ignored).because(reason));
            }
            return Effect::TryNext;
        }
        // With `HidesOthers` a blank file is selected like any other, because only the part that survives the limit
        // decides whether it is blank.
        if let Found::File { content, .. } = &found
            && profile.choose.blank == Blank::FallsThrough
            && self.is_blank(content)
        {
            self.decisions.push(Decision::new(path(), Outcome::Blank).because(DecisionReason::Blank));
            return Effect::TryNext;
        }
        // Most names are absent. Returning here saves the allocation of a path for each of them.
        if matches!(found, Found::Absent) && self.survey == Survey::Needed {
            return Effect::TryNext;
        }
        let path = path();
        let wins = self.consider(path.clone(), Origin::Project, found);
        self.note_configured_name(&names[name], &path);
        if wins { Effect::Wins } else { Effect::TryNext }
    }

    fn shadowed(&mut self, directory: &Path, name: &str, winner: &Path) {
        let path = directory.join(name);
        let decision = match self.source().has_entry(&path) {
            true => Decision::new(path, Outcome::Shadowed).by(winner),
            false => Decision::new(path, Outcome::Absent),
        };
        self.decisions.push(decision);
    }
}
