//! Folders of files that are read besides those of a fixed name.

/// A folder of files that are read besides, itself and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleFolder {
    /// Where it is looked for.
    pub place: RuleFolderPlace,
    /// Its path from there.
    pub directory: &'static str,
    /// How the names of its files end.
    pub suffix: &'static str,
    /// In which order they are read.
    pub order: RuleOrder,
    /// Which links are read.
    pub links: RuleLinks,
    /// When they are read.
    pub conditions: RuleConditions,
    /// What of them is read.
    pub body: RuleBody,
}

/// Where a folder is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleFolderPlace {
    /// In every directory of the chain, behind the names before the last one that is added.
    EveryDirectory,
    /// In the root, behind all other files.
    Root,
    /// In the root, then in the working directory, behind all other files.
    RootAndCwd,
    /// In the agent's own directory.
    Home,
}

/// In which order the files of a folder are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOrder {
    /// By the bytes of their paths.
    ByPath,
    /// As the file system lists them.
    AsListed,
}

/// Which links in a folder are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleLinks {
    /// None.
    Skipped,
    /// Those to files.
    ToFiles,
    /// Those to files and to directories; what is read goes by where it really is.
    Resolved,
}

/// When a file of a folder is read at the start: if its front matter has none of these keys with globs in it. The others wait
/// for a tool to touch a path that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleConditions {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Globs that are no condition, because they match everything.
    pub everything: &'static [&'static str],
    /// A key that must be true; one without front matter has none.
    pub always: Option<&'static str>,
    /// Whether a file whose front matter is not YAML is not read at all.
    pub invalid_is_lost: bool,
    /// How the globs match a path below the directory that the folder is in.
    pub matching: GlobMatching,
}

/// How an agent's globs match a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobMatching {
    /// As in a `.gitignore`, but in any letter case, and `./` before a glob matches nothing.
    Gitignore,
    /// The whole path, or the name alone where there is no slash; one that begins with `!` does not count.
    WholePath,
}

/// What of a file of a folder is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleBody {
    /// What the profile's other files have, too.
    AsOthers,
    /// All of it, as it is.
    Raw,
    /// Its text without front matter and any comment, with plain line ends, trimmed.
    Bare,
}
