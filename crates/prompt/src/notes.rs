//! Texts that are appended to a message, because inside the prompt they would break the cached prefix.

use crate::section::{FINAL_ANSWER, RECOVERY_CONTINUATION, RETRY_INSTRUCTION, SectionKind, UNANSWERED_TURNS};
use crate::texts;

/// Asks a model to continue an answer that was cut off.
pub fn recovery_continuation() -> String {
    section(heading(RECOVERY_CONTINUATION), texts::RECOVERY_CONTINUATION)
}

/// Informs a model that its answer was cut off inside a call, which therefore did not run.
pub fn cut_call(tool: &str) -> String {
    // A model may send any bytes as a tool name, so the name is quoted only if it is a plausible one.
    let is_name = tool.len() <= 64 && tool.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it));
    let tool = if is_name && !tool.is_empty() { format!(" of `{tool}`") } else { String::new() };
    section(heading(RECOVERY_CONTINUATION), &texts::CUT_CALL.replace("{tool}", &tool))
}

/// Asks a model for an answer after an empty one.
pub fn empty_answer() -> String {
    section(heading(RECOVERY_CONTINUATION), texts::EMPTY_ANSWER)
}

/// Share of the calls of a round that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedCalls {
    /// Others succeeded.
    Some,
    /// None succeeded.
    All,
}

/// Informs a model that calls of the round failed.
pub fn retry_instruction(failed: FailedCalls) -> String {
    let text = match failed {
        FailedCalls::Some => texts::SOME_FAILED,
        FailedCalls::All => texts::ALL_FAILED,
    };
    section(heading(RETRY_INSTRUCTION), text)
}

/// Informs a model that its tool budget is spent and that it must answer.
pub fn final_answer() -> String {
    section(heading(FINAL_ANSWER), texts::FINAL_ANSWER)
}

/// Returns the instructions for summarising a conversation in at most `tokens` tokens.
pub fn summary_request(tokens: usize) -> String {
    texts::SUMMARY_REQUEST.replace("{tokens}", &tokens.to_string())
}

/// Returns an earlier summary as it appears in the input of the next one.
pub fn earlier_summary(text: &str) -> String {
    let text = text.trim();
    // A model that summarises a text with this prefix may repeat the prefix. Without the check it would grow every time.
    let said_already = text.starts_with(texts::EARLIER_SUMMARY);
    if said_already { text.to_owned() } else { format!("{}{text}", texts::EARLIER_SUMMARY) }
}

/// Joins the two ends of a summary that is far too long.
pub fn cut_summary(beginning: &str, left_out: usize, end: &str) -> String {
    format!("{beginning}\n[foreword: {left_out} characters of this summary are left out here]\n{end}")
}

/// Joins the two ends of a message that is far too long for a summary.
pub fn cut_message(beginning: &str, left_out: usize, end: &str) -> String {
    format!("{beginning}\n[foreword: {left_out} characters of this message are left out here]\n{end}")
}

/// Returns a summary as it appears in place of the summarised turns.
pub fn summary(text: &str) -> String {
    let text = text.trim();
    // The model may have copied the prefix from its input; the heading already has that meaning.
    let text = text.strip_prefix(texts::EARLIER_SUMMARY).unwrap_or(text);
    section("Summary of the Earlier Conversation", text)
}

/// Informs a model that earlier turns are missing from the request and from any summary.
pub fn missing_turns() -> String {
    missing("The turns before what follows")
}

/// Informs a model that turns after a summary are missing from both the summary and the request.
pub fn missing_turns_after_summary() -> String {
    missing("The turns between this summary and what follows")
}

fn missing(turns: &str) -> String {
    section("Turns Left Out", &texts::MISSING_TURNS.replace("{turns}", turns))
}

/// Possible side effects of turns that ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfDone {
    /// The turns changed nothing.
    Nothing,
    /// The turns may have changed something.
    Something,
}

/// Lists turns that ended without an answer, so that the model does not repeat work that is half done.
pub fn unanswered_turns(lines: &str, half_done: HalfDone) -> String {
    let rest = if half_done == HalfDone::Something { texts::UNANSWERED_CHANGES } else { "" };
    section(heading(UNANSWERED_TURNS), &format!("{lines}\n{}{rest}", texts::UNANSWERED_TURNS))
}

/// Returns the heading from the table of sections.
fn heading(id: &str) -> &'static str {
    SectionKind::find(id).map_or("", |kind| kind.title)
}

fn section(title: &str, text: &str) -> String {
    format!("## {title}\n{text}")
}
