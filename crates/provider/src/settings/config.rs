//! Configuration of providers: address, key, time limits and retries.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::settings::key::{KeyFileError, key_from_file};
use crate::{ProviderKind, RetryPolicy};

/// A provider that is available without configuration once it has a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Name, as in `anthropic/claude-opus-5`.
    pub name: &'static str,
    /// API of the provider.
    pub kind: ProviderKind,
    /// Base URL. Anthropic's ends before the version and OpenAI's after it, as in their own SDKs, so that a variable set for
    /// those works here, too.
    pub base_url: &'static str,
    /// Environment variable with the key.
    pub key_variable: &'static str,
    /// Environment variable with another base URL.
    pub address_variable: &'static str,
}

impl BuiltIn {
    pub const TABLE: &[Self] = &[
        Self {
            name: "anthropic",
            kind: ProviderKind::Anthropic,
            base_url: "https://api.anthropic.com",
            key_variable: "ANTHROPIC_API_KEY",
            address_variable: "ANTHROPIC_BASE_URL",
        },
        Self {
            name: "openai",
            kind: ProviderKind::Openai,
            base_url: "https://api.openai.com/v1",
            key_variable: "OPENAI_API_KEY",
            address_variable: "OPENAI_BASE_URL",
        },
    ];

    /// Finds a provider by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::TABLE.iter().find(|row| row.name == name)
    }

    /// Returns the base URL of an API's vendor. `None` for APIs without one, whose address must be configured.
    pub fn address_of(kind: ProviderKind) -> Option<&'static str> {
        Self::TABLE.iter().find(|row| row.kind == kind).map(|row| row.base_url)
    }
}

/// Settings of one provider. Missing values are taken from the built-in provider of the same name.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    /// API of the provider.
    pub kind: Option<ProviderKind>,
    /// Base URL, without the path of a method.
    pub base_url: Option<String>,
    /// Environment variable with the key.
    pub api_key_env: Option<String>,
    /// File of mode 0600 with the key, instead of a variable.
    pub api_key_file: Option<PathBuf>,
    /// Additional headers of every request.
    pub headers: BTreeMap<String, SecretString>,
    /// Time limit for the first byte of an answer.
    pub first_byte: Option<Duration>,
}

impl ProviderSettings {
    /// Returns the API of the provider with this name.
    pub fn kind_of(&self, name: &str) -> Option<ProviderKind> {
        self.kind.or_else(|| BuiltIn::find(name).map(|row| row.kind))
    }

    /// Returns the configuration of the provider with this name, and reads its key. The default kind is OpenAI-compatible.
    pub fn config(
        &self,
        name: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<ProviderConfig, KeyFileError> {
        let kind = self.kind_of(name).unwrap_or(ProviderKind::OpenaiCompatible);
        // The vendor's variables apply only to the vendor's own name. Otherwise another server would receive the vendor's key.
        let own = BuiltIn::find(name).filter(|row| row.kind == kind);
        let mut config =
            own.and_then(|row| ProviderConfig::built_in(row.name, &environment)).unwrap_or_else(|| {
                ProviderConfig::new(name, kind, BuiltIn::address_of(kind).unwrap_or_default())
            });
        if let Some(base_url) = &self.base_url {
            config.base_url.clone_from(base_url);
        }
        config.headers.clone_from(&self.headers);
        if let Some(time) = self.first_byte {
            config.timeouts.first_byte = time;
        }
        if let Some(path) = &self.api_key_file {
            config.api_key = Some(key_from_file(path)?);
            // A file in the settings is more specific than any variable. The name is removed, so that no hint points to
            // a variable without effect.
            config.api_key_env = None;
        } else if let Some(variable) = &self.api_key_env {
            config = config.key_from_environment(variable, environment);
        }
        Ok(config)
    }
}

#[derive(Clone)]
pub struct ProviderConfig {
    /// Name of the provider in model names and errors.
    pub name: String,
    /// API of the provider.
    pub kind: ProviderKind,
    /// Base URL, without the path of a method. It must not contain a user name or password.
    pub base_url: String,
    /// Key. Local servers often need none.
    pub api_key: Option<SecretString>,
    /// Environment variable of the key, for hints.
    pub api_key_env: Option<String>,
    /// Additional headers. Their values may be keys and are protected like one.
    pub headers: BTreeMap<String, SecretString>,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Retries.
    pub retry: RetryPolicy,
    /// Limits of an answer's size.
    pub limits: ResponseLimits,
}

/// Time limits of a request. A whole answer has no limit, because a model may well write for an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of the answer's body. A local server that takes longer for a large prompt needs a
    /// setting.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(180),
        }
    }
}

/// Limits of an answer's size, so that no provider can fill the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseLimits {
    /// Bytes of one event. The last event of some APIs repeats the whole answer.
    pub event_bytes: usize,
    /// Bytes of a whole answer as transmitted; a few letters take some hundred bytes.
    pub response_bytes: usize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self { event_bytes: 16 << 20, response_bytes: 256 << 20 }
    }
}

impl ProviderConfig {
    /// Creates a provider without a key.
    pub fn new(name: impl Into<String>, kind: ProviderKind, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind,
            base_url: base_url.into(),
            api_key: None,
            api_key_env: None,
            headers: BTreeMap::new(),
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            limits: ResponseLimits::default(),
        }
    }

    /// Creates a built-in provider, with its key and perhaps its address from the given environment.
    pub fn built_in(name: &str, environment: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let row = BuiltIn::find(name)?;
        let set = |variable: &str| environment(variable).filter(|value| !value.trim().is_empty());
        // An empty variable counts as unset: shells and container files often define one without a value, and an empty
        // address would be rejected.
        let base_url = set(row.address_variable).unwrap_or_else(|| row.base_url.to_owned());
        Some(Self::new(row.name, row.kind, base_url).key_from_environment(row.key_variable, environment))
    }

    /// Sets the key from a variable, if it has a value; hints name the variable.
    pub fn key_from_environment(
        mut self,
        variable: impl Into<String>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let variable = variable.into();
        let value = environment(&variable).map(|value| value.trim().to_owned());
        self.api_key = value.filter(|value| !value.is_empty()).map(SecretString::from);
        self.api_key_env = Some(variable);
        self
    }

    /// Returns the variable of a missing key. Only for a vendor's own address: other servers may not need a key.
    pub fn missing_key(&self) -> Option<&str> {
        let is_vendor = BuiltIn::find(&self.name).is_some_and(|row| row.base_url == self.base_url);
        // A header may carry the key.
        let has_key = self.api_key.is_some() || !self.headers.is_empty();
        self.api_key_env.as_deref().filter(|_| is_vendor && !has_key)
    }
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("base_url", &without_credentials(&self.base_url))
            .field("api_key", &self.api_key)
            .field("api_key_env", &self.api_key_env)
            .field("headers", &self.headers)
            .field("timeouts", &self.timeouts)
            .field("retry", &self.retry)
            .field("limits", &self.limits)
            .finish()
    }
}

/// Removes possible secrets from an address, which may not be a valid URL.
fn without_credentials(url: &str) -> &str {
    // Not parsed as a URL, because this also runs for addresses that are rejected as invalid, and those must not leak a
    // password either.
    let url = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
    url.split(['?', '#']).next().unwrap_or_default()
}
