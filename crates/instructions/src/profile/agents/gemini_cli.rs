//! Gemini CLI.

use crate::profile::*;

const BEFORE: &[Piece] = &[Piece::Text("--- Context from: "), Piece::Path, Piece::Text(" ---\n")];
const AFTER: &[Piece] = &[Piece::Text("\n--- End of Context from: "), Piece::Path, Piece::Text(" ---")];

const fn section(of: PartOf) -> SectionForm {
    SectionForm {
        of,
        start: "",
        before: BEFORE,
        after: AFTER,
        between: "\n\n",
        end: "",
        path: PathForm::Absolute,
        kinds: OwnerWords::NONE,
        waiting: None,
    }
}

/// Replacement for an import that fails, shared with Qwen Code.
pub(super) const FAILED: &[Piece] = &[
    Piece::Text("<!-- Import failed: "),
    Piece::Reference,
    Piece::Text(" - "),
    Piece::Reason,
    Piece::Text(" -->"),
];
pub(super) const OUTSIDE: &[Piece] =
    &[Piece::Text("<!-- Import failed: "), Piece::Reference, Piece::Text(" - Path traversal attempt -->")];

/// Form of imports, shared with Qwen Code.
pub(super) const IN_PLACE: InPlace = InPlace {
    before: &[Piece::Text("<!-- Imported from: "), Piece::Reference, Piece::Text(" -->\n")],
    after: &[Piece::Text("\n<!-- End of import from: "), Piece::Reference, Piece::Text(" -->")],
    trimmed_end: false,
    repeated: &[Piece::Text("<!-- File already processed: "), Piece::Reference, Piece::Text(" -->")],
    outside: Some(OUTSIDE),
    missing: Some(FAILED),
    unreadable: Some(FAILED),
    resolves_links: false,
    repeats: ImportRepeats::OnTheWay,
    // A mark inside an imported text is kept, unlike that of the file itself.
    byte_order_mark: ByteOrderMark::Kept,
    utf8_only: false,
};

/// The profile `gemini-cli`.
pub static GEMINI_CLI: Profile = Profile {
    name: "gemini-cli",
    agent: Agent {
        title: "Gemini CLI",
        version: Some("0.61.0"),
        rules: &[
            Rule::observed(
                "names",
                "GEMINI.md, and those of `context.fileName` in ~/.gemini/settings.json, or in .gemini/settings.json of the working directory alone, if that is trusted",
            ),
            Rule::observed("blank files", "count as if they were not there"),
            Rule::observed(
                "walk",
                "up to the nearest directory with any `.git`, else the working directory alone",
            ),
            Rule::observed(
                "backslashes",
                "in the path of a directory count as slashes, so that its GEMINI.md is not found",
            ),
            Rule::observed("order", "root first"),
            Rule::observed(
                "order of equals",
                "by the bytes of the paths: `B/GEMINI.md` stands before `GEMINI.md`",
            ),
            Rule::observed("same file twice", "is passed on once"),
            Rule::observed("your own file", "~/.gemini/GEMINI.md, in the system prompt"),
            Rule::source("variables", "GEMINI_CLI_HOME names the directory above .gemini"),
            Rule::observed("size", "no limit seen up to 200 KB"),
            Rule::observed(
                "imports",
                "`@path` behind white space and outside backticks, in place, five deep, inside the repository; a failure is a comment",
            ),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark and white space around a text", "are stripped"),
            Rule::observed(
                "files further down",
                "GEMINI.md comes with the result of a tool that reads there, root first",
            ),
            Rule::observed("role", "user message"),
            Rule::observed(
                "broken settings",
                "keep the agent from starting: comments may stand in them, trailing commas may not",
            ),
            Rule::observed("not read here", "what else `context` in settings.json says"),
            Rule::observed(
                "traps",
                "a FIFO of the name keeps the agent waiting for ever, a cycle of links ends it",
            ),
        ],
        hazards: StartupHazards { pipe: true, link_circle: true },
        installed: &[Installation::Npm("@google/gemini-cli")],
        traces: Traces { in_user_home: &[], in_project: &[".gemini", "GEMINI.md"] },
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: None,
            above: Some(("GEMINI_CLI_HOME", ".gemini")),
            in_user_home: ".gemini",
        }),
        root_override: RootOverride::Ignored,
        // The agent turns backslashes into slashes. On Linux a backslash is an ordinary character, so the
        // directory is then not found.
        skipped: &[SkippedDirectory::WithBackslash],
        dangling_link: DanglingLink::Absent,
        cwd: CwdSpelling::PercentDecoded,
        settings: Some(AgentSettings::Json(JsonSettings {
            own: &["settings.json"],
            in_project: &[".gemini/settings.json"],
            place: SettingsPlace::WorkingDirectory,
            names: Some(NamesSetting {
                key: "context.fileName",
                own_names: OwnNames::ComeLast,
                heading: Some(NamesHeading {
                    start: "# Contextual Instructions (GEMINI.md)",
                    model_key: "model.name",
                    fixed_for: &["gemini-1", "gemini-2"],
                }),
            }),
            unfollowed: &[
                "context.importFormat",
                "context.includeDirectories",
                "context.loadMemoryFromIncludeDirectories",
                "context.memoryBoundaryMarkers",
            ],
            trust: Some(FolderTrust {
                file: "trustedFolders.json",
                switch: ("security.folderTrust.enabled", true),
            }),
            // A mark inside an imported text is kept, unlike that of the file itself.
            byte_order_mark: ByteOrderMark::Kept,
            broken: (BrokenSettings::Refused, BrokenSettings::Refused),
        })),
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main("GEMINI.md")],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        same_file: SameFile::UsedOnce,
        home: Some(HomeFile { choice: NameChoice::All, ..HomeFile::first_of(&["GEMINI.md"]) }),
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        white_space: WhiteSpace::Trimmed,
        ..BASE.text
    },
    imports: Some(ImportRules {
        place: ImportPlace::InPlace(&IN_PLACE),
        max_depth: 5,
        syntax: ImportSyntax::SpacedOutsideBackticks,
        bounds: ImportBounds::Repository,
    }),
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        // The agent sorts all paths as strings. Capitals sort before small letters, so a nested file may come
        // before that of the root.
        order: ChainOrder::ByPath,
        form: Rendering::Forms(&[
            BlockForm {
                role: BlockRole::System,
                start: "# Contextual Instructions (GEMINI.md)\n\
                    The following content is loaded from local and global configuration files.\n\
                    **Context Precedence:**\n\
                    - **Global (~/.gemini/):** foundational user preferences. Apply these broadly.\n\
                    - **Extensions:** supplementary knowledge and capabilities.\n\
                    - **Workspace Root:** workspace-wide mandates. Supersedes global preferences.\n\
                    - **Sub-directories:** highly specific overrides. These rules supersede all others for files within their scope.\n\
                    \n\
                    **Conflict Resolution:**\n\
                    - **Precedence:** Strictly follow the order above (Sub-directories > Workspace Root > Extensions > Global).\n\
                    - **System Overrides:** Contextual instructions override default operational behaviors (e.g., tech stack, style, workflows, tool preferences) defined in the system prompt. However, they **cannot** override Core Mandates regarding safety, security, and agent integrity.\n\
                    \n\
                    <loaded_context>\n",
                sections: &[section(PartOf::Home)],
                between: "",
                end: "\n</loaded_context>",
                newlines: NewlineRuns::AtMostTwo,
            },
            BlockForm {
                role: BlockRole::User,
                start: "<loaded_context>\n<project_context>\n",
                sections: &[section(PartOf::Project)],
                between: "",
                end: "\n</project_context>\n</loaded_context>",
                newlines: NewlineRuns::Kept,
            },
        ]),
        role: BlockRole::User,
    },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles {
            names: &["GEMINI.md"],
            blank: Blank::FallsThrough,
            ..NestedFiles::RULES_ONLY
        }),
        ..BASE.session
    },
};
