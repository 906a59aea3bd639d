//! Values of environment variables that a server is given, and that nobody is shown.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret as _, SecretString};

/// Shorter values are no secrets, and masking them would make texts unreadable.
const MIN_CHARS: usize = 6;
const MASK: &str = "[secret]";

/// The variables that a server's settings name, with their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(BTreeMap<String, SecretString>);

impl Secrets {
    /// Reads the variables that are there.
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

    /// A text of the server, without the values.
    pub(crate) fn mask(&self, text: String) -> String {
        let mut values: Vec<&str> = self.hidden().collect();
        // One may be a part of another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let values = values.into_iter();
        values.fold(text, |text, value| if text.contains(value) { text.replace(value, MASK) } else { text })
    }

    /// Whether a text has one of the values.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.hidden().any(|value| text.contains(value))
    }

    fn hidden(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(|value| value.expose_secret()).filter(|value| value.len() >= MIN_CHARS)
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
    }
}
