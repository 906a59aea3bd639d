//! Goose, as documented. It was never run for comparison.

use crate::profile::*;

/// The profile `goose`.
pub static GOOSE: Profile = Profile {
    name: "goose",
    agent: Agent {
        title: "Goose",
        version: None,
        rules: &[
            Rule::documented("names", ".goosehints and AGENTS.md, both"),
            Rule::documented("walk", "from the repository's root down to the working directory"),
            Rule::documented("order", "root first"),
            Rule::documented("your own file", "~/.config/goose/.goosehints"),
            Rule::documented("not read here", "CONTEXT_FILE_NAMES, and `@file` in hints"),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[], in_project: &[".goosehints"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: None,
            above: Some(("XDG_CONFIG_HOME", "goose")),
            in_user_home: ".config/goose",
        }),
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main(".goosehints"), Name::main("AGENTS.md")],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        home: Some(HomeFile::first_of(&[".goosehints"])),
        ..BASE.choose
    },
    text: TextRules { byte_order_mark: ByteOrderMark::Stripped, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
