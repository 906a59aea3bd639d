//! Generates the page `docs/agents.md` from the profiles.

#![expect(clippy::unwrap_used, reason = "a page that cannot be read fails its test")]

use std::fmt::Write as _;

use instructions::PROFILES;
use instructions::profile::{Evidence, Rule};
use serde_json::Value;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");

const INTRODUCTION: &str = "\
# Rules of each agent

Agents differ in the names they read, how far up they look, their order and limits, and their treatment of imports and blank files. Foreword
has the rules of each as a *profile*. `foreword show --profile claude-code` prints the text that this agent would get in a directory,
`foreword explain --profile claude-code` the reasons, and `foreword compare` all agents side by side ([compare.md](compare.md)). `foreword
profile list` and `foreword profile show NAME` print the rules below.

Each rule has its evidence: *observed* in recorded requests of the real agent, *source* from the agent's code, *documented* only in its
documentation, *defined* by us. This page is generated from the profiles.
";

/// Columns of the overview.
const COLUMNS: &[(&str, &str)] = &[
    ("reads", "names"),
    ("looks", "walk"),
    ("order", "order"),
    ("when a tool reads further down", "files further down"),
    ("role", "role"),
];

/// Number of recordings of each agent that `conformance.rs` compares with its profile.
const RECORDED: &[(&str, &[&str])] = &[
    ("codex", &[include_str!("cases/agents/codex.json")]),
    (
        "claude-code",
        &[
            include_str!("cases/agents/claude.json"),
            include_str!("cases/agents/more-claude.json"),
            include_str!("cases/agents/causes-claude.json"),
        ],
    ),
    (
        "gemini-cli",
        &[
            include_str!("cases/agents/gemini.json"),
            include_str!("cases/agents/more-gemini.json"),
            include_str!("cases/agents/causes-gemini.json"),
        ],
    ),
    ("opencode", &[include_str!("cases/agents/opencode.json")]),
    (
        "qwen-code",
        &[
            include_str!("cases/agents/qwen.json"),
            include_str!("cases/agents/more-qwen.json"),
            include_str!("cases/agents/causes-qwen.json"),
        ],
    ),
    ("pi@0.73.1", &[include_str!("cases/agents/pi.json")]),
    (
        "copilot",
        &[
            include_str!("cases/agents/copilot.json"),
            include_str!("cases/agents/more-copilot.json"),
            include_str!("cases/agents/causes-copilot.json"),
        ],
    ),
];

/// Recordings of what agents insert into their requests.
const INSERTED: &str = include_str!("cases/agents/inserted.json");

/// Returns the number of recordings of an agent.
fn recorded(profile: &str) -> usize {
    let cases = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap();
    let files = RECORDED.iter().find(|(name, _)| *name == profile).map_or(&[][..], |(_, files)| files);
    let agent = if profile == "pi" { "pi-today" } else { profile };
    let inserted = cases(INSERTED).iter().filter(|case| case["agent"] == agent).count();
    files.iter().map(|text| cases(text).len()).sum::<usize>() + inserted
}

fn cell(rules: &[Rule], about: &str) -> String {
    let says = rules.iter().find(|rule| rule.about == about).map_or("", |rule| rule.says);
    says.replace('|', "\\|")
}

fn word(evidence: Evidence) -> String {
    serde_json::to_value(evidence).unwrap().as_str().unwrap().to_owned()
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## In one table\n\n| profile |");
    for (heading, _) in COLUMNS {
        let _ = write!(page, " {heading} |");
    }
    page.push_str("\n| --- |");
    page.push_str(&" --- |".repeat(COLUMNS.len()));
    page.push('\n');
    for profile in PROFILES {
        let _ = write!(page, "| `{}` |", profile.name);
        for (_, about) in COLUMNS {
            let _ = write!(page, " {} |", cell(profile.agent.rules, about));
        }
        page.push('\n');
    }
    page.push_str(
        "\n## Agreement with the real agents\n\nCases recorded from the real agents, and how many of them the profile answers with the same \
         text, byte for byte.\nIf a recording omits the middle of a long text, its length is compared. Files of one folder of rules may \
         be in another\norder if the agent reads them in the order of the file system.\n\n\
         | profile | version | cases | agree |\n| --- | --- | --- | --- |\n",
    );
    for profile in PROFILES {
        let Some(version) = profile.agent.version else { continue };
        let count = recorded(profile.name);
        // All cases agree: a different one fails a test of `conformance.rs`.
        let _ = writeln!(page, "| `{}` | {version} | {count} | {count} |", profile.name);
    }
    for profile in PROFILES {
        let agent = profile.agent;
        let version = match agent.version {
            Some(version) => format!(" {version}"),
            None if agent.rules.iter().all(|rule| rule.evidence == Evidence::Documented) => {
                ", from its documentation only".to_owned()
            }
            None => String::new(),
        };
        let _ = write!(
            page,
            "\n## {}\n\nThe profile `{}`{}.\n\n",
            agent.title,
            profile.name,
            match version.as_str() {
                "" => String::new(),
                version if version.starts_with(',') => version.to_owned(),
                version => format!(", checked against version{version}"),
            }
        );
        page.push_str("| about | rule | known |\n| --- | --- | --- |\n");
        for rule in agent.rules {
            let says = rule.says.replace('|', "\\|");
            let _ = writeln!(page, "| {} | {says} | {} |", rule.about, word(rule.evidence));
        }
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let hint = "docs/agents.md is out of date; run: UPDATE_DOCS=1 cargo test -p foreword-instructions --test agents_page";
    assert!(std::fs::read_to_string(PAGE).is_ok_and(|written| written == page), "{hint}");
}

#[test]
fn every_profile_states_its_evidence() {
    for profile in PROFILES {
        let agent = profile.agent;
        assert!(!agent.title.is_empty() && !agent.rules.is_empty(), "{}", profile.name);
        let was_run = agent.rules.iter().any(|rule| rule.evidence == Evidence::Observed);
        // A version is given only for an agent that was really run. Otherwise the page would claim an agreement that
        // was never checked.
        assert_eq!(was_run, agent.version.is_some(), "{}: a version is one that was run", profile.name);
        assert_eq!(was_run, recorded(profile.name) > 0, "{}", profile.name);
    }
}
