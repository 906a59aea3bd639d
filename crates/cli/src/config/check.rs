//! Checks across settings, which the table cannot express for a single key.

use super::layers::{Layers, Origin};
use super::providers;
use crate::failure::Failure;

/// A number that must not exceed another.
struct UpperBound {
    key: &'static str,
    other: &'static str,
    relation: Relation,
}

enum Relation {
    Below,
    AtMost,
}

const UPPER_BOUNDS: &[UpperBound] = &[
    UpperBound {
        key: "turns.response_reserve_tokens",
        other: "turns.max_context_tokens",
        relation: Relation::Below,
    },
    UpperBound {
        key: "shell.timeout_seconds",
        other: "shell.longest_timeout_seconds",
        relation: Relation::AtMost,
    },
];

pub(super) fn check(layers: &Layers) -> Result<(), Failure> {
    for order in UPPER_BOUNDS {
        order.check(layers)?;
    }
    providers::check(layers)?;
    check_servers(layers)
}

/// Checks that every MCP server is complete.
fn check_servers(layers: &Layers) -> Result<(), Failure> {
    for (name, settings) in &layers.sections.mcp_servers {
        if let Some(problem) = settings.problem() {
            let keys = ["command", "url", "args", "env", "write"];
            // No single key is at fault if a server is incomplete. The first key that was set leads to its table.
            let origins = keys.map(|key| layers.origin(&format!("mcp.servers.{name}.{key}")));
            let place =
                origins.into_iter().find(|origin| *origin != Origin::BuiltIn).unwrap_or(Origin::BuiltIn);
            return Err(Failure::usage(format!("{place}: MCP server `{name}` {problem}"))
                .hint("a server needs either the `command` that starts it or its `url`"));
        }
    }
    Ok(())
}

impl UpperBound {
    fn check(&self, layers: &Layers) -> Result<(), Failure> {
        let UpperBound { key, other, relation } = self;
        let (Some(number), Some(limit)) = (layers.number(key), layers.number(other)) else { return Ok(()) };
        let (fits, relation) = match relation {
            Relation::Below => (number < limit, "below"),
            Relation::AtMost => (number <= limit, "at most"),
        };
        if fits {
            return Ok(());
        }
        let own = layers.origin(key);
        let others = layers.origin(other);
        // Report the place where a value was set explicitly, because the other one may be a default.
        let place = if own.layer() >= others.layer() { own } else { others };
        Err(Failure::usage(format!(
            "{place}: `{key}` is {number}, but must be {relation} `{other}`, which is {limit}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::config::fixture::Fixture;
    use crate::config::table::Sections;
    use agent::WhenBusy;
    use protocol::SandboxLevel;
    use tools::Permission;

    fn load(text: &str) -> Result<Sections, (String, Option<String>)> {
        let mut fixture = Fixture::new();
        fixture.user(text);
        let user_file = fixture.path("home/config.toml").display().to_string();
        match fixture.load() {
            Ok((configuration, _)) => Ok(configuration.sections().clone()),
            Err(error) => {
                Err((error.to_string().replace(&user_file, "config.toml"), error.hints.first().cloned()))
            }
        }
    }

    #[test]
    fn every_key_reaches_the_agent() {
        let sections = load(
            "[model]\ndefault = 'anthropic/a/b'\nreasoning = 'high'\n\
             [turns]\nmax_context_tokens = 8000\nresponse_reserve_tokens = 1000\nmax_rounds = 3\nmax_tool_calls = 4\n\
             when_busy = 'queue'\nsummary_model = 'openai/small'\n\
             [permissions]\nwrite = 'allow'\nprotected = 'ask'\napproval_minutes = 2\nshell_sandbox = 'off'\n\
             [shell]\nenabled = true\nenvironment = ['CARGO_HOME']\nreadable = ['a', '/b']\n\
             writable = []\ntimeout_seconds = 5\nlongest_timeout_seconds = 6\n",
        )
        .unwrap();
        assert_eq!(sections.default_model.as_deref(), Some("anthropic/a/b"));
        let settings = sections.turns;
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
        assert!(sections.shell_enabled);
        let shell = sections.shell;
        assert_eq!((shell.sandbox, shell.environment), (SandboxLevel::Off, vec!["CARGO_HOME".to_owned()]));
        assert!(
            shell.readable[0].is_absolute() && shell.readable[0].ends_with("home/a"),
            "{:?}",
            shell.readable
        );
        assert_eq!((shell.timeout.as_secs(), shell.longest_timeout.as_secs()), (5, 6));
    }

    #[test]
    fn a_renamed_key_names_its_replacement() {
        let (message, hint) = load("[shell]\nsandbox = 'off'").unwrap_err();
        assert_eq!(message, "config.toml:2: `shell.sandbox` is now `permissions.shell_sandbox`");
        assert!(hint.unwrap().contains("`isolated`, `confined` or `off`"));
        assert_eq!(load("").unwrap().shell.sandbox, SandboxLevel::Isolated);
    }

    #[test]
    fn related_numbers_must_be_consistent() {
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
    fn bad_values_report_the_expected_form() {
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
    fn a_project_cannot_set_restricted_keys() {
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
            let hint = &error.hints[0];
            assert!(hint.ends_with(&format!("home/config.toml{variable}")), "{hint}");
        }
    }
}
