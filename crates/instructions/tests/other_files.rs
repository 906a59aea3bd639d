//! Files that a profile does not read: each has one outcome, and advice that works with this profile.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod support;

use instructions::{
    CLAUDE_CODE, COPILOT, FOREWORD, FileSettings, GEMINI_CLI, HomeDirectories, Outcome, PROFILES, Profile,
    Request, Resolution, survey,
};
use serde_json::{Value, json};
use support::Tree;

/// Surveys a repository with these files.
fn found(profile: &'static Profile, files: &Value) -> Resolution {
    let tree = Tree::new();
    let root = tree.directory("root");
    tree.fill(&root, &json!({ ".git": { "dir": true } }));
    tree.fill(&root, files);
    let homes = HomeDirectories::default();
    let settings = FileSettings { profile, homes, ..FileSettings::default() };
    survey(&Request { cwd: &root, settings: &settings }).unwrap()
}

/// Returns the outcomes of the files with a name, and their reasons.
fn fates(found: &Resolution, name: &str) -> Vec<(Outcome, String)> {
    let of_name = found.decisions.iter().filter(|decision| decision.path.ends_with(name));
    let there = of_name.filter(|decision| decision.outcome != Outcome::Absent);
    there.map(|decision| (decision.outcome, decision.detail().unwrap_or_default())).collect()
}

#[track_caller]
fn assert_advice(profile: &'static Profile, name: &str, advice: &str) {
    let fates = fates(&found(profile, &json!({ name: "text\n" })), name);
    let is_advised = |fate: &(Outcome, String)| fate.0 == Outcome::Ignored && fate.1.contains(advice);
    assert!(fates.len() == 1 && fates.iter().all(is_advised), "{fates:?}");
}

#[test]
fn a_link_gets_the_name_that_the_profile_reads() {
    assert_advice(&GEMINI_CLI, "AGENTS.md", "link it (ln -s AGENTS.md GEMINI.md)");
    assert_advice(&GEMINI_CLI, "CLAUDE.md", "link it (ln -s CLAUDE.md GEMINI.md)");
    assert_advice(&CLAUDE_CODE, "GEMINI.md", "link it (ln -s GEMINI.md CLAUDE.md)");
    assert_advice(&FOREWORD, "CLAUDE.md", "link it (ln -s CLAUDE.md AGENTS.md), or name it with --fallback");
}

#[test]
fn the_advice_helps_every_profile() {
    // An agent that reads no file cannot be helped.
    for profile in PROFILES.iter().filter(|profile| profile.known_names().next().is_some()) {
        let before = found(profile, &json!({ "CONVENTIONS.md": "text\n" }));
        let fates = fates(&before, "CONVENTIONS.md");
        let [(Outcome::Ignored, why)] = fates.as_slice() else { panic!("{}: {fates:?}", profile.name) };
        // The advice is followed literally: advice that does not make the agent read the file is worse than none.
        let (entry, advised) = match why.split_once("ln -s CONVENTIONS.md ") {
            Some((_, advised)) => (json!({ "symlink": "CONVENTIONS.md" }), advised),
            None => (json!("text\n"), why.split_once("cp CONVENTIONS.md ").unwrap().1),
        };
        let name = advised.split_once(')').unwrap().0;
        let after = found(profile, &json!({ "CONVENTIONS.md": "text\n", name: entry }));
        assert!(after.text.unwrap_or_default().contains("text"), "{}: {name}", profile.name);
    }
}

#[test]
fn a_file_in_other_letters_has_one_outcome() {
    let fates_of = |files| fates(&found(&COPILOT, &files), "agents.md");
    let read = fates_of(json!({ "agents.md": "text\n" }));
    assert!(matches!(read.as_slice(), [(Outcome::Used, _)]), "{read:?}");
    let beside = fates_of(json!({ "agents.md": "text\n", "AGENTS.md": "other\n" }));
    let [(Outcome::Ignored, why)] = beside.as_slice() else { panic!("{beside:?}") };
    assert_eq!(why, "one file is read of each name; copy what should count into AGENTS.md");
}

#[test]
fn an_imported_file_is_not_reported_as_ignored() {
    let files = json!({ "GEMINI.md": "See @AGENTS.md\n", "AGENTS.md": "shared\n", "CLAUDE.md": "other\n" });
    let found = found(&GEMINI_CLI, &files);
    let imported = fates(&found, "AGENTS.md");
    assert!(matches!(imported.as_slice(), [(Outcome::Used, _)]), "{imported:?}");
    let [(Outcome::Ignored, why)] = &fates(&found, "CLAUDE.md")[..] else { panic!("CLAUDE.md is not read") };
    assert!(why.ends_with("copy what should count into GEMINI.md"), "{why}");
}
