//! The rules of the AGENTS hierarchy specification: one name, root first, stop at the limit.

use super::*;

/// The profile `codelia`.
pub const CODELIA: Profile = Profile {
    name: "codelia",
    names: &["AGENTS.md"],
    added: &[],
    fallbacks: Fallbacks::Unsupported,
    blank: Blank::Included,
    home: None,
    markers: &[".codelia", ".git", ".jj"],
    markers_not_in_home: &[".codelia"],
    empty_markers: EmptyMarkers::Defaults,
    root_override: RootOverride::Allowed,
    without_marker: WithoutMarker::CwdIsRoot,
    links: Links::Anywhere,
    max_bytes: 262_144,
    max_files: Some(16),
    over_limit: OverLimit::StopsAtFirst,
    byte_order_mark: ByteOrderMark::Kept,
    unreadable: Unreadable::Absent,
    dangling_link: DanglingLink::NotAFile,
    unsafe_text: UnsafeText::Reported,
    same_file: SameFile::UsedTwice,
    changed: Changed::ByTime,
    rendering: Rendering::AgentsContext,
    role: Role::System,
    settings_file: None,
    setting_names: SettingNames::FOREWORD,
    variable_prefix: "CODELIA_",
};
