//! Droid, of Factory.

use crate::profile::*;

/// The profile `droid`.
pub static DROID: Profile = Profile {
    name: "droid",
    agent: Agent {
        title: "Droid",
        version: Some("0.225.2"),
        rules: &[
            Rule::observed(
                "names",
                "CLAUDE.md or Claude.md, and AGENTS.md, Agents.md or agents.md, in a directory and in its .factory and .agents; the first of each",
            ),
            Rule::observed("blank files", "are passed on"),
            Rule::observed(
                "walk",
                "up to the nearest directory with any `.git`, else the working directory alone",
            ),
            Rule::observed("links", "are not followed"),
            Rule::observed("order", "the working directory first, the root last"),
            Rule::observed(
                "your own files",
                "~/.factory/AGENTS.md and ~/.agents/AGENTS.md, behind all others",
            ),
            Rule::observed("size", "80,000 characters of all files together"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark", "stays"),
            Rule::observed("white space", "at the end of a text is stripped"),
            Rule::observed("not followed here", "the cut of texts above the limit"),
            Rule::observed("role", "user message"),
        ],
        traces: Traces { in_user_home: &[".factory"], in_project: &[".factory"] },
        installed: &[
            Installation::Npm("droid"),
            Installation::Npm("@factory/cli"),
            Installation::Npm("@factory/cli-linux-x64"),
        ],
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory { variable: None, above: None, in_user_home: ".factory" }),
        links: Links::Never,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main("CLAUDE.md").in_group(1),
            Name::main("Claude.md").in_group(1),
            Name::main("AGENTS.md").in_group(2),
            Name::main("Agents.md").in_group(2),
            Name::main("agents.md").in_group(2),
            Name::main(".factory/AGENTS.md").in_group(3),
            Name::main(".factory/Agents.md").in_group(3),
            Name::main(".factory/agents.md").in_group(3),
            Name::main(".agents/AGENTS.md").in_group(4),
            Name::main(".agents/Agents.md").in_group(4),
            Name::main(".agents/agents.md").in_group(4),
        ],
        choice: NameChoice::FirstOfGroup,
        blank: Blank::Included,
        same_file: SameFile::OncePerRealPath,
        home: Some(HomeFile {
            blank: Blank::Included,
            also: &[&[".agents/AGENTS.md", ".agents/Agents.md", ".agents/agents.md"]],
            ..HomeFile::first_of(&["AGENTS.md", "Agents.md", "agents.md"])
        }),
        ..BASE.choose
    },
    text: TextRules { white_space: WhiteSpace::TrimmedAtEnd, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        order: ChainOrder::NearestFirst,
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::User,
            start: "# Codebase and user instructions are shown below. Instructions from files closest to your current directory take precedence over those further up the hierarchy.\n",
            sections: &[
                SectionForm {
                    of: PartOf::Project,
                    start: "## Project Instructions:\n",
                    before: &[Piece::Text("% cat "), Piece::Path, Piece::Text("\n<coding_guidelines>\n")],
                    after: &[Piece::Text("\n</coding_guidelines>\n")],
                    between: "\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
                SectionForm {
                    of: PartOf::Home,
                    start: "\n## Personal Global Instructions:\n",
                    before: &[Piece::Text("% cat "), Piece::Path, Piece::Text("\n<coding_guidelines>\n")],
                    after: &[Piece::Text("\n</coding_guidelines>\n")],
                    between: "\n",
                    end: "",
                    path: PathForm::FromUserHome,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
            ],
            between: "",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::User,
    },
    ..BASE
};
