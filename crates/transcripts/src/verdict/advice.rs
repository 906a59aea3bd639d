//! One action for each verdict.

use instructions::profile::OnReading;
use protocol::Verdict;

use crate::agent::TranscriptAgent;
use crate::verdict::completion::Completed;
use crate::verdict::rule::Rule;

/// Agents that `foreword install` connects.
const CONNECTED: &[TranscriptAgent] = &[
    TranscriptAgent::ClaudeCode,
    TranscriptAgent::Codex,
    TranscriptAgent::GeminiCli,
    TranscriptAgent::QwenCode,
    TranscriptAgent::Copilot,
];

/// Returns one action.
pub(crate) fn advice(completed: &Completed, rule: &Rule, verdict: Verdict, reason: Option<&str>) -> String {
    let agent = completed.digest.agent;
    let name = rule.file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if rule.is_gone && verdict != Verdict::Delivered {
        return format!("put the rule back into {name}: only an older commit has it");
    }
    match verdict {
        Verdict::Delivered => {
            "the rule was there, so make it concrete and short, or enforce it with a guard or a check"
                .to_owned()
        }
        Verdict::Conflicting => "start a new session, which has only the current version".to_owned(),
        Verdict::Outdated => format!("start a new session, so that {} reads {name} again", agent.title()),
        Verdict::Truncated => format!("move the rule further up in {name}, or shorten what precedes it"),
        Verdict::Dropped => match connect(agent) {
            Some(command) => format!("connect the agent, so that the file is sent again: {command}"),
            None => "after a compaction, let the agent read the file again".to_owned(),
        },
        Verdict::TooLate => format!("move the rule to a file that {} loads at the start", agent.title()),
        Verdict::NeverLoaded => never_loaded(completed, rule, reason.unwrap_or_default()),
        Verdict::Unknown if reason.is_some_and(|reason| reason.starts_with("no tool call")) => {
            "search for other words with --when, or look at the session: foreword transcript show ID"
                .to_owned()
        }
        Verdict::Unknown => "judge a newer session".to_owned(),
    }
}

fn never_loaded(completed: &Completed, rule: &Rule, reason: &str) -> String {
    let agent = completed.digest.agent;
    let file = &rule.file.path;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let directory = file.parent().unwrap_or(file);
    let root = completed.resolution.as_ref().and_then(|resolution| resolution.root.as_deref());
    let shown =
        root.and_then(|root| directory.strip_prefix(root).ok()).unwrap_or(directory).display().to_string();
    let shown = if shown.is_empty() { ".".to_owned() } else { shown };
    let or_connect = connect(agent).map_or_else(String::new, |command| format!(", or connect it: {command}"));
    match reason.split([';', ':']).next().unwrap_or_default() {
        "below_cwd" => match agent.profile().session.on_reading {
            OnReading::Nothing => format!("start {} in {shown}{or_connect}", agent.title()),
            _ => format!("let the agent read a file in {shown} first{or_connect}"),
        },
        "not_on_chain" => format!("start {} in {shown}{or_connect}", agent.title()),
        "shadowed" => format!("move the rule to the file that hides {name}, which `foreword explain` names"),
        "over_budget" => "shorten the files before it: foreword check finds what is lost".to_owned(),
        "ignored" => {
            format!("give the agent the file under a name that it reads: foreword sync, or import {name}")
        }
        "above_root" => format!("move the rule to a file in the project; {shown} is above its root"),
        "subagent" => {
            "put the rule into the task of the subagent: this kind gets no instruction files".to_owned()
        }
        "absent" => format!("start a new session, so that {} reads {name}", agent.title()),
        "hidden" => "move the rule out of the comment or front matter".to_owned(),
        _ => format!("see the decision about the file: foreword explain --profile {}", agent.name()),
    }
}

fn connect(agent: TranscriptAgent) -> Option<String> {
    CONNECTED.contains(&agent).then(|| format!("foreword install {}", agent.name()))
}
