//! Environment variables: those that set keys, and other variables of ours.

use std::ffi::{OsStr, OsString};

use super::Warning;
use super::key::{Key, VARIABLE_PREFIX};
use super::layers::{Assignment, Origin};
use super::table::KEYS;
use crate::failure::Failure;

/// A variable that is not a setting.
#[derive(Debug)]
pub(crate) struct ProcessVariable {
    /// Name, or prefix of the name.
    pub(crate) name: VariableName,
    /// Documentation in one sentence.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the reference page shows it"))]
    pub(crate) documentation: &'static str,
}

/// Way to recognize a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) enum VariableName {
    /// By its full name.
    Exact(&'static str),
    /// By its prefix.
    Prefix(&'static str),
}

/// Directory with the user's configuration and instruction files.
pub(crate) const HOME_VARIABLE: &str = "FOREWORD_HOME";
/// Directory with the database, the owner's token and the address of the running gateway.
pub(crate) const DATA_VARIABLE: &str = "FOREWORD_DATA";
pub(crate) const LOG_VARIABLE: &str = "FOREWORD_LOG";
/// Token that replaces the owner's.
pub(crate) const TOKEN_VARIABLE: &str = "FOREWORD_TOKEN";

/// Set by completion scripts to the name of the shell.
pub(crate) const COMPLETE_VARIABLE: &str = "FOREWORD_COMPLETE";

/// Variables that are not settings.
pub(crate) const PROCESS_VARIABLES: &[ProcessVariable] = &[
    ProcessVariable {
        name: VariableName::Exact(HOME_VARIABLE),
        documentation: "Directory with `config.toml` and your own instruction files; overridden by `--home`.",
    },
    ProcessVariable {
        name: VariableName::Exact(DATA_VARIABLE),
        documentation: "Directory with the database and the owner's token; overridden by `--data`.",
    },
    ProcessVariable {
        name: VariableName::Exact(LOG_VARIABLE),
        documentation: "Log filter for standard error, such as `info` or `gateway=debug`.",
    },
    ProcessVariable {
        name: VariableName::Exact(TOKEN_VARIABLE),
        documentation: "Token that commands send to the gateway; overrides `client.token_file`.",
    },
    ProcessVariable {
        name: VariableName::Exact("FOREWORD_PROGRAM"),
        documentation: "Command with which the native application starts a gateway.",
    },
    ProcessVariable {
        name: VariableName::Prefix("FOREWORD_DESKTOP_"),
        documentation: "Settings of the native application.",
    },
    ProcessVariable {
        name: VariableName::Exact(COMPLETE_VARIABLE),
        documentation: "Set by the scripts of `foreword completions` to the shell's name.",
    },
    ProcessVariable {
        name: VariableName::Prefix("FOREWORD_TEST_"),
        documentation: "Reserved for our tests; no effect on settings.",
    },
];

impl VariableName {
    fn matches(self, name: &str) -> bool {
        match self {
            VariableName::Exact(exact) => name == exact,
            VariableName::Prefix(prefix) => name.starts_with(prefix),
        }
    }
}

/// Reads the variables with the prefix of the active profile's agent. Other variables of that agent are ignored.
pub(crate) fn read_of_agent(
    environment: &[(OsString, OsString)],
    prefix: &str,
) -> Result<Vec<Assignment>, Failure> {
    let mut assignments = Vec::new();
    for key in KEYS {
        let Some(name) = key.agent_variable(prefix) else { continue };
        let value = environment.iter().find(|(known, _)| known == name.as_str()).map(|(_, value)| value);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            assignments.push(assign(key, name, value)?);
        }
    }
    Ok(assignments)
}

/// Reads our variables, with a warning for each unknown one.
pub(crate) fn read(environment: &[(OsString, OsString)]) -> Result<(Vec<Assignment>, Vec<Warning>), Failure> {
    let mut variables: Vec<(String, &OsString)> = environment
        .iter()
        .filter(|(name, _)| name.as_encoded_bytes().starts_with(VARIABLE_PREFIX.as_bytes()))
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .collect();
    // Sorted, so that errors and warnings do not depend on the order of the environment.
    variables.sort();
    let mut assignments = Vec::new();
    let mut warnings = Vec::new();
    for (name, value) in variables {
        match KEYS.iter().find(|key| key.variable().as_deref() == Some(&*name)) {
            // Setting a variable to the empty text is the usual way to disable it for a single command.
            Some(_) if value.is_empty() => {}
            Some(key) => assignments.push(assign(key, name, value)?),
            None if PROCESS_VARIABLES.iter().any(|known| known.name.matches(&name)) => {}
            None => warnings.push(unknown(&name)),
        }
    }
    Ok((assignments, warnings))
}

fn assign(key: &'static Key, name: String, value: &OsStr) -> Result<Assignment, Failure> {
    let origin = Origin::Variable(name);
    match key.kind().read_variable(value) {
        Ok(value) => Ok(Assignment { key, path: key.path.into(), value, origin }),
        Err(found) => Err(origin.wrong_value(key.path, key, &found)),
    }
}

fn unknown(name: &str) -> Warning {
    let mut known: Vec<String> = KEYS.iter().filter_map(Key::variable).collect();
    // A prefix is not a complete name, so it would be a useless suggestion.
    known.extend(PROCESS_VARIABLES.iter().filter_map(|variable| match variable.name {
        VariableName::Exact(name) => Some(name.to_owned()),
        VariableName::Prefix(_) => None,
    }));
    let hint = protocol::nearest(name, known.iter().map(String::as_str))
        .map(|nearest| format!("the nearest known variable is `{nearest}`"));
    Warning {
        // Any program may set variables, so the name may contain control characters that must not reach the
        // terminal.
        message: format!("environment variable `{}` is unknown and has no effect", name.escape_debug()),
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::Value;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn value_of(name: &str, text: &str) -> Option<Value> {
        let (mut assignments, _) = read(&environment(&[(name, text)])).unwrap();
        assignments.pop().map(|assignment| assignment.value)
    }

    #[test]
    fn each_key_has_its_own_variable() {
        let mut names: Vec<String> = KEYS.iter().filter_map(Key::variable).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for name in &names {
            assert!(
                !PROCESS_VARIABLES.iter().any(|known| known.name.matches(name)),
                "{name} has two meanings"
            );
        }
    }

    #[test]
    fn variables_follow_the_rule_or_the_table() {
        let cases = [
            ("gateway.listen", "FOREWORD_GATEWAY_LISTEN"),
            ("client.workspace", "FOREWORD_WORKSPACE"),
            ("model.default", "FOREWORD_MODEL_DEFAULT"),
            ("agents.enabled", "FOREWORD_AGENTS_ENABLED"),
            ("agents.root.project_root_override", "FOREWORD_AGENTS_ROOT"),
            ("agents.root.markers", "FOREWORD_AGENTS_MARKERS"),
            ("agents.initial.max_files", "FOREWORD_AGENTS_INITIAL_MAX_FILES"),
            ("agents.initial.max_bytes", "FOREWORD_AGENTS_INITIAL_MAX_BYTES"),
            ("agents.resolver.enabled", "FOREWORD_AGENTS_RESOLVER_ENABLED"),
            ("agents.resolver.max_files_per_resolve", "FOREWORD_AGENTS_MAX_FILES_PER_RESOLVE"),
        ];
        for (path, variable) in cases {
            assert_eq!(Key::find(path).unwrap().variable().as_deref(), Some(variable));
        }
    }

    #[test]
    fn an_agent_has_variables_under_its_own_prefix() {
        let names: Vec<String> = KEYS.iter().filter_map(|key| key.agent_variable("CODELIA_")).collect();
        let expected = [
            "CODELIA_AGENTS_ENABLED",
            "CODELIA_AGENTS_ROOT",
            "CODELIA_AGENTS_MARKERS",
            "CODELIA_AGENTS_INITIAL_MAX_FILES",
            "CODELIA_AGENTS_INITIAL_MAX_BYTES",
            "CODELIA_AGENTS_RESOLVER_ENABLED",
            "CODELIA_AGENTS_MAX_FILES_PER_RESOLVE",
        ];
        assert_eq!(names, expected);
        assert!(KEYS.iter().all(|key| key.agent_variable(VARIABLE_PREFIX).is_none()), "read already");
    }

    #[test]
    fn values_are_read_by_their_keys_type() {
        assert_eq!(value_of("FOREWORD_AGENTS_ENABLED", "0"), Some(Value::Switch(false)));
        assert_eq!(value_of("FOREWORD_AGENTS_ENABLED", "True"), Some(Value::Switch(true)));
        assert_eq!(value_of("FOREWORD_AGENTS_INITIAL_MAX_FILES", "3"), Some(Value::Integer(3)));
        let markers = Value::List(vec![".git".into(), ".hg".into()]);
        assert_eq!(value_of("FOREWORD_AGENTS_MARKERS", ".git, .hg,"), Some(markers));
        assert_eq!(value_of("FOREWORD_AGENTS_ROOT", "/a"), Some(Value::Path("/a".into())));
    }

    #[test]
    fn an_empty_variable_is_unset_and_a_comma_is_empty() {
        assert_eq!(value_of("FOREWORD_AGENTS_MARKERS", ""), None);
        assert_eq!(value_of("FOREWORD_AGENTS_MARKERS", ","), Some(Value::List(vec![])));
    }

    #[test]
    fn a_wrong_value_names_the_variable() {
        let error = read(&environment(&[("FOREWORD_AGENTS_INITIAL_MAX_BYTES", "-1")])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "environment variable `FOREWORD_AGENTS_INITIAL_MAX_BYTES`: `agents.initial.max_bytes` must be a \
             non-negative integer, found \"-1\""
        );
    }

    #[test]
    fn an_unknown_variable_warns_with_the_nearest_name() {
        let (assignments, warnings) = read(&environment(&[
            ("FOREWORD_AGENT_ROOT", "/a"),
            ("FOREWORD_HOME", "/h"),
            ("FOREWORD_TEST_ANYTHING", "1"),
            ("PATH", "/bin"),
        ]))
        .unwrap();
        assert!(assignments.is_empty());
        let expected = Warning {
            message: "environment variable `FOREWORD_AGENT_ROOT` is unknown and has no effect".into(),
            hint: Some("the nearest known variable is `FOREWORD_AGENTS_ROOT`".into()),
        };
        assert_eq!(warnings, [expected]);
    }
}
