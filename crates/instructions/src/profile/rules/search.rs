//! Rules that decide which directories are searched.

use super::settings::AgentSettings;

/// Directories that an agent searches: its home directory, the project root, and those between root and working
/// directory.
#[derive(Debug, Clone, Copy)]
pub struct SearchRules {
    /// Directory of the user's own files and settings. `None` if the caller provides it.
    pub home_directory: Option<HomeDirectory>,
    /// Settings files of the agent that are read in addition to ours.
    pub settings: Option<AgentSettings>,
    /// Prefix of the environment variables that set the profile's options.
    pub variable_prefix: &'static str,
    /// Names whose presence makes a directory the project root.
    pub markers: &'static [RootMarker],
    /// Test that a marker must pass.
    pub marker_check: MarkerCheck,
    /// Meaning of an empty list of markers.
    pub empty_markers: EmptyMarkers,
    /// Root of a project without a marker.
    pub without_marker: WithoutMarker,
    /// Effect of a root given by settings.
    pub root_override: RootOverride,
    /// Topmost directory that is searched.
    pub reach: Reach,
    /// Directories on the way that are skipped.
    pub skipped: &'static [SkippedDirectory],
    /// Symlinks that count as files.
    pub links: Links,
    /// Explanation of a symlink without a target. It is never read.
    pub dangling_link: DanglingLink,
    /// Spelling of the working directory's path from which the search begins.
    pub cwd: CwdSpelling,
}

/// Spelling of the working directory's path from which the search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CwdSpelling {
    /// As it is.
    AsIs,
    /// `%41` counts as `A`, so that another directory may be searched, if all percent signs in the path are of that form.
    PercentDecoded,
}

/// A name whose presence makes a directory the project root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootMarker {
    /// Counts in every directory.
    Anywhere(&'static str),
    /// Counts everywhere but in the user's home directory, where the agent itself creates it.
    OutsideHome(&'static str),
}

impl RootMarker {
    /// Name of the file or directory.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anywhere(name) | Self::OutsideHome(name) => name,
        }
    }
}

/// Directories on the way from the root to the working directory that are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedDirectory {
    /// Directories with a backslash in their path: the agent takes it for a slash and finds nothing there.
    WithBackslash,
    /// In the checkout around a worktree that lies inside its own repository, the file that has the name of the worktree's.
    SameNameAroundWorktree,
    /// The checkout around a worktree that lies inside its own repository. Added names are still read.
    CheckoutAroundWorktree,
}

/// Location of an agent's own directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HomeDirectory {
    /// Variable that names it.
    pub variable: Option<&'static str>,
    /// Variable that names a parent directory, and the path below that.
    pub above: Option<(&'static str, &'static str)>,
    /// Path below the user's home directory.
    pub in_user_home: &'static str,
}

impl HomeDirectory {
    /// Returns the variables that it depends on.
    pub fn variables(self) -> impl Iterator<Item = &'static str> {
        self.variable.into_iter().chain(self.above.map(|(variable, _)| variable))
    }
}

/// Meaning of an empty list of markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmptyMarkers {
    /// Only the working directory is searched.
    CwdOnly,
    /// The profile's own markers apply.
    Defaults,
    /// Every directory up to the file system's root is searched.
    WholePath,
}

/// Test that a marker must pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerCheck {
    /// Anything with the name exists.
    Present,
    /// Git accepts it as a repository.
    GitAccepts,
    /// It is a directory or a file, not a symlink.
    DirectoryOrFile,
    /// It is a directory, or a file that names one.
    DirectoryOrGitFile,
    /// It is a file, or a directory that Git accepts as a repository.
    RepositoryOrFile,
}

/// Topmost directory that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Up to the root.
    Root,
    /// Up to the parent of the root; without a root up to the parent of the user's home directory.
    OneAbove,
}

/// Effect of a root given by settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootOverride {
    /// It replaces the search.
    Allowed,
    /// It has no effect.
    Ignored,
}

/// Root of a project without a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithoutMarker {
    /// None; only the working directory is searched.
    NoRoot,
    /// The working directory.
    CwdIsRoot,
    /// None; every directory up to the file system's root is searched.
    WholePath,
}

/// Symlinks that count as files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Symlinks to regular files inside the project root.
    InsideRoot,
    /// Symlinks to regular files anywhere.
    Anywhere,
    /// None.
    Never,
}

/// Explanation of a symlink without a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DanglingLink {
    /// As something that is not a file.
    NotAFile,
    /// As absent.
    Absent,
}
