//! Our own rules: nothing is silent, the nearest instruction survives, a blank file hides nothing.

use super::*;

/// The profile `foreword`.
pub const FOREWORD: Profile = Profile {
    name: "foreword",
    names: &["AGENTS.override.md", "AGENTS.md"],
    added: &["AGENTS.local.md"],
    fallbacks: Fallbacks::Strict,
    blank: Blank::FallsThrough,
    home: Some(HomeFile {
        directory: HomeDirectory::Foreword,
        names: &["AGENTS.override.md", "AGENTS.md"],
        trimmed: false,
    }),
    markers: &[".foreword", ".git", ".jj", ".hg"],
    markers_not_in_home: &[],
    empty_markers: EmptyMarkers::CwdOnly,
    root_override: RootOverride::Allowed,
    without_marker: WithoutMarker::NoRoot,
    links: Links::InsideRoot,
    max_bytes: 32_768,
    max_files: None,
    over_limit: OverLimit::NearestFirst,
    byte_order_mark: ByteOrderMark::Stripped,
    unreadable: Unreadable::FileLost,
    dangling_link: DanglingLink::NotAFile,
    unsafe_text: UnsafeText::MadeHarmless,
    same_file: SameFile::UsedOnce,
    changed: Changed::ByContent,
    rendering: Rendering::AgentsContext,
    role: Role::System,
    settings_file: None,
    setting_names: SettingNames::FOREWORD,
    variable_prefix: "FOREWORD_",
};
