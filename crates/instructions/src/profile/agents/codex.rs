//! Codex, verified against its command `codex debug prompt-input`.

use crate::profile::*;
use crate::settings::{FALLBACK_FILENAMES, MARKERS, MAX_BYTES};

/// The profile `codex`.
pub static CODEX: Profile = Profile {
    name: "codex",
    agent: Agent {
        title: "Codex",
        version: Some("0.166.0"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.override.md, else AGENTS.md, else configured names, chosen in each directory",
            ),
            Rule::observed("blank files", "hide the next name, and are dropped"),
            Rule::observed(
                "walk",
                "up to the nearest directory with any `.git`, else the working directory alone",
            ),
            Rule::observed("order", "root first"),
            Rule::observed(
                "your own file",
                "~/.codex/AGENTS.override.md, else AGENTS.md, before all others, trimmed",
            ),
            Rule::observed("variables", "CODEX_HOME names the directory of your own file"),
            Rule::observed(
                "size",
                "32,768 bytes of project files, root first; the rest is dropped without a word",
            ),
            Rule::observed(
                "settings",
                "limit, names and markers in ~/.codex/config.toml, the first two also in a trusted project's .codex/config.toml files; an untrusted project's files are not read",
            ),
            Rule::observed("unreadable files", "cost all project files"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark", "stays"),
            Rule::observed("files further down", "are not brought in when a tool reads there"),
            Rule::observed("role", "user message"),
        ],
        installed: &[Installation::Npm("@openai/codex")],
        traces: Traces { in_user_home: &[], in_project: &[".codex"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("CODEX_HOME"),
            above: None,
            in_user_home: ".codex",
        }),
        root_override: RootOverride::Ignored,
        dangling_link: DanglingLink::Absent,
        settings: Some(AgentSettings::Toml(SettingsFile {
            name: "config.toml",
            agent: "Codex",
            keys: &[
                (MAX_BYTES, "project_doc_max_bytes"),
                (FALLBACK_FILENAMES, "project_doc_fallback_filenames"),
                (MARKERS, "project_root_markers"),
            ],
            projects: "projects",
            in_project: ".codex/config.toml",
        })),
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.override.md"), Name::main("AGENTS.md")],
        // Codex accepts any name in this setting, but one with a slash has no effect.
        fallbacks: Fallbacks::Lenient,
        blank: Blank::HidesOthers,
        // One unreadable file makes Codex drop every project file, without a message.
        unreadable: Unreadable::ChainLost,
        home: Some(HomeFile { trimmed: true, ..HomeFile::first_of(&["AGENTS.override.md", "AGENTS.md"]) }),
        ..BASE.choose
    },
    render: RenderRules { form: Rendering::Instructions, role: BlockRole::User, ..BASE.render },
    ..BASE
};
