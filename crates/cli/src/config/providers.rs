//! The `[providers.NAME]` tables. They never contain keys, only where to read them.

use protocol::Hint;
use provider::{BuiltIn, ModelName, Provider, ProviderConfig, ProviderSettings, Providers};

use super::Configuration;
use super::layers::{Layers, Origin};
use super::table::{KEYS, Sections};
use crate::failure::Failure;

const SECTION: &str = "providers";

/// Checks that every provider is complete and every model names a known provider.
pub(super) fn check(layers: &Layers) -> Result<(), Failure> {
    for (name, settings) in &layers.sections.providers {
        check_provider(layers, name, settings)?;
    }
    let sections = &layers.sections;
    let models =
        [("model.default", &sections.default_model), ("turns.summary_model", &sections.turns.summary_model)];
    for (key, model) in models {
        check_model(layers, key, model.as_deref())?;
    }
    Ok(())
}

fn check_provider(layers: &Layers, name: &str, settings: &ProviderSettings) -> Result<(), Failure> {
    let needs = |key: &str, example: &str| {
        let place = place(|path| layers.origin(path), name);
        let message = format!("{place}: provider `{name}` needs `{SECTION}.{name}.{key}`");
        Err(Failure::usage(message).hint(format!("for example {example}")))
    };
    let Some(kind) = settings.kind_of(name) else {
        return needs("kind", "kind = \"openai_compatible\"");
    };
    // A kind with a well-known address needs no other. For all others there is nothing to fall back to.
    if settings.base_url.is_none() && BuiltIn::address_of(kind).is_none() {
        return needs("base_url", "base_url = \"http://127.0.0.1:11434/v1\"");
    }
    if settings.api_key_env.is_some() && settings.api_key_file.is_some() {
        let origin = |key: &str| layers.origin(&format!("{SECTION}.{name}.{key}"));
        let place = origin("api_key_file");
        let other = origin("api_key_env");
        let message = format!("{place}: provider `{name}` already has a key in `api_key_env` ({other})");
        return Err(Failure::usage(message).hint("set either `api_key_env` or `api_key_file`"));
    }
    Ok(())
}

/// Checks a model's provider now, so that a misspelled name does not fail only in the first turn.
fn check_model(layers: &Layers, key: &str, model: Option<&str>) -> Result<(), Failure> {
    // The form of the name was checked when it was read, so only its provider can be wrong.
    let Some(model) = model.and_then(|model| model.parse::<ModelName>().ok()) else { return Ok(()) };
    let known = known_names(&layers.sections);
    if known.contains(&model.provider()) {
        return Ok(());
    }
    let place = layers.origin(key);
    let provider = model.provider();
    Err(Failure::usage(format!("{place}: `{key}` names provider `{provider}`, which is not configured"))
        .hint(format!(
            "known providers: {}; add a table [providers.{provider}] for another",
            known.join(", ")
        )))
}

/// Records the default address of each provider without one: from the vendor's variable, else the vendor's own.
pub(super) fn note_addresses(layers: &mut Layers, environment: impl Fn(&str) -> Option<String>) {
    // The names are copied, because the loop records addresses in the same layers.
    let names: Vec<String> = known_names(&layers.sections).into_iter().map(str::to_owned).collect();
    for name in names {
        let settings = layers.sections.providers.get(&name).cloned().unwrap_or_default();
        let Some(kind) = settings.kind_of(&name).filter(|_| settings.base_url.is_none()) else { continue };
        // A vendor's variable only applies to the vendor's own API. A table of that name with another kind means a
        // different server.
        let own = BuiltIn::find(&name).filter(|row| row.kind == kind);
        let variable = own.map(|row| row.address_variable);
        let named = variable.and_then(|variable| {
            let address = environment(variable).filter(|address| !address.trim().is_empty())?;
            Some((address, Origin::Variable(variable.to_owned())))
        });
        let built_in = || BuiltIn::address_of(kind).map(|address| (address.to_owned(), Origin::BuiltIn));
        if let Some((address, origin)) = named.or_else(built_in) {
            layers.note_address(format!("{SECTION}.{name}.base_url"), address, origin);
        }
    }
}

/// Returns the built-in providers, then further configured ones.
pub(crate) fn known_names(sections: &Sections) -> Vec<&str> {
    let more = sections.providers.keys().map(String::as_str).filter(|name| BuiltIn::find(name).is_none());
    BuiltIn::TABLE.iter().map(|row| row.name).chain(more).collect()
}

/// Returns the origin of a provider's first key.
fn place(origin: impl Fn(&str) -> Origin, name: &str) -> Origin {
    let paths = KEYS.iter().filter_map(|key| key.path.strip_prefix("providers.NAME."));
    let mut origins = paths.map(|key| origin(&format!("{SECTION}.{name}.{key}")));
    origins.find(|origin| *origin != Origin::BuiltIn).unwrap_or(Origin::BuiltIn)
}

/// Builds the providers and reads their keys.
pub(crate) fn build(
    configuration: &Configuration,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Providers, Failure> {
    let tables = &configuration.sections().providers;
    let without_table = BuiltIn::TABLE
        .iter()
        // A built-in provider with a table is built from that table instead.
        .filter(|row| !tables.contains_key(row.name))
        .filter_map(|row| ProviderConfig::built_in(row.name, &environment))
        .map(|config| Provider::new(config).map_err(|error| unusable(None, error.to_string(), &error)));
    let with_table = tables.iter().map(|(name, settings)| {
        let place = place(|path| configuration.origin(path), name);
        let config = settings
            .config(name, &environment)
            .map_err(|error| unusable(Some(&place), format!("provider `{name}`: {error}"), &error))?;
        Provider::new(config).map_err(|error| unusable(Some(&place), error.to_string(), &error))
    });
    without_table.chain(with_table).collect()
}

/// Returns the variable of a missing key, if the provider cannot be used without it.
pub(crate) fn missing_key(
    configuration: &Configuration,
    provider: &str,
    environment: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let config = match configuration.sections().providers.get(provider) {
        Some(settings) => settings.config(provider, &environment).ok()?,
        // A name that is neither configured nor built in has been reported as an error of the configuration.
        None => ProviderConfig::built_in(provider, &environment)?,
    };
    config.missing_key().map(str::to_owned)
}

fn unusable(place: Option<&Origin>, message: String, error: &impl Hint) -> Failure {
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    Failure::usage(format!("{message}{place}")).hints(error.hint().as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Configuration;
    use crate::config::fixture::Fixture;
    use std::os::unix::fs::PermissionsExt as _;

    struct Loaded {
        fixture: Fixture,
        configuration: Result<Configuration, Failure>,
    }

    fn load(text: &str) -> Loaded {
        let mut fixture = Fixture::new();
        fixture.user(text);
        let configuration = fixture.load().map(|(configuration, _)| configuration);
        Loaded { fixture, configuration }
    }

    impl Loaded {
        fn message(&self, error: &Failure) -> (String, String) {
            let home = self.fixture.path("home").display().to_string();
            let tidy = |text: String| text.replace(&home, "~");
            (tidy(error.to_string()), tidy(error.hints.join("; ")))
        }

        #[track_caller]
        fn refused(&self) -> (String, String) {
            self.message(self.configuration.as_ref().unwrap_err())
        }

        fn build(&self, environment: &[(&str, &str)]) -> Result<Providers, Failure> {
            let find = |name: &str| {
                environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            build(self.configuration.as_ref().unwrap(), find)
        }

        /// Returns a description of a provider without its secrets.
        fn described(&self, environment: &[(&str, &str)], name: &str) -> String {
            let providers = self.build(environment).unwrap();
            let model: ModelName = format!("{name}/x").parse().unwrap();
            format!("{:?}", providers.of(&model).unwrap())
        }
    }

    #[test]
    fn built_in_providers_use_their_vendors_variables() {
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
    fn a_table_overrides_a_built_in_provider() {
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
    fn a_vendors_key_is_not_sent_to_other_servers() {
        // Both look like the vendor but lead to other servers: one by its address, the other despite its name.
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
    fn other_providers_need_a_kind_and_usually_an_address() {
        assert_eq!(
            load("[providers.local]\nbase_url = 'http://127.0.0.1:11434/v1'\n").refused(),
            (
                "~/config.toml:2: provider `local` needs `providers.local.kind`".to_owned(),
                "for example kind = \"openai_compatible\"".to_owned()
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
    fn unknown_keys_and_invalid_names_are_errors() {
        let (message, hint) = load("[providers.local]\nkind = 'openai'\nbaseurl = 'x'\n").refused();
        assert_eq!(message, "~/config.toml:3: unknown key `providers.local.baseurl`");
        assert!(hint.starts_with("the nearest known key is `providers.local.base_url`"), "{hint}");
        let (message, hint) = load("[providers.'a/b']\nkind = 'openai'\n").refused();
        assert_eq!(message, "~/config.toml:1: \"a/b\" is not a valid name in `providers`");
        assert_eq!(hint, "names consist of letters, digits, `_` and `-`");
        let (message, _) = load("providers.local = 'x'\n").refused();
        assert_eq!(message, "~/config.toml:1: `providers.local` must be a table, found the string \"x\"");
    }

    #[test]
    fn a_key_in_the_file_is_rejected_without_repeating_it() {
        let (message, hint) = load("[providers.local]\napi_key = 'sk-secret'\n").refused();
        assert_eq!(message, "~/config.toml:2: `providers.local.api_key` must not be in a configuration file");
        assert_eq!(
            hint,
            "name an environment variable with `api_key_env`, or a file of mode 0600 with `api_key_file`"
        );
        // A key that was pasted into the wrong field must not appear in the message either.
        for text in ["api_key_env = 'sk-secret'", "headers = 'sk-secret'", "headers = { a = ['sk-secret'] }"]
        {
            let (message, _) = load(&format!("[providers.local]\n{text}\n")).refused();
            assert!(message.contains(" must be ") && !message.contains("sk-secret"), "{message}");
        }
        let loaded = load("[providers.openai]\napi_key_env = 'A'\napi_key_file = 'b'\n");
        let (message, hint) = loaded.refused();
        assert_eq!(
            message,
            "~/config.toml:3: provider `openai` already has a key in `api_key_env` (~/config.toml:2)"
        );
        assert_eq!(hint, "set either `api_key_env` or `api_key_file`");
    }

    #[test]
    fn a_key_file_is_relative_and_must_be_private() {
        let loaded = load("[providers.openai]\napi_key_file = 'openai.key'\n");
        let error = loaded.build(&[]).unwrap_err();
        let (message, _) = loaded.message(&error);
        assert!(
            message.starts_with("provider `openai`: failed to read the key file ~/openai.key: ")
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
    fn only_vendors_default_addresses_need_a_key() {
        let missing = |text: &str, provider: &str, environment: &[(&str, &str)]| {
            let loaded = load(text);
            let find = |name: &str| {
                environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            missing_key(loaded.configuration.as_ref().unwrap(), provider, find)
        };
        assert_eq!(missing("", "anthropic", &[]).as_deref(), Some("ANTHROPIC_API_KEY"));
        assert_eq!(missing("", "anthropic", &[("ANTHROPIC_API_KEY", "sk")]), None);
        assert_eq!(missing("", "openai", &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")]), None);
        let mine = "[providers.openai]\napi_key_env = 'MINE'\n";
        assert_eq!(missing(mine, "openai", &[("OPENAI_API_KEY", "x")]).as_deref(), Some("MINE"));
        let local = "[providers.local]\nkind = 'openai_compatible'\nbase_url = 'http://127.0.0.1:9/v1'\n";
        assert_eq!(missing(local, "local", &[]), None);
    }

    #[test]
    fn a_bad_address_names_its_provider() {
        let loaded = load("[providers.local]\nkind = 'openai_compatible'\nbase_url = 'localhost:11434'\n");
        let (message, hint) = loaded.message(&loaded.build(&[]).unwrap_err());
        assert!(message.starts_with("provider `local`: the base URL is not an address"), "{message}");
        assert!(hint.contains("http://"), "{hint}");
    }

    #[test]
    fn layers_complete_each_other() {
        let mut fixture = Fixture::new();
        // The user's table sets only some keys, so the others must remain those of the system's table.
        fixture.system("[providers.local]\nkind = 'openai_compatible'\nbase_url = 'http://a.example'\n");
        fixture.user("[providers.local]\nbase_url = 'http://b.example'\nheaders = { X-Team = 'secret' }\n");
        let (configuration, _) = fixture.load().unwrap();
        let providers = build(&configuration, |_| None).unwrap();
        let text = format!("{:?}", providers.of(&"local/x".parse().unwrap()).unwrap());
        assert!(text.contains("b.example") && text.contains("X-Team") && !text.contains("secret"), "{text}");
        let json = serde_json::json!(crate::command::gateway::reference::values(&configuration)).to_string();
        assert!(json.contains(r#"{"X-Team":"***"}"#) && !json.contains("secret"), "{json}");
        let keys: Vec<String> = configuration.entries().into_iter().map(|entry| entry.key).collect();
        let local: Vec<&String> = keys.iter().filter(|key| key.starts_with("providers.local.")).collect();
        assert_eq!(local, ["providers.local.kind", "providers.local.base_url", "providers.local.headers"]);
    }

    #[test]
    fn provider_addresses_are_listed_with_origins() {
        let addresses = |text: &str, variables: &[(&str, &str)]| {
            let mut fixture = Fixture::new();
            fixture.user(text);
            variables.iter().for_each(|(name, value)| fixture.variable(name, value));
            let entries = fixture.load().unwrap().0.entries().into_iter();
            let addresses = entries.filter(|entry| entry.key.ends_with(".base_url")).map(|entry| {
                let source = entry.source.filter(|_| entry.origin == "environment").unwrap_or_default();
                format!("{} {} {} {source}", entry.key, entry.shown, entry.origin).trim().to_owned()
            });
            addresses.collect::<Vec<_>>()
        };
        assert_eq!(
            addresses(
                "",
                &[("ANTHROPIC_BASE_URL", "http://me:secret@proxy.example"), ("OPENAI_BASE_URL", " ")]
            ),
            [
                "providers.anthropic.base_url \"http://me:***@proxy.example\" environment ANTHROPIC_BASE_URL",
                "providers.openai.base_url \"https://api.openai.com/v1\" built-in",
            ]
        );
        let tables =
            "[providers.anthropic]\nbase_url = 'http://a.example'\n[providers.mine]\nkind = 'openai'\n";
        assert_eq!(
            addresses(
                tables,
                &[("ANTHROPIC_BASE_URL", "http://b.example"), ("OPENAI_BASE_URL", "http://c.example")]
            ),
            [
                "providers.anthropic.base_url \"http://a.example\" user",
                "providers.mine.base_url \"https://api.openai.com/v1\" built-in",
                "providers.openai.base_url \"http://c.example\" environment OPENAI_BASE_URL",
            ]
        );
    }

    #[test]
    fn a_model_of_an_unknown_provider_is_an_error() {
        let (message, hint) = load("[model]\ndefault = 'antropic/claude'\n").refused();
        assert_eq!(
            message,
            "~/config.toml:2: `model.default` names provider `antropic`, which is not configured"
        );
        assert_eq!(hint, "known providers: anthropic, openai; add a table [providers.antropic] for another");
        load("[model]\ndefault = 'l/x'\n[providers.l]\nkind = 'openai'\n").configuration.unwrap();
    }
}
