//! Rules that select files by name.

use super::rule_folders::RuleFolder;

/// Selection of files in the searched directories.
#[derive(Debug, Clone, Copy)]
pub struct ChoiceRules {
    /// File names that are looked for, in order of preference.
    pub names: &'static [Name],
    /// Number of main names that are read.
    pub choice: NameChoice,
    /// Treatment of configured fallback names.
    pub fallbacks: Fallbacks,
    /// Effect of a file that contains only white space.
    pub blank: Blank,
    /// Effect of a file that cannot be read.
    pub unreadable: Unreadable,
    /// Effect of a directory under a file's name.
    pub directories: DirectoryEffect,
    /// Effect of a file that is reached twice.
    pub same_file: SameFile,
    /// Titles of files.
    pub titles: Titles,
    /// The user's own files.
    pub home: Option<HomeFile>,
    /// Folders of rules in the project and in the agent's own directory.
    pub rule_folders: &'static [RuleFolder],
}

impl ChoiceRules {
    /// Returns true if `path` has a name that belongs to one user alone.
    pub(crate) fn is_private(&self, path: &std::path::Path) -> bool {
        self.names.iter().any(|name| name.owner == NameOwner::User && path.ends_with(name.name))
    }

    /// Returns true if imports in `path` are followed.
    pub(crate) fn follows_imports_of(&self, path: &std::path::Path) -> bool {
        let Some(file) = path.file_name() else { return true };
        !self
            .names
            .iter()
            .any(|name| name.imports == NameImports::Text && file.eq_ignore_ascii_case(name.name))
    }

    /// Returns the rules of one of the names, or `None` if settings added the name.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Name> {
        self.names.iter().find(|known| known.name == name)
    }
}

/// A file name that is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// Path below a directory.
    pub name: &'static str,
    /// Role in the choice.
    pub role: NameRole,
    /// Spellings that count.
    pub letter_case: LetterCase,
    /// Owner of the file, which some agents mention in the text.
    pub owner: NameOwner,
    /// Treatment of imports in the file.
    pub imports: NameImports,
    /// Group of the name, for agents that read one name of each group.
    pub group: u8,
}

impl Name {
    pub(crate) const fn new(role: NameRole, name: &'static str) -> Self {
        Self {
            name,
            role,
            letter_case: LetterCase::Exact,
            owner: NameOwner::Team,
            imports: NameImports::Followed,
            group: 0,
        }
    }

    pub(crate) const fn main(name: &'static str) -> Self {
        Self::new(NameRole::Main, name)
    }

    pub(crate) const fn in_any_case(self) -> Self {
        Self { letter_case: LetterCase::Any, ..self }
    }

    pub(crate) const fn in_group(self, group: u8) -> Self {
        Self { group, ..self }
    }

    pub(crate) const fn without_imports(self) -> Self {
        Self { imports: NameImports::Text, ..self }
    }

    pub(crate) const fn of_user(self) -> Self {
        Self { owner: NameOwner::User, ..self }
    }
}

/// Part of a name in the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRole {
    /// Competes with the other main names, as [`NameChoice`] describes.
    Main,
    /// A main name that counts only in directories strictly between the root and the working directory.
    Between,
    /// Read in addition to the main names.
    Added,
    /// Read if no directory has a main or added name with a text.
    Fallback,
    /// Read in the root alone, before the others.
    RootFirst,
    /// Read in the root alone, after all others, if a marker makes it the root.
    RootLast,
}

/// Number of main names that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameChoice {
    /// In each directory the first that is usable.
    FirstOfDirectory,
    /// In each directory the first of each group that is usable.
    FirstOfGroup,
    /// The first that any directory has, in all directories.
    FirstOfChain,
    /// All of them.
    All,
}

/// Spellings of a name that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterCase {
    /// The exact spelling.
    Exact,
    /// Any letter case, if the exact spelling is absent.
    Any,
}

/// Treatment of imports in the files of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameImports {
    /// As the profile describes.
    Followed,
    /// They are text.
    Text,
}

/// Titles of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Titles {
    /// None.
    None,
    /// The `name` in the front matter, or else the file's name without its extension. Of files with one title, in any
    /// letter case, the last is read; files are sorted by title.
    Named {
        /// Name of files with a title of their own.
        file: &'static str,
        /// Title of that file in the working directory.
        in_project: &'static str,
        /// Title of that file of the user.
        of_user: &'static str,
    },
}

/// Owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOwner {
    /// Everyone who works on the project.
    Team,
    /// One user.
    User,
}

/// Treatment of configured fallback names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallbacks {
    /// The agent has no such setting.
    Unsupported,
    /// A name with a slash is an error.
    Strict,
    /// A name with a slash is ignored.
    Lenient,
}

/// Effect of a file that contains only white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    /// The next name is tried.
    FallsThrough,
    /// It wins over the next names, then is dropped.
    HidesOthers,
    /// It is included, empty.
    Included,
    /// It wins over the next names, and is included if it has any byte.
    IncludedUnlessEmpty,
}

/// Effect of a directory under a file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryEffect {
    /// The next name is tried.
    TryNext,
    /// It hides the next names.
    HidesOthers,
}

/// Effect of a file that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// That file is lost; the others still load.
    FileLost,
    /// All project files are lost.
    ChainLost,
    /// It counts as absent.
    Absent,
}

/// Effect of a file that is reached twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameFile {
    /// The second is a duplicate.
    UsedOnce,
    /// Files with one path after resolving symlinks are one file. Hard links are separate files.
    OncePerRealPath,
    /// Both are used.
    UsedTwice,
    /// Both are used if their paths differ.
    OncePerPath,
    /// Both are used if their paths and texts differ.
    OncePerPathAndText,
}

impl SameFile {
    pub(crate) const fn goes_by_path(self) -> bool {
        matches!(self, Self::OncePerPath | Self::OncePerPathAndText)
    }
}

/// The user's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeFile {
    /// File names in the agent's own directory.
    pub names: &'static [&'static str],
    /// Paths below the user's home directory that are tried after those.
    pub elsewhere: &'static [&'static str],
    /// Paths below the user's home directory that are read in addition, the first of each group.
    pub also: &'static [&'static [&'static str]],
    /// Number of names that are read.
    pub choice: NameChoice,
    /// Effect of a file that contains only white space.
    pub blank: Blank,
    /// White space around the text is removed.
    pub trimmed: bool,
    /// Files that are not UTF-8 are left out.
    pub utf8_only: bool,
    /// Spellings of the names that count.
    pub letter_case: LetterCase,
}

impl HomeFile {
    /// Returns rules that read the first of `names` that has a text.
    pub(crate) const fn first_of(names: &'static [&'static str]) -> Self {
        Self {
            names,
            elsewhere: &[],
            also: &[],
            choice: NameChoice::FirstOfDirectory,
            blank: Blank::FallsThrough,
            trimmed: false,
            utf8_only: false,
            letter_case: LetterCase::Exact,
        }
    }
}
