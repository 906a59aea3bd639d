//! `[providers.NAME]`: who can be asked. Keys are never in the configuration, only where they are.

use std::collections::BTreeMap;
use std::path::PathBuf;

use provider::{BuiltIn, ModelName, Provider, ProviderConfig, ProviderKind, Providers};
use secrecy::SecretString;

use super::error::ConfigurationError;
use super::origin::Origin;
use super::setting::{Setting, Settings};
use super::value::Value;
use crate::failure::split_hints;

/// The table that holds one table for each provider.
const SECTION: &str = "providers";

/// Keys that name a model, whose provider must be there.
const MODEL_KEYS: &[&str] = &["model.default", "turns.summary_model"];

/// All providers that are configured; those built in need no table.
#[derive(Debug, Clone)]
pub(crate) struct ProvidersSection(Vec<ProviderTable>);

/// One table.
#[derive(Debug, Clone)]
struct ProviderTable {
    name: String,
    /// Where the first of its keys was set.
    place: Origin,
    kind: ProviderKind,
    base_url: Option<String>,
    api_key: ApiKey,
    headers: BTreeMap<String, SecretString>,
}

/// Where a key is.
#[derive(Debug, Clone)]
enum ApiKey {
    /// Where the built-in provider of this name and kind has it, else nowhere.
    BuiltIn,
    Variable(String),
    File(PathBuf),
}

/// What a provider built in is, by its name.
fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BuiltIn::TABLE.iter().find(|row| row.name == name)
}

/// Where a vendor is, by its API; everybody else's address must be given.
fn vendor_address(kind: ProviderKind) -> Option<&'static str> {
    BuiltIn::TABLE.iter().find(|row| row.kind == kind).map(|row| row.base_url)
}

impl ProvidersSection {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigurationError> {
        let names = settings.names_below(SECTION);
        let tables: Vec<ProviderTable> =
            names.into_iter().map(|name| ProviderTable::read(settings, name)).collect::<Result<_, _>>()?;
        let section = ProvidersSection(tables);
        for key in MODEL_KEYS {
            section.check_model(settings, key)?;
        }
        Ok(section)
    }

    /// A typing error in a name is better told now than to whoever asks first.
    fn check_model(&self, settings: &Settings, key: &'static str) -> Result<(), ConfigurationError> {
        let Some(model) = settings.text(key).and_then(|text| text.parse::<ModelName>().ok()) else {
            return Ok(());
        };
        let mut known: Vec<String> = BuiltIn::TABLE.iter().map(|row| row.name.to_owned()).collect();
        known.extend(self.0.iter().map(|table| table.name.clone()).filter(|name| built_in(name).is_none()));
        if known.iter().any(|name| name == model.provider()) {
            return Ok(());
        }
        let place = settings.get(key)?.origin.clone();
        let provider = model.provider().to_owned();
        Err(ConfigurationError::UnknownProvider { place, key, provider, known })
    }

    /// The providers, with their keys read from where they are.
    pub(crate) fn build(
        &self,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Providers, ConfigurationError> {
        let is_replaced = |name: &str| self.0.iter().any(|table| table.name == name);
        let without_table = BuiltIn::TABLE
            .iter()
            .filter(|row| !is_replaced(row.name))
            .filter_map(|row| ProviderConfig::built_in(row.name, &environment))
            .map(|config| Provider::new(config).map_err(|error| unusable(None, &error.to_string())));
        let with_table = self.0.iter().map(|table| table.build(&environment));
        without_table.chain(with_table).collect()
    }
}

impl ProviderTable {
    fn read(settings: &Settings, name: &str) -> Result<Self, ConfigurationError> {
        let find = |key: &str| settings.find(&format!("{SECTION}.{name}.{key}"));
        let keys = ["kind", "base_url", "api_key_env", "api_key_file", "headers"];
        let place =
            keys.iter().find_map(|key| find(key)).map_or(Origin::BuiltIn, |found| found.origin.clone());
        let needs = |key: &str, example| ConfigurationError::ProviderNeeds {
            place: place.clone(),
            provider: name.to_owned(),
            key: format!("{SECTION}.{name}.{key}"),
            example,
        };
        let kind = match find("kind").and_then(text) {
            Some(kind) => serde_json::from_value(kind.into())
                .map_err(|_| ConfigurationError::NotInTable { key: format!("{SECTION}.NAME.kind") })?,
            None => built_in(name)
                .map(|row| row.kind)
                .ok_or_else(|| needs("kind", "kind = \"openai_compatible\""))?,
        };
        let base_url = find("base_url").and_then(text);
        if base_url.is_none() && vendor_address(kind).is_none() {
            return Err(needs("base_url", "base_url = \"http://127.0.0.1:11434/v1\""));
        }
        let api_key = match (find("api_key_env"), find("api_key_file")) {
            (Some(variable), Some(file)) => {
                return Err(ConfigurationError::TwoApiKeys {
                    place: file.origin.clone(),
                    provider: name.to_owned(),
                    other: variable.origin.clone(),
                });
            }
            (Some(variable), None) => text(variable).map_or(ApiKey::BuiltIn, ApiKey::Variable),
            (None, Some(file)) => match &file.value {
                Some(Value::Path(path)) => ApiKey::File(path.clone()),
                _ => ApiKey::BuiltIn,
            },
            (None, None) => ApiKey::BuiltIn,
        };
        let headers = match find("headers").and_then(|found| found.value.clone()) {
            Some(Value::Headers(headers)) => headers,
            _ => BTreeMap::new(),
        };
        let headers = headers.into_iter().map(|(name, value)| (name, SecretString::from(value))).collect();
        Ok(ProviderTable { name: name.to_owned(), place, kind, base_url, api_key, headers })
    }

    fn build(&self, environment: &impl Fn(&str) -> Option<String>) -> Result<Provider, ConfigurationError> {
        // The vendor's variables are only for the vendor's own name: another server must not get its key unasked.
        let own = built_in(&self.name).filter(|row| row.kind == self.kind);
        let config = own.and_then(|row| ProviderConfig::built_in(row.name, environment));
        let mut config = config.unwrap_or_else(|| {
            ProviderConfig::new(&self.name, self.kind, vendor_address(self.kind).unwrap_or_default())
        });
        if let Some(base_url) = &self.base_url {
            config.base_url.clone_from(base_url);
        }
        config.headers.clone_from(&self.headers);
        match &self.api_key {
            ApiKey::BuiltIn => {}
            ApiKey::Variable(variable) => config = config.key_from_environment(variable, environment),
            ApiKey::File(path) => {
                let key = provider::key_from_file(path);
                config.api_key = Some(key.map_err(|error| {
                    unusable(Some(&self.place), &format!("provider `{}`: {error}", self.name))
                })?);
                config.api_key_env = None;
            }
        }
        Provider::new(config).map_err(|error| unusable(Some(&self.place), &error.to_string()))
    }
}

fn text(setting: &Setting) -> Option<String> {
    match &setting.value {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn unusable(place: Option<&Origin>, message: &str) -> ConfigurationError {
    let (message, hints) = split_hints(message);
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    ConfigurationError::UnusableProvider { place: place.cloned(), message, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixture::Fixture;
    use std::os::unix::fs::PermissionsExt as _;

    struct Loaded {
        fixture: Fixture,
        section: Result<ProvidersSection, ConfigurationError>,
    }

    fn load(text: &str) -> Loaded {
        let mut fixture = Fixture::new();
        fixture.user(text);
        let section = fixture.load().map(|(configuration, _)| configuration.providers().clone());
        Loaded { fixture, section }
    }

    impl Loaded {
        fn message(&self, error: &ConfigurationError) -> (String, String) {
            let home = self.fixture.path("home").display().to_string();
            let tidy = |text: String| text.replace(&home, "~");
            (tidy(error.to_string()), tidy(error.hint().unwrap_or_default()))
        }

        #[track_caller]
        fn refused(&self) -> (String, String) {
            self.message(self.section.as_ref().unwrap_err())
        }

        fn build(&self, environment: &[(&str, &str)]) -> Result<Providers, ConfigurationError> {
            let find = |name: &str| {
                environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            self.section.as_ref().unwrap().build(find)
        }

        /// What a provider is, without its secrets.
        fn described(&self, environment: &[(&str, &str)], name: &str) -> String {
            let providers = self.build(environment).unwrap();
            let model: ModelName = format!("{name}/x").parse().unwrap();
            format!("{:?}", providers.of(&model).unwrap())
        }
    }

    #[test]
    fn two_are_built_in_and_take_their_vendors_variables() {
        let loaded = load("");
        let text = loaded.described(&[("ANTHROPIC_API_KEY", "sk-secret")], "anthropic");
        assert!(text.contains("api.anthropic.com") && text.contains("ANTHROPIC_API_KEY"), "{text}");
        assert!(text.contains("api_key: Some(") && !text.contains("sk-secret"), "{text}");
        let text = loaded.described(&[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")], "openai");
        assert!(text.contains("127.0.0.1:9") && text.contains("api_key: None"), "{text}");
        let error = loaded.build(&[("OPENAI_BASE_URL", "nonsense")]).unwrap_err().to_string();
        assert!(error.starts_with("provider `openai`: the base URL is not an address"), "{error}");
    }

    #[test]
    fn a_table_overrides_what_is_built_in() {
        let loaded = load("[providers.anthropic]\nbase_url = 'http://127.0.0.1:9'\n");
        let text = loaded.described(
            &[("ANTHROPIC_API_KEY", "sk-secret"), ("ANTHROPIC_BASE_URL", "http://other.example")],
            "anthropic",
        );
        assert!(text.contains("kind: Anthropic") && text.contains("127.0.0.1:9"), "{text}");
        assert!(text.contains("api_key: Some("), "{text}");
        let loaded = load("[providers.openai]\napi_key_env = 'MINE'\n");
        let text = loaded.described(&[("OPENAI_API_KEY", "theirs-1234")], "openai");
        assert!(text.contains("api_key: None") && text.contains("\"MINE\""), "{text}");
    }

    #[test]
    fn a_vendors_key_is_not_sent_to_another_server() {
        let loaded = load(
            "[providers.proxy]\nkind = 'anthropic'\nbase_url = 'http://proxy.example'\n\
             [providers.anthropic]\nkind = 'openai_compatible'\nbase_url = 'http://other.example'\n",
        );
        let environment = [("ANTHROPIC_API_KEY", "sk-secret")];
        for name in ["proxy", "anthropic"] {
            let text = loaded.described(&environment, name);
            assert!(text.contains("api_key: None"), "{text}");
        }
    }

    #[test]
    fn others_need_a_kind_and_mostly_an_address() {
        assert_eq!(
            load("[providers.local]\nbase_url = 'http://127.0.0.1:11434/v1'\n").refused(),
            (
                "~/config.toml:2: provider `local` needs `providers.local.kind`".to_owned(),
                "such as kind = \"openai_compatible\"".to_owned()
            )
        );
        let (message, _) = load("[providers.local]\nkind = 'openai_compatible'\n").refused();
        assert_eq!(message, "~/config.toml:2: provider `local` needs `providers.local.base_url`");
        let text = load("[providers.second]\nkind = 'openai'\n").described(&[], "second");
        assert!(text.contains("api.openai.com"), "{text}");
        let (message, _) = load("[providers.local]\nkind = 'ollama'\n").refused();
        assert!(message.ends_with(
            "must be one of `anthropic`, `openai`, `openai_compatible`, found the string \"ollama\""
        ));
        let (message, hint) = load("[providers.local]\n").refused();
        assert_eq!(message, "~/config.toml:1: the table `providers.local` is empty");
        assert_eq!(hint, "set something in it, or remove its heading");
    }

    #[test]
    fn unknown_keys_and_names_that_are_none_are_errors() {
        let (message, hint) = load("[providers.local]\nkind = 'openai'\nbaseurl = 'x'\n").refused();
        assert_eq!(message, "~/config.toml:3: unknown key `providers.local.baseurl`");
        assert!(hint.starts_with("the nearest known key is `providers.local.base_url`"), "{hint}");
        let (message, hint) = load("[providers.'a/b']\nkind = 'openai'\n").refused();
        assert_eq!(message, "~/config.toml:1: \"a/b\" cannot be a name in `providers`");
        assert_eq!(hint, "names consist of letters, digits, `_` and `-`");
        let (message, _) = load("providers.local = 'x'\n").refused();
        assert_eq!(message, "~/config.toml:1: `providers.local` must be a table, found the string \"x\"");
    }

    #[test]
    fn a_key_in_the_file_is_refused_and_not_repeated() {
        let (message, hint) = load("[providers.local]\napi_key = 'sk-secret'\n").refused();
        assert_eq!(
            message,
            "~/config.toml:2: `providers.local.api_key` does not belong into a configuration file"
        );
        assert_eq!(
            hint,
            "name an environment variable with `api_key_env`, or a file of mode 0600 with `api_key_file`"
        );
        for text in ["api_key_env = 'sk-secret'", "headers = 'sk-secret'", "headers = { a = ['sk-secret'] }"]
        {
            let (message, _) = load(&format!("[providers.local]\n{text}\n")).refused();
            assert!(message.contains(" must be ") && !message.contains("sk-secret"), "{message}");
        }
        let loaded = load("[providers.openai]\napi_key_env = 'A'\napi_key_file = 'b'\n");
        let (message, hint) = loaded.refused();
        assert_eq!(
            message,
            "~/config.toml:3: provider `openai` has a key already, by `api_key_env` (~/config.toml:2)"
        );
        assert_eq!(hint, "set either `api_key_env` or `api_key_file`");
    }

    #[test]
    fn a_key_file_counts_from_its_configuration_and_must_be_private() {
        let loaded = load("[providers.openai]\napi_key_file = 'openai.key'\n");
        let error = loaded.build(&[]).unwrap_err();
        let (message, _) = loaded.message(&error);
        assert!(
            message.starts_with("provider `openai`: could not read the key file ~/openai.key: ")
                && message.ends_with(" (~/config.toml:2)"),
            "{message}"
        );
        loaded.fixture.write("home/openai.key", "sk-from-file\n");
        let path = loaded.fixture.path("home/openai.key");
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        let error = loaded.build(&[]).unwrap_err();
        assert_eq!(
            loaded.message(&error),
            (
                "provider `openai`: the key file ~/openai.key has mode 0644, so that others could use it \
                 (~/config.toml:2)"
                    .to_owned(),
                "chmod 600 ~/openai.key".to_owned()
            )
        );
        mode(0o600);
        let text = loaded.described(&[("OPENAI_API_KEY", "theirs")], "openai");
        assert!(text.contains("api_key: Some(") && !text.contains("sk-from-file"), "{text}");
    }

    #[test]
    fn a_bad_address_is_an_error_that_names_the_provider() {
        let loaded = load("[providers.local]\nkind = 'openai_compatible'\nbase_url = 'localhost:11434'\n");
        let (message, hint) = loaded.message(&loaded.build(&[]).unwrap_err());
        assert!(message.starts_with("provider `local`: the base URL is not an address"), "{message}");
        assert!(hint.contains("http://"), "{hint}");
    }

    #[test]
    fn layers_complete_each_other() {
        let mut fixture = Fixture::new();
        fixture.system("[providers.local]\nkind = 'openai_compatible'\nbase_url = 'http://a.example'\n");
        fixture.user("[providers.local]\nbase_url = 'http://b.example'\nheaders = { X-Team = 'secret' }\n");
        let (configuration, _) = fixture.load().unwrap();
        let providers = configuration.providers().build(|_| None).unwrap();
        let text = format!("{:?}", providers.of(&"local/x".parse().unwrap()).unwrap());
        assert!(text.contains("b.example") && text.contains("X-Team") && !text.contains("secret"), "{text}");
        let json = configuration.json().to_string();
        assert!(json.contains(r#"{"X-Team":"***"}"#) && !json.contains("secret"), "{json}");
        let keys: Vec<String> = configuration.entries().into_iter().map(|entry| entry.key).collect();
        let local: Vec<&String> = keys.iter().filter(|key| key.starts_with("providers.")).collect();
        assert_eq!(local, ["providers.local.kind", "providers.local.base_url", "providers.local.headers"]);
    }

    #[test]
    fn a_model_of_a_provider_that_is_not_there_is_an_error() {
        let (message, hint) = load("[model]\ndefault = 'antropic/claude'\n").refused();
        assert_eq!(
            message,
            "~/config.toml:2: `model.default` names provider `antropic`, which is not configured"
        );
        assert_eq!(hint, "there are anthropic, openai; add a table [providers.antropic] for another");
        load("[model]\ndefault = 'l/x'\n[providers.l]\nkind = 'openai'\n").section.unwrap();
    }
}
