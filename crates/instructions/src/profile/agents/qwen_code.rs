//! Qwen Code.

use super::gemini_cli::{IN_PLACE, OUTSIDE};
use crate::profile::*;

const fn section(
    of: PartOf,
    before: &'static [Piece],
    after: &'static [Piece],
    path: PathForm,
) -> SectionForm {
    SectionForm {
        of,
        start: "",
        before,
        after,
        between: "\n\n",
        end: "",
        path,
        kinds: OwnerWords::NONE,
        waiting: None,
    }
}

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
        order: RuleOrder::ByPath,
        links: RuleLinks::Skipped,
        conditions: RuleConditions {
            keys: &["paths"],
            everything: &[],
            always: AlwaysKey::None,
            invalid_is_lost: false,
            reading: HeaderReading::SimpleIfInvalid,
            matching: GlobMatching::WholePath,
        },
        body: RuleBody::Bare,
    }
}

/// The profile `qwen-code`.
pub static QWEN_CODE: Profile = Profile {
    name: "qwen-code",
    agent: Agent {
        title: "Qwen Code",
        version: Some("0.24.4"),
        rules: &[
            Rule::observed(
                "names",
                "QWEN.md and AGENTS.md; instead of them those of `context.fileName` in ~/.qwen/settings.json, or in .qwen/settings.json of the working directory alone",
            ),
            Rule::observed("names in the root", ".qwen/QWEN.local.md, behind all others"),
            Rule::observed("blank files", "count as if they were not there"),
            Rule::source(
                "walk",
                "up to the directory above the one with `.git`; without one up to the directory above your home directory",
            ),
            Rule::observed("order", "all QWEN.md, root first, then all AGENTS.md"),
            Rule::observed("same file twice", "is passed on once"),
            Rule::observed(
                "your own files",
                "~/.qwen/QWEN.md and ~/.qwen/AGENTS.md, each before the others of its name",
            ),
            Rule::source("variables", "QWEN_HOME names the directory of your own files"),
            Rule::observed(
                "rules",
                "~/.qwen/rules and .qwen/rules in the root, if they have no `paths`; by path, at the end",
            ),
            Rule::observed("size", "no limit seen up to 200 KB"),
            Rule::observed(
                "imports",
                "`@path` behind white space and outside code, in place, five deep, by its path inside the repository; a missing file stays as it is written",
            ),
            Rule::observed("code in lists", "an import in it is followed all the same"),
            Rule::observed("front matter and comments", "are text, but stripped from rules"),
            Rule::observed("byte order mark and white space around a text", "are stripped"),
            Rule::observed(
                "files further down",
                "are not brought in when a tool reads there, but rules with `paths` that match are",
            ),
            Rule::observed("role", "system prompt"),
            Rule::observed(
                "broken settings",
                "of your own keep the agent from starting; those of a project it replaces by empty ones",
            ),
            Rule::observed(
                "not read here",
                "what else `context` in settings.json says, and ~/.qwen/output-language.md",
            ),
            Rule::observed("traps", "a FIFO of the name keeps the agent waiting for ever"),
        ],
        hazards: StartupHazards::PIPE,
        installed: &[Installation::Npm("@qwen-code/qwen-code")],
        traces: Traces { in_user_home: &[], in_project: &[".qwen", "QWEN.md"] },
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("QWEN_HOME"),
            above: None,
            in_user_home: ".qwen",
        }),
        marker_check: MarkerCheck::DirectoryOrFile,
        without_marker: WithoutMarker::WholePath,
        root_override: RootOverride::Ignored,
        // The agent stops only at the parent of the root, so files beside the repository are read, too.
        reach: Reach::OneAbove,
        dangling_link: DanglingLink::Absent,
        settings: Some(AgentSettings::Json(JsonSettings {
            own: &["settings.json"],
            in_project: &[".qwen/settings.json"],
            place: SettingsPlace::WorkingDirectory,
            names: Some(NamesSetting {
                key: "context.fileName",
                own_names: OwnNames::Replaced,
                heading: None,
            }),
            unfollowed: &[
                "context.importFormat",
                "context.includeDirectories",
                "context.loadFromIncludeDirectories",
            ],
            trust: Some(FolderTrust {
                file: "trustedFolders.json",
                switch: ("security.folderTrust.enabled", false),
            }),
            byte_order_mark: ByteOrderMark::Stripped,
            // The user's own invalid settings stop the agent; those of a project are replaced by empty ones.
            broken: (BrokenSettings::Refused, BrokenSettings::Empty),
        })),
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main("QWEN.md"),
            Name::main("AGENTS.md"),
            Name::new(NameRole::RootLast, ".qwen/QWEN.local.md"),
        ],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        same_file: SameFile::OncePerRealPath,
        home: Some(HomeFile { choice: NameChoice::All, ..HomeFile::first_of(&["QWEN.md", "AGENTS.md"]) }),
        rule_folders: &[rules(RuleFolderPlace::Home, "rules"), rules(RuleFolderPlace::Root, ".qwen/rules")],
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        white_space: WhiteSpace::Trimmed,
        ..BASE.text
    },
    imports: Some(ImportRules {
        place: ImportPlace::InPlace(&InPlace {
            // A fork of Gemini CLI: only the treatment of missing files and of repeated ones differs.
            missing: None,
            outside: Some(OUTSIDE),
            repeats: ImportRepeats::OnTheWayWithFirst,
            ..IN_PLACE
        }),
        max_depth: 5,
        syntax: ImportSyntax::SpacedOutsideMarkdownCode,
        bounds: ImportBounds::RepositoryByPath,
    }),
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        order: ChainOrder::ByName,
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "",
            sections: &[
                section(
                    PartOf::Files,
                    &[Piece::Text("--- Context from: "), Piece::Path, Piece::Text(" ---\n")],
                    &[Piece::Text("\n--- End of Context from: "), Piece::Path, Piece::Text(" ---")],
                    PathForm::FromCwd,
                ),
                section(
                    PartOf::Rules,
                    &[Piece::Text("--- Rule from: "), Piece::Path, Piece::Text(" ---\n")],
                    &[Piece::Text("\n--- End of Rule from: "), Piece::Path, Piece::Text(" ---")],
                    PathForm::FromRoot,
                ),
            ],
            between: "\n\n",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        ..BASE.render
    },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles { blank: Blank::FallsThrough, ..NestedFiles::RULES_ONLY }),
        ..BASE.session
    },
};
