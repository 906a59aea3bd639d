//! Kilo Code, a relative of opencode.

use crate::profile::*;

const fn rules(
    place: RuleFolderPlace,
    directory: &'static str,
    hidden_by: Option<&'static str>,
) -> RuleFolder {
    RuleFolder {
        place,
        directory,
        hidden_by,
        depth: RuleDepth::Flat,
        suffixes: &[".md"],
        suffix_case: LetterCase::Exact,
        hidden: HiddenRules::Read,
        encoding: RuleEncoding::Any,
        order: RuleOrder::AsListed,
        links: RuleLinks::Skipped,
        conditions: RuleConditions {
            keys: &[],
            everything: &[],
            always: AlwaysKey::None,
            invalid_is_lost: false,
            reading: HeaderReading::Strict,
            matching: GlobMatching::WholePath,
        },
        body: RuleBody::Raw,
    }
}

/// The profile `kilo`.
pub static KILO: Profile = Profile {
    name: "kilo",
    agent: Agent {
        title: "Kilo Code",
        version: Some("7.7.7"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.md, else CLAUDE.md, else CONTEXT.md; the first that any directory has is read in all of them",
            ),
            Rule::source(
                "blank files",
                "are passed on as they are, and hide the next name; empty ones are not passed on",
            ),
            Rule::observed(
                "walk",
                "up to the repository's root if Git accepts it, else the working directory alone",
            ),
            Rule::observed("order", "the working directory first, the root last"),
            Rule::observed("your own file", "~/.config/kilo/AGENTS.md, before all others"),
            Rule::source("variables", "KILO_CONFIG_DIR names another directory of your own file"),
            Rule::observed(
                "rules",
                "~/.kilo/rules and ~/.kilocode/rules, then .kilo/rules and .kilocode/rules of the working directory, .kilocoderules, and the same for the modes code, architect, ask, debug and orchestrator; behind all others, `.md` files alone, as the file system lists them",
            ),
            Rule::source("links", "out of the project are not followed"),
            Rule::observed("size", "no limit seen up to 100 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter and comments", "are text"),
            Rule::source("byte order mark", "is stripped"),
            Rule::source(
                "files further down",
                "AGENTS.md, else CLAUDE.md, else CONTEXT.md of each directory come with the result of a tool that reads there, nearest first",
            ),
            Rule::observed("role", "system prompt"),
            Rule::source("not read here", "`instructions` of kilo.json; a warning says where it is set"),
        ],
        traces: Traces { in_user_home: &[".config/kilo"], in_project: &[".kilo", ".kilocode", "kilo.json"] },
        installed: &[Installation::Npm("@kilocode/cli")],
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("KILO_CONFIG_DIR"),
            above: Some(("XDG_CONFIG_HOME", "kilo")),
            in_user_home: ".config/kilo",
        }),
        marker_check: MarkerCheck::GitAccepts,
        links: Links::InsideRoot,
        dangling_link: DanglingLink::Absent,
        settings: Some(AgentSettings::Json(JsonSettings {
            own: &["kilo.json", "kilo.jsonc"],
            in_project: &["kilo.json", "kilo.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc"],
            place: SettingsPlace::EveryDirectory,
            names: None,
            unfollowed: &["instructions"],
            trust: None,
            byte_order_mark: ByteOrderMark::Stripped,
            broken: (BrokenSettings::Unknown, BrokenSettings::Unknown),
        })),
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md"), Name::main("CLAUDE.md"), Name::main("CONTEXT.md")],
        choice: NameChoice::FirstOfChain,
        blank: Blank::IncludedUnlessEmpty,
        same_file: SameFile::OncePerPath,
        home: Some(HomeFile { blank: Blank::IncludedUnlessEmpty, ..HomeFile::first_of(&["AGENTS.md"]) }),
        rule_folders: &[
            rules(RuleFolderPlace::UserHome, ".kilo/rules", None),
            rules(RuleFolderPlace::UserHome, ".kilocode/rules", Some(".kilo/rules")),
            rules(RuleFolderPlace::Cwd, ".kilo/rules", None),
            rules(RuleFolderPlace::Cwd, ".kilocode/rules", Some(".kilo/rules")),
            rules(RuleFolderPlace::Cwd, ".kilocoderules", None),
            rules(RuleFolderPlace::Cwd, ".kilo/rules-code", None),
            rules(RuleFolderPlace::Cwd, ".kilocode/rules-code", Some(".kilo/rules-code")),
            rules(RuleFolderPlace::Cwd, ".kilocoderules-code", None),
            rules(RuleFolderPlace::Cwd, ".kilo/rules-architect", None),
            rules(RuleFolderPlace::Cwd, ".kilocode/rules-architect", Some(".kilo/rules-architect")),
            rules(RuleFolderPlace::Cwd, ".kilocoderules-architect", None),
            rules(RuleFolderPlace::Cwd, ".kilo/rules-ask", None),
            rules(RuleFolderPlace::Cwd, ".kilocode/rules-ask", Some(".kilo/rules-ask")),
            rules(RuleFolderPlace::Cwd, ".kilocoderules-ask", None),
            rules(RuleFolderPlace::Cwd, ".kilo/rules-debug", None),
            rules(RuleFolderPlace::Cwd, ".kilocode/rules-debug", Some(".kilo/rules-debug")),
            rules(RuleFolderPlace::Cwd, ".kilocoderules-debug", None),
            rules(RuleFolderPlace::Cwd, ".kilo/rules-orchestrator", None),
            rules(RuleFolderPlace::Cwd, ".kilocode/rules-orchestrator", Some(".kilo/rules-orchestrator")),
            rules(RuleFolderPlace::Cwd, ".kilocoderules-orchestrator", None),
        ],
        ..BASE.choose
    },
    text: TextRules { byte_order_mark: ByteOrderMark::Stripped, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        order: ChainOrder::NearestFirst,
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "",
            sections: &[
                SectionForm {
                    of: PartOf::Files,
                    start: "",
                    before: &[Piece::Text("Instructions from: "), Piece::Path, Piece::Text("\n")],
                    after: &[],
                    between: "\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
                SectionForm {
                    of: PartOf::Rules,
                    start: "",
                    before: &[Piece::Text("Instructions from: "), Piece::Path, Piece::Text("\n")],
                    after: &[],
                    between: "\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
            ],
            between: "\n",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::System,
    },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles {
            names: &["AGENTS.md", "CLAUDE.md", "CONTEXT.md"],
            choice: NameChoice::FirstOfDirectory,
            directories: DirectoryEffect::HidesOthers,
            order: ChainOrder::NearestFirst,
            ..NestedFiles::RULES_ONLY
        }),
        ..BASE.session
    },
    ..BASE
};
