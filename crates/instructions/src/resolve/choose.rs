//! Chooses the files of a project.

use std::path::{Path, PathBuf};

use super::chain::{Chain, Origin, Place, Survey};
use crate::fs::file::Found;
use crate::fs::git;
use crate::profile::{
    Blank, ChainOrder, LetterCase, NameChoice, NameRole, RuleFolderPlace, SkippedDirectory,
};
use crate::resolve::decision::{Decision, Outcome};

/// Entries of one directory that are looked at for other letter cases.
const MAX_ENTRIES: usize = 200_000;

/// What a candidate does to those after it.
#[derive(PartialEq, Eq)]
enum Effect {
    /// The next one is tried.
    TryNext,
    /// It wins.
    Wins,
}

impl Chain<'_> {
    /// The files of all directories, root first.
    pub(super) fn choose_files(&mut self, directories: &[PathBuf], names: &[String]) {
        let profile = self.request.settings.profile;
        let hidden = profile
            .search
            .skipped
            .contains(&SkippedDirectory::CheckoutAroundWorktree)
            .then(|| git::nested_worktree(self.request.cwd))
            .flatten();
        if profile.choose.choice == NameChoice::FirstOfChain {
            self.choose_for_all(directories, names);
        } else if profile.render.order == ChainOrder::ByName {
            for name in 0..self.winning {
                for (directory, path) in directories.iter().enumerate() {
                    self.place = Place { directory, name };
                    self.try_name(path, name, names);
                }
            }
        } else {
            for (index, directory) in directories.iter().enumerate() {
                self.place.directory = index;
                if hidden.as_ref().is_some_and(|worktree| worktree.hides(directory)) {
                    self.add_names(directory, names);
                } else {
                    self.choose_in(directory, names);
                }
            }
        }
        if profile.names_with(NameRole::Fallback).next().is_some() {
            self.choose_instead(directories, names, hidden.as_ref());
        }
        if profile.names_with(NameRole::RootLast).next().is_some() && self.has_root {
            self.place = Place { directory: directories.len(), name: names.len() };
            self.choose_at_root(names);
        }
        for folder in profile.choose.rule_folders {
            if folder.place == RuleFolderPlace::Root && directories.contains(&self.root) {
                let root = self.root.clone();
                self.choose_rules(&root, folder, Origin::Project);
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

    /// The files of one directory: the first usable name wins, or every one is read; the added names follow.
    pub(super) fn choose_in(&mut self, directory: &Path, names: &[String]) {
        let profile = self.request.settings.profile;
        if profile.names_with(NameRole::RootFirst).next().is_some() && *directory == self.root {
            self.place.name = 0;
            self.choose_at_root(names);
        }
        let mut winner: Option<usize> = None;
        for name in 0..self.winning {
            if let Some(winner) = winner {
                if self.survey == Survey::Everything {
                    self.shadowed(directory, &names[name], &directory.join(&names[winner]));
                }
                continue;
            }
            let is_end = directory == self.top || directory == self.request.cwd;
            if is_end && profile.choose.find(&names[name]).is_some_and(|name| name.role == NameRole::Between)
            {
                self.not_between(directory.join(&names[name]));
                continue;
            }
            self.place.name = name;
            let effect =
                match profile.choose.find(&names[name]).map_or(LetterCase::Exact, |name| name.letter_case) {
                    LetterCase::Exact => self.try_name(directory, name, names),
                    LetterCase::Any => self.try_variants(directory, name, names),
                };
            if effect == Effect::Wins && profile.choose.choice == NameChoice::FirstOfDirectory {
                winner = Some(name);
            }
            if winner.is_some() && self.survey == Survey::Needed {
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

    /// Says of a file that it would count elsewhere.
    fn not_between(&mut self, path: PathBuf) {
        if self.survey == Survey::Everything && path.symlink_metadata().is_ok() {
            let why = "the agent reads it only in directories between the root and the working directory";
            self.decisions.push(Decision::new(path, Outcome::Ignored).because(why));
        }
    }

    /// The names that are read in the root alone.
    fn choose_at_root(&mut self, names: &[String]) {
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

    /// The first name that any directory has; the others are not read in any.
    fn choose_for_all(&mut self, directories: &[PathBuf], names: &[String]) {
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
                        self.place = Place { directory: index, name };
                        self.try_name(directory, name, names);
                        // Whatever it is, it is there.
                        if winner.is_none() && path.exists() {
                            winner = Some(path);
                        }
                    }
                }
            }
        }
    }

    /// Names that are read where no other one has a text.
    fn choose_instead(&mut self, directories: &[PathBuf], names: &[String], hidden: Option<&git::Worktree>) {
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
                        self.place = Place { directory: index, name };
                        self.try_name(directory, name, names);
                    }
                }
            }
        }
        // Each stands behind the rules of its directory.
        self.chosen.sort_by_key(|file| (file.origin == Origin::Project, file.place.directory));
    }

    /// A file of a name, or one of that name in other letters.
    fn try_variants(&mut self, directory: &Path, name: usize, names: &[String]) -> Effect {
        let path = directory.join(&names[name]);
        // A link that leads nowhere hides nothing.
        if path.exists() {
            return self.try_name(directory, name, names);
        }
        let (Some(holder), Some(exact)) = (path.parent(), path.file_name()) else { return Effect::TryNext };
        self.reader.cannot_be_remembered();
        let Ok(entries) = std::fs::read_dir(holder) else { return Effect::TryNext };
        let is_variant = |entry: &std::fs::DirEntry| {
            entry.file_name().eq_ignore_ascii_case(exact) && entry.file_name() != exact
        };
        let Some(variant) = entries.take(MAX_ENTRIES).flatten().find(is_variant) else {
            let is_dangling = path.symlink_metadata().is_ok();
            return if is_dangling { self.try_name(directory, name, names) } else { Effect::TryNext };
        };
        let found = self.reader.read_path(&variant.path(), &self.bounds, self.max_file_bytes);
        match self.consider(variant.path(), Origin::Project, found) {
            true => Effect::Wins,
            false => Effect::TryNext,
        }
    }

    fn try_name(&mut self, directory: &Path, name: usize, names: &[String]) -> Effect {
        if self.request.settings.profile.search.skipped.contains(&SkippedDirectory::WithBackslash)
            && directory.as_os_str().as_encoded_bytes().contains(&b'\\')
        {
            let path = directory.join(&names[name]);
            if self.survey == Survey::Everything && path.is_file() {
                let why = "the agent takes the backslash in its path for a slash, and does not find it";
                self.decisions.push(Decision::new(path, Outcome::Ignored).because(why));
            }
            return Effect::TryNext;
        }
        let found = self.reader.read(directory, name, &self.bounds, self.max_file_bytes);
        let path = || directory.join(&names[name]);
        let profile = self.request.settings.profile;
        // Where a blank file hides others it is chosen like any other: whether it is blank shows after the cut.
        if let Found::File { content, .. } = &found
            && profile.choose.blank == Blank::FallsThrough
            && self.is_blank(content)
        {
            let detail = "it is only white space, so it counts as if it were not there";
            self.decisions.push(Decision::new(path(), Outcome::Blank).because(detail));
            return Effect::TryNext;
        }
        if matches!(found, Found::Absent) && self.survey == Survey::Needed {
            return Effect::TryNext;
        }
        let path = path();
        let wins = self.consider(path.clone(), Origin::Project, found);
        self.say_who_named(&names[name], &path);
        if wins { Effect::Wins } else { Effect::TryNext }
    }

    fn shadowed(&mut self, directory: &Path, name: &str, winner: &Path) {
        let path = directory.join(name);
        let decision = match path.symlink_metadata() {
            Ok(_) => Decision::new(path, Outcome::Shadowed).by(winner),
            Err(_) => Decision::new(path, Outcome::Absent),
        };
        self.decisions.push(decision);
    }
}
