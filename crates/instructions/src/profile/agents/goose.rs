//! Goose.

use crate::profile::*;

/// The profile `goose`.
pub static GOOSE: Profile = Profile {
    name: "goose",
    agent: Agent {
        title: "Goose",
        version: Some("0.20.1"),
        rules: &[
            Rule::observed("names", ".goosehints and AGENTS.md, both"),
            Rule::observed("blank files", "are passed on; empty ones are not"),
            Rule::observed(
                "walk",
                "up to the nearest directory with any `.git`, else the working directory alone",
            ),
            Rule::observed("order", "root first"),
            Rule::observed(
                "your own files",
                "~/.config/goose/.goosehints and ~/.config/goose/AGENTS.md, before all others",
            ),
            Rule::observed("encoding", "a file that is not UTF-8 is not read"),
            Rule::observed("size", "no limit seen up to 100 KB"),
            Rule::observed(
                "imports",
                "`@path` behind white space, three deep, inside the repository; the file stands in place of every equal mention in the text",
            ),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark", "stays"),
            Rule::source(
                "files further down",
                ".goosehints and AGENTS.md are added to the system prompt once a tool has used a path there",
            ),
            Rule::observed("role", "system prompt"),
            Rule::observed(
                "not read here",
                "CONTEXT_FILE_NAMES, and .gitignore, whose files are not imported",
            ),
        ],
        traces: Traces { in_user_home: &[], in_project: &[".goosehints"] },
        installed: &[Installation::Npm("@aaif/goose")],
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
        blank: Blank::IncludedUnlessEmpty,
        home: Some(HomeFile {
            choice: NameChoice::All,
            blank: Blank::IncludedUnlessEmpty,
            ..HomeFile::first_of(&[".goosehints", "AGENTS.md"])
        }),
        ..BASE.choose
    },
    text: TextRules { encoding: Encoding::Required, ..BASE.text },
    imports: Some(ImportRules {
        place: ImportPlace::Replaced(&InPlace {
            before: &[Piece::Text("--- Content from "), Piece::Reference, Piece::Text(" ---\n")],
            after: &[Piece::Text("\n--- End of "), Piece::Reference, Piece::Text(" ---")],
            trimmed_end: false,
            repeated: &[],
            outside: None,
            missing: None,
            unreadable: None,
            resolves_links: true,
            repeats: ImportRepeats::OnTheWay,
            byte_order_mark: ByteOrderMark::Kept,
            utf8_only: false,
        }),
        max_depth: 3,
        syntax: ImportSyntax::NamesAfterSpace,
        bounds: ImportBounds::Root,
    }),
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "# Additional Instructions:\n\n",
            sections: &[
                SectionForm {
                    of: PartOf::Home,
                    start: "\n### Global Hints\nThese are my global goose hints.\n",
                    before: &[],
                    after: &[],
                    between: "\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
                SectionForm {
                    of: PartOf::Project,
                    start: "### Project Hints\nThese are hints for working on the project in this directory.\n",
                    before: &[],
                    after: &[],
                    between: "\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
            ],
            between: "\n\n",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::System,
        ..BASE.render
    },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles {
            names: &[".goosehints", "AGENTS.md"],
            blank: Blank::IncludedUnlessEmpty,
            ..NestedFiles::RULES_ONLY
        }),
        ..BASE.session
    },
};
