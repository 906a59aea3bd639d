//! Grok Build.

use crate::profile::*;

const fn rules(place: RuleFolderPlace, directory: &'static str) -> RuleFolder {
    RuleFolder {
        place,
        directory,
        hidden_by: None,
        depth: RuleDepth::Flat,
        suffixes: &[".md"],
        suffix_case: LetterCase::Any,
        hidden: HiddenRules::Read,
        encoding: RuleEncoding::Any,
        order: RuleOrder::ByPath,
        links: RuleLinks::ToFiles,
        conditions: RuleConditions {
            keys: &[],
            everything: &[],
            always: AlwaysKey::None,
            invalid_is_lost: false,
            reading: HeaderReading::Strict,
            matching: GlobMatching::WholePath,
        },
        body: RuleBody::BelowHeader,
    }
}

/// The profile `grok`.
pub static GROK: Profile = Profile {
    name: "grok",
    agent: Agent {
        title: "Grok",
        version: Some("1.0.41"),
        rules: &[
            Rule::observed(
                "names",
                "Agents.md, Claude.md, CLAUDE.md, CLAUDE.local.md, AGENT.md, AGENTS.md, .claude/CLAUDE.md and .claude/CLAUDE.local.md, all of them",
            ),
            Rule::observed("blank files", "are passed on"),
            Rule::observed(
                "walk",
                "up to the repository's root if Git accepts it, else the working directory alone",
            ),
            Rule::observed("order", "root first"),
            Rule::observed("same file twice", "is passed on once"),
            Rule::observed(
                "rules",
                ".grok/rules, .claude/rules and .cursor/rules in every directory, behind its other files; `.md` files, by name, whatever their front matter is",
            ),
            Rule::observed(
                "your own files",
                "the same names in ~/.grok and in ~/.claude, each with its rules, and ~/.cursor/rules; behind all others",
            ),
            Rule::observed("encoding", "a file that is not UTF-8 is not read"),
            Rule::observed("size", "no limit seen up to 120 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter", "is text, but stripped from rules"),
            Rule::observed("byte order mark", "stays"),
            Rule::observed("white space around a text", "is stripped"),
            Rule::observed(
                "trust",
                "an untrusted folder has no project instructions; `--trust` and /hooks-trust record it in ~/.grok",
            ),
            Rule::observed("role", "user message"),
        ],
        traces: Traces { in_user_home: &[".grok"], in_project: &[".grok"] },
        installed: &[Installation::Npm("@xai-official/grok")],
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory { variable: None, above: None, in_user_home: ".grok" }),
        marker_check: MarkerCheck::GitAccepts,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main("Agents.md"),
            Name::main("Claude.md"),
            Name::main("CLAUDE.md"),
            Name::main("CLAUDE.local.md"),
            Name::main("AGENT.md"),
            Name::main("AGENTS.md"),
            Name::main(".claude/CLAUDE.md"),
            Name::main(".claude/CLAUDE.local.md"),
        ],
        choice: NameChoice::All,
        blank: Blank::Included,
        same_file: SameFile::OncePerRealPath,
        home: Some(HomeFile {
            blank: Blank::Included,
            choice: NameChoice::All,
            also: &[
                &[".claude/Agents.md"],
                &[".claude/Claude.md"],
                &[".claude/CLAUDE.md"],
                &[".claude/CLAUDE.local.md"],
                &[".claude/AGENT.md"],
                &[".claude/AGENTS.md"],
            ],
            ..HomeFile::first_of(&[
                "Agents.md",
                "Claude.md",
                "CLAUDE.md",
                "CLAUDE.local.md",
                "AGENT.md",
                "AGENTS.md",
            ])
        }),
        rule_folders: &[
            rules(RuleFolderPlace::Home, "rules"),
            rules(RuleFolderPlace::UserHome, ".claude/rules"),
            rules(RuleFolderPlace::UserHome, ".cursor/rules"),
            rules(RuleFolderPlace::EveryDirectory, ".grok/rules"),
            rules(RuleFolderPlace::EveryDirectory, ".claude/rules"),
            rules(RuleFolderPlace::EveryDirectory, ".cursor/rules"),
        ],
        ..BASE.choose
    },
    text: TextRules { white_space: WhiteSpace::TrimmedAsUnicode, encoding: Encoding::Required, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[
            BlockForm {
                role: BlockRole::User,
                start: "<always_applied_workspace_rules description=\"These are workspace-level rules that the agent must always follow.\">\n",
                sections: &[SectionForm {
                    of: PartOf::Project,
                    start: "",
                    before: &[
                        Piece::Text("<always_applied_workspace_rule name=\""),
                        Piece::Path,
                        Piece::Text("\">\n"),
                    ],
                    after: &[Piece::Text("\n</always_applied_workspace_rule>")],
                    between: "\n\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                }],
                between: "",
                end: "\n</always_applied_workspace_rules>",
                newlines: NewlineRuns::Kept,
            },
            BlockForm {
                role: BlockRole::User,
                start: "",
                sections: &[SectionForm {
                    of: PartOf::Home,
                    start: "",
                    before: &[Piece::Text("<user_rule>\n")],
                    after: &[Piece::Text("\n</user_rule>")],
                    between: "\n\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                }],
                between: "",
                end: "\n</user_rules>",
                newlines: NewlineRuns::Kept,
            },
        ]),
        role: BlockRole::User,
        ..BASE.render
    },
    ..BASE
};
