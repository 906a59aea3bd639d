//! Goose, by its documentation alone.

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
    },
    names: &[".goosehints", "AGENTS.md"],
    choice: NameChoice::All,
    blank: Blank::FallsThrough,
    home_directory: Some(HomeDirectory {
        variable: None,
        above: Some(("XDG_CONFIG_HOME", "goose")),
        in_user_home: ".config/goose",
    }),
    home: Some(HomeFile::first_of(&[".goosehints"])),
    root_override: RootOverride::Ignored,
    max_bytes: UNLIMITED,
    byte_order_mark: ByteOrderMark::Stripped,
    traces: Traces { in_user_home: &[], in_project: &[".goosehints"] },
    ..BASE
};
