//! Damaged, hostile and unusual transcripts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use protocol::{TranscriptEvidence, Verdict};
use transcripts::{AGENTS, SessionChoice, SessionsRequest, find_sessions, sources};

use crate::support::{Project, Recorded};

const RULE: &str = "Use pnpm, never npm.";

fn rollout(recorded: &Recorded) -> PathBuf {
    let directory = recorded.home.join(".codex/sessions/2026/11/17");
    fs::read_dir(directory).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_running_session_ends_in_half_a_line() {
    let recorded = Recorded::new("codex/main", Project::Before);
    let path = rollout(&recorded);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().take(27).collect();
    fs::write(&path, lines.join("\n") + "\n{\"timestamp\":\"2026-11").unwrap();
    let answer = recorded.why(RULE, SessionChoice::Last, Some("npm install")).unwrap();
    assert_eq!(answer.report.sessions[0].verdict, Verdict::Delivered);
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
}

#[test]
fn damaged_lines_and_unknown_records_are_reported() {
    let recorded = Recorded::new("codex/main", Project::Before);
    let path = rollout(&recorded);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(10, "{\"timestamp\":\"2026-11-17T21:30:52Z\",\"type\":\"hologram\",\"payload\":{}}");
    lines.insert(12, "{\"timestamp\": \u{0}\u{1b}[31m");
    fs::write(&path, lines.join("\n")).unwrap();
    let answer = recorded.why(RULE, SessionChoice::Last, Some("npm install")).unwrap();
    assert_eq!(answer.report.sessions[0].verdict, Verdict::Delivered);
    let problems = answer.problems.join("; ");
    assert!(problems.contains("skipped 1 line that could not be parsed"), "{problems}");
    assert!(problems.contains("skipped 1 record of unknown kinds"), "{problems}");
}

#[test]
fn a_version_of_the_future_is_read_as_far_as_possible() {
    let recorded = Recorded::new("claude/main", Project::Before);
    let slug = fs::read_dir(recorded.home.join(".claude/projects")).unwrap().next().unwrap().unwrap().path();
    let cwd = &recorded.root;
    let records = [
        serde_json::json!({ "type": "user", "version": "9.0.0", "cwd": cwd, "sessionId": "f", "uuid": "1",
            "timestamp": "2027-01-01T00:00:00Z", "message": { "role": "user", "content": "Hello", "mood": [1] } }),
        serde_json::json!({ "type": "attachment", "attachment": { "type": "instructions_v2", "data": {} } }),
        serde_json::json!({ "type": "telepathy" }),
    ];
    fs::write(slug.join("f.jsonl"), records.map(|record| record.to_string()).join("\n") + "\n").unwrap();
    let answer = recorded.why(RULE, SessionChoice::Last, None).unwrap();
    let session = &answer.report.sessions[0];
    assert_eq!((session.id.as_str(), session.version.as_deref()), ("f", Some("9.0.0")));
    assert_eq!((session.verdict, session.evidence), (Verdict::Delivered, TranscriptEvidence::Inferred));
}

#[test]
fn a_session_whose_directory_is_gone_is_unknown() {
    let recorded = Recorded::new("qwen/main", Project::Before);
    let id = "8700a2e8-dc8b-4edc-9f77-a72d678e09c8";
    let moved = recorded.root.with_file_name("moved");
    fs::rename(&recorded.root, &moved).unwrap();
    let recorded = Recorded { root: moved, ..recorded };
    let report = recorded.report(RULE, SessionChoice::Id(id), None);
    assert_eq!(report.sessions[0].verdict, Verdict::Unknown);
    assert!(report.sessions[0].reason.as_ref().unwrap().contains("is gone"));
    assert!(recorded.report(RULE, SessionChoice::NewestOfEach, None).sessions.is_empty());
}

#[test]
fn a_moved_project_is_recognized_by_its_commit() {
    let recorded = Recorded::new("codex/main", Project::Committed);
    let head = std::process::Command::new("git")
        .current_dir(&recorded.root)
        .args(["rev-list", "--max-parents=0", "HEAD"])
        .output()
        .unwrap();
    let head = String::from_utf8(head.stdout).unwrap();
    let path = rollout(&recorded);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("d8c9373a3cce1e5c10ddcaca920785d5e1f565b2", head.trim())).unwrap();
    let moved = recorded.root.with_file_name("moved");
    fs::rename(&recorded.root, &moved).unwrap();
    let recorded = Recorded { root: moved, ..recorded };
    let report = recorded.report(RULE, SessionChoice::NewestOfEach, Some("npm install"));
    assert_eq!(
        report.sessions.iter().map(|session| session.verdict).collect::<Vec<_>>(),
        [Verdict::Delivered]
    );
}

#[test]
fn an_old_compaction_keeps_the_instructions() {
    let recorded = Recorded::new("codex/main", Project::Before);
    let path = rollout(&recorded);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().take(20).collect();
    lines.push("{\"timestamp\":\"2026-11-17T21:40:00Z\",\"type\":\"compacted\",\"payload\":{\"message\":\"Summary\"}}");
    fs::write(&path, lines.join("\n")).unwrap();
    let report = recorded.report(RULE, SessionChoice::Last, None);
    assert_eq!(report.sessions[0].verdict, Verdict::Delivered);
}

#[test]
fn a_recorded_session_of_a_moved_project_is_judged() {
    let recorded = Recorded::new("codex/main", Project::Before);
    let moved = recorded.root.with_file_name("moved");
    fs::rename(&recorded.root, &moved).unwrap();
    let recorded = Recorded { root: moved, ..recorded };
    let report = recorded.report(RULE, SessionChoice::Id("01a1eb6b"), Some("npm install"));
    assert_eq!(report.sessions[0].verdict, Verdict::Delivered);
}

#[test]
fn links_out_of_an_agents_directory_are_not_followed() {
    let recorded = Recorded::new("codex/main", Project::Before);
    let elsewhere = recorded.root.with_file_name("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::copy(rollout(&recorded), elsewhere.join("rollout-1.jsonl")).unwrap();
    let sessions = recorded.home.join(".codex/sessions");
    symlink(&elsewhere, sessions.join("planted")).unwrap();
    symlink(elsewhere.join("rollout-1.jsonl"), sessions.join("rollout-2.jsonl")).unwrap();
    let (found, problems) = sources(transcripts::TranscriptAgent::Codex, &recorded.homes);
    assert_eq!((found.len(), problems.len()), (1, 0));
}

#[test]
fn reading_leaves_the_agents_directories_unchanged() {
    for scenario in ["codex/main", "opencode/main", "gemini/main"] {
        let recorded = Recorded::new(scenario, Project::Before);
        let before = listing(&recorded.home);
        recorded.report(RULE, SessionChoice::All, Some("npm install"));
        assert_eq!(listing(&recorded.home), before, "{scenario}");
    }
}

fn listing(directory: &std::path::Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        found.push((entry.path(), metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            found.extend(listing(&entry.path()));
        }
    }
    found.sort();
    found
}

#[test]
fn an_index_gives_the_same_answers() {
    for scenario in ["codex/code", "claude/main", "gemini/main", "opencode/main", "copilot/print-mode"] {
        let recorded = Recorded::new(scenario, Project::Before);
        let cache = tempfile::tempdir().unwrap();
        let ask = |cache| {
            recorded.why_cached("Round half to even.", SessionChoice::All, None, cache).unwrap().report
        };
        let plain = ask(None);
        assert_eq!(ask(Some(cache.path())), plain, "{scenario}");
        assert_eq!(ask(Some(cache.path())), plain, "{scenario}");
        // A damaged index is made again.
        let list = fs::read_dir(cache.path().join("transcripts")).unwrap().next().unwrap().unwrap().path();
        for file in fs::read_dir(&list).unwrap() {
            fs::write(file.unwrap().path(), "{").unwrap();
        }
        assert_eq!(ask(Some(cache.path())), plain, "{scenario}");
    }
}

#[test]
fn sessions_list_files_compactions_and_subagents() {
    let recorded = Recorded::new("claude/main", Project::Before);
    let request = SessionsRequest {
        agents: AGENTS,
        homes: &recorded.homes,
        project: Some(&recorded.root),
        cache: None,
    };
    let sessions = find_sessions(&request).listed();
    let main = sessions.iter().find(|session| session.parent.is_none()).unwrap();
    assert_eq!((main.compactions, main.subagents, main.running), (1, 1, false));
    assert_eq!(main.title.as_deref(), Some("What does this repository do?"));
    assert!(main.files.iter().any(|file| file.path.ends_with("services/billing/CLAUDE.md")));
    assert_eq!(sessions.len(), 2);
    assert!(find_sessions(&SessionsRequest { project: Some(&recorded.home), ..request }).sessions.is_empty());
}
