//! Verdicts agree with the requests that the models of real agents received.

use protocol::Verdict;
use transcripts::SessionChoice;

use crate::support::{Project, Recorded, TrueRequest};

/// Returns words that only the answer to a request contains.
fn answer(request: &TrueRequest) -> Option<String> {
    let answered = &request.answered;
    if let Some(text) = answered.get("text").and_then(|text| text.as_str()) {
        // Summaries are not answers in every transcript.
        return (!text.starts_with("SUMMARY") && text != "ok").then(|| text.to_owned());
    }
    let text = answered.get("args")?.to_string();
    let known = ["cat services", "total.py", "npm install left-pad", "npm install right-pad"];
    match answered.get("tool")?.as_str()? {
        "complete_task" | "wait_agent" | "spawn_agent" => None,
        _ if text.contains("def tax") => Some("def tax".to_owned()),
        _ if text.contains("right-pad and check") => Some("Install right-pad and check".to_owned()),
        _ => known.iter().rev().find(|known| text.contains(**known)).map(|known| (*known).to_owned()),
    }
}

/// Compares the verdict for every rule and request. Returns the number of those that cannot be judged.
fn compare(scenario: &str) -> usize {
    let recorded = Recorded::new(scenario, Project::Committed);
    let mut wrong = Vec::new();
    let (mut agree, mut unknown) = (0, 0);
    for rule in &recorded.truth.rules {
        if rule.version == 2 && recorded.truth.edits.is_empty() {
            continue;
        }
        for request in &recorded.truth.requests {
            let Some(words) = answer(request) else { continue };
            let report = recorded.report(&rule.rule, SessionChoice::All, Some(&words));
            let mut matching = report.sessions.iter().filter(|session| session.violation.is_some());
            let Some(session) = matching.next() else {
                wrong.push(format!("request {}: no session has `{words}`", request.n));
                continue;
            };
            assert!(matching.next().is_none(), "request {}: `{words}` is in two sessions", request.n);
            let is_visible = rule.visible_in.contains(&request.n);
            let says_visible = matches!(session.verdict, Verdict::Delivered | Verdict::Conflicting);
            if session.verdict == Verdict::Unknown {
                unknown += 1;
            } else if is_visible == says_visible {
                agree += 1;
            } else {
                wrong.push(format!(
                    "request {} ({}), `{}`: {:?}, {:?}, {:?}",
                    request.n, request.phase, rule.rule, session.verdict, session.evidence, session.reason
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agree > 20, "only {agree} were compared");
    unknown
}

#[test]
fn codex_agrees() {
    assert_eq!(compare("codex/main"), 0);
}

#[test]
fn codex_with_scripts_agrees() {
    assert_eq!(compare("codex/code"), 0);
}

#[test]
fn claude_code_agrees() {
    assert_eq!(compare("claude/main"), 0);
}

#[test]
fn claude_code_with_a_restricted_subagent_agrees() {
    assert_eq!(compare("claude/explore"), 0);
}

// Two transcripts do not show restarts, so a rule that was edited during the session cannot be judged afterwards.
#[test]
fn claude_code_without_recorded_instructions_agrees() {
    assert_eq!(compare("claude-2.1.100/main"), 10);
}

#[test]
fn gemini_cli_agrees() {
    assert_eq!(compare("gemini/main"), 0);
}

#[test]
fn opencode_agrees() {
    assert_eq!(compare("opencode/main"), 0);
}

#[test]
fn qwen_code_agrees() {
    assert_eq!(compare("qwen/main"), 0);
}

#[test]
fn pi_agrees() {
    assert_eq!(compare("pi/main"), 6);
}

#[test]
fn copilot_agrees() {
    assert_eq!(compare("copilot/print-mode"), 0);
}
