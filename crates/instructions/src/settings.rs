//! What a user may change about a profile: the settings of a resolution, and the one type that changes them.

pub(crate) mod file;
pub(crate) mod json;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::profile::{FOREWORD, Fallbacks, Links, PROFILES, Profile};
use crate::session::delivery::Delivery;
use crate::text::front_matter::Audience;

// Paths of settings that advice names and other agents' files set, as configuration files write them.
pub(crate) const FALLBACK_FILENAMES: &str = "agents.fallback_filenames";
pub(crate) const IMPORTS: &str = "agents.imports";
pub(crate) const MARKERS: &str = "agents.root.markers";
pub(crate) const MAX_BYTES: &str = "agents.initial.max_bytes";

/// Bytes up to which `auto` delivery puts a file's text into the reminder itself.
pub const INLINE_BYTES: u64 = 4_096;
/// Files announced by one resolve, unless set otherwise.
pub const MAX_FILES_PER_RESOLVE: u64 = 8;

/// What is set before anybody sets anything, as far as that is not the profile's to say.
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

/// Everything that decides what applies to a directory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileSettings {
    /// The rules.
    pub profile: &'static Profile,
    /// Where users keep their own files.
    pub homes: HomeDirectories,
    /// What a project's files are bounded by, besides the profile's rules.
    pub bounds: ProjectBounds,
    /// Where links of a project may lead.
    pub links: LinkBounds,
    /// Whether what lies above the root is named.
    pub above_root: AboveRoot,
    /// Directories and files that no project's file may be in or lead to, such as a gateway's keys and data.
    pub private_paths: Vec<PathBuf>,
    /// Who the files are read for.
    pub audience: Audience,
    /// What is set. For what is not, the methods of this type know the built-in value, or the profile's own.
    pub agents: AgentsConfig,
}

/// Where links of a project may lead, unless somebody allows more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum LinkBounds {
    /// As far as the agent follows them, but never out of a workspace's directory.
    #[default]
    OfProfile,
    /// As far as the agent follows them, out of a workspace's directory, too: whoever asks may read this machine.
    OfAgent,
    /// Not out of the root: the project has chosen the profile, and may not choose what is read outside of it.
    Root,
}

/// Whether instruction files above the root are named, which nobody reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AboveRoot {
    /// They are.
    #[default]
    Named,
    /// Whoever asks is not to know what there is.
    Hidden,
}

/// What bounds a project, whoever asks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ProjectBounds {
    /// Nothing.
    #[default]
    None,
    /// A workspace's directory. It is the root, as if it had been given; under rules that let nobody give one, they
    /// decide, but nothing above it counts.
    Workspace(PathBuf),
    /// There is no project: only the user's own file counts.
    HomeOnly,
}

impl ProjectBounds {
    /// The workspace's directory.
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
    /// A profile's own settings, without any home directory.
    pub fn of(profile: &'static Profile) -> Self {
        Self {
            profile,
            homes: HomeDirectories::default(),
            bounds: ProjectBounds::None,
            links: LinkBounds::default(),
            above_root: AboveRoot::default(),
            private_paths: Vec::new(),
            audience: Audience::Main,
            agents: BUILT_IN,
        }
    }

    /// Replaces what a patch sets.
    pub fn apply(&mut self, patch: &AgentsConfig) -> Result<(), SettingsError> {
        if let Some(name) = &patch.profile {
            self.profile =
                Profile::find(name).ok_or_else(|| SettingsError::Profile { name: name.clone() })?;
        }
        self.agents.merge(patch);
        Ok(())
    }

    /// The same settings with some set otherwise.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut AgentsConfig)) -> Self {
        set(&mut self.agents);
        self
    }

    /// Whether files are read at all.
    pub fn enabled(&self) -> bool {
        self.agents.enabled.or(BUILT_IN.enabled).unwrap_or_default()
    }

    /// Whether links may lead out of the project.
    pub fn follow_external_links(&self) -> bool {
        self.agents.follow_external_links.or(BUILT_IN.follow_external_links).unwrap_or_default()
    }

    /// The directory that links must stay in; none where they may lead anywhere.
    pub(crate) fn links_inside<'a>(&'a self, root: &'a Path) -> Option<&'a Path> {
        if self.follow_external_links() {
            return None;
        }
        if self.profile.links == Links::InsideRoot || self.links == LinkBounds::Root {
            return Some(root);
        }
        self.bounds.workspace().filter(|_| self.links == LinkBounds::OfProfile)
    }

    /// Whether files are read that others name with `@`, as far as the profile does that.
    pub fn imports(&self) -> bool {
        self.agents.imports.or(BUILT_IN.imports).unwrap_or_default()
    }

    /// Whether the search for a marker goes up to the file system's root; if not, it ends at the user's home.
    pub fn stop_at_fs_root(&self) -> bool {
        self.agents.root.stop_at_fs_root.or(BUILT_IN.root.stop_at_fs_root).unwrap_or_default()
    }

    /// How many project files are read at most.
    pub fn max_files(&self) -> Option<u64> {
        self.agents.initial.max_files.or(self.profile.max_files)
    }

    /// How many bytes of project files are read at most.
    pub fn max_bytes(&self) -> u64 {
        self.agents.initial.max_bytes.unwrap_or(self.profile.max_bytes)
    }

    /// Whether files of other directories are brought in as an agent moves.
    pub fn resolver_enabled(&self) -> bool {
        self.agents.resolver.enabled.or(BUILT_IN.resolver.enabled).unwrap_or_default()
    }

    /// How many files one resolve announces at most.
    pub fn max_files_per_resolve(&self) -> u64 {
        self.agents.resolver.max_files_per_resolve.unwrap_or(MAX_FILES_PER_RESOLVE)
    }

    /// Whether a reminder carries texts or only paths.
    pub fn delivery(&self) -> Delivery {
        self.agents.resolver.delivery.unwrap_or_default()
    }
}

/// What a configuration, a workspace or a session says about instruction files; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsConfig {
    /// Whether files on disk are read at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Name of the set of rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Names tried after the profile's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_filenames: Option<Vec<String>>,
    /// Whether links may lead out of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow_external_links: Option<bool>,
    /// Whether files are read that others name with `@`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imports: Option<bool>,
    /// Where the project root is.
    #[serde(skip_serializing_if = "is_default")]
    pub root: AgentsRoot,
    /// What is loaded when a session starts.
    #[serde(skip_serializing_if = "is_default")]
    pub initial: AgentsInitial,
    /// What is brought in as an agent moves.
    #[serde(skip_serializing_if = "is_default")]
    pub resolver: AgentsResolver,
}

/// How the project root is found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentsRoot {
    /// The root itself; nothing is searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_root_override: Option<PathBuf>,
    /// Names whose presence makes a directory the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markers: Option<Vec<String>>,
    /// Whether the search goes up to the file system's root.
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
    /// Whether files of other directories are brought in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Most files announced at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub max_files_per_resolve: Option<u64>,
    /// Whether a reminder carries texts or only paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl AgentsConfig {
    /// What the public schema wants besides types: limits are positive, the profile exists. A settings file, a flag and a
    /// session may say 0, which reads no project file.
    pub fn check(&self) -> Result<(), SettingsError> {
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

    /// Replaces what a patch sets within the profile.
    pub fn merge(&mut self, patch: &AgentsConfig) {
        fn replace<T: Clone>(setting: &mut Option<T>, value: &Option<T>) {
            if value.is_some() {
                setting.clone_from(value);
            }
        }
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

    /// Every text that is set, for whoever keeps them where not every text can be kept.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let root = self.root.project_root_override.as_deref().and_then(Path::to_str);
        let lists = [&self.fallback_filenames, &self.root.markers].into_iter().flatten().flatten();
        self.profile.as_deref().into_iter().chain(root).chain(lists.map(String::as_str))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// The directories in which a user keeps what is not of one project: one for each profile that has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct HomeDirectories {
    pub(crate) user: Option<PathBuf>,
    of_profiles: BTreeMap<&'static str, PathBuf>,
}

impl HomeDirectories {
    /// The user's home directory alone.
    pub fn of_user(user: Option<PathBuf>) -> Self {
        Self { user, of_profiles: BTreeMap::new() }
    }

    /// Where every profile's directory is: what its variable names, else its place in the user's home directory.
    pub fn find(user: Option<PathBuf>, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let mut homes = Self::of_user(user);
        for profile in PROFILES {
            let Some(home) = profile.home_directory else { continue };
            let named = home.variable.and_then(&variable);
            let above = || home.above.and_then(|(above, below)| Some(variable(above)?.join(below)));
            let default = || homes.user.as_ref().map(|user| user.join(home.in_user_home));
            if let Some(directory) = named.or_else(above).or_else(default) {
                homes.of_profiles.insert(profile.name, directory);
            }
        }
        homes
    }

    /// With this directory for a profile.
    #[must_use]
    pub fn with(mut self, profile: &Profile, directory: impl Into<PathBuf>) -> Self {
        self.of_profiles.insert(profile.name, directory.into());
        self
    }

    /// A profile's directory.
    pub fn of(&self, profile: &Profile) -> Option<&Path> {
        self.of_profiles.get(profile.name).map(PathBuf::as_path)
    }

    /// The user's home directory.
    pub fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// Every profile's directory.
    pub fn all(&self) -> impl Iterator<Item = &Path> {
        self.of_profiles.values().map(PathBuf::as_path)
    }
}

/// Settings that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// There is no such profile.
    #[error("there is no profile `{name}`")]
    Profile {
        /// The name.
        name: String,
    },
    /// A limit that must be positive is not.
    #[error("`{field}` must be positive")]
    ZeroLimit {
        /// The field.
        field: &'static str,
    },
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
pub(crate) fn candidate_names(settings: &FileSettings) -> Result<Vec<String>, SettingsError> {
    let profile = settings.profile;
    let mut names: Vec<String> = profile.names.iter().map(|name| (*name).to_owned()).collect();
    if profile.fallbacks == Fallbacks::Unsupported {
        return Ok(names);
    }
    for fallback in settings.agents.fallback_filenames.iter().flatten() {
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
