//! pi, the coding agent: the newest recorded version and the one before its rules changed.

use crate::profile::*;

const SEARCH: SearchRules = SearchRules {
    home_directory: Some(HomeDirectory {
        variable: Some("PI_CODING_AGENT_DIR"),
        above: None,
        in_user_home: ".pi/agent",
    }),
    markers: &[],
    empty_markers: EmptyMarkers::WholePath,
    root_override: RootOverride::Ignored,
    dangling_link: DanglingLink::Absent,
    ..BASE.search
};

/// The profile `pi`.
pub static PI: Profile = Profile {
    name: "pi",
    agent: Agent {
        title: "pi",
        version: Some("1.5.0"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.override.md, else AGENTS.md or AGENTS.MD, else CLAUDE.md or CLAUDE.MD, chosen in each directory",
            ),
            Rule::observed("blank files", "are passed on as they are, and hide the next name"),
            Rule::observed(
                "walk",
                "every directory from the file system's root down, past repositories and home",
            ),
            Rule::source(
                "worktrees",
                "in one that is inside its own repository, the repository's file of the same name is not read",
            ),
            Rule::observed("order", "root first"),
            Rule::observed("your own file", "the first of the same names in ~/.pi/agent, before all others"),
            Rule::source("variables", "PI_CODING_AGENT_DIR names the directory of your own file"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark", "is stripped"),
            Rule::observed("files further down", "are not brought in when a tool reads there"),
            Rule::observed("role", "system prompt"),
            Rule::observed("traps", "a FIFO of the name keeps the agent waiting for ever"),
        ],
        traces: Traces { in_user_home: &[], in_project: &[".pi"] },
        installed: &[Installation::Npm("@earendil-works/pi-coding-agent")],
        hazards: StartupHazards::PIPE,
    },
    search: SearchRules { skipped: &[SkippedDirectory::SameNameAroundWorktree], ..SEARCH },
    choose: ChoiceRules {
        names: &[
            Name::main("AGENTS.override.md"),
            Name::main("AGENTS.md"),
            Name::main("AGENTS.MD"),
            Name::main("CLAUDE.md"),
            Name::main("CLAUDE.MD"),
        ],
        same_file: SameFile::OncePerPath,
        home: Some(HomeFile {
            blank: Blank::Included,
            ..HomeFile::first_of(&["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"])
        }),
        ..BASE.choose
    },
    text: TextRules { byte_order_mark: ByteOrderMark::Stripped, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "<project_context>\nProject-specific instructions and guidelines:\n\n",
            sections: &[SectionForm {
                of: PartOf::Everything,
                start: "",
                before: &[Piece::Text("<project_instructions path=\""), Piece::Path, Piece::Text("\">\n")],
                after: &[Piece::Text("\n</project_instructions>")],
                between: "\n\n",
                end: "",
                path: PathForm::Absolute,
                kinds: OwnerWords::NONE,
                waiting: None,
            }],
            between: "",
            end: "\n</project_context>",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::System,
        ..BASE.render
    },
    ..BASE
};

/// The profile `pi@0.73.1`.
pub static PI_0_73_1: Profile = Profile {
    name: "pi@0.73.1",
    agent: Agent {
        title: "pi 0.73.1",
        version: Some("0.73.1"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.md or AGENTS.MD, else CLAUDE.md or CLAUDE.MD, chosen in each directory",
            ),
            Rule::observed("blank files", "are passed on as they are, and hide the next name"),
            Rule::observed(
                "walk",
                "every directory from the file system's root down, past repositories and home",
            ),
            Rule::observed("order", "root first"),
            Rule::observed("your own file", "~/.pi/agent/AGENTS.md or CLAUDE.md, before all others"),
            Rule::source("variables", "PI_CODING_AGENT_DIR names the directory of your own file"),
            Rule::observed("size", "no limit seen up to 200 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark", "stays"),
            Rule::observed("files further down", "are not brought in when a tool reads there"),
            Rule::observed("role", "system prompt"),
            Rule::observed("traps", "a FIFO of the name keeps the agent waiting for ever"),
        ],
        hazards: StartupHazards::PIPE,
        // The newest profile has the traces, so that the agent is found once.
        traces: Traces { in_user_home: &[], in_project: &[] },
        installed: &[Installation::Npm("@mariozechner/pi-coding-agent")],
    },
    search: SEARCH,
    choose: ChoiceRules {
        names: &[
            Name::main("AGENTS.md"),
            Name::main("AGENTS.MD"),
            Name::main("CLAUDE.md"),
            Name::main("CLAUDE.MD"),
        ],
        same_file: SameFile::OncePerPath,
        home: Some(HomeFile {
            blank: Blank::Included,
            ..HomeFile::first_of(&["AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"])
        }),
        ..BASE.choose
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "\n# Project Context\n\nProject-specific instructions and guidelines:\n\n",
            sections: &[SectionForm {
                of: PartOf::Everything,
                start: "",
                before: &[Piece::Text("## "), Piece::Path, Piece::Text("\n\n")],
                after: &[Piece::Text("\n\n")],
                between: "",
                end: "",
                path: PathForm::Absolute,
                kinds: OwnerWords::NONE,
                waiting: None,
            }],
            between: "",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        ..BASE.render
    },
    ..BASE
};
