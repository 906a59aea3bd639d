//! Where a value came from.

use std::fmt;
use std::path::PathBuf;

/// The layers, lowest first: a higher one replaces a value as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// The table of keys.
    BuiltIn,
    /// The machine's file.
    System,
    /// The user's file.
    User,
    /// The project's file.
    Project,
    /// Environment variables.
    Environment,
    /// Flags of the command.
    Flags,
}

/// The place where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody set it.
    BuiltIn,
    /// A file.
    File {
        /// Whose file it is: system, user or project.
        layer: Layer,
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag, as it is written: `--listen`.
    Flag(&'static str),
}

impl Layer {
    /// The layer's name in text and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Layer::BuiltIn => "built-in",
            Layer::System => "system",
            Layer::User => "user",
            Layer::Project => "project",
            Layer::Environment => "environment",
            Layer::Flags => "flags",
        }
    }
}

impl Origin {
    /// The layer this place belongs to.
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Origin::BuiltIn => Layer::BuiltIn,
            Origin::File { layer, .. } => *layer,
            Origin::Variable(_) => Layer::Environment,
            Origin::Flag(_) => Layer::Flags,
        }
    }

    /// The file, variable or flag; none when nobody set the value.
    pub(crate) fn source(&self) -> Option<String> {
        match self {
            Origin::BuiltIn => None,
            Origin::File { path, .. } => Some(path.display().to_string()),
            Origin::Variable(name) => Some(name.clone()),
            Origin::Flag(name) => Some((*name).to_owned()),
        }
    }
}

/// The beginning of a message about the value.
impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => formatter.write_str("built-in value"),
            Origin::File { path, line, .. } => write!(formatter, "{}:{line}", path.display()),
            Origin::Variable(name) => write!(formatter, "environment variable `{name}`"),
            Origin::Flag(name) => write!(formatter, "flag `{name}`"),
        }
    }
}
