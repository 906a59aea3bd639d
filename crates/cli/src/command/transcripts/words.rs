//! Verdicts in words.

use std::path::Path;

use anstyle::AnsiColor;
use protocol::{DeliveryTime, RuleLine, TranscriptEvidence, Verdict, WhyReport, WhySession};
use transcripts::TranscriptAgent;

use crate::command::files::explain::paint;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::{self, wrap};
use crate::output::{count, one_line, plain};

/// Longest title in the heading.
const TITLE: usize = 50;
/// Indentation of the lines below the heading.
const INDENT: &str = "  ";

/// Amount of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Three lines for each session.
    Answer,
    /// The evidence too.
    Evidence,
}

/// Formats a report.
pub(super) fn report_text(report: &WhyReport, root: &Path, detail: Detail) -> String {
    let sessions = report.sessions.iter().map(|session| session_text(&report.rule, session, root, detail));
    sessions.collect::<Vec<_>>().join("\n")
}

fn session_text(rule: &RuleLine, session: &WhySession, root: &Path, detail: Detail) -> String {
    let screen = terminal::columns();
    let viewpoint = Viewpoint::at(root);
    let mut text = format!("{}\n", heading(session));
    let mut add = |line: String| {
        text.push_str(&format!("{}\n", wrap(&format!("{INDENT}{line}"), screen, INDENT.len())));
    };
    let file = viewpoint.path(Path::new(&rule.path));
    add(format!("{file}:{} \"{}\" {}", rule.line, plain(&rule.text), fact(session)));
    let cause = cause(rule, session, viewpoint);
    let cause = if cause.is_empty() { cause } else { format!("{cause} ") };
    add(format!("{cause}hint: {}", plain(&session.advice)));
    if detail == Detail::Evidence {
        for line in evidence(session, viewpoint) {
            add(line);
        }
        if let Some(diff) = &session.diff {
            for line in diff.lines() {
                text.push_str(&format!("{INDENT}{INDENT}{}\n", plain(line)));
            }
        }
    }
    text
}

fn heading(session: &WhySession) -> String {
    let version = session.version.as_ref().map_or_else(String::new, |version| format!(" {}", plain(version)));
    let title = session
        .title
        .as_ref()
        .map_or_else(String::new, |title| format!("  \"{}\"", one_line(&plain(title), TITLE)));
    let parent = if session.parent.is_some() { " (subagent)" } else { "" };
    let color = match session.verdict {
        Verdict::Delivered => AnsiColor::Green,
        Verdict::Unknown => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    let verdict = paint(color.on_default().bold(), session.verdict.words());
    let at = super::minute(session.started_at);
    format!("{}{version}{parent}  {at}{title}  {verdict}", plain(&session.agent))
}

/// Returns the predicate of the sentence about the rule.
fn fact(session: &WhySession) -> String {
    match session.verdict {
        Verdict::Delivered => match (session.messages_before, session.tokens_before) {
            (Some(messages), Some(tokens)) if tokens > 0 => format!(
                "was in front of the model, {} and {} before.",
                count(messages, "message"),
                count(tokens, "token")
            ),
            (Some(messages), _) => {
                format!("was in front of the model, {} before.", count(messages, "message"))
            }
            _ => "was in front of the model.".to_owned(),
        },
        Verdict::Conflicting => "was in front of the model in two versions of its file.".to_owned(),
        Verdict::Outdated => "was in front of the model only in another version.".to_owned(),
        Verdict::Truncated => "was cut off.".to_owned(),
        Verdict::Dropped => "was in front of the model, and was removed before.".to_owned(),
        Verdict::TooLate => "reached the model only afterwards.".to_owned(),
        Verdict::NeverLoaded => "was not in front of the model.".to_owned(),
        Verdict::Unknown => "cannot be judged in this session.".to_owned(),
    }
}

/// Returns a sentence about the cause, or an empty text.
fn cause(rule: &RuleLine, session: &WhySession, viewpoint: Viewpoint<'_>) -> String {
    let title = TranscriptAgent::find(&session.agent).map_or(session.agent.as_str(), |agent| agent.title());
    let reason = session.reason.as_deref().unwrap_or_default();
    let cwd = plain(&session.cwd);
    let name = Path::new(&rule.path).file_name().unwrap_or_default().to_string_lossy();
    let name = plain(name);
    let (word, note) = match reason.split_once("; ") {
        Some((word, note)) => (word, format!(" ({note})")),
        None => (reason, String::new()),
    };
    let sentence = match session.verdict {
        Verdict::Dropped => match session.dropped_at {
            Some(message) => format!("It left the context after message {message}."),
            None => "It left the context.".to_owned(),
        },
        Verdict::TooLate => session.deliveries.first().map_or_else(String::new, |delivery| {
            format!("{name} was loaded with message {}.", delivery.message)
        }),
        Verdict::Truncated => format!("{title} read only the beginning of {name}."),
        Verdict::Outdated => {
            format!("{title} had another version of {name}; --verbose shows the difference.")
        }
        Verdict::Conflicting => format!("{title} keeps the earlier text of {name} and adds the new one."),
        Verdict::Unknown => format!("{}.", viewpoint.sentence(reason)),
        Verdict::NeverLoaded => match word {
            "below_cwd" => format!("{title} was started in {cwd} and loaded no file below that directory."),
            "not_on_chain" => format!("{title} was started in {cwd}, to which the file does not apply."),
            "above_root" => "The file is above the root of the project.".to_owned(),
            "shadowed" => format!("Another file in its directory hides {name}."),
            "over_budget" => format!("The files before it used up the limit of {title}."),
            "ignored" => format!("{title} does not read a file under this name there."),
            "subagent" => "This kind of subagent gets no instruction files.".to_owned(),
            "absent" => format!("{title} loaded no text of {name} in this session."),
            "" => String::new(),
            other => format!("The rules of {title}: {}.", viewpoint.sentence(&other.replace('_', " "))),
        },
        Verdict::Delivered => String::new(),
    };
    let sentence = sentence + &plain(note);
    match session.evidence {
        TranscriptEvidence::Inferred | TranscriptEvidence::Recovered
            if !matches!(session.verdict, Verdict::NeverLoaded | Verdict::Unknown) && !reason.is_empty() =>
        {
            format!("{sentence} This is {}.", viewpoint.sentence(reason)).trim().to_owned()
        }
        _ => sentence,
    }
}

/// Returns the evidence, one fact in each line.
fn evidence(session: &WhySession, viewpoint: Viewpoint<'_>) -> Vec<String> {
    let evidence = match session.evidence {
        TranscriptEvidence::Recorded => "recorded",
        TranscriptEvidence::Recovered => "recovered",
        TranscriptEvidence::Inferred => "inferred",
    };
    let mut lines = vec![format!("session {} in {}: {evidence}", plain(&session.id), plain(&session.cwd))];
    for delivery in &session.deliveries {
        let place = match delivery.message {
            0 => "system prompt".to_owned(),
            message => format!("message {message}"),
        };
        let cause = match delivery.when {
            DeliveryTime::Start => "at the start",
            DeliveryTime::Reading => "by reading",
            DeliveryTime::Reminder => "by a reminder",
            DeliveryTime::Resume => "on resume",
        };
        lines.push(format!("{place}: {} loaded {cause}", viewpoint.path(Path::new(&delivery.path))));
    }
    if let Some(violation) = &session.violation {
        let author = violation.tool.as_ref().map_or("answer", String::as_str);
        lines.push(format!("message {}: {}: {}", violation.message, plain(author), plain(&violation.text)));
    }
    lines
}
