//! Devin, as documented. It was never run for comparison.

use crate::profile::*;

/// The profile `devin`.
pub static DEVIN: Profile = Profile {
    name: "devin",
    agent: Agent {
        title: "Devin",
        version: None,
        rules: &[
            Rule::documented("names", "AGENTS.md, in the root and in directories below it"),
            Rule::documented("walk", "from the repository's root down"),
            Rule::documented("order", "root first"),
            Rule::documented("your own files", "are in the knowledge of the service, which is not read here"),
            Rule::documented(
                "files further down",
                "AGENTS.md of a directory counts for work on the files in it",
            ),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[], in_project: &[".devin"] },
        ..Agent::UNNAMED
    },
    search: SearchRules { root_override: RootOverride::Ignored, ..BASE.search },
    choose: ChoiceRules { names: &[Name::main("AGENTS.md")], blank: Blank::FallsThrough, ..BASE.choose },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
