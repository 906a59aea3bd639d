//! opencode.

use crate::profile::*;

const SEARCH: SearchRules = SearchRules {
    home_directory: Some(HomeDirectory {
        variable: Some("OPENCODE_CONFIG_DIR"),
        above: Some(("XDG_CONFIG_HOME", "opencode")),
        in_user_home: ".config/opencode",
    }),
    marker_check: MarkerCheck::GitAccepts,
    // Without a repository the agent walks up to `/`, which may include files that belong to no project.
    without_marker: WithoutMarker::WholePath,
    root_override: RootOverride::Ignored,
    dangling_link: DanglingLink::Absent,
    settings: Some(AgentSettings::Json(JsonSettings {
        own: &["config.json", "opencode.json", "opencode.jsonc"],
        in_project: &[
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ],
        place: SettingsPlace::EveryDirectory,
        names: None,
        unfollowed: &["instructions"],
        trust: None,
        byte_order_mark: ByteOrderMark::Stripped,
        broken: (BrokenSettings::Unknown, BrokenSettings::Unknown),
    })),
    ..BASE.search
};

const RENDER: RenderRules = RenderRules {
    order: ChainOrder::NearestFirst,
    form: Rendering::Forms(&[BlockForm {
        role: BlockRole::System,
        start: "",
        sections: &[SectionForm {
            of: PartOf::Everything,
            start: "",
            before: &[Piece::Text("Instructions from: "), Piece::Path, Piece::Text("\n")],
            after: &[],
            between: "\n",
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
};

const SESSION: SessionRules = SessionRules {
    on_reading: OnReading::Nested(NestedFiles {
        names: &["AGENTS.md", "CLAUDE.md", "CONTEXT.md"],
        choice: NameChoice::FirstOfDirectory,
        directories: DirectoryEffect::HidesOthers,
        order: ChainOrder::NearestFirst,
        ..NestedFiles::RULES_ONLY
    }),
    ..BASE.session
};

const TEXT: TextRules = TextRules { byte_order_mark: ByteOrderMark::Stripped, ..BASE.text };

const HOME: HomeFile = HomeFile {
    elsewhere: &[".claude/CLAUDE.md"],
    blank: Blank::IncludedUnlessEmpty,
    ..HomeFile::first_of(&["AGENTS.md"])
};

/// The profile `opencode`.
pub static OPENCODE: Profile = Profile {
    name: "opencode",
    agent: Agent {
        title: "opencode",
        version: Some("1.18.33"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.md, else CLAUDE.md, else CONTEXT.md; the first that any directory has is read in all of them",
            ),
            Rule::observed(
                "blank files",
                "are passed on as they are, and hide the next name; so does a directory",
            ),
            Rule::observed(
                "walk",
                "up to the repository's root if Git accepts it, else up to the file system's root",
            ),
            Rule::observed("order", "the working directory first, the root last"),
            Rule::observed(
                "your own file",
                "~/.config/opencode/AGENTS.md, else ~/.claude/CLAUDE.md, before all others",
            ),
            Rule::source(
                "variables",
                "OPENCODE_CONFIG_DIR or XDG_CONFIG_HOME names the directory of your own file",
            ),
            Rule::observed("size", "no limit seen up to 200 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark", "is stripped"),
            Rule::observed(
                "files further down",
                "AGENTS.md, else CLAUDE.md, else CONTEXT.md of each directory come with the result of a tool that reads there, nearest first",
            ),
            Rule::observed("role", "system prompt"),
            Rule::observed(
                "not read here",
                "`instructions` of opencode.json; a warning says where it is set",
            ),
            Rule::observed("traps", "a FIFO of the name keeps the agent waiting for ever"),
        ],
        hazards: StartupHazards::PIPE,
        installed: &[Installation::Npm("opencode-ai")],
        traces: Traces { in_user_home: &[], in_project: &[".opencode", "opencode.json", "opencode.jsonc"] },
    },
    search: SEARCH,
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md"), Name::main("CLAUDE.md"), Name::main("CONTEXT.md")],
        // The first name that exists anywhere decides for all directories, so one AGENTS.md at the root hides
        // every CLAUDE.md.
        choice: NameChoice::FirstOfChain,
        blank: Blank::IncludedUnlessEmpty,
        same_file: SameFile::OncePerPath,
        home: Some(HOME),
        ..BASE.choose
    },
    text: TEXT,
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RENDER,
    session: SESSION,
    ..BASE
};

/// The profile `opencode@2`, as documented. It was never run for comparison.
pub static OPENCODE_2: Profile = Profile {
    name: "opencode@2",
    agent: Agent {
        title: "opencode 2",
        version: None,
        rules: &[
            Rule::documented("names", "AGENTS.md, else CLAUDE.md, in every directory"),
            Rule::documented("walk", "up to the repository's root, else the working directory alone"),
            Rule::documented("order", "the working directory first, the root last"),
            Rule::documented("your own file", "~/.config/opencode/AGENTS.md, else ~/.claude/CLAUDE.md"),
            Rule::documented(
                "files further down",
                "AGENTS.md of a directory comes with the result of a tool that reads there",
            ),
            Rule::documented(
                "not read here",
                "`instructions` of opencode.json; a warning says where it is set",
            ),
            Rule::documented("the text around files", "is not documented; that of opencode 1 is shown"),
        ],
        ..Agent::UNNAMED
    },
    search: SearchRules { without_marker: WithoutMarker::NoRoot, ..SEARCH },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md"), Name::main("CLAUDE.md")],
        blank: Blank::IncludedUnlessEmpty,
        same_file: SameFile::OncePerPath,
        home: Some(HOME),
        ..BASE.choose
    },
    text: TEXT,
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RENDER,
    session: SESSION,
    ..BASE
};
