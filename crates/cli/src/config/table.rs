//! Every setting: the field it sets, and the one row that files, variables, flags, docs and origins read.
//!
//! Fields are in the structs that the rooms take, with the defaults that those have. A new setting is a field there,
//! a row here, and `docs/configuration.md` written anew.

use std::collections::BTreeMap;
use std::path::PathBuf;

use instructions::FOREWORD;
use provider::ProviderSettings;

use super::flag::{FlagGroup, FlagSpec};
use super::form::{
    Form, Milliseconds, Minutes, Model, Period, Plain, Positive, Seconds, Url, Variable, WithTime, ZeroIsNone,
};
use super::key::{Key, ProjectRule, key};

/// The values of all settings. Beside the structs of the rooms are those that must be looked up or read before a
/// room can take them.
#[derive(Debug, Clone)]
pub(crate) struct Sections {
    /// Without what other sections say, which is put in when a gateway starts.
    pub(crate) gateway: gateway::GatewaySettings,
    pub(crate) database: Option<String>,
    pub(crate) client: ClientSettings,
    pub(crate) profile: String,
    pub(crate) files: instructions::FileSettings,
    pub(crate) check: check::CheckSettings,
    pub(crate) prompt: agent::PromptSettings,
    pub(crate) default_model: Option<String>,
    pub(crate) turns: agent::TurnSettings,
    pub(crate) shell_enabled: bool,
    pub(crate) shell: tools::ShellSettings,
    pub(crate) skills: skills::SkillSettings,
    pub(crate) memory: memory::MemorySettings,
    pub(crate) mcp_enabled: bool,
    pub(crate) mcp_servers: BTreeMap<String, mcp::ServerSettings>,
    pub(crate) delegation: agent::DelegationSettings,
    pub(crate) retention: agent::RetentionSettings,
    pub(crate) providers: BTreeMap<String, ProviderSettings>,
}

/// `[client]`: which gateway commands talk to, and as whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientSettings {
    /// The gateway; none: the one running on the data directory.
    pub(crate) url: Option<String>,
    /// The token's file; none: `owner.token` in the data directory.
    pub(crate) token_file: Option<PathBuf>,
    /// The workspace used when a command names none.
    pub(crate) workspace: Option<String>,
}

impl Default for Sections {
    fn default() -> Self {
        Sections {
            gateway: gateway::GatewaySettings::new(PathBuf::new()),
            database: None,
            client: ClientSettings::default(),
            profile: FOREWORD.name.to_owned(),
            files: instructions::FileSettings::default(),
            check: check::CheckSettings::default(),
            prompt: agent::PromptSettings::default(),
            default_model: None,
            turns: agent::TurnSettings::default(),
            shell_enabled: false,
            shell: tools::ShellSettings::default(),
            skills: skills::SkillSettings::default(),
            memory: memory::MemorySettings::default(),
            mcp_enabled: true,
            mcp_servers: BTreeMap::new(),
            delegation: agent::DelegationSettings::default(),
            retention: agent::RetentionSettings::default(),
            providers: BTreeMap::new(),
        }
    }
}

const PROFILES_OWN: &str = "the profile's own";

pub(crate) const KEYS: &[Key] = &[
    key!(
        "gateway.listen",
        gateway.listen,
        "Address and port the gateway listens on; port 0 takes a free one."
    )
    .flag(FlagSpec::new(FlagGroup::Serve, "listen", "ADDR")),
    key!("gateway.database", database as Url, "Database URL, `sqlite:` or `postgres:`.")
        .otherwise("SQLite in the data directory")
        .flag(FlagSpec::new(FlagGroup::Serve, "database", "URL")),
    key!("gateway.allow_remote", gateway.allow_remote, "Allows an address that other machines can reach.")
        .flag(FlagSpec::new(FlagGroup::Serve, "allow-remote", "")),
    key!(
        "gateway.allowed_hosts",
        gateway.allowed_hosts,
        "`Host` names accepted besides those of this machine."
    ),
    key!(
        "gateway.allowed_origins",
        gateway.allowed_origins,
        "Browser origins accepted besides those of this machine."
    ),
    key!(
        "gateway.rate_limit_per_second",
        gateway.rate_limit as ZeroIsNone,
        "Most requests a second of one token; 0 is no limit."
    ),
    key!(
        "gateway.outgoing_queue_bytes",
        gateway.limits.outgoing_bytes as Positive,
        "Most bytes waiting to be sent to one connection before it is dropped."
    ),
    key!(
        "gateway.slow_client_seconds",
        gateway.limits.patience as Seconds,
        "Seconds a connection may take no data that is waiting before it is dropped."
    ),
    key!(
        "limits.message_bytes",
        gateway.limits.message_bytes as Positive,
        "Most bytes of one incoming message."
    ),
    key!("limits.batch_calls", gateway.batch.calls as Positive, "Most calls of one batch."),
    key!(
        "limits.batch_answer_bytes",
        gateway.batch.answer_bytes as Positive,
        "Most bytes of all answers to one batch."
    ),
    key!(
        "limits.connections",
        gateway.listener.connections as Positive,
        "Most connections at once; fewer where the system allows fewer open files."
    ),
    key!(
        "limits.connections_of_token",
        gateway.listener.of_token as Positive,
        "Most connections at once with the same token."
    ),
    key!(
        "limits.connections_without_token",
        gateway.listener.unauthenticated as Positive,
        "Most connections at once that have not shown a token yet."
    ),
    key!(
        "limits.token_seconds",
        gateway.listener.token_time as Seconds,
        "Seconds that a connection may take to show a token."
    ),
    key!(
        "limits.request_head_seconds",
        gateway.listener.head_time as Seconds,
        "Seconds that the head of a request may take to arrive."
    ),
    key!(
        "limits.request_body_seconds",
        gateway.listener.body_time as Seconds,
        "Seconds that the body of a request may take to arrive."
    ),
    key!("limits.turns", turns.limits.running as Positive, "Most turns that run on a gateway at once."),
    key!(
        "limits.workspace_turns",
        turns.limits.running_in_workspace as Positive,
        "Most turns that run in a workspace at once, on all its gateways together."
    ),
    key!(
        "limits.tokens_per_day",
        turns.limits.tokens_per_day as ZeroIsNone,
        "Tokens, read and written, that a workspace may use in a day (UTC), running turns included; then no further turn begins, and those that run answer without calling more tools. 0 is no limit."
    ),
    key!("client.url", client.url as Url, "Gateway that commands talk to, such as `http://127.0.0.1:4670`.")
        .otherwise("the gateway running on this data directory"),
    key!("client.token_file", client.token_file, "File with the token that commands show to the gateway.")
        .otherwise("`owner.token` in the data directory, where `client.url` is not set"),
    key!("client.workspace", client.workspace, "Workspace that commands use when none is named.")
        .variable_name("FOREWORD_WORKSPACE"),
    key!("agents.enabled", files.agents.enabled, "Reads instruction files on disk at all.").of_agents(),
    key!("agents.profile", profile, "Set of rules by which instruction files are found.")
        .project(ProjectRule::Free)
        .flag(FlagSpec::new(FlagGroup::Files, "profile", "NAME")),
    key!(
        "agents.fallback_filenames",
        files.agents.fallback_filenames,
        "File names tried in a directory that has none of the profile's names."
    )
    .otherwise(PROFILES_OWN)
    .project(ProjectRule::Free)
    .flag(FlagSpec::new(FlagGroup::Files, "fallback", "NAME")),
    key!(
        "agents.follow_external_links",
        files.agents.follow_external_links,
        "Follows links in a project that lead out of its root."
    ),
    key!(
        "agents.imports",
        files.agents.imports,
        "Reads the files that instruction files name with `@`, where the profile does that."
    ),
    key!(
        "agents.root.project_root_override",
        files.agents.root.project_root_override,
        "The project root itself, without a search."
    )
    .otherwise("searched for by its markers")
    .variable_name("FOREWORD_AGENTS_ROOT")
    .of_agents()
    .flag(FlagSpec::new(FlagGroup::Files, "root", "DIR")),
    key!(
        "agents.root.markers",
        files.agents.root.markers,
        "Names whose presence makes a directory the project root; `[]` is no search."
    )
    .otherwise(PROFILES_OWN)
    .variable_name("FOREWORD_AGENTS_MARKERS")
    .of_agents()
    .flag(FlagSpec::new(FlagGroup::Files, "marker", "NAME").or_empty("no-markers")),
    key!(
        "agents.root.stop_at_fs_root",
        files.agents.root.stop_at_fs_root,
        "Searches for markers up to the file system's root; false stops at the user's home directory."
    ),
    key!("agents.initial.max_files", files.agents.initial.max_files, "Most project files read at the start.")
        .otherwise(PROFILES_OWN)
        .of_agents()
        .project(ProjectRule::LowerOnly(|profile| profile.budget.max_files))
        .flag(FlagSpec::new(FlagGroup::Files, "max-files", "N")),
    key!(
        "agents.initial.max_bytes",
        files.agents.initial.max_bytes,
        "Most bytes of project files read at the start; 0 reads none."
    )
    .otherwise(PROFILES_OWN)
    .of_agents()
    .project(ProjectRule::LowerOnly(|profile| Some(profile.budget.max_bytes)))
    .flag(FlagSpec::new(FlagGroup::Files, "max-bytes", "N")),
    key!(
        "agents.resolver.enabled",
        files.agents.resolver.enabled,
        "Announces instruction files of further directories as an agent moves."
    )
    .of_agents(),
    key!(
        "agents.resolver.max_files_per_resolve",
        files.agents.resolver.max_files_per_resolve as Positive,
        "Most files announced at once; the rest follow with the next."
    )
    .variable_name("FOREWORD_AGENTS_MAX_FILES_PER_RESOLVE")
    .of_agents()
    .project(ProjectRule::LowerOnly(|_| None)),
    key!(
        "agents.resolver.delivery",
        files.agents.resolver.delivery,
        "Announces a file by its path, with its text, or with its text when that is short."
    )
    .project(ProjectRule::Free),
    key!(
        "check.agents",
        check.agents,
        "Agents by whose rules `foreword check` judges, by the names of their profiles."
    )
    .otherwise("those whose rules were observed, and our own")
    .project(ProjectRule::Free),
    key!("check.off", check.off, "Rules that do not count, such as `FW008` or `missing-path`.")
        .project(ProjectRule::Free),
    key!("check.error", check.error, "Rules whose findings are errors.").project(ProjectRule::Free),
    key!("check.warning", check.warning, "Rules whose findings are warnings.").project(ProjectRule::Free),
    key!("check.info", check.info, "Rules whose findings are only worth knowing.").project(ProjectRule::Free),
    key!(
        "check.ignore",
        check.ignore,
        "Paths about which `foreword check` says nothing: globs from the root, as in a `.gitignore`."
    )
    .project(ProjectRule::Free),
    key!(
        "prompt.profile",
        prompt.profile,
        "How much of a prompt is made: everything, only identity, safety and instructions, or nothing."
    ),
    key!(
        "prompt.disabled_sections",
        prompt.disabled_sections,
        "Sections that are left out, by id, such as `user_persona`."
    ),
    key!(
        "prompt.bootstrap_file_chars",
        prompt.budgets.bootstrap_file,
        "Most characters of one of `SOUL.md`, `IDENTITY.md` and `USER.md`."
    ),
    key!(
        "prompt.bootstrap_total_chars",
        prompt.budgets.bootstrap_total,
        "Most characters of these files together."
    ),
    key!(
        "prompt.agents_md_chars",
        prompt.budgets.agents_md,
        "Most characters of an AGENTS.md document in a prompt."
    ),
    key!(
        "prompt.section_chars",
        prompt.budgets.section,
        "Most characters of any other section that hooks or callers fill."
    ),
    key!(
        "prompt.sections_total_chars",
        prompt.budgets.sections_total,
        "Most characters of all sections together that hooks and callers fill."
    ),
    key!(
        "prompt.nested_scope_rules",
        prompt.nested_scope_rules,
        "Tells the model how AGENTS.md files of nested directories relate."
    ),
    key!("prompt.time", prompt.time as WithTime, "Tells the model the time besides the date."),
    key!(
        "prompt.keep_texts",
        prompt.keep_texts,
        "Keeps the texts of prompts in the database, so that any past prompt can be shown again."
    ),
    key!(
        "model.default",
        default_model as Model,
        "Model that is asked when a turn names none, as `provider/model`."
    )
    .otherwise("none, so every turn must name one"),
    key!(
        "model.reasoning",
        turns.reasoning,
        "How hard models think before they answer, where they can be told."
    )
    .otherwise("the model's own"),
    key!(
        "turns.max_context_tokens",
        turns.max_context_tokens as Positive,
        "Most tokens of a request and its answer together; earlier turns that do not fit are summarised."
    ),
    key!(
        "turns.response_reserve_tokens",
        turns.response_reserve_tokens as Positive,
        "Tokens of these that are left for the answer."
    ),
    key!(
        "turns.max_rounds",
        turns.max_rounds as Positive,
        "How often a model is asked in one turn before it must answer."
    ),
    key!(
        "turns.max_tool_calls",
        turns.max_tool_calls as Positive,
        "How many tools it may call in one turn before it must answer."
    ),
    key!(
        "turns.when_busy",
        turns.when_busy,
        "What happens to a turn of a thread that has one running: it is refused, or it waits."
    ),
    key!(
        "turns.summary_model",
        turns.summary_model as Model,
        "Model that summarises earlier turns, as `provider/model`."
    )
    .otherwise("the model that is asked"),
    key!(
        "permissions.write",
        turns.permissions.write,
        "What happens to a tool that writes a file or runs a command."
    ),
    key!(
        "permissions.protected",
        turns.permissions.protected,
        "The same for protected files, such as AGENTS.md and `.git`; the stricter of the two counts."
    ),
    key!(
        "permissions.identity",
        turns.permissions.identity,
        "The same for SOUL.md and IDENTITY.md of the home directory, which every workspace shares; `--allow-writes` does not cover them."
    ),
    key!(
        "permissions.approval_minutes",
        turns.approval_time as Minutes,
        "Minutes that a call waits for somebody to decide; then the answer is no."
    ),
    key!(
        "permissions.shell_sandbox",
        shell.sandbox,
        "Weakest sandbox in which commands run; a machine that cannot give it runs none, and `off` is none at all."
    ),
    key!("shell.enabled", shell_enabled, "Lets models run commands."),
    key!(
        "shell.environment",
        shell.environment,
        "Environment variables that commands see, besides a few harmless ones."
    ),
    key!(
        "shell.readable",
        shell.readable,
        "Directories that sandboxed commands can read, besides the workspace and the system's."
    ),
    key!(
        "shell.writable",
        shell.writable,
        "Directories that sandboxed commands can write, besides the workspace and their own temporary one."
    ),
    key!(
        "shell.timeout_seconds",
        shell.timeout as Seconds,
        "Seconds a command may take that asks for no other time."
    ),
    key!(
        "shell.longest_timeout_seconds",
        shell.longest_timeout as Seconds,
        "Most seconds a command may ask for."
    ),
    key!("skills.enabled", skills.enabled, "Tells models of skills at all."),
    key!(
        "skills.implicit",
        skills.implicit,
        "Offers skills that neither a turn names nor a path matches; false leaves them out."
    ),
    key!("skills.folders", skills.folders, "More folders of skills, trusted as your own."),
    key!(
        "memory.enabled",
        memory.enabled,
        "Tells models what was remembered for later turns, and gives them tools for it."
    ),
    key!(
        "memory.hidden",
        memory.hidden,
        "Leaves the tools for memory out of requests until a model asks for them."
    ),
    key!(
        "memory.extract",
        memory.extract,
        "Asks a model after each turn what of it to remember, which costs a request."
    ),
    key!(
        "delegation.enabled",
        delegation.enabled,
        "Lets turns give work to other agents (the tool `delegate`)."
    ),
    key!(
        "delegation.hidden",
        delegation.hidden,
        "Keeps `delegate` out of requests until the model asks for it."
    ),
    key!(
        "delegation.max_depth",
        delegation.max_depth as Positive,
        "How deep delegation goes: with 2 a thread has children, and they have theirs."
    ),
    key!(
        "delegation.max_parallel",
        delegation.max_parallel as Positive,
        "How many agents that one turn gave work to run at the same time; others wait."
    ),
    key!("retention.hook_runs", retention.hook_runs as Period, "How long the records of hooks are kept."),
    key!(
        "retention.prompt_texts",
        retention.prompt_texts as Period,
        "How long the texts of prompts are kept after they were last used."
    ),
    key!("retention.manifests", retention.manifests as Period, "How long the manifests of prompts are kept."),
    key!(
        "retention.change_log",
        retention.change_log as Period,
        "How long the change log is kept; a client that was away for longer has to reload."
    ),
    key!(
        "retention.undone_files",
        retention.undone_files as Period,
        "How long a command's versions of protected files are kept after these were put back."
    ),
    key!(
        "retention.audit",
        retention.audit as Period,
        "How long the audit is kept: who came in, who was turned away, and who decided what."
    ),
    key!(
        "providers.NAME.kind",
        providers[NAME].kind,
        "Which API it speaks: Messages, Responses, or the Chat Completions of everybody else."
    )
    .otherwise("that of the built-in provider of this name; needed for others"),
    key!(
        "providers.NAME.base_url",
        providers[NAME].base_url as Url,
        "Where it is, without the path of a method, such as `http://127.0.0.1:11434/v1`."
    )
    .otherwise("the vendor's own; needed for `openai_compatible`"),
    key!(
        "providers.NAME.api_key_env",
        providers[NAME].api_key_env as Variable,
        "Environment variable of the gateway that holds its key."
    )
    .otherwise("that of the built-in provider of this name, else none"),
    key!(
        "providers.NAME.api_key_file",
        providers[NAME].api_key_file,
        "File of mode 0600 that holds its key, instead of a variable."
    ),
    key!(
        "providers.NAME.headers",
        providers[NAME].headers,
        "More headers of every request; their values are never shown."
    ),
    key!("mcp.enabled", mcp_enabled, "Whether turns have the tools of MCP servers."),
    key!(
        "mcp.servers.NAME.command",
        mcp_servers[NAME].command,
        "The server's program, looked for on `PATH`; or `url`."
    ),
    key!(
        "mcp.servers.NAME.args",
        mcp_servers[NAME].args,
        "The program's arguments. They are shown: a secret belongs into a variable."
    ),
    key!(
        "mcp.servers.NAME.env",
        mcp_servers[NAME].env,
        "Names of environment variables of the gateway that the program gets, besides `PATH`, `HOME` and the language."
    ),
    key!(
        "mcp.servers.NAME.url",
        mcp_servers[NAME].url as Url,
        "The server's address, over streamable HTTP; or `command`."
    ),
    key!(
        "mcp.servers.NAME.headers_env",
        mcp_servers[NAME].headers_env,
        "Headers of every request, each with the name of the environment variable that holds its value."
    ),
    key!("mcp.servers.NAME.cwd", mcp_servers[NAME].cwd, "Where the program starts.")
        .otherwise("an empty directory"),
    key!(
        "mcp.servers.NAME.sandbox",
        mcp_servers[NAME].sandbox,
        "The weakest level at which the program runs, as for commands."
    )
    .otherwise("no sandbox"),
    key!(
        "mcp.servers.NAME.workspaces",
        mcp_servers[NAME].workspaces,
        "Ids of the only workspaces whose turns have its tools."
    )
    .otherwise("all, but only turns of tokens for all workspaces"),
    key!(
        "mcp.servers.NAME.tools",
        mcp_servers[NAME].tools,
        "The only tools that are offered, by the server's own names."
    )
    .otherwise("all"),
    key!(
        "mcp.servers.NAME.timeout_ms",
        mcp_servers[NAME].timeout as Milliseconds,
        "How long the server may take to begin and list its tools, and for a call."
    )
    .otherwise("30000"),
    key!("mcp.servers.NAME.write", mcp_servers[NAME].write, "What happens to calls of its tools.")
        .otherwise("ask"),
    key!(
        "mcp.servers.NAME.trust_annotations",
        mcp_servers[NAME].trust_annotations,
        "Whether a tool that says it only reads is believed, so that its calls do not ask."
    )
    .otherwise("false"),
    key!(
        "mcp.servers.NAME.hidden",
        mcp_servers[NAME].hidden,
        "Whether its tools are in a request only once a model has asked for them."
    )
    .otherwise("true"),
];

#[cfg(test)]
mod tests;
