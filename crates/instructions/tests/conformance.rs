//! Runs the conformance cases: a tree, a working directory, settings, and the expected result.

#![expect(clippy::unwrap_used, reason = "a case that cannot be read fails its test")]

mod support;

use std::path::{Path, PathBuf};

use instructions::profile::RuleOrder;
use instructions::{CODEX, FOREWORD, FileSettings, HomeDirectories, Profile, Request, resolve};
use serde_json::Value;
use support::Tree;

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array().map(|list| list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

fn settings(profile: &'static Profile, value: &Value, root: &Path) -> FileSettings {
    let given = value["root"].as_str().map(|path| path.replace("{R}", &root.to_string_lossy()));
    FileSettings::of(profile).with(|agents| {
        agents.fallback_filenames = strings(&value["fallback_filenames"]);
        agents.root.markers = strings(&value["markers"]);
        agents.root.project_root_override = given.map(PathBuf::from);
        agents.initial.max_bytes = value["max_bytes"].as_u64();
        agents.initial.max_files = value["max_files"].as_u64();
    })
}

/// Cases whose tree lists paths below the root.
fn check(case: &Value) -> Result<(), String> {
    let tree = Tree::new();
    let root = tree.directory("root");
    let home = tree.directory("home");
    tree.fill(&root, &case["tree"]);
    tree.fill(&home, &case["home"]);
    let profile = Profile::find(case["profile"].as_str().unwrap()).unwrap();
    let homes = HomeDirectories::of_user(Some(tree.directory("user")));
    let cwd = instructions::path::normalise(Path::new(case["cwd"].as_str().unwrap()), &root);
    let homes = homes.with(&FOREWORD, &home).with(&CODEX, &home);
    let settings = FileSettings { homes, ..settings(profile, &case["settings"], &root) };
    let request = Request { cwd: &cwd, settings: &settings };
    let resolution = resolve(&request, None).map_err(|error| error.to_string())?;
    let place =
        |text: &str| text.replace(&*root.to_string_lossy(), "{R}").replace(&*home.to_string_lossy(), "{H}");
    let text = resolution.text.as_deref().map(place);
    let expected = case["expect"]["text"].as_str();
    if text.as_deref() != expected {
        return Err(format!("text\n  expected {expected:?}\n  found    {text:?}"));
    }
    let files: Vec<String> =
        resolution.files.iter().map(|file| place(&file.path.to_string_lossy())).collect();
    let expected = strings(&case["expect"]["files"]).unwrap_or_default();
    if files != expected {
        return Err(format!("files\n  expected {expected:?}\n  found    {files:?}"));
    }
    Ok(())
}

/// Returns the profile of an agent by its name in recordings.
fn profile_of(agent: &str) -> &'static Profile {
    let name = match agent {
        // These cases were recorded from the older version.
        "pi" => "pi@0.73.1",
        "pi-today" => "pi",
        "claude" => "claude-code",
        "gemini" => "gemini-cli",
        "qwen" => "qwen-code",
        other => other,
    };
    Profile::find(name).unwrap()
}

/// Cases recorded from the running agent: `repo` is the project, `home` the user's home directory.
fn check_recorded(case: &Value) -> Result<(), String> {
    let tree = Tree::new();
    let parent = tree.directory("");
    tree.fill(&parent, &case["tree"]);
    if case["name"] == "20b" {
        // The recording contained a whole submodule, of which its tree lists only the `.git` file.
        tree.fill(&parent, &serde_json::json!({ "repo/.git/modules/sub": { "git": true } }));
    }
    let root = parent.join("repo");
    let home = parent.join("home");
    let homes = HomeDirectories::find(Some(home.clone()), |_| None);
    let cwd = support::place(case["cwd"].as_str().unwrap(), &parent);
    // The agents were started inside the directory, and a process only knows its physical path.
    let cwd = Path::new(&cwd).canonicalize().unwrap();
    let profile = profile_of(case["agent"].as_str().unwrap());
    let settings = FileSettings { homes, ..FileSettings::of(profile) };
    let request = Request { cwd: &cwd, settings: &settings };
    let resolution = resolve(&request, None).map_err(|error| error.to_string())?;
    let name = |text: &str| {
        text.replace(&*root.to_string_lossy(), "{R}")
            .replace(&*home.to_string_lossy(), "{H}")
            .replace(&*parent.to_string_lossy(), "{P}")
    };
    let blocks: Vec<(String, String)> = resolution
        .blocks
        .iter()
        .map(|block| {
            (serde_json::to_value(block.role).unwrap().as_str().unwrap().to_owned(), name(&block.text))
        })
        .collect();
    let expected: Vec<(String, String)> = case["expect"]["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| (block["role"].as_str().unwrap().to_owned(), block["text"].as_str().unwrap().to_owned()))
        .collect();
    // Rules are in the order in which the file system lists them, which differs between machines.
    let is_listed = profile.choose.rule_folders.iter().any(|folder| folder.order == RuleOrder::AsListed);
    let ordered = |mut text: Vec<String>| {
        text.sort();
        text
    };
    let split = |blocks: &[(String, String)]| -> Vec<String> {
        blocks
            .iter()
            .flat_map(|(_, text)| text.split("\n\n").map(|part| part.replace("\n</system-reminder>", "")))
            .collect()
    };
    let is_alike_unordered = is_listed && ordered(split(&blocks)) == ordered(split(&expected));
    let alike = is_alike_unordered
        || blocks.len() == expected.len()
            && blocks
                .iter()
                .zip(&expected)
                .all(|(found, expected)| found.0 == expected.0 && is(&found.1, &expected.1));
    if !alike {
        return Err(format!("blocks\n  expected {expected:?}\n  found    {blocks:?}"));
    }
    // Minimal cases have no marks, so their recordings do not list files.
    let is_unlisted = |files: &Value| strings(files).is_none_or(|files| files.iter().any(|file| file == "?"));
    if is_unlisted(&case["expect"]["files"]) {
        return Ok(());
    }
    // The recording identifies files by marks in their texts, so a link appears as its target, and blank or UTF-16
    // files do not appear.
    let has_mark = |text: &str| text.contains("MARK_");
    let files: Vec<String> = resolution
        .files
        .iter()
        .filter(|file| has_mark(&file.text))
        .map(|file| name(&file.path.canonicalize().unwrap().to_string_lossy()))
        .collect();
    let expected = strings(&case["expect"]["files"]).unwrap_or_default();
    if files != expected && !(is_listed && ordered(files.clone()) == ordered(expected.clone())) {
        return Err(format!("files\n  expected {expected:?}\n  found    {files:?}"));
    }
    Ok(())
}

/// Cases of agents whose requests hold more than the files: what a request without the files lacks is recorded.
fn check_inserted(case: &Value) -> Result<(), String> {
    let tree = Tree::new();
    let parent = tree.directory("");
    tree.directory("home");
    tree.fill(&parent, &case["tree"]);
    let homes = HomeDirectories::find(Some(parent.join("home")), |_| None);
    let cwd = PathBuf::from(support::place(case["cwd"].as_str().unwrap(), &parent));
    let settings = FileSettings { homes, ..FileSettings::of(profile_of(case["agent"].as_str().unwrap())) };
    let resolution =
        resolve(&Request { cwd: &cwd, settings: &settings }, None).map_err(|error| error.to_string())?;
    let inserted: Vec<(&str, String)> = case["inserted"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["role"].as_str().unwrap(), support::place(one["text"].as_str().unwrap(), &parent)))
        .collect();
    for block in &resolution.blocks {
        let role = serde_json::to_value(block.role).unwrap();
        if !inserted.iter().any(|(as_role, text)| role == *as_role && text.contains(&block.text)) {
            return Err(format!("not sent\n  ours {:?}\n  sent {inserted:?}", block.text));
        }
    }
    let texts: String = resolution.blocks.iter().map(|block| block.text.as_str()).collect();
    let expected = strings(&case["marks"]).unwrap_or_default();
    let mut marks: Vec<(usize, &String)> = Vec::new();
    for mark in expected.iter().collect::<std::collections::BTreeSet<_>>() {
        marks.extend(texts.match_indices(mark.as_str()).map(|(at, _)| (at, mark)));
    }
    marks.sort();
    let marks: Vec<&String> = marks.into_iter().map(|(_, mark)| mark).collect();
    if !marks.iter().eq(&expected.iter().collect::<Vec<_>>()) || texts.matches("tk").count() < marks.len() {
        return Err(format!("marks\n  expected {expected:?}\n  found    {marks:?}"));
    }
    Ok(())
}

/// Returns true if a text equals the recorded one, whose middle may be elided.
fn is(text: &str, recorded: &str) -> bool {
    let Some((start, rest)) = recorded.split_once("\n…[") else { return text == recorded };
    let Some((elided, end)) = rest.split_once(" chars elided]…\n") else { return text == recorded };
    let elided: usize = elided.parse().unwrap();
    text.starts_with(start)
        && text.ends_with(end)
        && text.chars().count() == start.chars().count() + elided + end.chars().count()
}

fn run(cases: &str, check: fn(&Value) -> Result<(), String>) {
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check(case).err().map(|error| format!("{}: {error:.2000}", case["name"])))
        .collect();
    assert!(failures.is_empty(), "{} of {} cases\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn codex() {
    run(include_str!("cases/codex.json"), check);
}

#[test]
fn found_by_comparison_with_codex() {
    run(include_str!("cases/found-by-comparison.json"), check);
}

#[test]
fn foreword_and_codelia() {
    run(include_str!("cases/foreword-and-codelia.json"), check);
}

#[test]
fn recorded_from_codex() {
    run(include_str!("cases/agents/codex.json"), check_recorded);
}

#[test]
fn recorded_from_pi() {
    run(include_str!("cases/agents/pi.json"), check_recorded);
}

#[test]
fn recorded_from_opencode() {
    run(include_str!("cases/agents/opencode.json"), check_recorded);
}

#[test]
fn recorded_from_gemini_cli() {
    run(include_str!("cases/agents/gemini.json"), check_recorded);
    run(include_str!("cases/agents/more-gemini.json"), check_recorded);
    run(include_str!("cases/agents/causes-gemini.json"), check_recorded);
}

#[test]
fn recorded_from_qwen_code() {
    run(include_str!("cases/agents/qwen.json"), check_recorded);
    run(include_str!("cases/agents/more-qwen.json"), check_recorded);
    run(include_str!("cases/agents/causes-qwen.json"), check_recorded);
}

#[test]
fn recorded_from_copilot() {
    run(include_str!("cases/agents/copilot.json"), check_recorded);
    run(include_str!("cases/agents/more-copilot.json"), check_recorded);
    run(include_str!("cases/agents/causes-copilot.json"), check_recorded);
}

#[test]
fn recorded_from_claude_code() {
    run(include_str!("cases/agents/claude.json"), check_recorded);
    run(include_str!("cases/agents/more-claude.json"), check_recorded);
    run(include_str!("cases/agents/causes-claude.json"), check_recorded);
}

#[test]
fn recorded_from_agents_of_today() {
    run(include_str!("cases/agents/inserted.json"), check_inserted);
}
