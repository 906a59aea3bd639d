//! Continue, the command.

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
        order: RuleOrder::ByPath,
        links: RuleLinks::ToFiles,
        conditions: RuleConditions {
            keys: &["globs", "regex"],
            everything: &[],
            always: AlwaysKey::Overriding("alwaysApply"),
            invalid_is_lost: false,
            reading: HeaderReading::Strict,
            matching: GlobMatching::WholePath,
        },
        body: RuleBody::BelowHeader,
    }
}

/// The profile `continue`.
pub static CONTINUE: Profile = Profile {
    name: "continue",
    agent: Agent {
        title: "Continue",
        version: Some("1.5.47"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.md, else AGENT.md, else CLAUDE.md, else CODEX.md, in the working directory alone",
            ),
            Rule::observed("blank files", "hide the next name, and so do directories"),
            Rule::observed("walk", "the working directory alone"),
            Rule::observed("order", "the file, then the rules"),
            Rule::observed(
                "rules",
                ".continue/rules of the working directory, then ~/.continue/rules; those with `globs`, `regex` or `alwaysApply: false` are not read",
            ),
            Rule::source("variables", "CONTINUE_GLOBAL_DIR names the directory of your own rules"),
            Rule::observed("size", "no limit seen up to 100 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("front matter", "is text, but stripped from rules"),
            Rule::observed("byte order mark", "stays"),
            Rule::observed("files further down", "are not brought in when a tool reads there"),
            Rule::observed("role", "system prompt"),
            Rule::source("not read here", "`rules` of config.yaml, and `invokable`"),
        ],
        traces: Traces { in_user_home: &[".continue"], in_project: &[".continue"] },
        installed: &[Installation::Npm("@continuedev/cli")],
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("CONTINUE_GLOBAL_DIR"),
            above: None,
            in_user_home: ".continue",
        }),
        markers: &[],
        empty_markers: EmptyMarkers::CwdOnly,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main("AGENTS.md"),
            Name::main("AGENT.md"),
            Name::main("CLAUDE.md"),
            Name::main("CODEX.md"),
        ],
        blank: Blank::IncludedUnlessEmpty,
        directories: DirectoryEffect::HidesOthers,
        home: Some(HomeFile::first_of(&[])),
        rule_folders: &[
            rules(RuleFolderPlace::Cwd, ".continue/rules"),
            rules(RuleFolderPlace::Home, "rules"),
        ],
        ..BASE.choose
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "<context name=\"userRules\">\n",
            sections: &[
                SectionForm {
                    of: PartOf::Files,
                    start: "",
                    before: &[],
                    after: &[],
                    between: "\n\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
                SectionForm {
                    of: PartOf::Rules,
                    start: "",
                    before: &[],
                    after: &[],
                    between: "\n\n",
                    end: "",
                    path: PathForm::Absolute,
                    kinds: OwnerWords::NONE,
                    waiting: None,
                },
            ],
            between: "\n\n",
            end: "\n</context>",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::System,
        ..BASE.render
    },
    ..BASE
};
