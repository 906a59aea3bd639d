//! What can be wrong with a configuration: what, where, and what to do about it.

use std::io;
use std::path::PathBuf;

use super::file::MAX_FILE_BYTES;
use super::key::Key;
use super::origin::Origin;
use super::value::Found;

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
        nearest: &'static str,
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
    #[error("{place}: `{}` must be {}, found {found}", key.path, key.kind.expectation())]
    WrongValue {
        /// Where it was set.
        place: Origin,
        /// The key.
        key: &'static Key,
        /// What stands there.
        found: Found,
    },
    /// A project's file sets what only the user may set.
    #[error("{place}: a project cannot set `{}`", key.path)]
    ProjectCannotSet {
        /// File and line.
        place: Origin,
        /// The key.
        key: &'static Key,
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
    pub(crate) fn wrong_value(place: Origin, key: &'static Key, found: Found) -> Self {
        ConfigurationError::WrongValue { place, key, found }
    }

    /// What the user can do, where there is more to say than the message does.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            ConfigurationError::Missing { .. } => Some("create the file, or leave out `--config`".to_owned()),
            ConfigurationError::UnknownKey { nearest, .. } => {
                Some(format!("the nearest known key is `{nearest}`; `foreword config` lists all"))
            }
            ConfigurationError::ProjectCannotSet { key, user_file, .. } => Some(format!(
                "remove it there and set it in {} or with the variable {}",
                user_file.display(),
                key.variable()
            )),
            ConfigurationError::ProjectCannotRaise { key, user_file, .. } => Some(format!(
                "a project may only lower limits; to raise this one, set it in {} or with the variable {}",
                user_file.display(),
                key.variable()
            )),
            ConfigurationError::NoHome { flag, variable, .. } => {
                Some(format!("set HOME, or name the directory with `{flag}` or {variable}"))
            }
            _ => None,
        }
    }
}
