//! The table of settings: every key, its type, default, variable and what a project may do with it.

use super::value::{Kind, Value};

/// Prefix of every environment variable of ours.
pub(crate) const VARIABLE_PREFIX: &str = "FOREWORD_";

/// Stands in a path for a name that the user chooses, as in `providers.NAME.kind`.
pub(crate) const ANY_NAME: &str = "NAME";

/// One setting. Files, variables, flags, `foreword config` and the reference page all read this row.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted path, as in TOML; [`ANY_NAME`] in it stands for any name.
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
    /// The same of paths.
    NoPaths,
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
            BuiltIn::NoPaths => Some(Value::Paths(Vec::new())),
        }
    }
}

impl Key {
    /// The row of a dotted path.
    pub(crate) fn find(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| fits(key.path, path))
    }

    /// Whether it is there once for every name that the user chooses, and not at all without one.
    pub(crate) fn is_named_by_user(&self) -> bool {
        self.path.split('.').any(|part| part == ANY_NAME)
    }

    /// The environment variable that sets it; none for keys with names in them, which variables cannot spell.
    pub(crate) fn variable(&self) -> Option<String> {
        match self.named_variable {
            _ if self.is_named_by_user() => None,
            Some(name) => Some(name.to_owned()),
            None => Some(format!("{VARIABLE_PREFIX}{}", self.path.replace('.', "_").to_uppercase())),
        }
    }

    /// The variable with the prefix of another agent, where that agent has one.
    pub(crate) fn agent_variable(&self, prefix: &str) -> Option<String> {
        if self.prefixes == Prefixes::Ours || prefix == VARIABLE_PREFIX {
            return None;
        }
        self.variable()?.strip_prefix(VARIABLE_PREFIX).map(|name| format!("{prefix}{name}"))
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

/// Something that people try to set and that does not belong into a configuration file.
#[derive(Debug)]
pub(crate) struct Refused {
    path: &'static str,
    /// What to do instead.
    pub(crate) instead: &'static str,
}

const REFUSED: &[Refused] = &[Refused {
    path: "providers.NAME.api_key",
    instead: "name an environment variable with `api_key_env`, or a file of mode 0600 with `api_key_file`",
}];

impl Refused {
    /// The row of a dotted path.
    pub(crate) fn find(path: &str) -> Option<&'static Refused> {
        REFUSED.iter().find(|refused| fits(refused.path, path))
    }
}

/// Whether a path is one that a path of the table stands for.
fn fits(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('.');
    let fits = |wanted: &str, part: &str| wanted == part || (wanted == ANY_NAME && is_name(part));
    pattern.split('.').all(|wanted| parts.next().is_some_and(|part| fits(wanted, part)))
        && parts.next().is_none()
}

/// Whether something can be a name in a path.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    !text.is_empty() && text.chars().all(plain)
}

/// Whether a path names a table that holds keys, such as `agents.root`.
pub(crate) fn is_section(path: &str) -> bool {
    tables().any(|table| fits(table, path))
}

/// Whether a path names a table that holds one table for every name that the user chooses, such as `providers`.
pub(crate) fn holds_names(path: &str) -> bool {
    tables().any(|table| {
        let (above, name) = table.rsplit_once('.').unwrap_or_default();
        name == ANY_NAME && fits(above, path)
    })
}

/// A path of the table with the name that stands in the same place of `wanted`, where it has one.
pub(crate) fn with_name_of(pattern: &'static str, wanted: &str) -> String {
    let mut same = true;
    let mut wanted = wanted.split('.');
    let parts = pattern.split('.').map(|part| {
        let own = wanted.next().unwrap_or_default();
        same &= part == own || part == ANY_NAME;
        if part == ANY_NAME && same && is_name(own) { own } else { part }
    });
    parts.collect::<Vec<_>>().join(".")
}

fn tables() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|key| key.path.match_indices('.').map(|(dot, _)| &key.path[..dot]))
}

/// Every table that holds keys, in the order of the table of keys.
pub(crate) fn sections() -> Vec<&'static str> {
    let mut sections = Vec::new();
    for section in tables() {
        if !sections.contains(&section) {
            sections.push(section);
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
    key(
        "model.default",
        Kind::Model,
        BuiltIn::Nothing("none, so every turn must name one"),
        "Model that is asked when a turn names none, as `provider/model`.",
    ),
    key(
        "model.reasoning",
        Kind::Words(&["low", "medium", "high"]),
        BuiltIn::Nothing("the model's own"),
        "How hard models think before they answer, where they can be told.",
    ),
    key(
        "turns.max_context_tokens",
        Kind::Positive,
        BuiltIn::Integer(128_000),
        "Most tokens of a request and its answer together; earlier turns that do not fit are summarised.",
    ),
    key(
        "turns.response_reserve_tokens",
        Kind::Positive,
        BuiltIn::Integer(16_000),
        "Tokens of these that are left for the answer.",
    ),
    key(
        "turns.max_rounds",
        Kind::Positive,
        BuiltIn::Integer(32),
        "How often a model is asked in one turn before it must answer.",
    ),
    key(
        "turns.max_tool_calls",
        Kind::Positive,
        BuiltIn::Integer(128),
        "How many tools it may call in one turn before it must answer.",
    ),
    key(
        "turns.when_busy",
        Kind::Words(&["refuse", "queue"]),
        BuiltIn::Text("refuse"),
        "What happens to a turn of a thread that has one running: it is refused, or it waits.",
    ),
    key(
        "turns.summary_model",
        Kind::Model,
        BuiltIn::Nothing("the model that is asked"),
        "Model that summarises earlier turns, as `provider/model`.",
    ),
    key(
        "permissions.write",
        PERMISSION,
        BuiltIn::Text("ask"),
        "What happens to a tool that writes a file or runs a command.",
    ),
    key(
        "permissions.protected",
        PERMISSION,
        BuiltIn::Text("deny"),
        "The same for protected files, such as AGENTS.md and `.git`; the stricter of the two counts.",
    ),
    key(
        "permissions.approval_minutes",
        Kind::Positive,
        BuiltIn::Integer(10),
        "Minutes that a call waits for somebody to decide; then the answer is no.",
    ),
    key("shell.enabled", Kind::Switch, BuiltIn::Switch(false), "Lets models run commands."),
    key(
        "shell.sandbox",
        Kind::Words(&["auto", "off"]),
        BuiltIn::Text("auto"),
        "Confines commands by what the system has, and runs none where it has nothing; or does not confine them.",
    ),
    key(
        "shell.environment",
        Kind::List,
        BuiltIn::EmptyList,
        "Environment variables that commands see, besides a few harmless ones.",
    ),
    key(
        "shell.readable",
        Kind::Paths,
        BuiltIn::NoPaths,
        "Directories that confined commands can read, besides the workspace and the system's.",
    ),
    key(
        "shell.writable",
        Kind::Paths,
        BuiltIn::NoPaths,
        "Directories that confined commands can write, besides the workspace and their own temporary one.",
    ),
    key(
        "shell.timeout_seconds",
        Kind::Positive,
        BuiltIn::Integer(120),
        "Seconds a command may take that asks for no other time.",
    ),
    key(
        "shell.longest_timeout_seconds",
        Kind::Positive,
        BuiltIn::Integer(1_800),
        "Most seconds a command may ask for.",
    ),
    key(
        "providers.NAME.kind",
        Kind::Words(&["anthropic", "openai", "openai_compatible"]),
        BuiltIn::Nothing("that of the built-in provider of this name; needed for others"),
        "Which API it speaks: Messages, Responses, or the Chat Completions of everybody else.",
    ),
    key(
        "providers.NAME.base_url",
        Kind::Url,
        BuiltIn::Nothing("the vendor's own; needed for `openai_compatible`"),
        "Where it is, without the path of a method, such as `http://127.0.0.1:11434/v1`.",
    ),
    key(
        "providers.NAME.api_key_env",
        Kind::Variable,
        BuiltIn::Nothing("that of the built-in provider of this name, else none"),
        "Environment variable of the gateway that holds its key.",
    ),
    key(
        "providers.NAME.api_key_file",
        Kind::Path,
        BuiltIn::Nothing("none"),
        "File of mode 0600 that holds its key, instead of a variable.",
    ),
    key(
        "providers.NAME.headers",
        Kind::Headers,
        BuiltIn::Nothing("none"),
        "More headers of every request; their values are never shown.",
    ),
];

const PERMISSION: Kind = Kind::Words(&["deny", "ask", "allow"]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_path_is_any_plain_one() {
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
    fn a_path_of_the_table_takes_the_name_that_was_meant() {
        let named = |wanted: &str| with_name_of("providers.NAME.base_url", wanted);
        assert_eq!(named("providers.local.baseurl"), "providers.local.base_url");
        assert_eq!(named("gateway.local"), "providers.NAME.base_url");
        assert_eq!(named("base_url"), "providers.NAME.base_url");
    }
}
