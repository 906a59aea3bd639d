//! All keys with the value that holds so far; layers are laid over them one by one.

use std::borrow::Cow;

use super::error::ConfigurationError;
use super::key::{KEYS, Key};
use super::origin::Origin;
use super::value::Value;

/// A value that a layer gives to a key.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// The key.
    pub(crate) key: &'static Key,
    /// Its path, with the names that a user chose.
    pub(crate) path: Cow<'static, str>,
    /// Its value, checked against the key's kind.
    pub(crate) value: Value,
    /// Where it was set.
    pub(crate) origin: Origin,
}

/// What holds for one key.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The key.
    pub(crate) key: &'static Key,
    /// Its path, with the names that a user chose.
    pub(crate) path: Cow<'static, str>,
    /// The value; none where the key has none of its own.
    pub(crate) value: Option<Value>,
    /// Where it was set.
    pub(crate) origin: Origin,
}

/// What holds for every key, in the order of the table; those with names in them only where they are set.
#[derive(Debug)]
pub(crate) struct Settings(Vec<Setting>);

impl Settings {
    /// The lowest layer.
    pub(crate) fn built_in() -> Self {
        Settings(KEYS.iter().filter(|key| !key.is_named_by_user()).map(Setting::built_in).collect())
    }

    /// Lays one value over what holds so far.
    pub(crate) fn apply(&mut self, assignment: Assignment) {
        let Assignment { key, path, value, origin } = assignment;
        if let Some(setting) = self.0.iter_mut().find(|setting| setting.path == path) {
            setting.value = Some(value);
            setting.origin = origin;
        } else {
            self.0.push(Setting { key, path, value: Some(value), origin });
        }
    }

    /// Takes back what any layer said about a key.
    pub(crate) fn reset(&mut self, key: &'static Key) {
        if let Some(setting) = self.0.iter_mut().find(|setting| setting.key.path == key.path) {
            *setting = Setting::built_in(key);
        }
    }

    /// What holds for a key.
    pub(crate) fn get(&self, path: &'static str) -> Result<&Setting, ConfigurationError> {
        self.find(path).ok_or(ConfigurationError::NotInTable { key: path.to_owned() })
    }

    /// What holds for a key, if it is one that is there.
    pub(crate) fn find(&self, path: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.path == path)
    }

    /// The names of the tables that users have put below one, each once, in order.
    pub(crate) fn names_below(&self, section: &str) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .0
            .iter()
            .filter(|setting| setting.key.is_named_by_user())
            .filter_map(|setting| setting.path.strip_prefix(section)?.strip_prefix('.')?.split('.').next())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What holds for a key, if that is a number.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        match self.find(path)?.value {
            Some(Value::Integer(number)) => Some(number),
            _ => None,
        }
    }

    /// What holds for a key, if that is a text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        match &self.find(path)?.value {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Every key in the order of the table.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter()
    }
}

impl Setting {
    fn built_in(key: &'static Key) -> Self {
        Setting { key, path: key.path.into(), value: key.built_in.value(), origin: Origin::BuiltIn }
    }
}
