//! `[model]`, `[turns]`, `[permissions]` and `[shell]`: how the gateway runs turns.

use std::num::NonZeroU64;
use std::time::Duration;

use agent::{TurnSettings, WhenBusy};
use serde::de::DeserializeOwned;
use tools::{Permissions, ShellSettings};

use super::error::ConfigurationError;
use super::setting::Settings;

/// How turns are run, and whom they ask by default.
#[derive(Debug, Clone)]
pub(crate) struct TurnsSection {
    /// The model that is asked when nobody names one.
    pub(crate) default_model: Option<String>,
    /// As the agent takes them.
    pub(crate) settings: TurnSettings,
}

/// Two numbers of which one must not be above the other.
struct Order {
    key: &'static str,
    other: &'static str,
    relation: Relation,
}

enum Relation {
    Below,
    AtMost,
}

const ORDERS: &[Order] = &[
    Order {
        key: "turns.response_reserve_tokens",
        other: "turns.max_context_tokens",
        relation: Relation::Below,
    },
    Order {
        key: "shell.timeout_seconds",
        other: "shell.longest_timeout_seconds",
        relation: Relation::AtMost,
    },
];

impl TurnsSection {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigurationError> {
        let when_busy: String = settings.read("turns.when_busy")?;
        let minutes: NonZeroU64 = settings.read("permissions.approval_minutes")?;
        let shell_enabled: bool = settings.read("shell.enabled")?;
        Ok(TurnsSection {
            default_model: settings.read("model.default")?,
            settings: TurnSettings {
                max_context_tokens: size(settings, "turns.max_context_tokens")?,
                response_reserve_tokens: size(settings, "turns.response_reserve_tokens")?,
                max_rounds: count(settings, "turns.max_rounds")?,
                max_tool_calls: count(settings, "turns.max_tool_calls")?,
                when_busy: if when_busy == "queue" { WhenBusy::Queue } else { WhenBusy::Refuse },
                summary_model: settings.read("turns.summary_model")?,
                reasoning: match settings.text("model.reasoning") {
                    Some(_) => Some(word(settings, "model.reasoning")?),
                    None => None,
                },
                permissions: Permissions {
                    write: word(settings, "permissions.write")?,
                    protected: word(settings, "permissions.protected")?,
                },
                approval_time: Duration::from_secs(minutes.get().saturating_mul(60)),
                shell: if shell_enabled { Some(shell(settings)?) } else { None },
            },
        })
    }

    /// Whether the numbers fit to each other; each alone may be right.
    pub(super) fn check(settings: &Settings) -> Result<(), ConfigurationError> {
        for Order { key, other, relation } in ORDERS {
            let number: u64 = settings.read(key)?;
            let limit: u64 = settings.read(other)?;
            let (fits, relation) = match relation {
                Relation::Below => (number < limit, "below"),
                Relation::AtMost => (number <= limit, "at most"),
            };
            if fits {
                continue;
            }
            let (own, others) = (&settings.get(key)?.origin, &settings.get(other)?.origin);
            // Whoever set one of them looks there first; nobody set the other.
            let place = if own.layer() >= others.layer() { own } else { others };
            return Err(ConfigurationError::Unfit {
                place: place.clone(),
                key,
                number,
                relation,
                other,
                limit,
            });
        }
        Ok(())
    }
}

fn shell(settings: &Settings) -> Result<ShellSettings, ConfigurationError> {
    let seconds = |key| settings.read::<u64>(key).map(Duration::from_secs);
    Ok(ShellSettings {
        sandbox: word(settings, "shell.sandbox")?,
        environment: settings.read("shell.environment")?,
        readable: settings.read("shell.readable")?,
        writable: settings.read("shell.writable")?,
        timeout: seconds("shell.timeout_seconds")?,
        longest_timeout: seconds("shell.longest_timeout_seconds")?,
    })
}

fn size(settings: &Settings, key: &'static str) -> Result<usize, ConfigurationError> {
    settings.read::<u64>(key).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

fn count(settings: &Settings, key: &'static str) -> Result<u32, ConfigurationError> {
    settings.read::<u64>(key).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// One of the words of a key, which are those of the type's own serialisation.
fn word<T: DeserializeOwned>(settings: &Settings, key: &'static str) -> Result<T, ConfigurationError> {
    let text: String = settings.read(key)?;
    serde_json::from_value(text.into()).map_err(|_| ConfigurationError::NotInTable { key: key.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixture::Fixture;
    use tools::{Permission, Sandbox};

    fn load(text: &str) -> Result<TurnsSection, (String, Option<String>)> {
        let mut fixture = Fixture::new();
        fixture.user(text);
        let user_file = fixture.path("home/config.toml").display().to_string();
        match fixture.load() {
            Ok((configuration, _)) => Ok(configuration.turns().clone()),
            Err(error) => Err((error.to_string().replace(&user_file, "config.toml"), error.hint())),
        }
    }

    #[test]
    fn the_built_in_values_are_those_of_the_agent() {
        let section = TurnsSection::read(&Settings::built_in()).unwrap();
        assert_eq!(format!("{:?}", section.settings), format!("{:?}", TurnSettings::default()));
        assert_eq!(section.default_model, None);
        let shell = shell(&Settings::built_in()).unwrap();
        assert_eq!(shell, ShellSettings::default());
    }

    #[test]
    fn every_key_reaches_the_agent() {
        let section = load(
            "[model]\ndefault = 'anthropic/a/b'\nreasoning = 'high'\n\
             [turns]\nmax_context_tokens = 8000\nresponse_reserve_tokens = 1000\nmax_rounds = 3\nmax_tool_calls = 4\n\
             when_busy = 'queue'\nsummary_model = 'openai/small'\n\
             [permissions]\nwrite = 'allow'\nprotected = 'ask'\napproval_minutes = 2\n\
             [shell]\nenabled = true\nsandbox = 'off'\nenvironment = ['CARGO_HOME']\nreadable = ['a', '/b']\n\
             writable = []\ntimeout_seconds = 5\nlongest_timeout_seconds = 6\n",
        )
        .unwrap();
        assert_eq!(section.default_model.as_deref(), Some("anthropic/a/b"));
        let settings = section.settings;
        assert_eq!((settings.max_context_tokens, settings.response_reserve_tokens), (8000, 1000));
        assert_eq!((settings.max_rounds, settings.max_tool_calls), (3, 4));
        assert_eq!(settings.when_busy, WhenBusy::Queue);
        assert_eq!(settings.summary_model.as_deref(), Some("openai/small"));
        assert_eq!(settings.reasoning, Some(provider::ReasoningEffort::High));
        assert_eq!(
            (settings.permissions.write, settings.permissions.protected),
            (Permission::Allow, Permission::Ask)
        );
        assert_eq!(settings.approval_time, Duration::from_secs(120));
        let shell = settings.shell.unwrap();
        assert_eq!((shell.sandbox, shell.environment), (Sandbox::Off, vec!["CARGO_HOME".to_owned()]));
        assert!(
            shell.readable[0].is_absolute() && shell.readable[0].ends_with("home/a"),
            "{:?}",
            shell.readable
        );
        assert_eq!((shell.timeout.as_secs(), shell.longest_timeout.as_secs()), (5, 6));
    }

    #[test]
    fn numbers_must_fit_to_each_other() {
        for (text, message) in [
            (
                "turns.response_reserve_tokens = 128000",
                "config.toml:1: `turns.response_reserve_tokens` is 128000, but must be below \
                 `turns.max_context_tokens`, which is 128000",
            ),
            (
                "[turns]\nmax_context_tokens = 100",
                "config.toml:2: `turns.response_reserve_tokens` is 16000, but must be below \
                 `turns.max_context_tokens`, which is 100",
            ),
            (
                "[shell]\nlongest_timeout_seconds = 60",
                "config.toml:2: `shell.timeout_seconds` is 120, but must be at most \
                 `shell.longest_timeout_seconds`, which is 60",
            ),
        ] {
            assert_eq!(load(text).unwrap_err().0, message);
        }
        load("[shell]\nlongest_timeout_seconds = 120").unwrap();
    }

    #[test]
    fn bad_values_say_what_is_wanted() {
        for (text, message) in [
            ("turns.max_rounds = 0", "`turns.max_rounds` must be a positive integer, found the integer 0"),
            (
                "turns.when_busy = 'wait'",
                "`turns.when_busy` must be one of `refuse`, `queue`, found the string \"wait\"",
            ),
            (
                "model.default = 'gpt-5'",
                "`model.default` must be a model's name such as `anthropic/claude-opus-5`, found the string \"gpt-5\"",
            ),
            (
                "permissions.write = true",
                "`permissions.write` must be one of `deny`, `ask`, `allow`, found the boolean true",
            ),
            (
                "shell.readable = '/a'",
                "`shell.readable` must be a list of paths in strings, found the string \"/a\"",
            ),
        ] {
            assert_eq!(load(text).unwrap_err().0, format!("config.toml:1: {message}"));
        }
    }

    #[test]
    fn a_project_may_set_nothing_of_it() {
        for (text, key, variable) in [
            ("model.default = 'a/b'", "model.default", " or with the variable FOREWORD_MODEL_DEFAULT"),
            (
                "permissions.write = 'allow'",
                "permissions.write",
                " or with the variable FOREWORD_PERMISSIONS_WRITE",
            ),
            ("shell.enabled = true", "shell.enabled", " or with the variable FOREWORD_SHELL_ENABLED"),
            ("providers.evil.kind = 'openai'", "providers.evil.kind", ""),
            ("providers.anthropic.base_url = 'http://evil.example'", "providers.anthropic.base_url", ""),
        ] {
            let mut fixture = Fixture::new();
            fixture.project(text);
            let error = fixture.load().unwrap_err();
            assert!(error.to_string().ends_with(&format!("a project cannot set `{key}`")), "{error}");
            let hint = error.hint().unwrap();
            assert!(hint.ends_with(&format!("home/config.toml{variable}")), "{hint}");
        }
    }
}
