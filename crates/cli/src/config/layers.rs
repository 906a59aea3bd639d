//! Layers of settings, applied on top of each other, with the origin of each key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::json;

use super::key::Key;
use super::table::{KEYS, Sections};
use super::value::Value;
use crate::failure::Failure;

/// Layers from lowest to highest. A higher one replaces whole values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    BuiltIn,
    System,
    User,
    Project,
    Environment,
    Flags,
}

/// Place where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    File {
        /// System, user or project.
        layer: Layer,
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    Variable(String),
    /// Name as written, such as `--listen`.
    Flag(String),
}

/// A checked value that a layer assigns to a key.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) key: &'static Key,
    /// Path of the key with user-chosen names.
    pub(crate) path: Cow<'static, str>,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// The settings after the layers applied so far.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    pub(crate) sections: Sections,
    /// Keys that were set, by path.
    set: BTreeMap<Cow<'static, str>, (&'static Key, Origin)>,
    /// Addresses of providers that no layer sets, by path, with their origins.
    addresses: BTreeMap<String, (String, Origin)>,
}

/// A key with its value and origin, as shown by `foreword config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Value in TOML without passwords. For a key without a value, the default behavior in parentheses.
    pub(crate) shown: String,
    /// Value in JSON without passwords, or null.
    pub(crate) value: serde_json::Value,
    /// Name of the layer that set it.
    pub(crate) origin: &'static str,
    /// File, variable or flag that set it.
    pub(crate) source: Option<String>,
}

impl Layers {
    /// Applies a value on top of the current ones.
    pub(crate) fn apply(&mut self, assignment: Assignment) {
        let Assignment { key, path, value, origin } = assignment;
        key.store(&mut self.sections, &path, Some(value));
        // Only the origin of the highest layer is kept, because a higher layer replaces the whole value.
        self.set.insert(path, (key, origin));
    }

    /// Resets a key to its built-in value.
    pub(crate) fn reset(&mut self, key: &'static Key) {
        key.store(&mut self.sections, key.path, key.built_in());
        self.set.remove(key.path);
    }

    /// Returns the origin of a key.
    pub(crate) fn origin(&self, path: &str) -> Origin {
        self.set.get(path).map_or(Origin::BuiltIn, |(_, origin)| origin.clone())
    }

    /// Returns the value of a numeric key.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        match Key::find(path)?.load(&self.sections, path)? {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Records the address of a provider that no layer sets, because prompts are sent there all the same.
    pub(super) fn note_address(&mut self, path: String, address: String, origin: Origin) {
        self.addresses.insert(path, (address, origin));
    }

    /// Returns every key in table order, then those with user-chosen names, sorted by name.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let known = KEYS.iter().filter(|key| !key.is_named_by_user()).map(|key| self.entry(key, key.path));
        // Keys with user-chosen names only exist if a layer sets them, so the table alone cannot list them.
        let set = self.set.iter().filter(|(_, (key, _))| key.is_named_by_user());
        let set = set.map(|(path, (key, _))| (*key, self.entry(key, path)));
        let addresses = self.addresses.iter().filter_map(|(path, (address, origin))| {
            let key = Key::find(path)?;
            let value = Value::Text(address.clone());
            Some((key, Entry::new(key, path, Some(&value), origin)))
        });
        let mut named: Vec<(&Key, Entry)> = set.chain(addresses).collect();
        let place = |key: &Key| KEYS.iter().position(|known| known.path == key.path);
        // Keys of the same table stay together, in the order of the settings table.
        named.sort_by_cached_key(|(key, entry)| {
            (entry.key.rsplit_once('.').map(|(table, _)| table.to_owned()), place(key))
        });
        known.chain(named.into_iter().map(|(_, entry)| entry)).collect()
    }

    fn entry(&self, key: &Key, path: &str) -> Entry {
        Entry::new(key, path, key.load(&self.sections, path).as_ref(), &self.origin(path))
    }
}

impl Entry {
    fn new(key: &Key, path: &str, value: Option<&Value>, origin: &Origin) -> Self {
        let (shown, value) = match value {
            Some(value) => (key.kind().shown(value), key.kind().json(value)),
            None => (format!("({})", key.otherwise.replace('`', "")), json!(null)),
        };
        Self { key: path.to_owned(), shown, value, origin: origin.layer().name(), source: origin.source() }
    }
}

impl Layer {
    /// Returns the layer's name in text and JSON.
    fn name(self) -> &'static str {
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
    pub(crate) fn layer(&self) -> Layer {
        match self {
            Origin::BuiltIn => Layer::BuiltIn,
            Origin::File { layer, .. } => *layer,
            Origin::Variable(_) => Layer::Environment,
            Origin::Flag(_) => Layer::Flags,
        }
    }

    /// Returns the file, variable or flag. `None` for a built-in value.
    pub(crate) fn source(&self) -> Option<String> {
        match self {
            Origin::BuiltIn => None,
            Origin::File { path, .. } => Some(path.display().to_string()),
            Origin::Variable(name) | Origin::Flag(name) => Some(name.clone()),
        }
    }

    /// Creates the error for a value of the wrong kind.
    pub(crate) fn wrong_value(&self, path: &str, key: &Key, found: &str) -> Failure {
        let kind = if let Origin::File { .. } = self { key.kind_in_files() } else { key.kind() };
        Failure::usage(format!("{self}: `{path}` must be {}, found {found}", kind.expectation()))
    }
}

/// Prefix of messages about the value.
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
