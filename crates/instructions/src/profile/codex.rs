//! Today's Codex. Its own command `codex debug prompt-input` is the judge.

use super::*;

/// The profile `codex`.
pub static CODEX: Profile = Profile {
    name: "codex",
    names: &["AGENTS.override.md", "AGENTS.md"],
    fallbacks: Fallbacks::Lenient,
    blank: Blank::HidesOthers,
    home_directory: Some(HomeDirectory { variable: Some("CODEX_HOME"), in_user_home: ".codex" }),
    home: Some(HomeFile { names: &["AGENTS.override.md", "AGENTS.md"], trimmed: true }),
    root_override: RootOverride::Ignored,
    unreadable: Unreadable::ChainLost,
    dangling_link: DanglingLink::Absent,
    rendering: Rendering::Instructions,
    role: BlockRole::User,
    settings_file: Some(SettingsFile {
        name: "config.toml",
        max_bytes: "project_doc_max_bytes",
        fallback_filenames: "project_doc_fallback_filenames",
        markers: "project_root_markers",
        projects: "projects",
    }),
    setting_names: SettingNames {
        max_bytes: "project_doc_max_bytes in Codex's config.toml",
        fallbacks: "in project_doc_fallback_filenames in Codex's config.toml",
        root: "a marker further up (project_root_markers in Codex's config.toml)",
    },
    ..BASE
};
