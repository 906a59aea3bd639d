//! The effective configuration as `foreword config` shows it.

use serde_json::json;

use super::key::{BuiltIn, KEYS};
use super::setting::{Setting, Settings};

/// One key, what holds for it and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Dotted path.
    pub(crate) key: String,
    /// The value as in TOML, without a password; for a key without a value, in parentheses what happens then.
    pub(crate) shown: String,
    /// The value in JSON, without a password; null when there is none.
    pub(crate) value: serde_json::Value,
    /// The name of the layer that set it.
    pub(crate) origin: &'static str,
    /// The file, variable or flag that set it.
    pub(crate) source: Option<String>,
    /// What the key is for.
    pub(crate) documentation: &'static str,
}

/// Every key in the order of the table, then those with names in them, by name.
pub(super) fn entries(settings: &Settings) -> Vec<Entry> {
    let (mut named, known): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|setting| setting.key.is_named_by_user());
    let place = |setting: &Setting| KEYS.iter().position(|key| std::ptr::eq(key, setting.key));
    named.sort_by_key(|setting| {
        let table = setting.path.rsplit_once('.').map(|(table, _)| table.to_owned());
        (table, place(setting))
    });
    known.into_iter().chain(named).map(entry).collect()
}

/// The object that `foreword config --format json` prints.
pub(super) fn json(settings: &Settings) -> serde_json::Value {
    let values: Vec<serde_json::Value> = entries(settings)
        .into_iter()
        .map(|entry| {
            json!({ "key": entry.key, "value": entry.value, "origin": entry.origin, "source": entry.source })
        })
        .collect();
    json!({ "values": values })
}

fn entry(setting: &Setting) -> Entry {
    let key = setting.key;
    let (shown, value) = match (&setting.value, key.built_in) {
        (Some(value), _) => (key.kind.shown(value), key.kind.json(value)),
        (None, BuiltIn::Nothing(instead)) => (format!("({})", instead.replace('`', "")), json!(null)),
        (None, _) => ("(none)".to_owned(), json!(null)),
    };
    Entry {
        key: setting.path.to_string(),
        shown,
        value,
        origin: setting.origin.layer().name(),
        source: setting.origin.source(),
        documentation: key.documentation,
    }
}
