//! GitHub Copilot CLI.

use crate::profile::*;

const fn rules(
    place: RuleFolderPlace,
    directory: &'static str,
    suffixes: &'static [&'static str],
) -> RuleFolder {
    // The agent reads the user's own files more strictly than those of a project.
    let encoding = match place {
        RuleFolderPlace::Home => RuleEncoding::Utf8,
        _ => RuleEncoding::Any,
    };
    RuleFolder {
        place,
        directory,
        hidden_by: None,
        depth: RuleDepth::Nested,
        suffixes,
        suffix_case: LetterCase::Any,
        hidden: HiddenRules::Skipped,
        encoding,
        order: RuleOrder::ByPath,
        links: RuleLinks::ToFiles,
        conditions: RuleConditions {
            keys: &["applyTo", "paths"],
            // These three globs match every path for this agent, so such a rule is included in full instead of
            // being listed.
            everything: &["**", "**/*", "*"],
            always: AlwaysKey::None,
            invalid_is_lost: false,
            reading: HeaderReading::LinesIfInvalid,
            matching: GlobMatching::WholePath,
        },
        body: RuleBody::Raw,
    }
}

const fn section(of: PartOf, before: &'static [Piece], after: &'static [Piece]) -> SectionForm {
    SectionForm {
        of,
        start: "",
        before,
        after,
        between: "\n\n",
        end: "",
        path: PathForm::Absolute,
        kinds: OwnerWords::NONE,
        waiting: None,
    }
}

/// The profile `copilot`.
pub static COPILOT: Profile = Profile {
    name: "copilot",
    agent: Agent {
        title: "GitHub Copilot CLI",
        version: Some("1.0.102"),
        rules: &[
            Rule::observed(
                "names",
                ".github/copilot-instructions.md, AGENTS.md, CLAUDE.md and GEMINI.md, all of them, the last three in any letter case; between the root and the working directory .claude/CLAUDE.md, too",
            ),
            Rule::observed("blank files", "are passed on as they are"),
            Rule::observed(
                "walk",
                "up to the repository's root, which is where a file `.git` is or a directory that Git accepts; else the working directory alone",
            ),
            Rule::observed(
                "order",
                "the root, the working directory, then what is between them, nearest first; copilot-instructions.md of root and working directory before all",
            ),
            Rule::observed("same text twice", "is passed on once"),
            Rule::observed("your own file", "~/.copilot/copilot-instructions.md, before all others"),
            Rule::documented("variables", "COPILOT_HOME names the directory of your own file"),
            Rule::observed(
                "rules",
                "~/.copilot/instructions, then .github/instructions and .claude/rules in the root and in the working directory; as they are, by path. Those with `applyTo` or `paths` are listed in a table",
            ),
            Rule::observed("size", "no limit seen up to 200 KB"),
            Rule::observed(
                "imports",
                "`@path` with an extension, outside code, behind its mention, eight deep, inside the repository; each file once",
            ),
            Rule::observed("front matter and comments", "are text"),
            Rule::observed("byte order mark and characters that hide others", "go"),
            Rule::observed(
                "files further down",
                "AGENTS.md, CLAUDE.md, .claude/CLAUDE.md, GEMINI.md and rules come in a message after a tool has read there, nearest first; links out of the repository do not",
            ),
            Rule::observed("rules with `applyTo` or `paths`", "come with a file that matches"),
            Rule::observed("role", "system prompt"),
        ],
        installed: &[Installation::Npm("@github/copilot")],
        traces: Traces {
            in_user_home: &[],
            in_project: &[".github/copilot-instructions.md", ".github/instructions"],
        },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("COPILOT_HOME"),
            above: None,
            in_user_home: ".copilot",
        }),
        // A `.git` file counts even if it leads nowhere, but an empty `.git` directory does not.
        marker_check: MarkerCheck::RepositoryOrFile,
        root_override: RootOverride::Ignored,
        dangling_link: DanglingLink::Absent,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main(".github/copilot-instructions.md").in_any_case(),
            Name::main("AGENTS.md").in_any_case(),
            Name::main("CLAUDE.md").in_any_case(),
            Name::new(NameRole::Between, ".claude/CLAUDE.md").in_any_case(),
            // Imports of this agent's rival are left as they are written.
            Name::main("GEMINI.md").in_any_case().without_imports(),
        ],
        choice: NameChoice::All,
        // Copies with equal texts are passed on once, wherever they are.
        same_file: SameFile::OncePerPathAndText,
        home: Some(HomeFile {
            blank: Blank::Included,
            utf8_only: true,
            letter_case: LetterCase::Any,
            ..HomeFile::first_of(&["copilot-instructions.md"])
        }),
        rule_folders: &[
            rules(RuleFolderPlace::Home, "instructions", &[".instructions.md"]),
            rules(RuleFolderPlace::RootAndCwd, ".github/instructions", &[".instructions.md"]),
            rules(RuleFolderPlace::RootAndCwd, ".claude/rules", &[".md"]),
        ],
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        removed: &[RemovedPart::HiddenCharacters],
        normal_form: NormalForm::Composed,
        ..BASE.text
    },
    imports: Some(ImportRules {
        place: ImportPlace::InPlace(&InPlace {
            before: &[
                Piece::Text("@"),
                Piece::Reference,
                Piece::Text("\n\n<imported_custom_instruction source=\""),
                Piece::AttributePath,
                Piece::Text("\">\n"),
            ],
            after: &[Piece::Text("\n</imported_custom_instruction>")],
            trimmed_end: true,
            repeated: &[
                Piece::Text("@"),
                Piece::Reference,
                Piece::Text("\n\n<imported_custom_instruction source=\""),
                Piece::AttributePath,
                Piece::Text("\" skipped=\"already-loaded\" />"),
            ],
            outside: None,
            missing: None,
            unreadable: None,
            resolves_links: true,
            repeats: ImportRepeats::Anywhere,
            byte_order_mark: ByteOrderMark::Stripped,
            utf8_only: true,
        }),
        max_depth: 8,
        syntax: ImportSyntax::Punctuated,
        bounds: ImportBounds::Root,
    }),
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        order: ChainOrder::RootThenNearest,
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "",
            sections: &[
                section(
                    PartOf::Files,
                    &[Piece::Text("<custom_instruction>\n")],
                    &[Piece::Text("\n</custom_instruction>")],
                ),
                SectionForm {
                    end: "\n",
                    waiting: Some(WaitingForm {
                        start: "Here is a list of instruction files that contain rules for modifying or creating new code.\n\
                            These files are important for ensuring that the code is modified or created correctly.\n\
                            Please make sure to follow the rules specified in these files when working with the codebase.\n\
                            If you have not already read the file, use the `view` tool to acquire it.\n\
                            Make sure to acquire the instructions before making any changes to the code.\n\
                            | Pattern | File Path | Description |\n\
                            | ------- | --------- | ----------- |\n",
                        row: &[
                            Piece::Text("| "),
                            Piece::Globs,
                            Piece::Text(" | '"),
                            Piece::Path,
                            Piece::Text("' | "),
                            Piece::Description,
                            Piece::Text(" |"),
                        ],
                        between: "\n",
                    }),
                    ..section(PartOf::Rules, &[], &[])
                },
            ],
            between: "\n\n",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        ..BASE.render
    },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles {
            names: &[
                ".github/copilot-instructions.md",
                "AGENTS.md",
                "CLAUDE.md",
                ".claude/CLAUDE.md",
                "GEMINI.md",
            ],
            rule_folders: &[".github/instructions", ".claude/rules"],
            rules: NestedRules::WithTheirDirectory,
            blank: Blank::FallsThrough,
            order: ChainOrder::NearestFirst,
            links: Links::InsideRoot,
            ..NestedFiles::RULES_ONLY
        }),
        ..BASE.session
    },
};
