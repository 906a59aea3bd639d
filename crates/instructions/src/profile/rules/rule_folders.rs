//! Folders of rules, which are read in addition to files with a fixed name.

use super::choose::LetterCase;

/// A folder of rules, with everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleFolder {
    /// Directories that it is looked for in.
    pub place: RuleFolderPlace,
    /// Path below such a directory. A file of that path is read like a folder with this file alone.
    pub directory: &'static str,
    /// Folder beside it whose files hide those of the same name in this one.
    pub hidden_by: Option<&'static str>,
    /// Directories below the folder that are read.
    pub depth: RuleDepth,
    /// Ends of its files' names.
    pub suffixes: &'static [&'static str],
    /// Spellings of the suffixes that count.
    pub suffix_case: LetterCase,
    /// Treatment of hidden files.
    pub hidden: HiddenRules,
    /// Effect of a rule that is not UTF-8.
    pub encoding: RuleEncoding,
    /// Order of its files.
    pub order: RuleOrder,
    /// Symlinks that are followed.
    pub links: RuleLinks,
    /// Conditions under which a file is read.
    pub conditions: RuleConditions,
    /// Part of a file that is read.
    pub body: RuleBody,
}

/// Directories that a folder of rules is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFolderPlace {
    /// Every directory of the chain; its files follow the main names and precede the added ones.
    EveryDirectory,
    /// The root; its files follow all others.
    Root,
    /// The root, then the working directory; their files follow all others.
    RootAndCwd,
    /// The working directory; its files follow all others.
    Cwd,
    /// The agent's own directory.
    Home,
    /// The user's home directory.
    UserHome,
}

/// Directories below a folder of rules that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleDepth {
    /// All of them.
    Nested,
    /// None.
    Flat,
}

/// Order of the files of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOrder {
    /// By the bytes of their paths.
    ByPath,
    /// As the file system lists them.
    AsListed,
}

/// Symlinks in a folder that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleLinks {
    /// None.
    Skipped,
    /// Those to files.
    ToFiles,
    /// Those to files and directories, which then count by their real paths.
    Resolved,
}

/// Conditions in the front matter of a rule. A rule without globs is read at the start; the others wait for a tool to touch
/// a path that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleConditions {
    /// Keys that hold globs.
    pub keys: &'static [&'static str],
    /// Globs that are not a condition, because they match everything.
    pub everything: &'static [&'static str],
    /// Key that decides whether a rule is read at the start.
    pub always: AlwaysKey,
    /// A file with invalid front matter is not read at all.
    pub invalid_is_lost: bool,
    /// Reading of front matter that is not valid YAML.
    pub reading: HeaderReading,
    /// Matching of globs with paths below the directory that holds the folder.
    pub matching: GlobMatching,
}

/// Key that decides whether a rule is read at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlwaysKey {
    /// There is none.
    None,
    /// Only a rule in which this key is true is read, or one whose globs match.
    Required(&'static str),
    /// A rule in which this key is true is read, and one in which it is false is not. Without it, the globs decide.
    Overriding(&'static str),
}

/// Reading of front matter that is not valid YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderReading {
    /// All unquoted values are quoted, then it is parsed again.
    QuotedIfInvalid,
    /// Of equal keys the last counts. If it is invalid, values with characters that YAML reserves are quoted in lines that
    /// end with a plain newline, and it is parsed again.
    RepairedIfInvalid,
    /// Of equal keys the last counts. Otherwise only pairs and lists of values are found. A text is one glob, whatever
    /// commas are in it.
    SimpleIfInvalid,
    /// Only the lines that begin with a key are read. Of equal keys the first counts.
    LinesIfInvalid,
    /// It counts as invalid. Of equal keys none counts.
    Strict,
}

/// Effect of a rule that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleEncoding {
    /// Invalid bytes are replaced.
    Any,
    /// The rule is not read.
    Utf8,
}

/// Hidden files in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiddenRules {
    /// They are read.
    Read,
    /// Files and directories whose names begin with a dot are skipped.
    Skipped,
}

/// Matching of an agent's globs with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobMatching {
    /// As in a `.gitignore`, but in any letter case; a glob that begins with `./` matches nothing.
    Gitignore,
    /// Against the whole path, or against the name alone if the glob has no slash; globs that begin with `!` are ignored.
    WholePath,
}

/// Part of a rule that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleBody {
    /// The same as of the profile's other files.
    AsOthers,
    /// The whole file, unchanged.
    Raw,
    /// The text without front matter and comments, with plain line ends, trimmed.
    Bare,
    /// The text without front matter, trimmed if there is some. Invalid front matter is text.
    BelowHeader,
}
