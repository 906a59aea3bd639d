//! Amp, as documented. It needs a login and was never run for comparison.

use crate::profile::*;

/// The profile `amp`.
pub static AMP: Profile = Profile {
    name: "amp",
    agent: Agent {
        title: "Amp",
        version: None,
        rules: &[
            Rule::documented("names", "AGENTS.md, else AGENT.md, else CLAUDE.md"),
            Rule::documented("walk", "from the repository's root down to the working directory"),
            Rule::documented("order", "root first"),
            Rule::documented("your own files", "~/.config/amp/AGENTS.md and ~/.config/AGENTS.md"),
            Rule::documented(
                "files further down",
                "AGENTS.md of a directory counts once the agent reads a file there",
            ),
            Rule::documented(
                "not read here",
                "`@path` mentions, and `globs` in the front matter of mentioned files",
            ),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[".config/amp"], in_project: &[".amp"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: None,
            above: Some(("XDG_CONFIG_HOME", "amp")),
            in_user_home: ".config/amp",
        }),
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md"), Name::main("AGENT.md"), Name::main("CLAUDE.md")],
        blank: Blank::FallsThrough,
        home: Some(HomeFile { also: &[&[".config/AGENTS.md"]], ..HomeFile::first_of(&["AGENTS.md"]) }),
        ..BASE.choose
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
