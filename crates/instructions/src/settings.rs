//! Settings of a resolution, and the type that overrides them.

pub(crate) mod file;
pub(crate) mod json;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fs::source::FileSource;
use crate::profile::{FOREWORD, Fallbacks, Links, NameRole, PROFILES, Profile, UnsafeText};
use crate::session::delivery::Delivery;
use crate::text::front_matter::Audience;

// Setting names as written in configuration files, for advice and for mapping settings of other agents.
pub(crate) const FALLBACK_FILENAMES: &str = "agents.fallback_filenames";
pub(crate) const IMPORTS: &str = "agents.imports";
pub(crate) const MARKERS: &str = "agents.root.markers";
pub(crate) const MAX_BYTES: &str = "agents.initial.max_bytes";

/// Size up to which the delivery `auto` includes a file's text in the reminder.
pub const INLINE_BYTES: u64 = 4_096;
/// Default number of files announced by one resolve.
pub const MAX_FILES_PER_RESOLVE: u64 = 8;

/// Default settings, as far as the profile does not define them.
const BUILT_IN: AgentsConfig = AgentsConfig {
    enabled: Some(true),
    profile: None,
    fallback_filenames: None,
    follow_external_links: Some(false),
    imports: Some(true),
    root: AgentsRoot { project_root_override: None, markers: None, stop_at_fs_root: Some(true) },
    initial: AgentsInitial { max_files: None, max_bytes: None },
    resolver: AgentsResolver {
        enabled: Some(true),
        max_files_per_resolve: Some(MAX_FILES_PER_RESOLVE),
        delivery: Some(Delivery::Auto),
    },
};

/// All settings that decide which files apply to a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileSettings {
    /// The profile.
    pub profile: &'static Profile,
    /// Directories of the user's own files.
    pub homes: HomeDirectories,
    /// Bounds of the project, in addition to the profile's rules.
    pub bounds: ProjectBounds,
    /// Bounds of symbolic links in the project.
    pub links: LinkBounds,
    /// Visibility of files above the root.
    pub above_root: AboveRoot,
    /// Directories and files that project files must not be in or lead to, such as a gateway's keys and data.
    pub private_paths: Vec<PathBuf>,
    /// Audience that the files are read for.
    pub audience: Audience,
    /// Treatment of unsafe text; `None` for the profile's. The profile decides which files are read, and whoever delivers them
    /// to a model of their own decides what is made safe.
    pub unsafe_text: Option<UnsafeText>,
    /// Explicit settings. Defaults are resolved by the methods of this type.
    pub agents: AgentsConfig,
    /// Source of the project's files.
    pub source: FileSource,
}

/// Bounds of symbolic links in a project, unless external links are allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LinkBounds {
    /// The agent's own rules, but never outside the workspace's directory.
    #[default]
    OfProfile,
    /// The agent's own rules, even outside the workspace's directory, for callers who may read this machine.
    OfAgent,
    /// The root, for projects that choose their own profile and must not choose which other files are read.
    Root,
}

/// Visibility of instruction files above the root, which are not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AboveRoot {
    /// They are reported.
    #[default]
    Named,
    /// They are not reported, because the caller must not learn about them.
    Hidden,
}

/// Bounds of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ProjectBounds {
    /// No bounds.
    #[default]
    None,
    /// A workspace's directory, which is the root. Profiles that do not support a fixed root find their own,
    /// but nothing above the directory counts.
    Workspace(PathBuf),
    /// No project: only the user's own file counts.
    HomeOnly,
}

impl ProjectBounds {
    /// Returns the workspace's directory.
    pub fn workspace(&self) -> Option<&Path> {
        match self {
            Self::Workspace(directory) => Some(directory),
            Self::None | Self::HomeOnly => None,
        }
    }
}

impl Default for FileSettings {
    fn default() -> Self {
        Self::of(&FOREWORD)
    }
}

impl FileSettings {
    /// Returns the settings of a profile, without home directories.
    pub fn of(profile: &'static Profile) -> Self {
        Self {
            profile,
            homes: HomeDirectories::default(),
            bounds: ProjectBounds::None,
            links: LinkBounds::default(),
            above_root: AboveRoot::default(),
            private_paths: Vec::new(),
            audience: Audience::Main,
            unsafe_text: None,
            agents: BUILT_IN,
            source: FileSource::Disk,
        }
    }

    /// Returns the treatment of unsafe text.
    pub(crate) fn unsafe_text(&self) -> UnsafeText {
        self.unsafe_text.unwrap_or(self.profile.text.unsafe_text)
    }

    /// Applies the settings of a patch, including its profile.
    pub fn apply(&mut self, patch: &AgentsConfig) -> Result<(), SettingsError> {
        if let Some(name) = &patch.profile {
            self.profile =
                Profile::find(name).ok_or_else(|| SettingsError::Profile { name: name.clone() })?;
        }
        self.agents.merge(patch);
        Ok(())
    }

    /// Returns the same settings after `set` modified them.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut AgentsConfig)) -> Self {
        set(&mut self.agents);
        self
    }

    /// Returns true if files are read at all.
    pub fn enabled(&self) -> bool {
        self.agents.enabled.or(BUILT_IN.enabled).unwrap_or_default()
    }

    /// Returns true if links may lead outside the project.
    pub fn follow_external_links(&self) -> bool {
        self.agents.follow_external_links.or(BUILT_IN.follow_external_links).unwrap_or_default()
    }

    /// Returns the directory that links must stay in, or `None` if they may lead anywhere.
    pub(crate) fn links_inside<'a>(&'a self, root: &'a Path) -> Option<&'a Path> {
        if self.follow_external_links() {
            return None;
        }
        if self.profile.search.links == Links::InsideRoot || self.links == LinkBounds::Root {
            return Some(root);
        }
        self.bounds.workspace().filter(|_| self.links == LinkBounds::OfProfile)
    }

    /// Returns true if imports with `@` are followed, as far as the profile supports them.
    pub fn imports(&self) -> bool {
        self.agents.imports.or(BUILT_IN.imports).unwrap_or_default()
    }

    /// Returns true if the search for a marker continues to the file system's root, and false if it ends at
    /// the user's home.
    pub fn stop_at_fs_root(&self) -> bool {
        self.agents.root.stop_at_fs_root.or(BUILT_IN.root.stop_at_fs_root).unwrap_or_default()
    }

    /// Returns the limit of project files, or `None` if there is none.
    pub fn max_files(&self) -> Option<u64> {
        self.agents.initial.max_files.or(self.profile.budget.max_files)
    }

    /// Returns the limit of bytes of project files.
    pub fn max_bytes(&self) -> u64 {
        self.agents.initial.max_bytes.unwrap_or(self.profile.budget.max_bytes)
    }

    /// Returns true if files of other directories are announced as the agent touches them.
    pub fn resolver_enabled(&self) -> bool {
        self.agents.resolver.enabled.or(BUILT_IN.resolver.enabled).unwrap_or_default()
    }

    /// Returns the limit of files announced by one resolve.
    pub fn max_files_per_resolve(&self) -> u64 {
        self.agents.resolver.max_files_per_resolve.unwrap_or(MAX_FILES_PER_RESOLVE)
    }

    /// Returns the form of delivery in reminders.
    pub fn delivery(&self) -> Delivery {
        self.agents.resolver.delivery.unwrap_or_default()
    }
}

/// Settings of a configuration, a workspace or a session. Absent fields keep their value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsConfig {
    /// True to read files on disk at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Name of the profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// File names tried after the profile's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_filenames: Option<Vec<String>>,
    /// True to allow links that lead outside the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_external_links: Option<bool>,
    /// True to follow imports with `@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imports: Option<bool>,
    /// Settings of the project root.
    #[serde(skip_serializing_if = "is_default")]
    pub root: AgentsRoot,
    /// Limits of the initial chain.
    #[serde(skip_serializing_if = "is_default")]
    pub initial: AgentsInitial,
    /// Settings of the resolver.
    #[serde(skip_serializing_if = "is_default")]
    pub resolver: AgentsResolver,
}

/// Settings of the project root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsRoot {
    /// The root itself, without a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_root_override: Option<PathBuf>,
    /// Names whose presence marks a directory as the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markers: Option<Vec<String>>,
    /// True to continue the search to the file system's root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_at_fs_root: Option<bool>,
}

/// Limits of the initial chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsInitial {
    /// Most files.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_files: Option<u64>,
    /// Most bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_bytes: Option<u64>,
}

/// Settings of the resolver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsResolver {
    /// True to announce files of other directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Most files announced by one resolve.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_files_per_resolve: Option<u64>,
    /// Form of delivery in reminders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl AgentsConfig {
    /// Checks the constraints of the public schema: limits are positive and the profile exists. Settings
    /// files, flags and sessions may set a limit of 0, which reads no project files.
    pub fn check(&self) -> Result<(), SettingsError> {
        // A limit of 0 is an error only in the public API, where it is almost always an unset field of a client.
        let limits = [
            ("initial.maxFiles", self.initial.max_files),
            ("initial.maxBytes", self.initial.max_bytes),
            ("resolver.maxFilesPerResolve", self.resolver.max_files_per_resolve),
        ];
        if let Some((field, _)) = limits.into_iter().find(|(_, limit)| *limit == Some(0)) {
            return Err(SettingsError::ZeroLimit { field });
        }
        match &self.profile {
            Some(name) if Profile::find(name).is_none() => Err(SettingsError::Profile { name: name.clone() }),
            _ => Ok(()),
        }
    }

    /// Applies the settings of a patch, except its profile.
    pub fn merge(&mut self, patch: &AgentsConfig) {
        fn replace<T: Clone>(setting: &mut Option<T>, value: &Option<T>) {
            if value.is_some() {
                setting.clone_from(value);
            }
        }
        // The profile is replaced by `apply` alone, where an unknown name is an error.
        let AgentsConfig { root, initial, resolver, .. } = patch;
        replace(&mut self.enabled, &patch.enabled);
        replace(&mut self.fallback_filenames, &patch.fallback_filenames);
        replace(&mut self.follow_external_links, &patch.follow_external_links);
        replace(&mut self.imports, &patch.imports);
        replace(&mut self.root.project_root_override, &root.project_root_override);
        replace(&mut self.root.markers, &root.markers);
        replace(&mut self.root.stop_at_fs_root, &root.stop_at_fs_root);
        replace(&mut self.initial.max_files, &initial.max_files);
        replace(&mut self.initial.max_bytes, &initial.max_bytes);
        replace(&mut self.resolver.enabled, &resolver.enabled);
        replace(&mut self.resolver.max_files_per_resolve, &resolver.max_files_per_resolve);
        replace(&mut self.resolver.delivery, &resolver.delivery);
    }

    /// Returns all texts, for stores that cannot hold every text.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let root = self.root.project_root_override.as_deref().and_then(Path::to_str);
        let lists = [&self.fallback_filenames, &self.root.markers].into_iter().flatten().flatten();
        self.profile.as_deref().into_iter().chain(root).chain(lists.map(String::as_str))
    }

    /// Returns true if no setting is given.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// Directories of a user's own files, one per profile that has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct HomeDirectories {
    pub(crate) user: Option<PathBuf>,
    of_profiles: BTreeMap<&'static str, PathBuf>,
}

impl HomeDirectories {
    /// Creates an instance with only the user's home directory.
    pub fn of_user(user: Option<PathBuf>) -> Self {
        Self { user, of_profiles: BTreeMap::new() }
    }

    /// Finds the directory of every profile: the value of its variable, or else its default below the user's
    /// home.
    pub fn find(user: Option<PathBuf>, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let mut homes = Self::of_user(user);
        for profile in PROFILES {
            let Some(home) = profile.search.home_directory else { continue };
            // The order is that of the agents: the variable for the directory itself, then one for the directory above
            // it (such as GEMINI_CLI_HOME), then the default.
            let named = home.variable.and_then(&variable);
            let above = || home.above.and_then(|(above, below)| Some(variable(above)?.join(below)));
            let default = || homes.user.as_ref().map(|user| user.join(home.in_user_home));
            if let Some(directory) = named.or_else(above).or_else(default) {
                homes.of_profiles.insert(profile.name, directory);
            }
        }
        homes
    }

    /// Returns the same directories with `directory` for a profile.
    #[must_use]
    pub fn with(mut self, profile: &Profile, directory: impl Into<PathBuf>) -> Self {
        self.of_profiles.insert(profile.name, directory.into());
        self
    }

    /// Returns the directory of a profile.
    pub fn of(&self, profile: &Profile) -> Option<&Path> {
        self.of_profiles.get(profile.name).map(PathBuf::as_path)
    }

    /// Returns the user's home directory.
    pub fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// Returns the directories of all profiles.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.of_profiles.values().map(PathBuf::as_path)
    }
}

/// Reason why settings are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The profile does not exist.
    #[error("there is no profile `{name}`")]
    Profile {
        /// Name of the profile.
        name: String,
    },
    /// A limit is not positive.
    #[error("`{field}` must be positive")]
    ZeroLimit {
        /// Name of the field.
        field: &'static str,
    },
    /// A fallback name is not a plain file name.
    #[error("the fallback name `{name}` is not a plain file name")]
    FallbackName {
        /// The name.
        name: String,
    },
    /// A marker is not a relative path below its directory.
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

/// Returns the file names of a profile followed by the configured fallbacks, trimmed and without blanks and
/// duplicates.
pub(crate) fn candidate_names(settings: &FileSettings) -> Result<Vec<String>, SettingsError> {
    let profile = settings.profile;
    let mut names: Vec<String> = profile.main_names().map(str::to_owned).collect();
    if profile.choose.fallbacks == Fallbacks::Unsupported {
        return Ok(names);
    }
    for fallback in settings.agents.fallback_filenames.iter().flatten() {
        let name = fallback.trim();
        let plain = !name.contains(['/', '\0']) && !matches!(name, "." | "..");
        // Names in `added` are read in any case, even if another name was found.
        if name.is_empty()
            || names.iter().any(|known| known == name)
            || profile.names_with(NameRole::Added).any(|added| added == name)
        {
            continue;
        }
        match (plain, profile.choose.fallbacks) {
            (true, _) => names.push(name.to_owned()),
            (false, Fallbacks::Strict) => return Err(SettingsError::FallbackName { name: name.to_owned() }),
            (false, _) => {}
        }
    }
    Ok(names)
}
