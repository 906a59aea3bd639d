//! Cursor, as documented. It was never run for comparison.

use crate::profile::*;

/// The profile `cursor`.
pub static CURSOR: Profile = Profile {
    name: "cursor",
    agent: Agent {
        title: "Cursor",
        version: None,
        rules: &[
            Rule::documented(
                "names",
                "AGENTS.md, in the root and in directories below it; .cursorrules in the root",
            ),
            Rule::documented("walk", "from the project's root down"),
            Rule::documented("order", "root first"),
            Rule::documented(
                "rules",
                ".cursor/rules in every directory, `.mdc` files; those with `alwaysApply: true` at the start, those with `globs` when a file matches",
            ),
            Rule::documented("your own rules", "are in the editor's settings, which are not read here"),
            Rule::documented(
                "files further down",
                "AGENTS.md of a directory counts for work on the files in it, and so do rules whose `globs` match",
            ),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[".cursor"], in_project: &[".cursor", ".cursorrules"] },
        ..Agent::UNNAMED
    },
    search: SearchRules { root_override: RootOverride::Ignored, ..BASE.search },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md"), Name::new(NameRole::RootFirst, ".cursorrules")],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        rule_folders: &[RuleFolder {
            place: RuleFolderPlace::EveryDirectory,
            directory: ".cursor/rules",
            hidden_by: None,
            depth: RuleDepth::Nested,
            suffixes: &[".mdc"],
            suffix_case: LetterCase::Exact,
            hidden: HiddenRules::Read,
            encoding: RuleEncoding::Any,
            order: RuleOrder::ByPath,
            links: RuleLinks::ToFiles,
            conditions: RuleConditions {
                keys: &["globs"],
                everything: &[],
                always: AlwaysKey::Required("alwaysApply"),
                invalid_is_lost: true,
                reading: HeaderReading::QuotedIfInvalid,
                matching: GlobMatching::WholePath,
            },
            body: RuleBody::Bare,
        }],
        ..BASE.choose
    },
    text: TextRules { byte_order_mark: ByteOrderMark::Stripped, ..BASE.text },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    session: SessionRules {
        on_reading: OnReading::Nested(NestedFiles {
            names: &["AGENTS.md"],
            rule_folders: &[".cursor/rules"],
            ..NestedFiles::RULES_ONLY
        }),
        ..BASE.session
    },
    ..BASE
};
