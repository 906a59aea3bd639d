//! Removes secrets from foreign text.

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

    /// Replaces all secrets in a text.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.expose_secret(), "[redacted]"))
    }
}
