//! All settings: the fields they set, and the one table that files, variables, flags, docs and origins read.
//!
//! Fields are in the structs of the crates that use them, with the defaults of those structs. A new setting needs a field
//! there, a row here, and a regenerated `docs/configuration.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use instructions::FOREWORD;
use provider::ProviderSettings;

use super::flag::{FlagGroup, FlagSpec};
use super::form::{
    Form, Milliseconds, Minutes, Model, Period, Plain, Positive, Seconds, Url, Variable, WithTime, ZeroIsNone,
};
use super::key::{Key, ProjectRule, key};

/// Values of all settings: the structs of other crates, and values that must be looked up or read before a crate can use
/// them.
#[derive(Debug, Clone)]
pub(crate) struct Sections {
    /// Without values from other sections, which are added when the gateway starts.
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

/// `[client]`: the gateway that commands connect to, and their token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientSettings {
    /// URL of the gateway. `None` means the one on the data directory.
    pub(crate) url: Option<String>,
    /// Path of the token file. `None` means `owner.token` in the data directory.
    pub(crate) token_file: Option<PathBuf>,
    /// Workspace of commands that name none.
    pub(crate) workspace: Option<String>,
}

impl Default for Sections {
    fn default() -> Self {
        Sections {
            // The data directory depends on flags and variables, so it is filled in when the gateway starts.
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
    key!("gateway.listen", gateway.listen, "Address and port to listen on; port 0 selects a free one.")
        .flag(FlagSpec::new(FlagGroup::Serve, "listen", "ADDR")),
    key!("gateway.database", database as Url, "Database URL, `sqlite:` or `postgres:`.")
        .otherwise("SQLite in the data directory")
        .flag(FlagSpec::new(FlagGroup::Serve, "database", "URL")),
    key!("gateway.allow_remote", gateway.allow_remote, "Allow an address that other machines can reach.")
        .flag(FlagSpec::new(FlagGroup::Serve, "allow-remote", "")),
    key!(
        "gateway.allowed_hosts",
        gateway.allowed_hosts,
        "`Host` names to accept besides those of this machine."
    ),
    key!(
        "gateway.allowed_origins",
        gateway.allowed_origins,
        "Browser origins to accept besides those of this machine."
    ),
    key!("console.enabled", gateway.console_enabled, "Serve the web console at `/console/`."),
    key!(
        "gateway.rate_limit_per_second",
        gateway.rate_limit as ZeroIsNone,
        "Maximum requests per second of one token; 0 means no limit."
    ),
    // Both limits protect the gateway from a client that connects but does not read: its queue would grow
    // without bound and hold memory for as long as the connection lasts.
    key!(
        "gateway.outgoing_queue_bytes",
        gateway.limits.outgoing_bytes as Positive,
        "Maximum bytes queued for one connection before it is closed."
    ),
    key!(
        "gateway.slow_client_seconds",
        gateway.limits.patience as Seconds,
        "Seconds that a connection may read none of its queued data before it is closed."
    ),
    key!(
        "limits.message_bytes",
        gateway.limits.message_bytes as Positive,
        "Maximum size of an incoming message in bytes."
    ),
    key!("limits.batch_calls", gateway.batch.calls as Positive, "Maximum calls in one batch."),
    key!(
        "limits.batch_answer_bytes",
        gateway.batch.answer_bytes as Positive,
        "Maximum total size of a batch's answers in bytes."
    ),
    key!(
        "limits.connections",
        gateway.listener.connections as Positive,
        "Maximum simultaneous connections; fewer if the system limits open files."
    ),
    key!(
        "limits.connections_of_token",
        gateway.listener.of_token as Positive,
        "Maximum simultaneous connections with the same token."
    ),
    // Connections without a token have a limit of their own, so that strangers cannot use up the connections
    // of users.
    key!(
        "limits.connections_without_token",
        gateway.listener.unauthenticated as Positive,
        "Maximum simultaneous connections that have not sent a token yet."
    ),
    key!(
        "limits.token_seconds",
        gateway.listener.token_time as Seconds,
        "Seconds that a connection may take to send a token."
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
    key!("limits.turns", turns.limits.running as Positive, "Maximum turns running on a gateway."),
    key!(
        "limits.workspace_turns",
        turns.limits.running_in_workspace as Positive,
        "Maximum turns running in a workspace, across all its gateways."
    ),
    key!(
        "limits.tokens_per_day",
        turns.limits.tokens_per_day as ZeroIsNone,
        "Input and output tokens that a workspace may use per day (UTC), including running turns. Beyond it, no new turn starts, and running turns must answer without further tool calls. 0 means no limit."
    ),
    key!(
        "client.url",
        client.url as Url,
        "Gateway that commands connect to, such as `http://127.0.0.1:4670`."
    )
    .otherwise("the gateway running on this data directory"),
    key!("client.token_file", client.token_file, "File with the token that commands send to the gateway.")
        .otherwise("`owner.token` in the data directory, if `client.url` is not set"),
    key!("client.workspace", client.workspace, "Default workspace of commands.")
        .variable_name("FOREWORD_WORKSPACE"),
    // `of_agents` also accepts the variables of the agent whose profile is active, because its users may have
    // set them already.
    key!("agents.enabled", files.agents.enabled, "Read instruction files on disk.").of_agents(),
    // A project may choose the profile, because that only decides which of its own files are read.
    key!("agents.profile", profile, "Profile: the rules for finding instruction files.")
        .project(ProjectRule::Free)
        .flag(FlagSpec::new(FlagGroup::Files, "profile", "NAME")),
    key!(
        "agents.fallback_filenames",
        files.agents.fallback_filenames,
        "File names to try in a directory that has none of the profile's names."
    )
    .otherwise(PROFILES_OWN)
    .project(ProjectRule::Free)
    .flag(FlagSpec::new(FlagGroup::Files, "fallback", "NAME")),
    // A project must not set this: its links could otherwise bring private files from outside into prompts.
    key!(
        "agents.follow_external_links",
        files.agents.follow_external_links,
        "Follow links that lead out of the project root."
    ),
    key!(
        "agents.imports",
        files.agents.imports,
        "Read files that instruction files import with `@`, if the profile supports that."
    ),
    key!(
        "agents.root.project_root_override",
        files.agents.root.project_root_override,
        "Project root to use instead of searching for one."
    )
    .otherwise("search by markers")
    .variable_name("FOREWORD_AGENTS_ROOT")
    .of_agents()
    .flag(FlagSpec::new(FlagGroup::Files, "root", "DIR")),
    key!(
        "agents.root.markers",
        files.agents.root.markers,
        "Names that mark a directory as the project root; `[]` disables the search."
    )
    .otherwise(PROFILES_OWN)
    .variable_name("FOREWORD_AGENTS_MARKERS")
    .of_agents()
    .flag(FlagSpec::new(FlagGroup::Files, "marker", "NAME").or_empty("no-markers")),
    key!(
        "agents.root.stop_at_fs_root",
        files.agents.root.stop_at_fs_root,
        "Search for markers up to the file system's root; false stops at your home directory."
    ),
    // A project may ask for less of its own text, but never for more than the user or the profile allows.
    key!(
        "agents.initial.max_files",
        files.agents.initial.max_files as Positive,
        "Maximum project files to read at the start."
    )
    .otherwise(PROFILES_OWN)
    .of_agents()
    .project(ProjectRule::LowerOnly(|profile| profile.budget.max_files))
    .flag(FlagSpec::new(FlagGroup::Files, "max-files", "N")),
    key!(
        "agents.initial.max_bytes",
        files.agents.initial.max_bytes,
        "Maximum bytes of project files to read at the start; 0 reads none, as a flag or variable only."
    )
    .positive_in_files()
    .otherwise(PROFILES_OWN)
    .of_agents()
    .project(ProjectRule::LowerOnly(|profile| Some(profile.budget.max_bytes)))
    .flag(FlagSpec::new(FlagGroup::Files, "max-bytes", "N")),
    key!(
        "agents.resolver.enabled",
        files.agents.resolver.enabled,
        "Announce instruction files of further directories as an agent reaches them."
    )
    .of_agents(),
    key!(
        "agents.resolver.max_files_per_resolve",
        files.agents.resolver.max_files_per_resolve as Positive,
        "Maximum files to announce at a time; the rest follow later."
    )
    .variable_name("FOREWORD_AGENTS_MAX_FILES_PER_RESOLVE")
    .of_agents()
    .project(ProjectRule::LowerOnly(|_| None)),
    key!(
        "agents.resolver.delivery",
        files.agents.resolver.delivery,
        "Announce a file by its path, with its text, or with its text if it is short."
    )
    .project(ProjectRule::Free),
    // A project decides how its own files are checked, because the result has no effect beyond the report.
    key!("check.agents", check.agents, "Agents whose rules `foreword check` applies, by profile name.")
        .otherwise("agents with verified rules, and foreword")
        .project(ProjectRule::Free),
    key!("check.off", check.off, "Rules to disable, such as `FW008` or `missing-path`.")
        .project(ProjectRule::Free),
    key!("check.error", check.error, "Rules to report as errors.").project(ProjectRule::Free),
    key!("check.warning", check.warning, "Rules to report as warnings.").project(ProjectRule::Free),
    key!("check.info", check.info, "Rules to report as information.").project(ProjectRule::Free),
    key!(
        "check.ignore",
        check.ignore,
        "Paths that `foreword check` ignores: globs from the root, as in `.gitignore`."
    )
    .project(ProjectRule::Free),
    key!(
        "prompt.profile",
        prompt.profile,
        "Extent of prompts: everything, only identity, safety and instructions, or nothing."
    ),
    key!(
        "prompt.disabled_sections",
        prompt.disabled_sections,
        "Ids of sections to omit, such as `user_persona`."
    ),
    key!(
        "prompt.bootstrap_file_chars",
        prompt.budgets.bootstrap_file,
        "Maximum characters of each of `SOUL.md`, `IDENTITY.md` and `USER.md`."
    ),
    key!(
        "prompt.bootstrap_total_chars",
        prompt.budgets.bootstrap_total,
        "Maximum total characters of these files."
    ),
    key!(
        "prompt.agents_md_chars",
        prompt.budgets.agents_md,
        "Maximum characters of an AGENTS.md document in a prompt."
    ),
    key!(
        "prompt.section_chars",
        prompt.budgets.section,
        "Maximum characters of any other section from hooks or callers."
    ),
    key!(
        "prompt.sections_total_chars",
        prompt.budgets.sections_total,
        "Maximum total characters of all sections from hooks and callers."
    ),
    key!(
        "prompt.nested_scope_rules",
        prompt.nested_scope_rules,
        "Explain to the model how AGENTS.md files of nested directories relate."
    ),
    key!("prompt.time", prompt.time as WithTime, "Include the time, not only the date."),
    key!(
        "prompt.keep_texts",
        prompt.keep_texts,
        "Store prompt texts in the database, so that past prompts can be shown."
    ),
    key!("model.default", default_model as Model, "Model for turns that name none, as `provider/model`.")
        .otherwise("none; every turn must name one"),
    key!("model.reasoning", turns.reasoning, "Reasoning effort of models that support it.")
        .otherwise("the model's default"),
    key!(
        "turns.max_context_tokens",
        turns.max_context_tokens as Positive,
        "Maximum tokens of a request and its answer; earlier turns that do not fit are summarized."
    ),
    key!(
        "turns.response_reserve_tokens",
        turns.response_reserve_tokens as Positive,
        "Tokens of these to reserve for the answer."
    ),
    key!(
        "turns.max_rounds",
        turns.max_rounds as Positive,
        "Maximum model requests in one turn before the model must answer."
    ),
    key!(
        "turns.max_tool_calls",
        turns.max_tool_calls as Positive,
        "Maximum tool calls in one turn before the model must answer."
    ),
    key!(
        "turns.when_busy",
        turns.when_busy,
        "Treatment of a new turn while its thread has a running one: refuse it or let it wait."
    ),
    key!(
        "turns.summary_model",
        turns.summary_model as Model,
        "Model that summarizes earlier turns, as `provider/model`."
    )
    .otherwise("the turn's model"),
    key!(
        "permissions.write",
        turns.permissions.write,
        "Permission for tools that write files or run commands."
    ),
    key!(
        "permissions.protected",
        turns.permissions.protected,
        "Permission for protected files, such as AGENTS.md and `.git`; the stricter one applies."
    ),
    key!(
        "permissions.identity",
        turns.permissions.identity,
        "Permission for SOUL.md and IDENTITY.md in the home directory, which all workspaces share; `--allow-writes` does not cover them."
    ),
    key!(
        "permissions.approval_minutes",
        turns.approval_time as Minutes,
        "Minutes that a call waits for approval before it is denied."
    ),
    // This is a minimum: a machine that only supports a weaker sandbox runs no commands, instead of running
    // them less confined than the user expects.
    key!(
        "permissions.shell_sandbox",
        shell.sandbox,
        "Weakest sandbox in which commands may run; if the machine does not support it, no command runs. `off` disables the sandbox."
    ),
    key!("shell.enabled", shell_enabled, "Allow models to run commands."),
    key!(
        "shell.environment",
        shell.environment,
        "Environment variables to pass to commands besides a few harmless ones."
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
    key!("shell.timeout_seconds", shell.timeout as Seconds, "Default time limit of a command in seconds."),
    key!(
        "shell.longest_timeout_seconds",
        shell.longest_timeout as Seconds,
        "Maximum time limit that a command can request, in seconds."
    ),
    key!("skills.enabled", skills.enabled, "Offer skills to models."),
    key!("skills.implicit", skills.implicit, "Offer skills that neither a turn names nor a path matches."),
    key!("skills.folders", skills.folders, "Additional folders of skills, trusted like your own."),
    key!("memory.enabled", memory.enabled, "Recall memories in prompts, and give models tools for them."),
    key!("memory.hidden", memory.hidden, "Hide the memory tools until a model requests them."),
    key!(
        "memory.extract",
        memory.extract,
        "Ask a model after each turn what to remember; costs one request."
    ),
    key!(
        "delegation.enabled",
        delegation.enabled,
        "Let turns delegate work to other agents (the tool `delegate`)."
    ),
    key!(
        "delegation.instructions",
        delegation.instructions,
        "Instructions that delegates read besides their goal: none, those of their directory, or also the thread's document."
    ),
    key!("delegation.hidden", delegation.hidden, "Hide `delegate` until the model requests it."),
    key!(
        "delegation.max_depth",
        delegation.max_depth as Positive,
        "Maximum depth of delegation: with 2, delegated threads may delegate once more."
    ),
    key!(
        "delegation.max_parallel",
        delegation.max_parallel as Positive,
        "Maximum delegated agents of one turn running in parallel; others wait."
    ),
    key!("retention.hook_runs", retention.hook_runs as Period, "Retention time of hook records."),
    key!(
        "retention.prompt_texts",
        retention.prompt_texts as Period,
        "Retention time of prompt texts after their last use."
    ),
    key!("retention.manifests", retention.manifests as Period, "Retention time of prompt manifests."),
    key!(
        "retention.change_log",
        retention.change_log as Period,
        "Retention time of the change log; a client that was away longer has to reload."
    ),
    key!(
        "retention.undone_files",
        retention.undone_files as Period,
        "Retention time of a command's versions of protected files after they were restored."
    ),
    key!("retention.audit", retention.audit as Period, "Retention time of the audit log."),
    key!(
        "providers.NAME.kind",
        providers[NAME].kind,
        "API of the provider: Messages, Responses, or Chat Completions for all others."
    )
    .otherwise("that of the built-in provider of this name; required for others"),
    key!(
        "providers.NAME.base_url",
        providers[NAME].base_url as Url,
        "Address without the path of a method, such as `http://127.0.0.1:11434/v1`."
    )
    .otherwise("the vendor's own; required for `openai_compatible`"),
    // Keys are never settings themselves, because `foreword config` and the audit log show every setting.
    key!(
        "providers.NAME.api_key_env",
        providers[NAME].api_key_env as Variable,
        "Environment variable of the gateway that holds the key."
    )
    .otherwise("that of the built-in provider of this name, else none"),
    key!(
        "providers.NAME.api_key_file",
        providers[NAME].api_key_file,
        "File of mode 0600 that holds the key, instead of a variable."
    ),
    key!(
        "providers.NAME.headers",
        providers[NAME].headers,
        "Additional headers of every request; their values are never shown."
    ),
    key!(
        "providers.NAME.first_byte_seconds",
        providers[NAME].first_byte as Seconds,
        "Time limit for the first byte of an answer; raise it for a slow local server."
    )
    .otherwise("60"),
    key!("mcp.enabled", mcp_enabled, "Offer the tools of MCP servers to turns."),
    key!(
        "mcp.servers.NAME.command",
        mcp_servers[NAME].command,
        "Program of the server, found on `PATH`; alternative to `url`."
    ),
    key!(
        "mcp.servers.NAME.args",
        mcp_servers[NAME].args,
        "Arguments of the program. They are shown, so put secrets into variables."
    ),
    key!(
        "mcp.servers.NAME.env",
        mcp_servers[NAME].env,
        "Names of the gateway's environment variables to pass, besides `PATH`, `HOME` and the language."
    ),
    key!(
        "mcp.servers.NAME.url",
        mcp_servers[NAME].url as Url,
        "Address of the server, using streamable HTTP; alternative to `command`."
    ),
    key!(
        "mcp.servers.NAME.headers_env",
        mcp_servers[NAME].headers_env,
        "Headers of every request, each with the name of the variable that holds its value."
    ),
    key!("mcp.servers.NAME.cwd", mcp_servers[NAME].cwd, "Working directory of the program.")
        .otherwise("an empty directory"),
    key!(
        "mcp.servers.NAME.sandbox",
        mcp_servers[NAME].sandbox,
        "Weakest sandbox in which the program may run, as for commands."
    )
    .otherwise("no sandbox"),
    key!(
        "mcp.servers.NAME.workspaces",
        mcp_servers[NAME].workspaces,
        "Ids of the workspaces whose turns may use the tools."
    )
    .otherwise("all, but only for turns of tokens for all workspaces"),
    key!("mcp.servers.NAME.tools", mcp_servers[NAME].tools, "Tools to offer, by the server's own names.")
        .otherwise("all"),
    key!(
        "mcp.servers.NAME.timeout_ms",
        mcp_servers[NAME].timeout as Milliseconds,
        "Time limit in milliseconds for starting and listing tools, and for each call."
    )
    .otherwise("30000"),
    key!("mcp.servers.NAME.write", mcp_servers[NAME].write, "Permission for calls of the tools.")
        .otherwise("ask"),
    key!(
        "mcp.servers.NAME.trust_annotations",
        mcp_servers[NAME].trust_annotations,
        "Trust a tool's claim to be read-only, so that its calls need no approval."
    )
    .otherwise("false"),
    key!("mcp.servers.NAME.hidden", mcp_servers[NAME].hidden, "Hide the tools until a model requests them.")
        .otherwise("true"),
];

#[cfg(test)]
mod tests;
