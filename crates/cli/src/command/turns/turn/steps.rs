//! Formats the steps of a turn.

use std::collections::HashMap;

use protocol::method::TurnGetResult;
use protocol::turn::{TurnReminder, TurnStep};
use protocol::{MessageRole, SystemReminderType, ToolCall, TurnApproval, TurnStatus};
use serde_json::{Map, Value};

use super::explain::describe_decision;
use super::question_view::{Asker, Screen, rows};
use super::{describe_spent, status_name};
use crate::output::count;
use crate::output::terminal::{columns, time, wrap};
use crate::output::{one_line, shown_name};

/// Maximum length of a call's description.
const CALL_WIDTH: usize = 100;
/// Maximum length of a line of a result.
const LINE_WIDTH: usize = 160;
/// Maximum number of lines of a result.
const RESULT_LINES: usize = 8;

/// Most informative arguments of a call; the first one present is shown.
const TELLING_ARGUMENTS: &[&str] = &["path", "command", "pattern"];

/// Amount of calls, results and reminders to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Shortened,
    Whole,
}

/// Formats a turn with all its steps. Paths are relative to the workspace's root.
pub(super) fn describe(result: &TurnGetResult, root: Option<&str>, extent: Extent) -> String {
    let turn = &result.turn;
    let mut text = String::new();
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let line = format!("{name:<8}  {value}");
            text.push_str(&format!("{}\n", wrap(&line, columns(), 10)));
        }
    };
    row("turn", Some(turn.id.to_string()));
    row("thread", Some(turn.thread_id.to_string()));
    row("number", Some(turn.ordinal.to_string()));
    row("status", Some(status_name(turn.status).to_owned()));
    row("model", turn.model.clone());
    row("cwd", turn.cwd.clone());
    row("began", Some(time(turn.created_at)));
    row("ended", turn.finished_at.map(time));
    row("by", turn.created_by.as_deref().map(shown_name));
    row("tokens", describe_spent(turn));
    // A result only contains the id of its call, so the tool's name is looked up by it.
    let tools: HashMap<&str, &str> =
        calls(&result.steps).map(|call| (call.id.as_str(), call.name.as_str())).collect();
    let steps = Steps { tools, root, extent };
    result.steps.iter().for_each(|step| steps.add(&mut text, step));
    if let Some(error) = &turn.error {
        text.push_str(&format!("\n{}\n", status_name(TurnStatus::Failed)));
        add_lines(&mut text, &error.message, usize::MAX);
    }
    if !result.approvals.is_empty() {
        text.push_str("\nwaits for a decision\n");
        for approval in &result.approvals {
            text.push_str(&format!(
                "  {}  {}\n    {}, until {}\n",
                one_line(&approval.request.call_id, CALL_WIDTH),
                describe_approval(approval),
                approval.request.rule,
                approval.expires_at
            ));
            let columns = Screen::here().columns.saturating_sub(4);
            let asker = Asker::of(approval, &result.delegated);
            rows(approval, asker.as_ref(), columns)
                .iter()
                .for_each(|row| text.push_str(&format!("    {row}\n")));
        }
    }
    if !result.decided.is_empty() {
        text.push_str("\ndecisions\n");
        result
            .decided
            .iter()
            .for_each(|it| text.push_str(&format!("  {}\n", describe_decision(it, result.turn.status))));
    }
    text
}

/// State needed to format a step.
struct Steps<'a> {
    /// Names of tools by call id.
    tools: HashMap<&'a str, &'a str>,
    root: Option<&'a str>,
    extent: Extent,
}

impl Steps<'_> {
    fn add(&self, text: &mut String, step: &TurnStep) {
        text.push_str(match step.role {
            MessageRole::User => "\nuser\n",
            MessageRole::Assistant => "\nmodel\n",
            MessageRole::Tool => "\ntools\n",
        });
        if !step.text.is_empty() {
            add_lines(text, &step.text, usize::MAX);
        }
        for call in &step.calls {
            let id = one_line(&call.id, CALL_WIDTH);
            text.push_str(&format!("  calls {}  ({id})\n", describe_call(call)));
            if self.extent == Extent::Whole {
                self.add_below(text, &arguments(call));
            }
        }
        for result in &step.results {
            let tool = self.tools.get(result.call_id.as_str()).copied().unwrap_or("?");
            let outcome = outcome(result.is_error, result.reminders.iter().map(|reminder| reminder.kind));
            let call_id = one_line(&result.call_id, CALL_WIDTH);
            text.push_str(&format!("  {} {outcome}  ({call_id})\n", one_line(tool, CALL_WIDTH)));
            self.add_below(text, &result.text);
            result.reminders.iter().for_each(|reminder| self.add_reminder(text, reminder));
        }
        step.reminders.iter().for_each(|reminder| self.add_reminder(text, reminder));
    }

    fn add_reminder(&self, text: &mut String, reminder: &TurnReminder) {
        text.push_str(&format!("  reminder {}\n", describe_reminder(reminder, self.root)));
        if self.extent == Extent::Whole {
            self.add_below(text, &reminder.text);
        }
    }

    /// Appends a line that belongs to the one before it.
    fn add_below(&self, text: &mut String, lines: &str) {
        let limit = if self.extent == Extent::Whole { usize::MAX } else { RESULT_LINES };
        let mut below = String::new();
        add_lines(&mut below, lines, limit);
        below.lines().for_each(|line| text.push_str(&format!("{}\n", format!("  {line}").trim_end())));
    }
}

/// Formats a call's arguments, one below the other.
fn arguments(call: &ToolCall) -> String {
    // Some models send arguments that are not JSON. The user should see exactly these, because they explain
    // the failure.
    let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else {
        return call.arguments.clone();
    };
    let lines = arguments.iter().map(|(name, value)| match value.as_str() {
        Some(text) if text.contains('\n') => {
            let lines: String = text.lines().map(|line| format!("\n  {line}")).collect();
            format!("{name}:{lines}")
        }
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Describes how a call ended. A denied call did not run, so it did not fail.
pub(super) fn outcome(
    is_error: bool,
    reminders: impl IntoIterator<Item = SystemReminderType>,
) -> &'static str {
    match is_error {
        true if reminders.into_iter().any(|kind| kind == SystemReminderType::PermissionDecision) => "denied",
        true => "failed",
        false => "ok",
    }
}

/// Formats the first lines of a text, indented, with the number of remaining ones.
pub(super) fn add_lines(text: &mut String, lines: &str, limit: usize) {
    let mut rest = lines.trim_end().lines();
    for line in rest.by_ref().take(limit) {
        // A text without a limit keeps its lines unchanged. Its control characters are escaped when it is printed.
        let line = if limit == usize::MAX { line.to_owned() } else { one_line_kept(line) };
        text.push_str(format!("  {line}").trim_end());
        text.push('\n');
    }
    let more = rest.count() as u64;
    if more > 0 {
        text.push_str(&format!("  … {} more\n", count(more, "line")));
    }
}

/// Formats a line with its leading spaces, which are significant in most files.
fn one_line_kept(line: &str) -> String {
    let content = line.trim_start_matches(' ');
    let spaces = line.len() - content.len();
    " ".repeat(spaces.min(LINE_WIDTH)) + &one_line(content, LINE_WIDTH)
}

/// Iterates over all calls of a turn.
pub(super) fn calls(steps: &[TurnStep]) -> impl Iterator<Item = &ToolCall> {
    steps.iter().flat_map(|step| &step.calls)
}

/// Describes a tool and its arguments on one line.
pub(super) fn describe_call(call: &ToolCall) -> String {
    let arguments: Option<Map<String, Value>> = serde_json::from_str(&call.arguments).ok();
    let what = match &arguments {
        // Without a telling argument, the raw JSON still distinguishes this call from others of the same tool.
        Some(arguments) => telling_argument(arguments).unwrap_or_else(|| call.arguments.clone()),
        None => call.arguments.clone(),
    };
    format!("{} {}", one_line(&call.name, CALL_WIDTH), one_line(&what, CALL_WIDTH)).trim_end().to_owned()
}

/// Describes a pending call and the files it would write on one line.
pub(super) fn describe_approval(approval: &TurnApproval) -> String {
    let what = if approval.request.paths.is_empty() {
        telling_argument(&approval.request.arguments).unwrap_or_default()
    } else {
        approval.request.paths.join(", ")
    };
    format!("{} {}", one_line(&approval.request.tool, CALL_WIDTH), one_line(&what, CALL_WIDTH))
        .trim_end()
        .to_owned()
}

fn telling_argument(arguments: &Map<String, Value>) -> Option<String> {
    let text = |name: &&str| arguments.get(*name).and_then(Value::as_str).map(str::to_owned);
    TELLING_ARGUMENTS.iter().find_map(text)
}

/// Describes a reminder by its type and files.
pub(super) fn describe_reminder(reminder: &TurnReminder, root: Option<&str>) -> String {
    // Only whole components are removed, because `/rep` is not a parent of `/repo`.
    let below =
        |path: &'_ str| -> Option<String> { Some(path.strip_prefix(root?)?.strip_prefix('/')?.to_owned()) };
    let named = |line: &str| -> Option<String> {
        let line = line.strip_prefix("- ")?;
        // A path may contain parentheses, so the last one separates it from the remark.
        let (path, rest) = line.rsplit_once(" (")?;
        let path = below(path).unwrap_or_else(|| path.to_owned());
        match rest {
            _ if rest.starts_with("mtime: ") => Some(path),
            // The first is from turns of older versions.
            _ if ["removed: ", "deleted)", "replaced by ", "no longer applies: "]
                .iter()
                .any(|reason| rest.starts_with(reason)) =>
            {
                Some(format!("{path} (removed)"))
            }
            _ => None,
        }
    };
    let mut words = vec![reminder.kind.to_string()];
    // The texts of files follow an empty line, and may have lines like these.
    words.extend(reminder.text.lines().take_while(|line| !line.is_empty()).filter_map(named));
    one_line(&words.join("  "), LINE_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_described_by_its_files() {
        let text = "<system-reminder type=\"agents.resolve.paths\">\n\
                    Additional AGENTS.md may apply for this path:\n\
                    - /repo/a/AGENTS.md (mtime: 1738970000000)\n\
                    - /repo/b/AGENTS.md (removed: no longer applies)\n\
                    Their text follows; it applies to this scope.\n\n\
                    Instructions from: /repo/a/AGENTS.md\n- not a file (mtime: 1)\n\
                    </system-reminder>";
        let reminder =
            TurnReminder { kind: protocol::SystemReminderType::AgentsResolvePaths, text: text.to_owned() };
        let files = "/repo/a/AGENTS.md  /repo/b/AGENTS.md (removed)";
        for elsewhere in [None, Some("/rep"), Some("/other")] {
            assert_eq!(describe_reminder(&reminder, elsewhere), format!("agents.resolve.paths  {files}"));
        }
        let below = "agents.resolve.paths  a/AGENTS.md  b/AGENTS.md (removed)";
        assert_eq!(describe_reminder(&reminder, Some("/repo")), below);
    }

    #[test]
    fn a_call_is_described_by_its_main_argument() {
        let call = |arguments: &str| {
            let id = "1".to_owned();
            let name = "search".to_owned();
            describe_call(&ToolCall { id, name, arguments: arguments.to_owned() })
        };
        assert_eq!(call(r#"{"glob": "*", "path": "src"}"#), "search src");
        assert_eq!(call(r#"{"pattern": "a\nb\u001b[2J"}"#), "search a b\\u{1b}[2J");
        assert_eq!(call(r#"{"x": 1}"#), r#"search {"x": 1}"#);
        assert_eq!(call("not json"), "search not json");
        assert_eq!(call(""), "search");
    }

    #[test]
    fn full_arguments_are_on_separate_lines() {
        let call =
            |arguments: &str| ToolCall { id: "1".into(), name: "x".into(), arguments: arguments.into() };
        assert_eq!(
            arguments(&call(r#"{"path": "a.md", "text": "one\n two\n", "times": 2}"#)),
            "path: a.md\ntext:\n  one\n   two\ntimes: 2"
        );
        assert_eq!(arguments(&call("not json")), "not json");
    }

    #[test]
    fn long_results_are_shortened() {
        let mut text = String::new();
        add_lines(&mut text, "one\n    two\nthree\nfour\n", 2);
        assert_eq!(text, "  one\n      two\n  … 2 lines more\n");
    }
}
