//! The rules of the AGENTS hierarchy specification: one name, root first, stop at the limit.

use super::*;

/// The profile `codelia`.
pub static CODELIA: Profile = Profile {
    name: "codelia",
    markers: &[".codelia", ".git", ".jj"],
    markers_not_in_home: &[".codelia"],
    empty_markers: EmptyMarkers::Defaults,
    without_marker: WithoutMarker::CwdIsRoot,
    max_bytes: 262_144,
    max_files: Some(16),
    over_limit: OverLimit::StopsAtFirst,
    unreadable: Unreadable::Absent,
    changed: Changed::ByTime,
    reminder_texts: ReminderTexts::Never,
    resume_lines: ResumeLines::All,
    variable_prefix: "CODELIA_",
    ..BASE
};
