//! Settings as the rest of the command takes them: typed, by section.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use agent::{Clock, KeepTexts};

use super::error::ConfigurationError;
use super::setting::Settings;
use super::value::Value;

/// `[gateway]`: how this machine's gateway serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GatewaySection {
    /// Address and port.
    pub(crate) listen: String,
    /// Database URL; none is SQLite in the data directory.
    pub(crate) database: Option<String>,
    /// Whether other machines may reach it.
    pub(crate) allow_remote: bool,
    /// `Host` names accepted besides loopback.
    pub(crate) allowed_hosts: Vec<String>,
    /// Origins accepted besides loopback.
    pub(crate) allowed_origins: Vec<String>,
    /// Most requests a second of one connection; none is no limit.
    pub(crate) rate_limit_per_second: Option<NonZeroU32>,
    /// Most bytes waiting for one connection.
    pub(crate) outgoing_queue_bytes: usize,
    /// How long a connection may take no waiting data.
    pub(crate) slow_client: Duration,
}

/// `[client]`: which gateway commands talk to, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSection {
    /// The gateway; none is the one running on the data directory.
    pub(crate) url: Option<String>,
    /// The token's file; none is `owner.token` in the data directory.
    pub(crate) token_file: Option<PathBuf>,
    /// The workspace used when a command names none.
    pub(crate) workspace: Option<String>,
}

/// `[agents]`: how instruction files on disk are found. What is none is the profile's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentsSection {
    /// Whether files are read at all.
    pub(crate) enabled: bool,
    /// Name of the set of rules.
    pub(crate) profile: String,
    /// Names tried after the profile's own.
    pub(crate) fallback_filenames: Option<Vec<String>>,
    /// Whether links may lead out of the root.
    pub(crate) follow_external_links: bool,
    /// The project root itself.
    pub(crate) project_root_override: Option<PathBuf>,
    /// Names that make a directory the root.
    pub(crate) markers: Option<Vec<String>>,
    /// Whether the search for markers goes up to the file system's root.
    pub(crate) stop_at_fs_root: bool,
    /// Most files at the start.
    pub(crate) max_files: Option<u64>,
    /// Most bytes at the start.
    pub(crate) max_bytes: Option<u64>,
    /// Whether files of further directories are announced.
    pub(crate) resolver_enabled: bool,
    /// Most files announced at once.
    pub(crate) max_files_per_resolve: NonZeroU64,
    /// How files are announced.
    pub(crate) delivery: Delivery,
}

/// `[prompt]`: how the gateway compiles prompts.
#[derive(Debug, Clone)]
pub(crate) struct PromptSection {
    /// As the agent takes them.
    pub(crate) settings: agent::PromptSettings,
}

/// `agents.resolver.delivery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// By path.
    Pointer,
    /// With the text.
    Inline,
    /// With the text when it is short.
    Auto,
}

impl GatewaySection {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigurationError> {
        let rate_limit: u64 = settings.read("gateway.rate_limit_per_second")?;
        let outgoing_queue: u64 = settings.read("gateway.outgoing_queue_bytes")?;
        Ok(GatewaySection {
            listen: settings.read("gateway.listen")?,
            database: settings.read("gateway.database")?,
            allow_remote: settings.read("gateway.allow_remote")?,
            allowed_hosts: settings.read("gateway.allowed_hosts")?,
            allowed_origins: settings.read("gateway.allowed_origins")?,
            rate_limit_per_second: NonZeroU32::new(u32::try_from(rate_limit).unwrap_or(u32::MAX)),
            outgoing_queue_bytes: usize::try_from(outgoing_queue).unwrap_or(usize::MAX),
            slow_client: Duration::from_secs(settings.read("gateway.slow_client_seconds")?),
        })
    }
}

impl ClientSection {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigurationError> {
        Ok(ClientSection {
            url: settings.read("client.url")?,
            token_file: settings.read("client.token_file")?,
            workspace: settings.read("client.workspace")?,
        })
    }
}

impl AgentsSection {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigurationError> {
        Ok(AgentsSection {
            enabled: settings.read("agents.enabled")?,
            profile: settings.read("agents.profile")?,
            fallback_filenames: settings.read("agents.fallback_filenames")?,
            follow_external_links: settings.read("agents.follow_external_links")?,
            project_root_override: settings.read("agents.root.project_root_override")?,
            markers: settings.read("agents.root.markers")?,
            stop_at_fs_root: settings.read("agents.root.stop_at_fs_root")?,
            max_files: settings.read("agents.initial.max_files")?,
            max_bytes: settings.read("agents.initial.max_bytes")?,
            resolver_enabled: settings.read("agents.resolver.enabled")?,
            max_files_per_resolve: settings.read("agents.resolver.max_files_per_resolve")?,
            delivery: settings.read("agents.resolver.delivery")?,
        })
    }
}

impl PromptSection {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigurationError> {
        let mut budgets = prompt::Budgets::default();
        for (key, budget) in BUDGET_KEYS.iter().zip(prompt::BUDGETS) {
            let characters: u64 = settings.read(key)?;
            *(budget.field)(&mut budgets) = usize::try_from(characters).unwrap_or(usize::MAX);
        }
        let profile: String = settings.read("prompt.profile")?;
        let disabled: Vec<String> = settings.read("prompt.disabled_sections")?;
        let days: NonZeroU64 = settings.read("prompt.keep_texts_days")?;
        let keep: bool = settings.read("prompt.keep_texts")?;
        let time: bool = settings.read("prompt.time")?;
        Ok(PromptSection {
            settings: agent::PromptSettings {
                profile: prompt::PromptProfile::find(&profile).unwrap_or_default(),
                disabled_sections: disabled.into_iter().collect(),
                budgets,
                nested_scope_rules: settings.read("prompt.nested_scope_rules")?,
                time: if time { Clock::DateAndTime } else { Clock::Date },
                keep_texts: match keep {
                    true => KeepTexts::For(Duration::from_secs(days.get().saturating_mul(24 * 60 * 60))),
                    false => KeepTexts::No,
                },
            },
        })
    }
}

/// The keys of the prompt's budgets, in the order of the compiler's own table.
const BUDGET_KEYS: [&str; 5] = [
    "prompt.bootstrap_file_chars",
    "prompt.bootstrap_total_chars",
    "prompt.agents_md_chars",
    "prompt.section_chars",
    "prompt.sections_total_chars",
];

impl Settings {
    /// A key's value in the type the code wants; an error only if the table of keys says otherwise.
    pub(super) fn read<T: FromValue>(&self, path: &'static str) -> Result<T, ConfigurationError> {
        let value = self.get(path)?.value.as_ref();
        T::from_value(value).ok_or(ConfigurationError::NotInTable { key: path.to_owned() })
    }
}

/// A type that a setting can be read as.
pub(super) trait FromValue: Sized {
    fn from_value(value: Option<&Value>) -> Option<Self>;
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        match value {
            None => Some(None),
            some => T::from_value(some).map(Some),
        }
    }
}

impl FromValue for String {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        if let Some(Value::Text(text)) = value { Some(text.clone()) } else { None }
    }
}

impl FromValue for PathBuf {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        if let Some(Value::Path(path)) = value { Some(path.clone()) } else { None }
    }
}

impl FromValue for bool {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        if let Some(Value::Switch(on)) = value { Some(*on) } else { None }
    }
}

impl FromValue for u64 {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        if let Some(Value::Integer(number)) = value { Some(*number) } else { None }
    }
}

impl FromValue for NonZeroU64 {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        u64::from_value(value).and_then(NonZeroU64::new)
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        if let Some(Value::List(items)) = value { Some(items.clone()) } else { None }
    }
}

impl FromValue for Vec<PathBuf> {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        if let Some(Value::Paths(paths)) = value { Some(paths.clone()) } else { None }
    }
}

impl FromValue for Delivery {
    fn from_value(value: Option<&Value>) -> Option<Self> {
        match String::from_value(value)?.as_str() {
            "pointer" => Some(Delivery::Pointer),
            "inline" => Some(Delivery::Inline),
            "auto" => Some(Delivery::Auto),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::{BuiltIn, KEYS, Key};
    use crate::config::origin::Origin;
    use crate::config::providers::ProvidersSection;
    use crate::config::setting::Assignment;
    use crate::config::turns::TurnsSection;
    use crate::config::value::Kind;

    #[test]
    fn built_in_values_fill_every_section() {
        let settings = Settings::built_in();
        let gateway = GatewaySection::read(&settings).unwrap();
        assert_eq!(gateway.listen, "127.0.0.1:4670");
        assert_eq!(gateway.database, None);
        assert_eq!(gateway.rate_limit_per_second, None);
        assert_eq!(gateway.outgoing_queue_bytes, 16 * 1024 * 1024);
        assert_eq!(gateway.slow_client, Duration::from_secs(10));
        let client = ClientSection::read(&settings).unwrap();
        assert_eq!(client, ClientSection { url: None, token_file: None, workspace: None });
        let agents = AgentsSection::read(&settings).unwrap();
        assert_eq!(
            (agents.enabled, agents.stop_at_fs_root, agents.follow_external_links),
            (true, true, false)
        );
        assert_eq!(agents.profile, "foreword");
        assert_eq!((agents.markers, agents.max_bytes), (None, None));
        assert_eq!(agents.max_files_per_resolve.get(), 8);
        assert_eq!(agents.delivery, Delivery::Auto);
    }

    /// Any value that the table lets through must be one that the sections can hold.
    #[test]
    fn every_word_and_kind_of_the_table_is_read_by_the_sections() {
        for key in KEYS.iter().filter(|key| !key.is_named_by_user()) {
            let values = match key.kind {
                Kind::Text | Kind::Url => vec![Value::from("x")],
                Kind::Path => vec![Value::Path("/x".into())],
                Kind::Switch => vec![Value::Switch(true), Value::Switch(false)],
                Kind::NonNegative => vec![Value::Integer(0), Value::Integer(u64::MAX)],
                Kind::Positive => vec![Value::Integer(1), Value::Integer(u64::MAX)],
                Kind::List => vec![Value::List(vec![]), Value::List(vec!["x".into()])],
                Kind::Paths => vec![Value::Paths(vec![]), Value::Paths(vec!["/x".into()])],
                Kind::Words(words) => words.iter().map(|word| Value::from(*word)).collect(),
                Kind::Model => vec![Value::from("openai/x")],
                Kind::Variable | Kind::Headers => unreachable!("only below a name"),
            };
            for value in values {
                let mut settings = Settings::built_in();
                let path = key.path.into();
                settings.apply(Assignment { key, path, value, origin: Origin::Flag("--test") });
                TurnsSection::read(&settings).unwrap();
                ProvidersSection::read(&settings).unwrap();
                GatewaySection::read(&settings).unwrap();
                ClientSection::read(&settings).unwrap();
                AgentsSection::read(&settings).unwrap();
            }
        }
        assert!(Key::find("agents.resolver.delivery").is_some());
    }

    #[test]
    fn the_budgets_are_those_of_the_compiler() {
        let mut budgets = prompt::Budgets::default();
        assert_eq!(BUDGET_KEYS.len(), prompt::BUDGETS.len());
        for (path, budget) in BUDGET_KEYS.iter().zip(prompt::BUDGETS) {
            assert_eq!(path.strip_prefix("prompt."), Some(budget.name));
            let built_in = Key::find(path).map(|key| key.built_in);
            let expected = *(budget.field)(&mut budgets) as u64;
            assert!(matches!(built_in, Some(BuiltIn::Integer(number)) if number == expected), "{path}");
        }
        assert_eq!(budgets.agents_md, protocol::limits::PROMPT_DOCUMENT_CHARACTERS);
    }
}
