//! Zed, as documented. It was never run for comparison.

use crate::profile::*;

/// The profile `zed`.
pub static ZED: Profile = Profile {
    name: "zed",
    agent: Agent {
        title: "Zed",
        version: None,
        rules: &[
            Rule::documented(
                "names",
                "the first of .rules, .cursorrules, .windsurfrules, .clinerules, .github/copilot-instructions.md, AGENT.md, AGENTS.md, CLAUDE.md, GEMINI.md",
            ),
            Rule::documented("walk", "the directory that is opened, alone"),
            Rule::documented("your own rules", "are in the editor's library, which is not read here"),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[".config/zed"], in_project: &[".zed", ".rules"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        markers: &[],
        empty_markers: EmptyMarkers::CwdOnly,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main(".rules"),
            Name::main(".cursorrules"),
            Name::main(".windsurfrules"),
            Name::main(".clinerules"),
            Name::main(".github/copilot-instructions.md"),
            Name::main("AGENT.md"),
            Name::main("AGENTS.md"),
            Name::main("CLAUDE.md"),
            Name::main("GEMINI.md"),
        ],
        ..BASE.choose
    },
    text: TextRules { byte_order_mark: ByteOrderMark::Stripped, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
