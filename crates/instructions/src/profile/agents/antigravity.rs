//! Antigravity, as documented. It was never run for comparison.

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
            keys: &[],
            everything: &[],
            always: AlwaysKey::None,
            invalid_is_lost: false,
            reading: HeaderReading::Strict,
            matching: GlobMatching::WholePath,
        },
        body: RuleBody::AsOthers,
    }
}

/// The profile `antigravity`.
pub static ANTIGRAVITY: Profile = Profile {
    name: "antigravity",
    agent: Agent {
        title: "Antigravity",
        version: None,
        rules: &[
            Rule::documented("names", "GEMINI.md and AGENTS.md, in the root and in directories below it"),
            Rule::documented("walk", "from the workspace's root down"),
            Rule::documented("order", "root first"),
            Rule::documented("rules", ".agents/rules in the root"),
            Rule::documented("your own file", "~/.gemini/GEMINI.md"),
            Rule::documented("files further down", "are not documented"),
            Rule::documented("the text around files", "is not documented; ours is shown"),
        ],
        traces: Traces { in_user_home: &[".antigravity"], in_project: &[".antigravity"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory { variable: None, above: None, in_user_home: ".antigravity" }),
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main("GEMINI.md"), Name::main("AGENTS.md")],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        home: Some(HomeFile { also: &[&[".gemini/GEMINI.md"]], ..HomeFile::first_of(&[]) }),
        rule_folders: &[rules(RuleFolderPlace::Root, ".agents/rules")],
        ..BASE.choose
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    ..BASE
};
