//! Rules for the time after the start: files that a tool brings in, and reminders.

use super::choose::{Blank, DirectoryEffect, NameChoice};
use super::render::ChainOrder;
use super::search::Links;
use crate::session::reminder::{ReminderWording, ResumeLines};

/// Rules for the time after the start.
#[derive(Debug, Clone, Copy)]
pub struct SessionRules {
    /// Files that are loaded when a tool reads another file.
    pub on_reading: OnReading,
    /// Conditions and form of reminders.
    pub reminders: ReminderRules,
}

/// Conditions and form of reminders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderRules {
    /// Files count as changed by their content, settings decide about texts, and a resume lists the changed files.
    Foreword,
    /// The AGENTS hierarchy specification: files count as changed by their time, texts are sent only if an edit waits for
    /// them, and a resume lists all files.
    Specification,
}

impl ReminderRules {
    /// Returns when a known file counts as changed.
    pub const fn changed(self) -> Changed {
        match self {
            Self::Foreword => Changed::ByContent,
            Self::Specification => Changed::ByTime,
        }
    }

    /// Returns whether reminders may carry texts.
    pub const fn texts(self) -> ReminderTexts {
        match self {
            Self::Foreword => ReminderTexts::BySettings,
            Self::Specification => ReminderTexts::Never,
        }
    }

    /// Returns the words of reminders about files.
    pub const fn wording(self) -> ReminderWording {
        match self {
            Self::Foreword => ReminderWording::Distinguishing,
            Self::Specification => ReminderWording::Specification,
        }
    }

    /// Returns the files that are announced first if there are more than one announcement may have.
    pub const fn first(self) -> AnnouncedFirst {
        match self {
            Self::Foreword => AnnouncedFirst::Nearest,
            Self::Specification => AnnouncedFirst::Outermost,
        }
    }

    /// Returns the lines of the reminder after a resume.
    pub const fn resume_lines(self) -> ResumeLines {
        match self {
            Self::Foreword => ResumeLines::Changed,
            Self::Specification => ResumeLines::All,
        }
    }
}

/// The files that are announced first if there are more than one announcement may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnouncedFirst {
    /// Those nearest to the path, which are the most specific.
    Nearest,
    /// Those nearest to the root.
    Outermost,
}

/// Condition under which a known file counts as changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// If its content differs.
    ByContent,
    /// If its modification time differs.
    ByTime,
}

/// Texts in reminders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderTexts {
    /// Decided by settings.
    BySettings,
    /// Only paths, unless an edit waits for the text.
    Never,
}

/// Files that are loaded when a tool reads another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnReading {
    /// None.
    Nothing,
    /// Whatever applies to the file and is not loaded yet, as in our own sessions.
    Session,
    /// Files of the directories between the working directory and the file, and rules that match it.
    Nested(NestedFiles),
}

/// Files of directories below the working directory, each passed on once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedFiles {
    /// File names, in the order of one directory.
    pub names: &'static [&'static str],
    /// Number of names that are read.
    pub choice: NameChoice,
    /// Names that are read after all others, in directories without a text under the first names, if the start had no such
    /// text either.
    pub instead: &'static [&'static str],
    /// Folders of rules in those directories, as paths below them.
    pub rule_folders: &'static [&'static str],
    /// Position of rules, and the directory that their globs count from.
    pub rules: NestedRules,
    /// Effect of a file that contains only white space.
    pub blank: Blank,
    /// Effect of a directory under a file's name.
    pub directories: DirectoryEffect,
    /// Order of the directories.
    pub order: ChainOrder,
    /// Symlinks that count as files.
    pub links: Links,
    /// Maximum characters of one file; the model has to read the rest.
    pub max_characters: Option<usize>,
}

/// Position of rules among the files that are loaded when a tool reads another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedRules {
    /// Rules that match come after the files of all directories. Globs count from the directory that holds the folder.
    BehindFiles,
    /// Rules of the start that match come first, the others after the files of their directory. All globs count from the
    /// root.
    WithTheirDirectory,
}

impl NestedFiles {
    /// Only rules that match the file.
    pub(crate) const RULES_ONLY: Self = Self {
        names: &[],
        choice: NameChoice::All,
        instead: &[],
        rule_folders: &[],
        rules: NestedRules::BehindFiles,
        blank: Blank::Included,
        directories: DirectoryEffect::TryNext,
        order: ChainOrder::RootFirst,
        links: Links::Anywhere,
        max_characters: None,
    };
}
