//! aider, which reads no instruction file by itself.

use crate::profile::*;

/// The profile `aider`.
pub static AIDER: Profile = Profile {
    name: "aider",
    agent: Agent {
        title: "aider",
        version: None,
        rules: &[
            Rule::documented(
                "names",
                "none; a file is read only if `read:` in .aider.conf.yml or `--read` names it",
            ),
            Rule::documented("walk", "none"),
            Rule::documented("order", "none"),
            Rule::documented("your own file", "none"),
            Rule::documented("files further down", "are not brought in"),
            Rule::documented("not read here", "`read:` in .aider.conf.yml"),
        ],
        traces: Traces { in_user_home: &[".aider.conf.yml"], in_project: &[".aider.conf.yml"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        markers: &[],
        empty_markers: EmptyMarkers::CwdOnly,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules { names: &[], blank: Blank::FallsThrough, ..BASE.choose },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
