//! Cline, the command.

use crate::profile::*;

const fn rules(place: RuleFolderPlace, directory: &'static str) -> RuleFolder {
    RuleFolder {
        place,
        directory,
        hidden_by: None,
        depth: RuleDepth::Flat,
        suffixes: &[".md", ".markdown", ".txt"],
        suffix_case: LetterCase::Any,
        hidden: HiddenRules::Read,
        encoding: RuleEncoding::Any,
        order: RuleOrder::ByPath,
        links: RuleLinks::Skipped,
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

/// The profile `cline`.
pub static CLINE: Profile = Profile {
    name: "cline",
    agent: Agent {
        title: "Cline",
        version: Some("3.0.65"),
        rules: &[
            Rule::observed(
                "names",
                "AGENTS.md and the files of .clinerules and .cline/rules, in the working directory alone; .clinerules may be a file",
            ),
            Rule::observed("walk", "the working directory alone"),
            Rule::observed(
                "order",
                "by title, in any letter case: the `name` in the front matter, or else the name of the file; of one title the last is read",
            ),
            Rule::observed(
                "your own files",
                "~/.agents/AGENTS.md, ~/.cline/rules, ~/Cline/Rules and ~/Documents/Cline/Rules",
            ),
            Rule::source("variables", "CLINE_DIR names the directory above your own rules"),
            Rule::source(
                "switched off",
                "a file with `disabled: true` or `enabled: false` in its front matter",
            ),
            Rule::observed(
                "blank files",
                "count as if they were not there, and so do files with broken front matter",
            ),
            Rule::observed("front matter", "is stripped"),
            Rule::observed("byte order mark and white space around a text", "are stripped"),
            Rule::observed("size", "no limit seen up to 100 KB"),
            Rule::observed("imports", "none"),
            Rule::observed("files further down", "are not brought in when a tool reads there"),
            Rule::observed("role", "system prompt"),
            Rule::source("not read here", "rules of plugins in .cline"),
        ],
        traces: Traces { in_user_home: &[".cline"], in_project: &[".clinerules", ".cline"] },
        installed: &[Installation::Npm("cline")],
        ..Agent::UNNAMED
    },
    search: SearchRules {
        home_directory: Some(HomeDirectory {
            variable: Some("CLINE_DIR"),
            above: None,
            in_user_home: ".cline",
        }),
        markers: &[],
        empty_markers: EmptyMarkers::CwdOnly,
        root_override: RootOverride::Ignored,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[Name::main("AGENTS.md")],
        choice: NameChoice::All,
        blank: Blank::FallsThrough,
        titles: Titles::Named {
            file: "AGENTS.md",
            in_project: "Workspace AGENTS.md",
            of_user: "Global AGENTS.md",
        },
        home: Some(HomeFile { also: &[&[".agents/AGENTS.md"]], ..HomeFile::first_of(&[]) }),
        rule_folders: &[
            rules(RuleFolderPlace::Home, "rules"),
            rules(RuleFolderPlace::UserHome, "Cline/Rules"),
            rules(RuleFolderPlace::UserHome, "Documents/Cline/Rules"),
            rules(RuleFolderPlace::Cwd, ".clinerules"),
            rules(RuleFolderPlace::Cwd, ".cline/rules"),
        ],
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        front_matter: FrontMatterRule::StrippedLines,
        white_space: WhiteSpace::Trimmed,
        ..BASE.text
    },
    budget: BudgetRules { max_bytes: UNLIMITED, ..BASE.budget },
    render: RenderRules {
        form: Rendering::Forms(&[BlockForm {
            role: BlockRole::System,
            start: "# Rules\n",
            sections: &[SectionForm {
                of: PartOf::Everything,
                start: "",
                before: &[Piece::Text("## "), Piece::Title, Piece::Text("\n")],
                after: &[],
                between: "\n\n",
                end: "",
                path: PathForm::Absolute,
                kinds: OwnerWords::NONE,
                waiting: None,
            }],
            between: "",
            end: "",
            newlines: NewlineRuns::Kept,
        }]),
        role: BlockRole::System,
        ..BASE.render
    },
    ..BASE
};
