//! Claude Code.

use crate::profile::*;

const fn rules(place: RuleFolderPlace, directory: &'static str) -> RuleFolder {
    RuleFolder {
        place,
        directory,
        hidden_by: None,
        depth: RuleDepth::Nested,
        suffixes: &[".md"],
        suffix_case: LetterCase::Exact,
        hidden: HiddenRules::Read,
        encoding: RuleEncoding::Any,
        // Claude Code does not sort these files, so the order differs between machines. The conformance cases
        // compare rules as a set.
        order: RuleOrder::AsListed,
        links: RuleLinks::Resolved,
        conditions: RuleConditions {
            keys: &["paths"],
            // These globs match every path, so a rule with only these is not a condition and is read at the start.
            everything: &["**", "/**", "**/**"],
            always: AlwaysKey::None,
            invalid_is_lost: false,
            reading: HeaderReading::RepairedIfInvalid,
            matching: GlobMatching::Gitignore,
        },
        body: RuleBody::AsOthers,
    }
}

/// Extensions of files that may be imported. A file without an extension may be, too.
const EXTENSIONS: &[&str] = &[
    "md",
    "txt",
    "text",
    "json",
    "yaml",
    "yml",
    "toml",
    "xml",
    "csv",
    "html",
    "htm",
    "css",
    "scss",
    "sass",
    "less",
    "js",
    "ts",
    "tsx",
    "jsx",
    "mjs",
    "cjs",
    "mts",
    "cts",
    "py",
    "pyi",
    "pyw",
    "rb",
    "erb",
    "rake",
    "go",
    "rs",
    "java",
    "kt",
    "kts",
    "scala",
    "c",
    "cpp",
    "cc",
    "cxx",
    "h",
    "hpp",
    "hxx",
    "cs",
    "swift",
    "sh",
    "bash",
    "zsh",
    "fish",
    "ps1",
    "bat",
    "cmd",
    "env",
    "ini",
    "cfg",
    "conf",
    "config",
    "properties",
    "sql",
    "graphql",
    "gql",
    "proto",
    "vue",
    "svelte",
    "astro",
    "ejs",
    "hbs",
    "pug",
    "jade",
    "php",
    "pl",
    "pm",
    "lua",
    "r",
    "dart",
    "ex",
    "exs",
    "erl",
    "hrl",
    "clj",
    "cljs",
    "cljc",
    "edn",
    "hs",
    "lhs",
    "elm",
    "ml",
    "mli",
    "f",
    "f90",
    "f95",
    "for",
    "cmake",
    "make",
    "makefile",
    "gradle",
    "sbt",
    "rst",
    "adoc",
    "asciidoc",
    "org",
    "tex",
    "latex",
    "lock",
    "log",
    "diff",
    "patch",
];

/// The profile `claude-code`.
pub static CLAUDE_CODE: Profile = Profile {
    name: "claude-code",
    agent: Agent {
        title: "Claude Code",
        version: Some("2.1.325"),
        rules: &[
            Rule::observed(
                "names",
                "CLAUDE.md, .claude/CLAUDE.md and CLAUDE.local.md, all of them, in this order",
            ),
            Rule::observed(
                "AGENTS.md",
                "only where no directory of the chain has one of those with a text in it; rules and your own file do not count",
            ),
            Rule::observed(
                "blank files",
                "count as if they were not there; a file of comments and front matter alone is blank",
            ),
            Rule::observed(
                "walk",
                "every directory from the file system's root down, past repositories and home",
            ),
            Rule::observed(
                "worktrees",
                "in one that is inside its own repository, the files around it are not read, but for CLAUDE.local.md",
            ),
            Rule::observed("order", "root first"),
            Rule::observed("same file twice", "is passed on once"),
            Rule::observed("your own file", "~/.claude/CLAUDE.md, then ~/.claude/rules, before all others"),
            Rule::documented("variables", "CLAUDE_CONFIG_DIR names the directory of your own file"),
            Rule::observed(
                "rules",
                ".claude/rules in every directory, before CLAUDE.local.md, if they have no `paths`; as the file system lists them",
            ),
            Rule::observed("size", "no limit seen up to 200 KB"),
            Rule::observed(
                "imports",
                "`@path` in plain Markdown text, after the file, four deep, inside the working directory; from your own file anywhere; text files by their extension",
            ),
            Rule::observed(
                "imported main files",
                "appear where an earlier file imports them, labelled as that file is",
            ),
            Rule::observed("a zero byte behind an import", "all instructions are lost"),
            Rule::observed(
                "front matter and comments",
                "are stripped; comments only where they are blocks of their own",
            ),
            Rule::observed("byte order mark and white space around a text", "are stripped"),
            Rule::observed(
                "files further down",
                "CLAUDE.md, .claude/CLAUDE.md, CLAUDE.local.md and rules come with the result of a tool that reads there, root first, cut at 40,000 characters; AGENTS.md of a directory without them, behind all others, if none was there at the start either",
            ),
            Rule::observed(
                "rules with `paths`",
                "come with a file that matches, as in a .gitignore but in any letter case",
            ),
            Rule::observed("role", "user message"),
            Rule::observed(
                "not read here",
                "settings.json: `claudeMdExcludes` (a warning says where it is set), approved imports, setting sources",
            ),
        ],
        installed: &[Installation::Npm("@anthropic-ai/claude-code")],
        traces: Traces {
            in_user_home: &[".claude.json"],
            in_project: &[".claude", "CLAUDE.md", "CLAUDE.local.md"],
        },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("CLAUDE_CONFIG_DIR"),
            above: None,
            in_user_home: ".claude",
        }),
        markers: &[],
        empty_markers: EmptyMarkers::WholePath,
        root_override: RootOverride::Ignored,
        // Worktrees are often created inside their repository. The files of the outer checkout belong to another
        // branch.
        skipped: &[SkippedDirectory::CheckoutAroundWorktree],
        dangling_link: DanglingLink::Absent,
        settings: Some(AgentSettings::Json(JsonSettings {
            own: &["settings.json"],
            in_project: &[".claude/settings.json", ".claude/settings.local.json"],
            place: SettingsPlace::WorkingDirectory,
            names: None,
            unfollowed: &["claudeMdExcludes"],
            trust: None,
            byte_order_mark: ByteOrderMark::Stripped,
            // Invalid settings were never tried with this agent, so nothing is reported about them.
            broken: (BrokenSettings::Unknown, BrokenSettings::Unknown),
        })),
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main("CLAUDE.md"),
            Name::main(".claude/CLAUDE.md"),
            Name::new(NameRole::Added, "CLAUDE.local.md").of_user(),
            // Read only if the whole chain has no text under the other names. One CLAUDE.md anywhere hides every
            // AGENTS.md.
            Name::new(NameRole::Fallback, "AGENTS.md"),
            Name::new(NameRole::Fallback, ".claude/AGENTS.md"),
        ],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        same_file: SameFile::OncePerRealPath,
        home: Some(HomeFile::first_of(&["CLAUDE.md"])),
        rule_folders: &[
            rules(RuleFolderPlace::Home, "rules"),
            rules(RuleFolderPlace::EveryDirectory, ".claude/rules"),
        ],
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        front_matter: FrontMatterRule::Stripped,
        removed: &[RemovedPart::CommentBlocks],
        white_space: WhiteSpace::Trimmed,
        ..BASE.text
    },
    imports: Some(ImportRules {
        place: ImportPlace::OwnBlockAfter(&OwnBlock {
            extensions: EXTENSIONS,
            chain_files: ChainFiles::Move,
            zero_byte: ZeroByte::LosesAll,
            rule_imports: RuleImports::JudgedAlone,
        }),
        max_depth: 4,
        syntax: ImportSyntax::MarkdownText,
        bounds: ImportBounds::WorkingDirectory,
    }),
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::User,
            start: "<system-reminder>\n\
                Codebase and user instructions are shown below. Be sure to adhere to these instructions. \
                IMPORTANT: These instructions OVERRIDE any default behavior and you MUST follow them exactly as written.\n\n",
            sections: &[SectionForm {
                of: PartOf::Everything,
                start: "",
                before: &[
                    Piece::Text("Contents of "),
                    Piece::Path,
                    Piece::Text(" ("),
                    Piece::Kind,
                    Piece::Text("):\n\n"),
                ],
                after: &[],
                between: "\n\n",
                end: "",
                path: PathForm::Absolute,
                kinds: OwnerWords {
                    home: "user's private global instructions for all projects",
                    project: "project instructions, checked into the codebase",
                    private: "user's private project instructions, not checked in",
                },
                waiting: None,
            }],
            between: "",
            end: "\n</system-reminder>",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::User,
        ..BASE.render
    },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles {
            names: &["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"],
            instead: &["AGENTS.md", ".claude/AGENTS.md"],
            rule_folders: &[".claude/rules"],
            blank: Blank::FallsThrough,
            // The cut applies to the copy in a tool result only. No limit of the files at the start is known.
            max_characters: Some(40_000),
            ..NestedFiles::RULES_ONLY
        }),
        ..BASE.session
    },
};
