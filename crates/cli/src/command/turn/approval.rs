//! Calls that wait for somebody to decide, and somebody at a terminal who does.

use std::collections::VecDeque;

use protocol::TurnApproval;
use serde_json::Value;
use tokio::sync::mpsc;

use super::steps::{add_lines, describe_approval};
use crate::output::{Output, one_line};

/// Lines of a text that somebody should see before saying yes.
const VIEW_LINES: usize = 16;
/// Characters of any other argument.
const VIEW_WIDTH: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// A flag: yes.
    Allow,
    /// A flag: no.
    Deny,
    /// Somebody at this terminal.
    Terminal,
    /// Somebody with another command or client.
    Elsewhere,
}

/// The questions that are open at this terminal, one after another.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: VecDeque<TurnApproval>,
    lines: Option<mpsc::UnboundedReceiver<String>>,
    /// Whether the cursor is behind a question.
    is_line_open: bool,
}

/// How a question was settled.
pub(super) enum Reply {
    /// Somebody said yes or no.
    Decided { call_id: String, allow: bool },
    /// Nobody is at the terminal any more.
    NobodyThere(Vec<TurnApproval>),
}

impl Questions {
    /// Asks, as soon as the questions before it are answered.
    pub(super) fn ask(&mut self, output: Output, approval: TurnApproval) {
        self.waiting.push_back(approval);
        if self.waiting.len() == 1 {
            self.show(output);
        }
    }

    /// Forgets a question that was answered elsewhere, or too late.
    pub(super) fn forget(&mut self, output: Output, call_id: &str) {
        let was_shown = self.waiting.front().is_some_and(|first| first.request.call_id == call_id);
        self.waiting.retain(|approval| approval.request.call_id != call_id);
        if was_shown {
            self.break_line(output);
            output.note("(it was decided elsewhere, or too late)");
            self.show(output);
        }
    }

    /// The answer to the first question; waits for ever while there is none.
    pub(super) async fn next(&mut self) -> Reply {
        let (Some(lines), Some(first)) = (&mut self.lines, self.waiting.front()) else {
            return std::future::pending().await;
        };
        match lines.recv().await {
            Some(line) => {
                // Ctrl-D ends what was typed, and not the line.
                self.is_line_open = !line.ends_with('\n');
                let allow = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
                Reply::Decided { call_id: first.request.call_id.clone(), allow }
            }
            None => Reply::NobodyThere(self.waiting.drain(..).collect()),
        }
    }

    /// Goes on with the next question.
    pub(super) fn answered(&mut self, output: Output) {
        self.waiting.pop_front();
        self.show(output);
    }

    fn show(&mut self, output: Output) {
        let Some(approval) = self.waiting.front() else { return };
        output.note(view(approval));
        // Whatever was typed before nobody typed as an answer to this.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let lines = self.lines.get_or_insert_with(read_lines);
        while lines.try_recv().is_ok() {}
        output.ask("allow it? [y/N] ");
        self.is_line_open = true;
    }

    /// Ends the line of a question, so that something else can be said.
    pub(super) fn break_line(&mut self, output: Output) {
        if std::mem::take(&mut self.is_line_open) {
            output.note("");
        }
    }
}

/// What would be done, for somebody who decides.
pub(super) fn view(approval: &TurnApproval) -> String {
    let mut text = format!(
        "\n{} asks ({})\n",
        describe_approval(approval),
        one_line(&approval.request.rule, VIEW_WIDTH)
    );
    if let Some(level) = approval.request.sandbox {
        text.push_str(&format!("  sandbox: {}\n", level.name()));
    }
    for (name, value) in &approval.request.arguments {
        match value {
            // The files are named above as they are, and not as they were written.
            _ if name == "path" => {}
            Value::String(value) => {
                text.push_str(&format!("  {}:\n", one_line(name, VIEW_WIDTH)));
                let mut lines = String::new();
                add_lines(&mut lines, value, VIEW_LINES);
                lines.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
            }
            other => {
                let (name, value) = (one_line(name, VIEW_WIDTH), one_line(&other.to_string(), VIEW_WIDTH));
                text.push_str(&format!("  {name}: {value}\n"));
            }
        }
    }
    text.trim_end().to_owned()
}

/// The lines of standard input, read where nothing waits for them.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        while let Ok(1..) = std::io::stdin().read_line(&mut line) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{ApprovalRequest, Timestamp};
    use serde_json::json;

    #[test]
    fn what_would_be_written_is_shown_and_cannot_hide() {
        let content = "one\n\u{1b}[2Jtwo\n\u{202e}three\n".to_owned() + &"more\n".repeat(20);
        let arguments = json!({ "path": "a.txt", "content": content, "times": 2 });
        let request = ApprovalRequest {
            call_id: "call_1".to_owned(),
            tool: "write_file".to_owned(),
            arguments: arguments.as_object().cloned().unwrap(),
            paths: vec!["/repo/a.txt".to_owned()],
            rule: "permissions.write = ask".to_owned(),
            sandbox: None,
        };
        let now = Timestamp::now();
        let approval = TurnApproval { request, requested_at: now, expires_at: now, decision: None };
        let view = view(&approval);
        assert!(
            view.starts_with(
                "\nwrite_file /repo/a.txt asks (permissions.write = ask)\n  content:\n    one\n"
            ),
            "{view}"
        );
        assert!(view.contains("\\u{1b}[2Jtwo") && view.contains("\\u{202e}three"), "{view}");
        assert!(view.contains("… 7 lines more") && view.ends_with("\n  times: 2"), "{view}");
    }
}
