//! Which providers there are, where they are and how patiently they are asked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::key::{KeyFileError, key_from_file};
use crate::{ProviderKind, RetryPolicy};

/// A provider that everybody has, once there is a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// Its name, as in `anthropic/claude-opus-5`.
    pub name: &'static str,
    /// Which API it speaks.
    pub kind: ProviderKind,
    /// Where it is. Anthropic's address ends before the version and OpenAI's after it, as in their own SDKs, so that
    /// a variable set for those works here.
    pub base_url: &'static str,
    /// The variable with its key.
    pub key_variable: &'static str,
    /// The variable with another address.
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

    /// The row of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::TABLE.iter().find(|row| row.name == name)
    }

    /// Where the vendor of an API is; everybody else's address must be given.
    pub fn address_of(kind: ProviderKind) -> Option<&'static str> {
        Self::TABLE.iter().find(|row| row.kind == kind).map(|row| row.base_url)
    }
}

/// What a configuration says about one provider; what is absent is as for the built-in provider of its name.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    /// Which API it speaks.
    pub kind: Option<ProviderKind>,
    /// Where it is, without the path of a method.
    pub base_url: Option<String>,
    /// The variable that holds its key.
    pub api_key_env: Option<String>,
    /// The file of mode 0600 that holds its key, instead of a variable.
    pub api_key_file: Option<PathBuf>,
    /// More headers of every request.
    pub headers: BTreeMap<String, SecretString>,
}

impl ProviderSettings {
    /// Which API the provider of this name speaks.
    pub fn kind_of(&self, name: &str) -> Option<ProviderKind> {
        self.kind.or_else(|| BuiltIn::find(name).map(|row| row.kind))
    }

    /// The provider of this name, its key read from where it is. Without a kind it is taken to be compatible.
    pub fn config(
        &self,
        name: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<ProviderConfig, KeyFileError> {
        let kind = self.kind_of(name).unwrap_or(ProviderKind::OpenaiCompatible);
        // The vendor's variables are only for the vendor's own name: another server must not get its key unasked.
        let own = BuiltIn::find(name).filter(|row| row.kind == kind);
        let mut config =
            own.and_then(|row| ProviderConfig::built_in(row.name, &environment)).unwrap_or_else(|| {
                ProviderConfig::new(name, kind, BuiltIn::address_of(kind).unwrap_or_default())
            });
        if let Some(base_url) = &self.base_url {
            config.base_url.clone_from(base_url);
        }
        config.headers.clone_from(&self.headers);
        if let Some(path) = &self.api_key_file {
            config.api_key = Some(key_from_file(path)?);
            config.api_key_env = None;
        } else if let Some(variable) = &self.api_key_env {
            config = config.key_from_environment(variable, environment);
        }
        Ok(config)
    }
}

#[derive(Clone)]
pub struct ProviderConfig {
    /// What it is called in models' names and in errors.
    pub name: String,
    /// Which API it speaks.
    pub kind: ProviderKind,
    /// Where it is, without the path of a method. User names and passwords do not belong here.
    pub base_url: String,
    /// Its key. Servers of one's own often need none.
    pub api_key: Option<SecretString>,
    /// The variable that the key is taken from, for hints.
    pub api_key_env: Option<String>,
    /// More headers. They may be keys, so they are kept like one.
    pub headers: BTreeMap<String, SecretString>,
    /// How long is waited for what.
    pub timeouts: Timeouts,
    /// How often it is asked.
    pub retry: RetryPolicy,
    /// How much it may answer.
    pub limits: ResponseLimits,
}

/// How long is waited. There is no limit for a whole answer: a model may well write for an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of an answer's body. Large prompts on one's own machine take minutes.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(180),
        }
    }
}

/// How much a provider may answer, so that none can fill the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseLimits {
    /// In one event. The last event of some APIs repeats the whole answer.
    pub event_bytes: usize,
    /// In one whole answer, as it is sent; a few letters come in some hundred bytes.
    pub response_bytes: usize,
}

impl Default for ResponseLimits {
    fn default() -> Self {
        Self { event_bytes: 16 << 20, response_bytes: 256 << 20 }
    }
}

impl ProviderConfig {
    /// A provider without a key.
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

    /// A built-in provider, its key and perhaps its address taken from the environment that is given.
    pub fn built_in(name: &str, environment: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let row = BuiltIn::find(name)?;
        let set = |variable: &str| environment(variable).filter(|value| !value.trim().is_empty());
        let base_url = set(row.address_variable).unwrap_or_else(|| row.base_url.to_owned());
        Some(Self::new(row.name, row.kind, base_url).key_from_environment(row.key_variable, environment))
    }

    /// With the key that a variable holds, if it does; hints name the variable.
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

    /// The variable whose key is missing, where a vendor is asked at its own address: a server of one's own may need
    /// none.
    pub fn missing_key(&self) -> Option<&str> {
        let is_vendor = BuiltIn::find(&self.name).is_some_and(|row| row.base_url == self.base_url);
        // A header may be the key.
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

/// An address without what may be secret in it, even if it is not a URL.
fn without_credentials(url: &str) -> &str {
    let url = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
    url.split(['?', '#']).next().unwrap_or_default()
}
