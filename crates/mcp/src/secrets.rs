//! Environment variables passed to a server, whose values must never be shown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

/// Shorter values are not masked: they are no secrets, and masking them would make texts unreadable.
const MIN_CHARS: usize = 6;
const MASK: &str = "[secret]";

/// The variables that a server's settings name, with their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(BTreeMap<String, SecretString>);

impl Secrets {
    /// Reads the variables that are set.
    pub(crate) fn read<'a>(
        names: impl IntoIterator<Item = &'a str>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let found = names.into_iter().filter_map(|name| Some((name.to_owned(), environment(name)?.into())));
        Self(found.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.expose_secret())
    }

    /// Replaces all values in a text of the server.
    pub(crate) fn mask(&self, text: String) -> String {
        let mut values: Vec<Cow<'_, str>> = self.hidden().collect();
        // A value may be part of another. The longest is replaced first, or a rest of it would remain.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let mask = |text: String, value: Cow<'_, str>| {
            if text.contains(&*value) { text.replace(&*value, MASK) } else { text }
        };
        values.into_iter().fold(text, mask)
    }

    /// Replaces all values in the texts of a JSON value.
    pub(crate) fn mask_values(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.mask(text)),
            Value::Array(items) => items.into_iter().map(|item| self.mask_values(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (self.mask(name), self.mask_values(value))).collect()
            }
            other => other,
        }
    }

    /// Returns true if a text contains one of the values.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.hidden().any(|value| text.contains(&*value))
    }

    /// Returns the values, each plain and as escaped in JSON.
    fn hidden(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let values = self.0.values().map(|value| value.expose_secret());
        values.filter(|value| value.len() >= MIN_CHARS).flat_map(|value| {
            // A server may print a value inside JSON. With a quote or a line break in it, the escaped form differs from
            // the plain one and would not be found.
            let written = Value::from(value).to_string();
            let written = written.get(1..written.len() - 1).unwrap_or_default().to_owned();
            let is_same = written == value;
            [Some(Cow::Borrowed(value)), (!is_same).then_some(Cow::Owned(written))].into_iter().flatten()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_masked_longest_first() {
        let values = [("LONG", "hunter2-hunter2"), ("SHORT", "hunter2"), ("FLAG", "1")];
        let look = |name: &str| {
            values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let secrets = Secrets::read(["LONG", "SHORT", "FLAG", "MISSING"], look);
        let masked = secrets.mask("1: hunter2-hunter2, hunter2".to_owned());
        assert_eq!(masked, "1: [secret], [secret]");
        assert_eq!((secrets.get("FLAG"), secrets.get("MISSING")), (Some("1"), None));
        assert!(!format!("{secrets:?}").contains("hunter"));
        let key = Secrets::read(["KEY"], |_| Some("one\ntwo\"three".to_owned()));
        assert_eq!(key.mask(r#"{"k": "one\ntwo\"three"}"#.to_owned()), r#"{"k": "[secret]"}"#);
    }
}
