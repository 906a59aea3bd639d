//! Our own rules: every loss is reported, the nearest instructions survive, and a blank file hides nothing.

use crate::profile::*;

/// The profile `foreword`.
pub static FOREWORD: Profile = Profile {
    name: "foreword",
    agent: Agent {
        title: "Foreword",
        version: None,
        rules: &[
            Rule::defined(
                "names",
                "AGENTS.override.md, else AGENTS.md, else configured names; AGENTS.local.md is added",
            ),
            Rule::defined("blank files", "count as if they were not there"),
            Rule::defined(
                "walk",
                "up to the nearest directory with .foreword, .git, .jj or .hg, else the working directory alone",
            ),
            Rule::defined("order", "root first"),
            Rule::defined(
                "your own file",
                "AGENTS.override.md, else AGENTS.md in Foreword's home directory, before all others",
            ),
            Rule::defined(
                "size",
                "32,768 bytes of project files; the nearest survive, and a mark says what is missing",
            ),
            Rule::defined(
                "imports",
                "`@path` at the start of a word, after the file, five deep, inside the root",
            ),
            Rule::defined("front matter", "`applies_to` and `audience` say when a file applies"),
            Rule::defined("links", "are followed inside the root"),
            Rule::defined("tags and hidden characters", "are made harmless"),
            Rule::defined(
                "files further down",
                "are brought in when a tool touches a path to which they apply, once; long ones by their path alone",
            ),
            Rule::defined("role", "system prompt"),
        ],
        traces: Traces { in_user_home: &[], in_project: &[".foreword"] },
        ..Agent::UNNAMED
    },
    search: SearchRules {
        markers: &[
            RootMarker::Anywhere(".foreword"),
            RootMarker::Anywhere(".git"),
            RootMarker::Anywhere(".jj"),
            RootMarker::Anywhere(".hg"),
        ],
        // A cloned repository is untrusted. A symlink must not make it include files from outside, such as keys in
        // the home directory.
        links: Links::InsideRoot,
        ..BASE.search
    },
    choose: ChoiceRules {
        names: &[
            Name::main("AGENTS.override.md"),
            Name::main("AGENTS.md"),
            Name::new(NameRole::Added, "AGENTS.local.md"),
        ],
        fallbacks: Fallbacks::Strict,
        blank: Blank::FallsThrough,
        same_file: SameFile::UsedOnce,
        home: Some(HomeFile::first_of(&["AGENTS.override.md", "AGENTS.md"])),
        ..BASE.choose
    },
    text: TextRules {
        byte_order_mark: ByteOrderMark::Stripped,
        front_matter: FrontMatterRule::Conditions,
        // A file could otherwise close our tags and pose as the system prompt.
        unsafe_text: UnsafeText::MadeHarmless,
        ..BASE.text
    },
    imports: Some(ImportRules {
        place: ImportPlace::OwnBlockAfter(&OwnBlock::PLAIN),
        max_depth: 5,
        syntax: ImportSyntax::Words,
        bounds: ImportBounds::Root,
    }),
    budget: BudgetRules { over_limit: OverLimit::NearestFirst, ..BASE.budget },
    session: SessionRules { on_reading: OnReading::Session, ..BASE.session },
    ..BASE
};
