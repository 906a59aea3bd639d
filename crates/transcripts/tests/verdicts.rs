//! Each verdict, its evidence and its JSON, from recorded and made-up sessions.

use std::fs;

use protocol::{DeliveryTime, TranscriptEvidence, Verdict, WhySession};
use transcripts::{SessionChoice, WhyError};

use crate::support::{Project, Recorded};

const ROUND: &str = "Round half to even.";
const PNPM: &str = "Use pnpm 9, never npm or yarn.";

/// Returns the verdict for the newest session of the agent.
fn judge(recorded: &Recorded, rule: &str, when: Option<&str>) -> WhySession {
    let mut report = recorded.report(rule, SessionChoice::NewestOfEach, when);
    assert_eq!(report.sessions.len(), 1, "{:?}", report.sessions);
    report.sessions.remove(0)
}

#[test]
fn a_file_below_the_directory_was_never_loaded() {
    let recorded = Recorded::new("codex/main", Project::After);
    let session = judge(&recorded, ROUND, Some("npm install"));
    assert_eq!((session.verdict, session.evidence), (Verdict::NeverLoaded, TranscriptEvidence::Recorded));
    assert_eq!(session.reason.as_deref(), Some("below_cwd"));
    assert_eq!(session.advice, "start Codex in services/billing, or connect it: foreword install codex");
    assert_eq!(session.version.as_deref(), Some("0.166.0"));
    let violation = session.violation.unwrap();
    assert_eq!((violation.message, violation.tool.as_deref()), (7, Some("exec_command")));
    assert_eq!(violation.text, "npm install left-pad");
    assert!(session.deliveries.is_empty());
}

#[test]
fn a_rule_was_delivered_at_a_distance() {
    let recorded = Recorded::new("codex/main", Project::Before);
    let session = judge(&recorded, "Use pnpm, never npm.", Some("npm install"));
    assert_eq!((session.verdict, session.evidence), (Verdict::Delivered, TranscriptEvidence::Recorded));
    assert_eq!((session.messages_before, session.tokens_before), (Some(6), Some(202)));
    assert_eq!((session.deliveries[0].message, session.deliveries[0].when), (1, DeliveryTime::Start));
}

#[test]
fn an_earlier_version_is_outdated() {
    let recorded = Recorded::new("codex/main", Project::After);
    let session = judge(&recorded, PNPM, Some("npm install"));
    assert_eq!((session.verdict, session.evidence), (Verdict::Outdated, TranscriptEvidence::Recorded));
    let diff = session.diff.unwrap();
    assert!(diff.contains("-- Use pnpm, never npm.\n+- Use pnpm 9, never npm or yarn.\n"), "{diff}");
}

#[test]
fn a_line_that_was_added_later_is_outdated() {
    let recorded = Recorded::new("codex/main", Project::After);
    let session = judge(&recorded, "Tests live next to the code.", Some("npm install"));
    assert_eq!(session.verdict, Verdict::Outdated);
}

#[test]
fn both_versions_after_a_resume_conflict() {
    for scenario in ["codex/main", "claude/main"] {
        let recorded = Recorded::new(scenario, Project::After);
        let session = judge(&recorded, PNPM, Some("npm, as far"));
        assert_eq!(session.verdict, Verdict::Conflicting, "{scenario}");
        let when: Vec<DeliveryTime> = session.deliveries.iter().map(|delivery| delivery.when).collect();
        assert_eq!(when[..2], [DeliveryTime::Start, DeliveryTime::Resume], "{scenario}");
        // The home file is in both blocks with the same text.
        assert_eq!(
            judge(&recorded, "Answer in short sentences.", Some("npm, as far")).verdict,
            Verdict::Delivered
        );
        // The compaction leaves only the current version.
        assert_eq!(judge(&recorded, PNPM, None).verdict, Verdict::Delivered, "{scenario}");
    }
}

#[test]
fn a_nested_file_is_dropped_by_a_compaction() {
    let recorded = Recorded::new("claude/main", Project::After);
    let session = judge(&recorded, ROUND, None);
    assert_eq!((session.verdict, session.evidence), (Verdict::Dropped, TranscriptEvidence::Recorded));
    assert!(session.dropped_at.is_some());
    assert_eq!(session.deliveries[0].when, DeliveryTime::Reading);
    assert!(session.deliveries[0].path.ends_with("services/billing/CLAUDE.md"));
}

#[test]
fn a_nested_file_is_too_late_for_the_first_answer() {
    for scenario in ["claude/main", "gemini/main", "opencode/main"] {
        let recorded = Recorded::new(scenario, Project::After);
        let session = judge(&recorded, ROUND, Some("It is a small shop"));
        assert_eq!(session.verdict, Verdict::TooLate, "{scenario}");
    }
}

#[test]
fn a_restricted_subagent_gets_no_instructions() {
    let recorded = Recorded::new("claude/explore", Project::Before);
    let report = recorded.report("Use pnpm, never npm.", SessionChoice::All, None);
    let subagent = report.sessions.iter().find(|session| session.parent.is_some()).unwrap();
    assert_eq!((subagent.verdict, subagent.reason.as_deref()), (Verdict::NeverLoaded, Some("subagent")));
    let last = recorded.report("Use pnpm, never npm.", SessionChoice::Last, None);
    assert_eq!(last.sessions.len(), 1);
    assert_eq!((last.sessions[0].parent.as_deref(), last.sessions[0].verdict), (None, Verdict::Delivered));
}

#[test]
fn snapshots_recover_the_text_of_each_step() {
    let recorded = Recorded::new("opencode/main", Project::After);
    let session = judge(&recorded, PNPM, Some("npm install"));
    assert_eq!((session.verdict, session.evidence), (Verdict::Outdated, TranscriptEvidence::Recovered));
    assert_eq!(judge(&recorded, PNPM, None).evidence, TranscriptEvidence::Recovered);
}

#[test]
fn unrecorded_texts_are_inferred() {
    for scenario in ["qwen/main", "pi/main"] {
        let recorded = Recorded::new(scenario, Project::Before);
        let session = judge(&recorded, "Use pnpm, never npm.", Some("npm install"));
        assert_eq!((session.verdict, session.evidence), (Verdict::Delivered, TranscriptEvidence::Inferred));
        assert_eq!(session.deliveries[0].message, 0);
        assert!(session.reason.unwrap().contains("as they are now"));
        let session = judge(&recorded, ROUND, Some("npm install"));
        assert_eq!((session.verdict, session.evidence), (Verdict::NeverLoaded, TranscriptEvidence::Inferred));
        assert!(session.reason.unwrap().starts_with("below_cwd"));
    }
}

#[test]
fn a_search_without_a_match_is_unknown() {
    let recorded = Recorded::new("codex/main", Project::After);
    let session = judge(&recorded, ROUND, Some("cargo publish"));
    assert_eq!(session.verdict, Verdict::Unknown);
    assert!(session.violation.is_none() && session.reason.is_some());
}

#[test]
fn a_session_is_chosen_by_the_beginning_of_its_id() {
    let recorded = Recorded::new("codex/code", Project::After);
    let subagent = recorded.report(PNPM, SessionChoice::Id("01a1eb6b-d9"), None);
    assert_eq!(subagent.sessions[0].parent.as_deref(), Some("01a1eb6b-cb19-7a82-8516-b04337f6599d"));
    assert_eq!(subagent.sessions[0].verdict, Verdict::Delivered);
    let error = recorded.why(PNPM, SessionChoice::Id("01a1"), None).unwrap_err();
    assert!(matches!(error, WhyError::AmbiguousSession { .. }));
    assert!(matches!(recorded.why(PNPM, SessionChoice::Id("no"), None), Err(WhyError::Session(_))));
}

#[test]
fn rules_are_found_by_line_and_part_and_refused_in_ties() {
    let recorded = Recorded::new("codex/main", Project::After);
    let line =
        |rule: &str| recorded.why(rule, SessionChoice::Last, None).map(|answer| answer.report.rule.line);
    assert_eq!(line("services/billing/AGENTS.md:3").unwrap(), 3);
    assert_eq!(line("half to even").unwrap(), 3);
    assert_eq!(line("never touch ledger.py").unwrap(), 4);
    assert!(line("services/billing/AGENTS.md:2").unwrap_err().to_string().contains("no rule in line 2"));
    assert!(line("no/such.md:1").is_err());
    assert!(line("Deploy on Fridays only, please.").unwrap_err().to_string().contains("contains the rule"));
    fs::write(recorded.root.join("docs/AGENTS.md"), "- Round half to even.\n").unwrap();
    let error = line(ROUND).unwrap_err();
    assert!(error.hint().contains("docs/AGENTS.md:1") && error.hint().contains("billing/AGENTS.md:3"));
    // A link to the same file is no second file.
    assert_eq!(line("ledger.py without").unwrap(), 4);
}

#[test]
fn a_rule_of_an_older_commit_is_found() {
    let recorded = Recorded::new("codex/main", Project::Committed);
    let session = judge(&recorded, "Use pnpm, never npm.", Some("npm install"));
    assert_eq!(session.verdict, Verdict::Delivered);
    let report = recorded.report("Use pnpm, never npm.", SessionChoice::Last, None);
    assert_eq!(report.rule.text, "Use pnpm, never npm.");
}

#[test]
fn a_long_file_is_truncated_at_the_limit() {
    let recorded = Recorded::new("codex/main", Project::After);
    let filler: String =
        (0..900).map(|number| format!("- Filler rule number {number}, which is long.\n")).collect();
    let long = format!("# Shop\n\n{filler}- Sign every commit.\n");
    assert!(long.len() > 32_768);
    fs::write(recorded.root.join("AGENTS.md"), &long).unwrap();
    let cut = &long[..32_768];
    let path = recorded.home.join(".codex/sessions/2026/11/17/rollout-2026-11-18T00-00-00-cut.jsonl");
    let block = format!("# AGENTS.md instructions for /r\n\n<INSTRUCTIONS>\n{cut}\n</INSTRUCTIONS>");
    let records = [
        serde_json::json!({ "timestamp": "2026-11-18T00:00:00Z", "type": "session_meta",
            "payload": { "id": "cut", "cwd": recorded.root, "cli_version": "0.166.0" } }),
        serde_json::json!({ "timestamp": "2026-11-18T00:00:01Z", "type": "response_item",
            "payload": { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": block }] } }),
    ];
    fs::write(path, records.map(|record| record.to_string()).join("\n") + "\n").unwrap();
    let session = judge(&recorded, "Sign every commit.", None);
    assert_eq!((session.id.as_str(), session.verdict), ("cut", Verdict::Truncated));
    assert_eq!(judge(&recorded, "Filler rule number 7, which is long.", None).verdict, Verdict::Delivered);
}
