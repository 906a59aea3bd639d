//! What a user may change about a profile, and the directories around a project.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::profile::{Fallbacks, Profile};

/// Bytes up to which `auto` delivery puts a file's text into the reminder itself.
pub const INLINE_BYTES: u64 = 4_096;
/// Files announced by one resolve, unless set otherwise.
pub const MAX_FILES_PER_RESOLVE: usize = 8;

/// Settings of one resolution; what is none has the profile's default.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Whether files are read at all.
    pub enabled: bool,
    /// The project root itself; nothing is searched for.
    pub root: Option<PathBuf>,
    /// A directory above which nothing is searched for; it is the root when no marker is found below.
    pub ceiling: Option<PathBuf>,
    /// Names whose presence makes a directory the root.
    pub markers: Option<Vec<String>>,
    /// Whether the search for a marker goes up to the file system's root; if not, it ends at the user's home.
    pub stop_at_fs_root: bool,
    /// Most project files.
    pub max_files: Option<u64>,
    /// Most bytes of project files.
    pub max_bytes: Option<u64>,
    /// Names tried after the profile's own.
    pub fallback_filenames: Option<Vec<String>>,
    /// Whether links may lead out of the project.
    pub follow_external_links: bool,
    /// Whether files of other directories are brought in as an agent moves.
    pub resolver_enabled: bool,
    /// Most files announced by one resolve.
    pub max_files_per_resolve: usize,
    /// Whether a reminder carries texts or only paths.
    pub delivery: Delivery,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            root: None,
            ceiling: None,
            markers: None,
            stop_at_fs_root: true,
            max_files: None,
            max_bytes: None,
            fallback_filenames: None,
            follow_external_links: false,
            resolver_enabled: true,
            max_files_per_resolve: MAX_FILES_PER_RESOLVE,
            delivery: Delivery::Auto,
        }
    }
}

/// Whether a reminder carries texts or only paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Only paths; the model reads.
    Pointer,
    /// Always the texts.
    Inline,
    /// The texts of small files, the paths of others.
    #[default]
    Auto,
}

/// The directories around a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Surroundings {
    /// The user's home directory.
    pub user_home: Option<PathBuf>,
    /// Foreword's home directory.
    pub foreword_home: Option<PathBuf>,
    /// Codex's home directory.
    pub codex_home: Option<PathBuf>,
}

/// Settings that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A fallback name is not a plain file name.
    #[error("the fallback name `{name}` is not a plain file name")]
    FallbackName {
        /// The name.
        name: String,
    },
    /// A marker is not a name below a directory.
    #[error("the marker `{name}` is blank, absolute or leads out of its directory")]
    Marker {
        /// The name.
        name: String,
    },
    /// The root does not contain the working directory.
    #[error("the working directory {} is not inside the root {}", cwd.display(), root.display())]
    RootElsewhere {
        /// The root.
        root: PathBuf,
        /// The working directory.
        cwd: PathBuf,
    },
}

/// The file names of a profile with the fallbacks that were configured: trimmed, blanks and doubles dropped.
pub(crate) fn candidate_names(profile: &Profile, settings: &Settings) -> Result<Vec<String>, SettingsError> {
    let mut names: Vec<String> = profile.names.iter().map(|name| (*name).to_owned()).collect();
    if profile.fallbacks == Fallbacks::Unsupported {
        return Ok(names);
    }
    for fallback in settings.fallback_filenames.iter().flatten() {
        let name = fallback.trim();
        let plain = !name.contains(['/', '\0']) && !matches!(name, "." | "..");
        // What is added after the winner is read in any case.
        if name.is_empty() || names.iter().any(|known| known == name) || profile.added.contains(&name) {
            continue;
        }
        match (plain, profile.fallbacks) {
            (true, _) => names.push(name.to_owned()),
            (false, Fallbacks::Strict) => return Err(SettingsError::FallbackName { name: name.to_owned() }),
            (false, _) => {}
        }
    }
    Ok(names)
}
