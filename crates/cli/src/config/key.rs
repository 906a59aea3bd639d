//! The table of settings: every key, its type, default, variable and what a project may do with it.

use super::value::{Kind, Value};

/// Prefix of every environment variable of ours.
pub(crate) const VARIABLE_PREFIX: &str = "FOREWORD_";

/// One setting. Files, variables, flags, `foreword config` and the reference page all read this row.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted path, as in TOML.
    pub(crate) path: &'static str,
    /// What values it takes.
    pub(crate) kind: Kind,
    /// What holds when no layer sets it.
    pub(crate) built_in: BuiltIn,
    /// What a project's own file may do with it.
    pub(crate) project: ProjectRule,
    /// One line for people.
    pub(crate) documentation: &'static str,
    named_variable: Option<&'static str>,
    prefixes: Prefixes,
}

/// Under which prefixes the environment sets a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefixes {
    /// Ours.
    Ours,
    /// Ours and, above it, that of the agent whose rules hold.
    Agents,
}

/// What holds when no layer sets a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BuiltIn {
    /// There is no value; the words say what happens then.
    Nothing(&'static str),
    /// A text or one of a kind's words.
    Text(&'static str),
    /// A switch.
    Switch(bool),
    /// A number.
    Integer(u64),
    /// A list without elements.
    EmptyList,
}

/// What a project's own file may do with a key. A cloned repository must not give itself more access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectRule {
    /// Any value.
    Free,
    /// Only a number that is not above the one that holds without the project's file.
    LowerOnly,
    /// Nothing: the key belongs to the user.
    No,
}

impl BuiltIn {
    /// The value, if there is one.
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            BuiltIn::Nothing(_) => None,
            BuiltIn::Text(text) => Some(Value::Text(text.to_owned())),
            BuiltIn::Switch(on) => Some(Value::Switch(on)),
            BuiltIn::Integer(number) => Some(Value::Integer(number)),
            BuiltIn::EmptyList => Some(Value::List(Vec::new())),
        }
    }
}

impl Key {
    /// The row of a dotted path.
    pub(crate) fn find(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// The environment variable that sets it.
    pub(crate) fn variable(&self) -> String {
        match self.named_variable {
            Some(name) => name.to_owned(),
            None => format!("{VARIABLE_PREFIX}{}", self.path.replace('.', "_").to_uppercase()),
        }
    }

    /// The variable with the prefix of another agent, where that agent has one.
    pub(crate) fn agent_variable(&self, prefix: &str) -> Option<String> {
        if self.prefixes == Prefixes::Ours || prefix == VARIABLE_PREFIX {
            return None;
        }
        self.variable().strip_prefix(VARIABLE_PREFIX).map(|name| format!("{prefix}{name}"))
    }

    const fn named(self, variable: &'static str) -> Self {
        Key { named_variable: Some(variable), ..self }
    }

    const fn of_agents(self) -> Self {
        Key { prefixes: Prefixes::Agents, ..self }
    }

    const fn project(self, rule: ProjectRule) -> Self {
        Key { project: rule, ..self }
    }
}

/// Whether a path names a table that holds keys, such as `agents.root`.
pub(crate) fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| key.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')))
}

/// Every table that holds keys, in the order of the table of keys.
pub(crate) fn sections() -> Vec<&'static str> {
    let mut sections = Vec::new();
    for key in KEYS {
        for (dot, _) in key.path.match_indices('.') {
            let section = &key.path[..dot];
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
    }
    sections
}

const fn key(path: &'static str, kind: Kind, built_in: BuiltIn, documentation: &'static str) -> Key {
    Key {
        path,
        kind,
        built_in,
        project: ProjectRule::No,
        documentation,
        named_variable: None,
        prefixes: Prefixes::Ours,
    }
}

const PROFILES_OWN: BuiltIn = BuiltIn::Nothing("the profile's own");

/// All settings.
pub(crate) const KEYS: &[Key] = &[
    key(
        "gateway.listen",
        Kind::Text,
        BuiltIn::Text("127.0.0.1:4670"),
        "Address and port the gateway listens on; port 0 takes a free one.",
    ),
    key(
        "gateway.database",
        Kind::Url,
        BuiltIn::Nothing("SQLite in the data directory"),
        "Database URL, `sqlite:` or `postgres:`.",
    ),
    key(
        "gateway.allow_remote",
        Kind::Switch,
        BuiltIn::Switch(false),
        "Allows an address that other machines can reach.",
    ),
    key(
        "gateway.allowed_hosts",
        Kind::List,
        BuiltIn::EmptyList,
        "`Host` names accepted besides those of this machine.",
    ),
    key(
        "gateway.allowed_origins",
        Kind::List,
        BuiltIn::EmptyList,
        "Browser origins accepted besides those of this machine.",
    ),
    key(
        "gateway.rate_limit_per_second",
        Kind::NonNegative,
        BuiltIn::Integer(0),
        "Most requests a second of one token; 0 is no limit.",
    ),
    key(
        "gateway.outgoing_queue_bytes",
        Kind::Positive,
        BuiltIn::Integer(16_777_216),
        "Most bytes waiting to be sent to one connection before it is dropped.",
    ),
    key(
        "gateway.slow_client_seconds",
        Kind::Positive,
        BuiltIn::Integer(10),
        "Seconds a connection may take no data that is waiting before it is dropped.",
    ),
    key(
        "client.url",
        Kind::Url,
        BuiltIn::Nothing("the gateway running on this data directory"),
        "Gateway that commands talk to, such as `http://127.0.0.1:4670`.",
    ),
    key(
        "client.token_file",
        Kind::Path,
        BuiltIn::Nothing("`owner.token` in the data directory"),
        "File with the token that commands show to the gateway.",
    ),
    key(
        "client.workspace",
        Kind::Text,
        BuiltIn::Nothing("none"),
        "Workspace that commands use when none is named.",
    )
    .named("FOREWORD_WORKSPACE"),
    key("agents.enabled", Kind::Switch, BuiltIn::Switch(true), "Reads instruction files on disk at all.")
        .of_agents(),
    key(
        "agents.profile",
        Kind::Text,
        BuiltIn::Text("foreword"),
        "Set of rules by which instruction files are found.",
    )
    .project(ProjectRule::Free),
    key(
        "agents.fallback_filenames",
        Kind::List,
        PROFILES_OWN,
        "File names tried in a directory that has none of the profile's names.",
    )
    .project(ProjectRule::Free),
    key(
        "agents.follow_external_links",
        Kind::Switch,
        BuiltIn::Switch(false),
        "Follows links in a project that lead out of its root.",
    ),
    key(
        "agents.root.project_root_override",
        Kind::Path,
        BuiltIn::Nothing("searched for by its markers"),
        "The project root itself, without a search.",
    )
    .named("FOREWORD_AGENTS_ROOT")
    .of_agents(),
    key(
        "agents.root.markers",
        Kind::List,
        PROFILES_OWN,
        "Names whose presence makes a directory the project root; `[]` is no search.",
    )
    .named("FOREWORD_AGENTS_MARKERS")
    .of_agents(),
    key(
        "agents.root.stop_at_fs_root",
        Kind::Switch,
        BuiltIn::Switch(true),
        "Searches for markers up to the file system's root; false stops at the user's home directory.",
    ),
    key("agents.initial.max_files", Kind::NonNegative, PROFILES_OWN, "Most project files read at the start.")
        .of_agents()
        .project(ProjectRule::LowerOnly),
    key(
        "agents.initial.max_bytes",
        Kind::NonNegative,
        PROFILES_OWN,
        "Most bytes of project files read at the start; 0 reads none.",
    )
    .of_agents()
    .project(ProjectRule::LowerOnly),
    key(
        "agents.resolver.enabled",
        Kind::Switch,
        BuiltIn::Switch(true),
        "Announces instruction files of further directories as an agent moves.",
    )
    .of_agents(),
    key(
        "agents.resolver.max_files_per_resolve",
        Kind::Positive,
        BuiltIn::Integer(8),
        "Most files announced at once; the rest follow with the next.",
    )
    .named("FOREWORD_AGENTS_MAX_FILES_PER_RESOLVE")
    .of_agents()
    .project(ProjectRule::LowerOnly),
    key(
        "agents.resolver.delivery",
        Kind::Words(&["pointer", "inline", "auto"]),
        BuiltIn::Text("auto"),
        "Announces a file by its path, with its text, or with its text when that is short.",
    )
    .project(ProjectRule::Free),
    key(
        "prompt.profile",
        Kind::Words(&["full", "minimal", "none"]),
        BuiltIn::Text("full"),
        "How much of a prompt is made: everything, only identity, safety and instructions, or nothing.",
    ),
    key(
        "prompt.disabled_sections",
        Kind::List,
        BuiltIn::EmptyList,
        "Sections that are left out, by id, such as `user_persona`.",
    ),
    key(
        "prompt.bootstrap_file_chars",
        Kind::NonNegative,
        BuiltIn::Integer(20_000),
        "Most characters of one of `SOUL.md`, `IDENTITY.md` and `USER.md`.",
    ),
    key(
        "prompt.bootstrap_total_chars",
        Kind::NonNegative,
        BuiltIn::Integer(150_000),
        "Most characters of these files together.",
    ),
    key(
        "prompt.agents_md_chars",
        Kind::NonNegative,
        BuiltIn::Integer(16_000),
        "Most characters of an AGENTS.md document in a prompt.",
    ),
    key(
        "prompt.section_chars",
        Kind::NonNegative,
        BuiltIn::Integer(8_000),
        "Most characters of any other section that hooks or callers fill.",
    ),
    key(
        "prompt.sections_total_chars",
        Kind::NonNegative,
        BuiltIn::Integer(48_000),
        "Most characters of all sections together that hooks and callers fill.",
    ),
    key(
        "prompt.nested_scope_rules",
        Kind::Switch,
        BuiltIn::Switch(false),
        "Tells the model how AGENTS.md files of nested directories relate.",
    ),
    key("prompt.time", Kind::Switch, BuiltIn::Switch(false), "Tells the model the time besides the date."),
    key(
        "prompt.keep_texts",
        Kind::Switch,
        BuiltIn::Switch(true),
        "Keeps the texts of prompts in the database, so that any past prompt can be shown again.",
    ),
    key(
        "prompt.keep_texts_days",
        Kind::Positive,
        BuiltIn::Integer(90),
        "Days that such a text is kept after it was last used.",
    ),
];
