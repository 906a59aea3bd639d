//! Removes secrets from foreign text.

use instructions::is_invisible;
use secrecy::{ExposeSecret as _, SecretString};

use crate::ProviderConfig;

/// Shorter values are ignored, because they may occur by chance; no key is that short.
const SHORTEST: usize = 8;

/// Secrets of a provider. Servers quote keys in their errors, and proxies quote headers.
#[derive(Debug, Clone)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(crate) fn of(config: &ProviderConfig) -> Self {
        let secrets = config.api_key.iter().chain(config.headers.values());
        let mut secrets: Vec<SecretString> =
            secrets.filter(|secret| secret.expose_secret().len() >= SHORTEST).cloned().collect();
        // A secret may be part of another: `Bearer …` contains the key. The longest is replaced first, or a rest would remain.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self(secrets)
    }

    /// Replaces all secrets in a text, also those with invisible characters in them, which a reader would not notice.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| scrub_one(text, secret.expose_secret()))
    }
}

fn scrub_one(text: String, secret: &str) -> String {
    const REDACTED: &str = "[redacted]";
    if !text.chars().any(is_invisible) {
        return text.replace(secret, REDACTED);
    }
    // The visible text, and for each of its bytes the position in the whole text.
    let mut visible = String::with_capacity(text.len());
    let mut positions = Vec::with_capacity(text.len() + 1);
    for (position, character) in text.char_indices().filter(|(_, character)| !is_invisible(*character)) {
        visible.push(character);
        positions.extend((0..character.len_utf8()).map(|offset| position + offset));
    }
    let mut scrubbed = String::with_capacity(text.len());
    let mut rest = 0;
    for (start, found) in visible.match_indices(secret) {
        let (Some(start), Some(last)) = (positions.get(start), positions.get(start + found.len() - 1)) else {
            break;
        };
        scrubbed.push_str(&text[rest..*start]);
        scrubbed.push_str(REDACTED);
        // A secret ends with an ASCII character in practice; otherwise the rest of its last one goes with it.
        rest = (last + 1..=text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(text.len());
    }
    scrubbed.push_str(&text[rest..]);
    scrubbed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_through_invisible_characters() {
        let secrets = Secrets(vec!["sk-secret-key".into()]);
        for (text, scrubbed) in [
            ("key sk-secret-key.", "key [redacted]."),
            ("sk-\u{200b}secret\u{2060}-key", "[redacted]"),
            (
                "ä\u{200b} sk-sec\u{ad}ret-key ö sk-secret-key\u{200b}!",
                "ä\u{200b} [redacted] ö [redacted]\u{200b}!",
            ),
            ("sk-secret", "sk-secret"),
        ] {
            assert_eq!(secrets.scrub(text), scrubbed);
        }
    }
}
