//! Layers of settings, laid over each other: what each key is, and where that was set.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::json;

use super::key::Key;
use super::table::{KEYS, Sections};
use super::value::Value;
use crate::failure::Failure;

/// The layers, lowest first: a higher one replaces a value as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    BuiltIn,
    System,
    User,
    Project,
    Environment,
    Flags,
}

/// The place where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    File {
        /// Whose file it is: system, user or project.
        layer: Layer,
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    Variable(String),
    /// As it is written: `--listen`.
    Flag(String),
}

/// A value that a layer gives to a key, checked against the key's kind.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) key: &'static Key,
    /// The key's path, with the names that a user chose.
    pub(crate) path: Cow<'static, str>,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// What holds so far.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    pub(crate) sections: Sections,
    /// What was set, by path.
    set: BTreeMap<Cow<'static, str>, (&'static Key, Origin)>,
    /// Where providers are that no layer gives an address, by path, and what says so.
    addresses: BTreeMap<String, (String, Origin)>,
}

/// One key, what it is and why, as `foreword config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The value as in TOML, without a password; for a key without a value, in parentheses what happens then.
    pub(crate) shown: String,
    /// The value in JSON, without a password; null when there is none.
    pub(crate) value: serde_json::Value,
    /// The name of the layer that set it.
    pub(crate) origin: &'static str,
    /// The file, variable or flag that set it.
    pub(crate) source: Option<String>,
}

impl Layers {
    /// Lays one value over what holds so far.
    pub(crate) fn apply(&mut self, assignment: Assignment) {
        let Assignment { key, path, value, origin } = assignment;
        key.store(&mut self.sections, &path, Some(value));
        self.set.insert(path, (key, origin));
    }

    /// Takes back what any layer said about a key.
    pub(crate) fn reset(&mut self, key: &'static Key) {
        key.store(&mut self.sections, key.path, key.built_in());
        self.set.remove(key.path);
    }

    /// Where a key was set.
    pub(crate) fn origin(&self, path: &str) -> Origin {
        self.set.get(path).map_or(Origin::BuiltIn, |(_, origin)| origin.clone())
    }

    /// What a key is, if that is a number.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        match Key::find(path)?.load(&self.sections, path)? {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// Tells where a provider is that no layer gives an address: prompts go there all the same.
    pub(super) fn note_address(&mut self, path: String, address: String, origin: Origin) {
        self.addresses.insert(path, (address, origin));
    }

    /// Every key in the order of the table, then those with names in them, by name.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let known = KEYS.iter().filter(|key| !key.is_named_by_user()).map(|key| self.entry(key, key.path));
        let set = self.set.iter().filter(|(_, (key, _))| key.is_named_by_user());
        let set = set.map(|(path, (key, _))| (*key, self.entry(key, path)));
        let addresses = self.addresses.iter().filter_map(|(path, (address, origin))| {
            let (key, value) = (Key::find(path)?, Value::Text(address.clone()));
            Some((key, Entry::new(key, path, Some(&value), origin)))
        });
        let mut named: Vec<(&Key, Entry)> = set.chain(addresses).collect();
        let place = |key: &Key| KEYS.iter().position(|known| known.path == key.path);
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
    /// The layer's name in text and JSON.
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

    /// The file, variable or flag; none when nobody set the value.
    pub(crate) fn source(&self) -> Option<String> {
        match self {
            Origin::BuiltIn => None,
            Origin::File { path, .. } => Some(path.display().to_string()),
            Origin::Variable(name) | Origin::Flag(name) => Some(name.clone()),
        }
    }

    /// That a value from here is not of its key's kind.
    pub(crate) fn wrong_value(&self, path: &str, key: &Key, found: &str) -> Failure {
        Failure::usage(format!("{self}: `{path}` must be {}, found {found}", key.kind().expectation()))
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
