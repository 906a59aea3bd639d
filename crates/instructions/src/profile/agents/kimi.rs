//! Kimi Code.

use crate::profile::*;

/// The profile `kimi`.
pub static KIMI: Profile = Profile {
    name: "kimi",
    agent: Agent {
        title: "Kimi Code",
        version: Some("2.1.0"),
        rules: &[
            Rule::observed("names", ".kimi-code/AGENTS.md, and AGENTS.md or else agents.md"),
            Rule::observed("blank files", "count as if they were not there"),
            Rule::observed(
                "walk",
                "up to the nearest directory with a `.git` directory or a file that names one, else the working directory alone",
            ),
            Rule::observed("order", "root first"),
            Rule::observed(
                "your own files",
                "~/.kimi-code/AGENTS.md, then ~/.agents/AGENTS.md or agents.md, before all others",
            ),
            Rule::observed("encoding", "bytes that are not UTF-8 are left out"),
            Rule::observed("size", "no limit seen up to 100 KB; a warning above 32 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark and white space around a text", "are stripped"),
            Rule::source(
                "files further down",
                "are named in a reminder when a tool reads there, without their texts",
            ),
            Rule::observed("role", "system prompt"),
        ],
        traces: Traces { in_user_home: &[".kimi-code"], in_project: &[".kimi-code"] },
        installed: &[Installation::Npm("@moonshot-ai/kimi-code")],
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory { variable: None, above: None, in_user_home: ".kimi-code" }),
        marker_check: MarkerCheck::DirectoryOrGitFile,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main(".kimi-code/AGENTS.md").in_group(1),
            Name::main("AGENTS.md").in_group(2),
            Name::main("agents.md").in_group(2),
        ],
        choice: NameChoice::FirstOfGroup,
        blank: Blank::FallsThrough,
        same_file: SameFile::OncePerPath,
        home: Some(HomeFile {
            also: &[&[".agents/AGENTS.md", ".agents/agents.md"]],
            ..HomeFile::first_of(&["AGENTS.md"])
        }),
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        white_space: WhiteSpace::Trimmed,
        encoding: Encoding::Dropped,
        ..BASE.text
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "",
            sections: &[SectionForm {
                of: PartOf::Everything,
                start: "",
                before: &[Piece::Text("<!-- From: "), Piece::Path, Piece::Text(" -->\n")],
                after: &[],
                between: "\n\n",
                end: "",
                path: PathForm::Absolute,
                kinds: OwnerWords::NONE,
                waiting: None,
            }],
            between: "",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::System,
        ..BASE.render
    },
    ..BASE
};
