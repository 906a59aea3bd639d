//! Junie, as documented. It was never run for comparison.

use crate::profile::*;

/// The profile `junie`.
pub static JUNIE: Profile = Profile {
    name: "junie",
    agent: Agent {
        title: "Junie",
        version: None,
        rules: &[
            Rule::documented("names", ".junie/AGENTS.md, else AGENTS.md, else .junie/guidelines.md"),
            Rule::documented("walk", "the project's root alone"),
            Rule::documented("order", "root first"),
            Rule::documented("your own file", "~/.junie/AGENTS.md"),
            Rule::documented("files further down", "are not documented"),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[".junie"], in_project: &[".junie"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory { variable: None, above: None, in_user_home: ".junie" }),
        markers: &[],
        empty_markers: EmptyMarkers::CwdOnly,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main(".junie/AGENTS.md"), Name::main("AGENTS.md"), Name::main(".junie/guidelines.md")],
        blank: Blank::FallsThrough,
        home: Some(HomeFile::first_of(&["AGENTS.md"])),
        ..BASE.choose
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
