//! What must not be shown, and taking it out of what others wrote.

use secrecy::{ExposeSecret as _, SecretString};

use crate::ProviderConfig;

/// Shorter values are words that occur by chance; no key is that short.
const SHORTEST: usize = 8;

/// A provider's secrets. Servers quote keys in their errors, and proxies quote headers.
#[derive(Debug, Clone)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    pub(crate) fn of(config: &ProviderConfig) -> Self {
        let secrets = config.api_key.iter().chain(config.headers.values());
        let mut secrets: Vec<SecretString> =
            secrets.filter(|secret| secret.expose_secret().len() >= SHORTEST).cloned().collect();
        // One may be a part of another, as `Bearer …` is longer than what follows it.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self(secrets)
    }

    /// The text without any of them.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "[redacted]"))
    }
}
