//! Definition of a setting and its dotted path.

use std::collections::BTreeMap;

use instructions::Profile;

use super::flag::FlagSpec;
use super::form::Form;
use super::table::{KEYS, Sections};
use super::value::{Kind, Value};

/// Prefix of our environment variables.
pub(crate) const VARIABLE_PREFIX: &str = "FOREWORD_";

/// Placeholder in a path for a user-chosen name, as in `providers.NAME.kind`.
const ANY_NAME: &str = "NAME";

/// A row of the settings table, read by files, variables, flags, `foreword config` and the reference page.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted path as in TOML; [`ANY_NAME`] stands for any name.
    pub(crate) path: &'static str,
    /// Documentation in one sentence.
    pub(crate) documentation: &'static str,
    /// Description of the behavior if no layer sets the key and it has no default.
    pub(crate) otherwise: &'static str,
    pub(crate) project: ProjectRule,
    pub(crate) flag: Option<FlagSpec>,
    field: Field,
    named_variable: Option<&'static str>,
    prefixes: Prefixes,
    positive_in_files: bool,
}

/// Access to a key's value. The second parameter is the name that [`ANY_NAME`] stands for.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) kind: fn() -> Kind,
    pub(super) load: fn(&Sections, &str) -> Option<Value>,
    pub(super) store: fn(&mut Sections, &str, Option<Value>),
}

/// Prefixes of the environment variables that set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefixes {
    Ours,
    /// Ours, overridden by that of the agent whose profile is active.
    Agents,
}

/// Rights of a project's own file over a key. A cloned repository must not give itself more access.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProjectRule {
    Free,
    /// The project may lower the number below the effective one, which is the profile's own limit if no layer sets it.
    LowerOnly(fn(&Profile) -> Option<u64>),
    /// The project cannot set the key.
    No,
}

impl Key {
    /// Returns the row of a dotted path.
    pub(crate) fn find(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| matches(key.path, path))
    }

    pub(crate) fn kind(&self) -> Kind {
        (self.field.kind)()
    }

    /// Returns the kind of its values in configuration files.
    pub(crate) fn kind_in_files(&self) -> Kind {
        if self.positive_in_files { Kind::Positive } else { self.kind() }
    }

    /// Returns the value at `path`, which is this key's path with any placeholder filled in.
    pub(crate) fn load(&self, sections: &Sections, path: &str) -> Option<Value> {
        (self.field.load)(sections, self.name_in(path))
    }

    pub(crate) fn store(&self, sections: &mut Sections, path: &str, value: Option<Value>) {
        (self.field.store)(sections, self.name_in(path), value);
    }

    /// Returns the value before any layer sets it.
    pub(crate) fn built_in(&self) -> Option<Value> {
        self.load(&Sections::default(), self.path)
    }

    fn name_in<'a>(&self, path: &'a str) -> &'a str {
        // A path has as many parts as its pattern, so the name is at the position of the placeholder.
        let mut parts = self.path.split('.').zip(path.split('.'));
        parts.find(|(part, _)| *part == ANY_NAME).map_or("", |(_, name)| name)
    }

    /// Returns true if the path contains a user-chosen name.
    pub(crate) fn is_named_by_user(&self) -> bool {
        self.path.split('.').any(|part| part == ANY_NAME)
    }

    /// Returns the environment variable of the key. `None` for paths with user-chosen names, which variables cannot spell.
    pub(crate) fn variable(&self) -> Option<String> {
        match self.named_variable {
            _ if self.is_named_by_user() => None,
            Some(name) => Some(name.to_owned()),
            None => Some(format!("{VARIABLE_PREFIX}{}", self.path.replace('.', "_").to_uppercase())),
        }
    }

    /// Returns the variable with the prefix of another agent, if that agent has one.
    pub(crate) fn agent_variable(&self, prefix: &str) -> Option<String> {
        if self.prefixes == Prefixes::Ours || prefix == VARIABLE_PREFIX {
            return None;
        }
        self.variable()?.strip_prefix(VARIABLE_PREFIX).map(|name| format!("{prefix}{name}"))
    }

    pub(super) const fn new(path: &'static str, field: Field, documentation: &'static str) -> Self {
        Key {
            path,
            documentation,
            otherwise: "none",
            project: ProjectRule::No,
            flag: None,
            field,
            named_variable: None,
            prefixes: Prefixes::Ours,
            positive_in_files: false,
        }
    }

    /// Rejects 0 in configuration files. A limit of 0 is meant for a single command.
    pub(super) const fn positive_in_files(self) -> Self {
        Key { positive_in_files: true, ..self }
    }

    pub(super) const fn otherwise(self, otherwise: &'static str) -> Self {
        Key { otherwise, ..self }
    }

    pub(super) const fn variable_name(self, variable: &'static str) -> Self {
        Key { named_variable: Some(variable), ..self }
    }

    /// Also reads the variables of the agent whose profile is active.
    pub(super) const fn of_agents(self) -> Self {
        Key { prefixes: Prefixes::Agents, ..self }
    }

    pub(super) const fn project(self, project: ProjectRule) -> Self {
        Key { project, ..self }
    }

    pub(super) const fn flag(self, flag: FlagSpec) -> Self {
        Key { flag: Some(flag), ..self }
    }
}

/// A row of the table: path, field, representation and documentation.
macro_rules! key {
    ($path:literal, $map:ident[NAME].$field:ident, $documentation:literal) => {
        key!($path, $map[NAME].$field as Plain, $documentation)
    };
    ($path:literal, $map:ident[NAME].$field:ident as $form:ident, $documentation:literal) => {
        $crate::config::key::Key::new(
            $path,
            $crate::config::key::Field {
                kind: || $crate::config::key::kind_in::<_, _, $form>(|sections| &sections.$map, |one| &one.$field),
                load: |sections, name| {
                    sections.$map.get(name).and_then(|one| <$form as Form<_>>::to_value(&one.$field))
                },
                store: |sections, name, value| {
                    // Every layer checks values before it stores them, so another kind cannot occur here. Ignoring it
                    // avoids a panic.
                    if let Some(value) = <$form as Form<_>>::from_value(value) {
                        sections.$map.entry(name.to_owned()).or_default().$field = value;
                    }
                },
            },
            $documentation,
        )
    };
    ($path:literal, $($field:ident).+, $documentation:literal) => {
        key!($path, $($field).+ as Plain, $documentation)
    };
    ($path:literal, $($field:ident).+ as $form:ident, $documentation:literal) => {
        $crate::config::key::Key::new(
            $path,
            $crate::config::key::Field {
                kind: || $crate::config::key::kind_of::<_, $form>(|sections| &sections.$($field).+),
                load: |sections, _| <$form as Form<_>>::to_value(&sections.$($field).+),
                store: |sections, _, value| {
                    if let Some(value) = <$form as Form<_>>::from_value(value) {
                        sections.$($field).+ = value;
                    }
                },
            },
            $documentation,
        )
    };
}
pub(super) use key;

/// Returns the kind of a field, whose type only the compiler knows.
pub(super) fn kind_of<T, F: Form<T>>(_: fn(&Sections) -> &T) -> Kind {
    F::kind()
}

/// Like [`kind_of`], for a field that exists once per user-chosen name.
pub(super) fn kind_in<S, T, F: Form<T>>(_: fn(&Sections) -> &BTreeMap<String, S>, _: fn(&S) -> &T) -> Kind {
    F::kind()
}

/// A key that users try to set but that does not exist, or no longer exists.
#[derive(Debug)]
pub(crate) struct Refused {
    path: &'static str,
    /// Description of the problem.
    pub(crate) problem: &'static str,
    /// Instruction for the user.
    pub(crate) instead: &'static str,
}

const REFUSED: &[Refused] = &[
    Refused {
        path: "providers.NAME.api_key",
        problem: "must not be in a configuration file",
        instead: "name an environment variable with `api_key_env`, or a file of mode 0600 with `api_key_file`",
    },
    Refused {
        path: "shell.sandbox",
        problem: "is now `permissions.shell_sandbox`",
        instead: "set `permissions.shell_sandbox` to the weakest level at which commands may run: `isolated`, \
                            `confined` or `off`; the former `auto` corresponds to `confined`",
    },
];

impl Refused {
    /// Returns the row of a dotted path.
    pub(crate) fn find(path: &str) -> Option<&'static Refused> {
        REFUSED.iter().find(|refused| matches(refused.path, path))
    }
}

/// Returns true if a path matches a pattern of the table.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('.');
    let same = |wanted: &str, part: &str| wanted == part || (wanted == ANY_NAME && is_name(part));
    pattern.split('.').all(|wanted| parts.next().is_some_and(|part| same(wanted, part)))
        && parts.next().is_none()
}

/// Returns true if a text is a valid name in a path.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    !text.is_empty() && text.chars().all(plain)
}

/// Returns true if a path names a table that contains keys, such as `agents.root`.
pub(crate) fn is_section(path: &str) -> bool {
    tables().any(|table| matches(table, path))
}

/// Returns true if a path names a table with one table per user-chosen name, such as `providers`.
pub(crate) fn holds_names(path: &str) -> bool {
    tables().any(|table| {
        let (above, name) = table.rsplit_once('.').unwrap_or_default();
        name == ANY_NAME && matches(above, path)
    })
}

/// Returns a pattern of the table with its placeholder replaced by the name at the same place in `wanted`.
pub(crate) fn with_name_of(pattern: &'static str, wanted: &str) -> String {
    let mut same = true;
    let mut wanted = wanted.split('.');
    let parts = pattern.split('.').map(|part| {
        let own = wanted.next().unwrap_or_default();
        // The name is adopted only while the paths agree up to it. Otherwise it would be a name from another
        // table.
        same &= part == own || part == ANY_NAME;
        if part == ANY_NAME && same && is_name(own) { own } else { part }
    });
    parts.collect::<Vec<_>>().join(".")
}

fn tables() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|key| key.path.match_indices('.').map(|(dot, _)| &key.path[..dot]))
}

/// Returns all tables that contain keys, in the order of the settings table.
pub(crate) fn sections() -> Vec<&'static str> {
    let mut sections = Vec::new();
    for section in tables() {
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_matches_any_plain_name() {
        for path in ["providers.local.kind", "providers.NAME.kind", "providers.my-2.kind"] {
            assert_eq!(Key::find(path).map(|key| key.path), Some("providers.NAME.kind"), "{path}");
        }
        for path in ["providers.kind", "providers..kind", "providers.a.b.kind", "providers.\"a/b\".kind"] {
            assert!(Key::find(path).is_none(), "{path}");
        }
        assert!(is_section("providers") && is_section("providers.local") && is_section("agents.root"));
        assert!(!is_section("providers.local.headers") && !is_section("agent"));
        assert!(holds_names("providers") && !holds_names("agents") && !holds_names("providers.local"));
    }

    #[test]
    fn a_pattern_adopts_the_users_name() {
        let named = |wanted: &str| with_name_of("providers.NAME.base_url", wanted);
        assert_eq!(named("providers.local.baseurl"), "providers.local.base_url");
        assert_eq!(named("gateway.local"), "providers.NAME.base_url");
        assert_eq!(named("base_url"), "providers.NAME.base_url");
    }
}
