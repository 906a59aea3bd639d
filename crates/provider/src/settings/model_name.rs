//! Model names of the form `provider/model`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use protocol::Hint;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{ErrorKind, Provider, ProviderError};

/// Configured name of a provider and name of its model.
///
/// ```
/// use provider::ModelName;
///
/// let name: ModelName = "openrouter/qwen/qwen3-coder".parse()?;
/// assert_eq!((name.provider(), name.model()), ("openrouter", "qwen/qwen3-coder"));
/// # Ok::<(), provider::ModelNameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelName {
    provider: String,
    model: String,
}

/// A text that is not a model name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a model")]
pub struct ModelNameError(pub String);

impl Hint for ModelNameError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some("write provider/model, such as anthropic/claude-opus-5".into())
    }
}

impl ModelName {
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns the provider's name of the model, which may contain slashes.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Split at the first slash only: names of models at some proxies contain slashes themselves, names of providers
        // do not.
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() && text.trim() == text => {
                Ok(Self { provider: provider.to_owned(), model: model.to_owned() })
            }
            _ => Err(ModelNameError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ModelName {
    type Error = ModelNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.provider, self.model)
    }
}

/// Configured providers by name.
#[derive(Debug, Clone, Default)]
pub struct Providers(BTreeMap<String, Provider>);

impl Providers {
    /// Returns the provider of a model. The error lists the configured providers.
    pub fn of(&self, model: &ModelName) -> Result<&Provider, ProviderError> {
        self.0.get(model.provider()).ok_or_else(|| {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            let hint = if names.is_empty() {
                "none is configured".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            ProviderError {
                kind: ErrorKind::Configuration,
                provider: model.provider().to_owned(),
                status: None,
                retryable: false,
                retry_after: None,
                message: "there is no such provider".to_owned(),
                hint: Some(hint),
                partial: None,
                overrun: None,
            }
        })
    }
}

/// A later provider replaces an earlier one of the same name, as configuration overrides the built-in ones.
impl FromIterator<Provider> for Providers {
    fn from_iter<I: IntoIterator<Item = Provider>>(providers: I) -> Self {
        Self(providers.into_iter().map(|provider| (provider.name().to_owned(), provider)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProviderConfig, ProviderKind};

    #[test]
    fn invalid_names_are_rejected() {
        for text in ["", "gpt-5", "/gpt-5", "openai/", " openai/gpt-5", "openai/gpt-5\n"] {
            assert_eq!(text.parse::<ModelName>(), Err(ModelNameError(text.to_owned())));
        }
        let json = serde_json::to_string(&"a/b/c".parse::<ModelName>().unwrap()).unwrap();
        assert_eq!(json, r#""a/b/c""#);
        assert!(serde_json::from_str::<ModelName>(r#""abc""#).is_err());
    }

    #[test]
    fn unknown_provider_lists_the_known_ones() {
        let providers: Providers = ["a", "b"]
            .map(|name| ProviderConfig::new(name, ProviderKind::Openai, "http://127.0.0.1:9"))
            .map(|config| Provider::new(config).unwrap())
            .into_iter()
            .collect();
        assert_eq!(providers.of(&"b/x".parse().unwrap()).unwrap().name(), "b");
        let error = providers.of(&"c/x".parse().unwrap()).unwrap_err();
        assert_eq!(error.with_hint(), "provider `c`: there is no such provider\nhint: there are a, b");
    }
}
