//! All keys with the value that holds so far; layers are laid over them one by one.

use super::error::ConfigurationError;
use super::key::{KEYS, Key};
use super::origin::Origin;
use super::value::Value;

/// A value that a layer gives to a key.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// The key.
    pub(crate) key: &'static Key,
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
    /// The value; none where the key has none of its own.
    pub(crate) value: Option<Value>,
    /// Where it was set.
    pub(crate) origin: Origin,
}

/// What holds for every key, in the order of the table.
#[derive(Debug)]
pub(crate) struct Settings(Vec<Setting>);

impl Settings {
    /// The lowest layer.
    pub(crate) fn built_in() -> Self {
        Settings(KEYS.iter().map(Setting::built_in).collect())
    }

    /// Lays one value over what holds so far.
    pub(crate) fn apply(&mut self, assignment: Assignment) {
        if let Some(setting) = self.0.iter_mut().find(|setting| setting.key.path == assignment.key.path) {
            setting.value = Some(assignment.value);
            setting.origin = assignment.origin;
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
        self.0
            .iter()
            .find(|setting| setting.key.path == path)
            .ok_or(ConfigurationError::NotInTable { key: path.to_owned() })
    }

    /// What holds for a key, if that is a number.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        match self.0.iter().find(|setting| setting.key.path == path)?.value {
            Some(Value::Integer(number)) => Some(number),
            _ => None,
        }
    }

    /// What holds for a key, if that is a text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        match &self.0.iter().find(|setting| setting.key.path == path)?.value {
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
        Setting { key, value: key.built_in.value(), origin: Origin::BuiltIn }
    }
}
