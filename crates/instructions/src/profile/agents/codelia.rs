//! The rules of the AGENTS hierarchy specification: one name, root first, stop at the limit.

use crate::profile::*;

/// The profile `codelia`.
pub static CODELIA: Profile = Profile {
    name: "codelia",
    agent: Agent {
        title: "Codelia",
        version: None,
        rules: &[
            Rule::defined("names", "AGENTS.md"),
            Rule::defined(
                "walk",
                "up to the nearest directory with .codelia, .git or .jj, else the working directory",
            ),
            Rule::defined("order", "root first"),
            Rule::defined("size", "16 files and 262,144 bytes; reading stops at what does not fit"),
            Rule::defined("imports", "none"),
            Rule::defined("role", "system prompt"),
        ],
        traces: Traces { in_user_home: &[], in_project: &[".codelia"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        variable_prefix: "CODELIA_",
        markers: &[
            // `~/.codelia` must not make the home directory a project root.
            RootMarker::OutsideHome(".codelia"),
            RootMarker::Anywhere(".git"),
            RootMarker::Anywhere(".jj"),
        ],
        empty_markers: EmptyMarkers::Defaults,
        without_marker: WithoutMarker::CwdIsRoot,
        ..BASE.search
    },
    choose: ChoiceRules { unreadable: Unreadable::Absent, ..BASE.choose },
    budget: BudgetRules { max_bytes: 262_144, max_files: Some(16), over_limit: OverLimit::StopsAtFirst },
    session: SessionRules { on_reading: OnReading::Session, reminders: ReminderRules::Specification },
    ..BASE
};
