//! Today's Codex. Its own command `codex debug prompt-input` is the judge.

use super::*;

/// The profile `codex`.
pub const CODEX: Profile = Profile {
    name: "codex",
    names: &["AGENTS.override.md", "AGENTS.md"],
    added: &[],
    fallbacks: Fallbacks::Lenient,
    blank: Blank::HidesOthers,
    home: Some(HomeFile {
        directory: HomeDirectory::Codex,
        names: &["AGENTS.override.md", "AGENTS.md"],
        trimmed: true,
    }),
    markers: &[".git"],
    markers_not_in_home: &[],
    empty_markers: EmptyMarkers::CwdOnly,
    root_override: RootOverride::Ignored,
    without_marker: WithoutMarker::NoRoot,
    links: Links::Anywhere,
    max_bytes: 32_768,
    max_files: None,
    over_limit: OverLimit::RootFirst,
    byte_order_mark: ByteOrderMark::Kept,
    unreadable: Unreadable::ChainLost,
    dangling_link: DanglingLink::Absent,
    unsafe_text: UnsafeText::Reported,
    same_file: SameFile::UsedTwice,
    changed: Changed::ByContent,
    rendering: Rendering::Instructions,
    role: Role::User,
    settings_file: Some(SettingsFile::Codex),
    setting_names: SettingNames {
        max_bytes: "project_doc_max_bytes in Codex's config.toml",
        fallbacks: "in project_doc_fallback_filenames in Codex's config.toml",
        root: "a marker further up (project_root_markers in Codex's config.toml)",
    },
    variable_prefix: "FOREWORD_",
};
