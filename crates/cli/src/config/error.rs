//! What can be wrong with a configuration: what, where, and what to do about it.

use std::io;
use std::path::PathBuf;

use super::file::MAX_FILE_BYTES;
use super::key::Key;
use super::origin::Origin;
use super::value::Found;
use super::value::Kind;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigurationError {
    /// The file named by `--config` is not there.
    #[error("the configuration file {} does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is there, but cannot be read.
    #[error("cannot read the configuration file {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// A project's file is a pipe, a device or the like.
    #[error("the configuration file {} is not a regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// A file is far larger than any configuration.
    #[error("the configuration file {} has more than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file is not text.
    #[error("the configuration file {} is not UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// A file is text, but not TOML.
    #[error("{place} is not valid TOML: {message}")]
    NotToml {
        /// File and line.
        place: Origin,
        /// What the parser said.
        message: String,
    },
    /// A file sets a key that does not exist.
    #[error("{place}: unknown key `{key}`")]
    UnknownKey {
        /// File and line.
        place: Origin,
        /// The key.
        key: String,
        /// The known key that is nearest to it.
        nearest: String,
    },
    /// A file sets what does not belong into one.
    #[error("{place}: `{key}` does not belong into a configuration file")]
    Refused {
        /// File and line.
        place: Origin,
        /// The key.
        key: String,
        /// What to do instead.
        instead: &'static str,
    },
    /// A table has a name that is none.
    #[error("{place}: {name:?} cannot be a name in `{section}`")]
    BadName {
        /// File and line.
        place: Origin,
        /// The table it stands in.
        section: String,
        /// The name.
        name: String,
    },
    /// A table that a user names has nothing in it.
    #[error("{place}: the table `{section}` is empty")]
    EmptyTable {
        /// File and line.
        place: Origin,
        /// The table.
        section: String,
    },
    /// A provider lacks a key that it cannot be used without.
    #[error("{place}: provider `{provider}` needs `{key}`")]
    ProviderNeeds {
        /// Where something of it was set.
        place: Origin,
        /// The provider.
        provider: String,
        /// The key.
        key: String,
        /// What to write.
        example: &'static str,
    },
    /// Two keys were set of which only one can hold.
    #[error("{place}: provider `{provider}` has a key already, by `api_key_env` ({other})")]
    TwoApiKeys {
        /// Where the second was set.
        place: Origin,
        /// The provider.
        provider: String,
        /// Where the first was set.
        other: Origin,
    },
    /// A number does not fit to another one.
    #[error("{place}: `{key}` is {number}, but must be {relation} `{other}`, which is {limit}")]
    Unfit {
        /// Where it was set.
        place: Origin,
        /// The key.
        key: &'static str,
        /// What it is.
        number: u64,
        /// How it must stand to the other.
        relation: &'static str,
        /// The other key.
        other: &'static str,
        /// What that is.
        limit: u64,
    },
    /// A model of a provider that there is none of.
    #[error("{place}: `{key}` names provider `{provider}`, which is not configured")]
    UnknownProvider {
        /// Where it was set.
        place: Origin,
        /// The key.
        key: &'static str,
        /// The provider.
        provider: String,
        /// Those that are configured.
        known: Vec<String>,
    },
    /// A provider that cannot be asked as it is configured.
    #[error("{message}{}", place.as_ref().map_or_else(String::new, |place| format!(" ({place})")))]
    UnusableProvider {
        /// Where something of it was set; none for one that is built in.
        place: Option<Origin>,
        /// What is wrong, with the provider's name.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// A file has a value where a table belongs.
    #[error("{place}: `{key}` must be a table, found {found}")]
    NotATable {
        /// File and line.
        place: Origin,
        /// The table.
        key: String,
        /// What stands there.
        found: Found,
    },
    /// A value is not of the key's kind.
    #[error("{place}: `{path}` must be {}, found {found}", kind.expectation())]
    WrongValue {
        /// Where it was set.
        place: Origin,
        /// The key.
        path: String,
        /// What it takes.
        kind: Kind,
        /// What stands there.
        found: Found,
    },
    /// A project's file sets what only the user may set.
    #[error("{place}: a project cannot set `{path}`")]
    ProjectCannotSet {
        /// File and line.
        place: Origin,
        /// The key.
        path: String,
        /// The variable that sets it.
        variable: Option<String>,
        /// The file where it can be set.
        user_file: PathBuf,
    },
    /// A project's file raises a limit.
    #[error("{place}: a project cannot raise `{}` from {limit} to {wanted}", key.path)]
    ProjectCannotRaise {
        /// File and line.
        place: Origin,
        /// The key.
        key: &'static Key,
        /// What holds without the project's file.
        limit: u64,
        /// What the project's file says.
        wanted: u64,
        /// The file where it can be raised.
        user_file: PathBuf,
    },
    /// The code asks for a key, or a type of it, that the table of keys does not have.
    #[error("`{key}` is not in the table of settings as it is used; this is a defect of foreword")]
    NotInTable {
        /// The key.
        key: String,
    },
    /// A flag for a directory has no text.
    #[error("`{flag}` needs a directory, found an empty text")]
    EmptyDirectory {
        /// The flag.
        flag: &'static str,
    },
    /// The platform does not say where the user's files are.
    #[error("cannot find your home directory, so there is no place for the {what} directory")]
    NoHome {
        /// Which directory was looked for.
        what: &'static str,
        /// The flag that names it.
        flag: &'static str,
        /// The variable that names it.
        variable: &'static str,
    },
}

impl ConfigurationError {
    pub(crate) fn wrong_value(place: Origin, path: impl Into<String>, kind: Kind, found: Found) -> Self {
        ConfigurationError::WrongValue { place, path: path.into(), kind, found }
    }

    /// What the user can do, where there is more to say than the message does.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            ConfigurationError::Missing { .. } => Some("create the file, or leave out `--config`".to_owned()),
            ConfigurationError::UnknownKey { nearest, .. } => {
                Some(format!("the nearest known key is `{nearest}`; `foreword config` lists all"))
            }
            ConfigurationError::Refused { instead, .. } => Some((*instead).to_owned()),
            ConfigurationError::BadName { .. } => {
                Some("names consist of letters, digits, `_` and `-`".to_owned())
            }
            ConfigurationError::EmptyTable { .. } => {
                Some("set something in it, or remove its heading".to_owned())
            }
            ConfigurationError::ProviderNeeds { example, .. } => Some(format!("such as {example}")),
            ConfigurationError::TwoApiKeys { .. } => {
                Some("set either `api_key_env` or `api_key_file`".to_owned())
            }
            ConfigurationError::UnknownProvider { known, provider, .. } => Some(format!(
                "there are {}; add a table [providers.{provider}] for another",
                known.join(", ")
            )),
            ConfigurationError::UnusableProvider { hint, .. } => hint.clone(),
            ConfigurationError::ProjectCannotSet { variable, user_file, .. } => {
                let variable = variable.as_ref().map(|name| format!(" or with the variable {name}"));
                Some(format!(
                    "remove it there and set it in {}{}",
                    user_file.display(),
                    variable.unwrap_or_default()
                ))
            }
            ConfigurationError::ProjectCannotRaise { key, user_file, .. } => Some(format!(
                "a project may only lower limits; to raise this one, set it in {} or with the variable {}",
                user_file.display(),
                key.variable().unwrap_or_default()
            )),
            ConfigurationError::NoHome { flag, variable, .. } => {
                Some(format!("set HOME, or name the directory with `{flag}` or {variable}"))
            }
            _ => None,
        }
    }
}
