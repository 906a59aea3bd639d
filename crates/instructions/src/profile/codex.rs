//! Today's Codex. Its own command `codex debug prompt-input` is the judge.

use super::*;
use crate::settings::{FALLBACK_FILENAMES, MARKERS, MAX_BYTES};

/// The profile `codex`.
pub static CODEX: Profile = Profile {
    name: "codex",
    names: &["AGENTS.override.md", "AGENTS.md"],
    fallbacks: Fallbacks::Lenient,
    blank: Blank::HidesOthers,
    home_directory: Some(HomeDirectory { variable: Some("CODEX_HOME"), above: None, in_user_home: ".codex" }),
    home: Some(HomeFile { trimmed: true, ..HomeFile::first_of(&["AGENTS.override.md", "AGENTS.md"]) }),
    root_override: RootOverride::Ignored,
    unreadable: Unreadable::ChainLost,
    dangling_link: DanglingLink::Absent,
    rendering: Rendering::Instructions,
    role: BlockRole::User,
    settings_file: Some(SettingsFile {
        name: "config.toml",
        agent: "Codex",
        keys: &[
            (MAX_BYTES, "project_doc_max_bytes"),
            (FALLBACK_FILENAMES, "project_doc_fallback_filenames"),
            (MARKERS, "project_root_markers"),
        ],
        projects: "projects",
    }),
    ..BASE
};
