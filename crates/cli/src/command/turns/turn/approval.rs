//! Approval of pending calls at a terminal.

use std::collections::{HashSet, VecDeque};
use std::io::IsTerminal as _;

use protocol::{TurnApproval, TurnId};
use tokio::sync::mpsc;

use super::question_view::{Asker, Screen, rows};
use crate::output::Output;
use crate::output::count;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Allow, by flag.
    Allow,
    /// Deny, by flag.
    Deny,
    /// Ask on this terminal.
    Terminal,
    /// Wait for another command or client.
    Elsewhere,
    /// Deny, because there is no terminal to ask on.
    Nobody,
}

/// Returns true if a user is at a terminal and can be shown a call.
pub(super) fn is_attended() -> bool {
    // The question goes to standard error and the answer is read from standard input, so both must be
    // terminals.
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Pending questions at this terminal, asked one after another.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: VecDeque<Question>,
    lines: Option<mpsc::UnboundedReceiver<String>>,
    /// True if the cursor is behind a question.
    is_line_open: bool,
    /// Rows of the first question that have not been shown yet.
    unseen: Vec<String>,
    /// Calls that were asked about, by turn and call id.
    asked: HashSet<(Option<TurnId>, String)>,
    /// Standing approvals until the turn ends.
    standing: HashSet<Standing>,
}

/// A pending call and the delegated turn that makes it, if any.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) approval: TurnApproval,
    pub(super) asker: Option<Asker>,
}

/// Result of waiting for an answer.
pub(super) enum Reply {
    /// The user decided.
    Decided { question: Box<Question>, answer: Answer },
    /// The user wants to see more first.
    More(More),
    /// The terminal is gone.
    NobodyThere(Vec<Question>),
}

/// Answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Deny,
    Allow,
    /// Allow this call and every later call of its tool in the same turn.
    AllowAll,
}

impl Answer {
    /// Returns the verdict on the call that was asked about.
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Self::Deny => Verdict::Deny,
            Self::Allow | Self::AllowAll => Verdict::Allow,
        }
    }
}

/// A standing approval for all calls of a tool in one turn, excluding delegated turns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Standing {
    /// The delegated turn, or `None` for the turn that is followed.
    turn_id: Option<TurnId>,
    tool: String,
}

impl Standing {
    pub(super) fn of(approval: &TurnApproval) -> Self {
        Self { turn_id: approval.turn_id.clone(), tool: approval.request.tool.clone() }
    }

    /// Returns true for files shared by all workspaces, which need an approval for each call.
    pub(super) fn covers(&self, approval: &TurnApproval) -> bool {
        *self == Self::of(approval) && !approval.request.identity
    }
}

/// Decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    Deny,
}

/// Amount of text to show next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum More {
    Page,
    All,
}

impl Questions {
    /// Adds a question, to be asked after the earlier ones.
    pub(super) fn ask(&mut self, output: Output, question: Question) {
        self.waiting.push_back(question);
        // Later questions wait: showing one immediately would scroll the open question away.
        if self.waiting.len() == 1 {
            self.show(output);
        }
    }

    /// Returns true if a question is being asked.
    pub(super) fn is_asking(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Removes a question that was answered elsewhere or has expired.
    pub(super) fn forget(&mut self, output: Output, delegated: Option<&TurnId>, call_id: &str) {
        // Call ids are only unique within a turn, so the delegated turn must match as well.
        let is_meant = |Question { approval, .. }: &Question| {
            approval.request.call_id == call_id && approval.turn_id.as_ref() == delegated
        };
        let was_shown = self.waiting.front().is_some_and(is_meant);
        self.waiting.retain(|question| !is_meant(question));
        if was_shown {
            self.break_line(output);
            output.note("(it was decided elsewhere, or too late)");
            self.show(output);
        }
    }

    /// Waits for the answer to the first question; pends forever if there is none.
    pub(super) async fn next(&mut self) -> Reply {
        let (Some(lines), Some(first)) = (&mut self.lines, self.waiting.front()) else {
            return std::future::pending().await;
        };
        match lines.recv().await {
            Some(line) => {
                // Ctrl-D delivers the input without a newline, so the cursor stays on the line.
                self.is_line_open = !line.ends_with('\n');
                let decided = |answer| Reply::Decided { question: Box::new(first.clone()), answer };
                match line.trim().to_lowercase().as_str() {
                    "v" => Reply::More(More::All),
                    "n" | "no" => decided(Answer::Deny),
                    // A call must not be allowed before all of it was shown.
                    _ if !self.unseen.is_empty() => Reply::More(More::Page),
                    "y" | "yes" => decided(Answer::Allow),
                    "a" => decided(Answer::AllowAll),
                    // Anything unclear is a denial, including an empty line: pressing Enter must never allow a call.
                    _ => decided(Answer::Deny),
                }
            }
            None => Reply::NobodyThere(self.waiting.drain(..).collect()),
        }
    }

    /// Returns true if a standing approval covers a call.
    pub(super) fn is_standing(&self, approval: &TurnApproval) -> bool {
        self.standing.iter().any(|standing| standing.covers(approval))
    }

    /// Adds a standing approval and takes out the later questions that it covers.
    pub(super) fn stand(&mut self, standing: Standing) -> Vec<Question> {
        // The first question has just been answered and is removed by `answered`, so only the later ones are
        // searched.
        let behind = self.waiting.split_off(self.waiting.len().min(1));
        let (taken, left): (Vec<_>, Vec<_>) =
            behind.into_iter().partition(|question| standing.covers(&question.approval));
        self.waiting.extend(left);
        self.standing.insert(standing);
        taken
    }

    /// Continues with the next question.
    pub(super) fn answered(&mut self, output: Output) {
        self.waiting.pop_front();
        self.show(output);
    }

    fn show(&mut self, output: Output) {
        let Some(Question { approval, asker }) = self.waiting.front() else { return };
        output.note("");
        // The gateway repeats a request if the call has changed since it was allowed, which the user must notice.
        if !self.asked.insert((approval.turn_id.clone(), approval.request.call_id.clone())) {
            output.note("asking again, because what would run has changed since it was allowed");
        }
        self.unseen = rows(approval, asker.as_ref(), Screen::here().columns);
        self.show_more(output, More::Page);
    }

    /// Shows the next page of the first question, or all of it, and asks again.
    pub(super) fn show_more(&mut self, output: Output, more: More) {
        let Some(Question { approval, asker }) = self.waiting.front() else { return };
        let screen = Screen::here();
        if self.unseen.is_empty() {
            self.unseen = rows(approval, asker.as_ref(), screen.columns);
        }
        // One row is reserved for the question.
        let page = if more == More::All { usize::MAX } else { screen.rows - 2 };
        self.unseen.drain(..page.min(self.unseen.len())).for_each(|row| output.note(row));
        // Discard input typed earlier, which cannot be an answer to this question.
        let _ = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush);
        let lines = self.lines.get_or_insert_with(read_lines);
        // The reading thread may have taken earlier input already, so its queue is emptied too.
        while lines.try_recv().is_ok() {}
        self.ask_line(output);
    }

    /// Prints the possible answers.
    fn ask_line(&mut self, output: Output) {
        let Some(Question { asker, .. }) = self.waiting.front() else { return };
        match self.unseen.len() as u64 {
            0 => {
                let turn = asker.as_ref().map_or("in this turn".to_owned(), |asker| format!("by {asker}"));
                output.ask(&format!("allow it? y yes, N no, v view all again, a all of this tool {turn}: "));
            }
            more => {
                output.ask(&format!("{} more: Enter the next page, v view all, n no: ", count(more, "row")))
            }
        }
        self.is_line_open = true;
    }

    /// Prints the question again after other output.
    pub(super) fn ask_again(&mut self, output: Output) {
        if !self.is_line_open {
            self.ask_line(output);
        }
    }

    /// Ends the line of a question for other output.
    pub(super) fn break_line(&mut self, output: Output) {
        if std::mem::take(&mut self.is_line_open) {
            output.note("");
        }
    }
}

/// Reads lines of standard input in a thread, because a blocking read cannot be cancelled.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        // At the end of input the thread ends and closes the channel, by which `next` notices that the terminal is
        // gone.
        while let Ok(1..) = std::io::stdin().read_line(&mut line) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    lines
}
