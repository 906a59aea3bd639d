//! Texts of ours at the end of a message instead of in the prompt, where they would break its prefix.

use crate::section::{RECOVERY_CONTINUATION, RETRY_INSTRUCTION, SectionKind};
use crate::texts;

/// Tells a model whose answer was cut off to go on.
pub fn recovery_continuation() -> String {
    section(heading(RECOVERY_CONTINUATION), texts::RECOVERY_CONTINUATION)
}

/// Tells a model whose answer was cut off in the middle of a call what has become of it.
pub fn cut_call(tool: &str) -> String {
    // A model may call anything it likes, so the name is only quoted where it can be one.
    let is_name = tool.len() <= 64 && tool.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it));
    let tool = if is_name && !tool.is_empty() { format!(" of `{tool}`") } else { String::new() };
    section(heading(RECOVERY_CONTINUATION), &texts::CUT_CALL.replace("{tool}", &tool))
}

/// Tells a model whose answer was empty to give one.
pub fn empty_answer() -> String {
    section(heading(RECOVERY_CONTINUATION), texts::EMPTY_ANSWER)
}

/// Tells a model that some of its calls failed, where others did not.
pub fn retry_instruction() -> String {
    section(heading(RETRY_INSTRUCTION), texts::RETRY_INSTRUCTION)
}

/// Tells a model that it has spent its budget of tools and must answer.
pub fn final_answer() -> String {
    section("Final Answer", texts::FINAL_ANSWER)
}

/// Tells a model how to summarise a conversation, in at most so many tokens.
pub fn summary_request(tokens: usize) -> String {
    texts::SUMMARY_REQUEST.replace("{tokens}", &tokens.to_string())
}

/// A summary in what the next one is made from.
pub fn earlier_summary(text: &str) -> String {
    let text = text.trim();
    // Made from a text that begins with it, a summary may begin with it too; it does not have to grow each time.
    let said_already = text.starts_with(texts::EARLIER_SUMMARY);
    if said_already { text.to_owned() } else { format!("{}{text}", texts::EARLIER_SUMMARY) }
}

/// What is left of a summary that is far too long.
pub fn cut_summary(beginning: &str, left_out: usize, end: &str) -> String {
    format!("{beginning}\n[foreword: {left_out} characters of this summary are left out here]\n{end}")
}

/// What is left of a message that is far too long for a summary.
pub fn cut_message(beginning: &str, left_out: usize, end: &str) -> String {
    format!("{beginning}\n[foreword: {left_out} characters of this message are left out here]\n{end}")
}

/// A summary in place of what it summarises.
pub fn summary(text: &str) -> String {
    let text = text.trim();
    // A summary that repeats what it was made from begins with what stood before that; the heading says it already.
    let text = text.strip_prefix(texts::EARLIER_SUMMARY).unwrap_or(text);
    section("Summary of the Earlier Conversation", text)
}

/// Tells a model that the turns before what follows are not in the request, and in no summary.
pub fn missing_turns() -> String {
    missing("The turns before what follows")
}

/// Tells a model that there were turns after a summary that are neither in it nor in what follows.
pub fn missing_turns_after_summary() -> String {
    missing("The turns between this summary and what follows")
}

fn missing(turns: &str) -> String {
    section("Turns Left Out", &texts::MISSING_TURNS.replace("{turns}", turns))
}

/// Whether turns that ended without an answer may have left something behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HalfDone {
    /// They changed nothing.
    Nothing,
    /// They may have changed something.
    Something,
}

/// Tells a model of turns that ended without an answer, so that it does not repeat what they have half done.
pub fn unanswered_turns(lines: &str, half_done: HalfDone) -> String {
    let rest = if half_done == HalfDone::Something { texts::UNANSWERED_CHANGES } else { "" };
    section("Turns Without an Answer", &format!("{lines}\n{}{rest}", texts::UNANSWERED_TURNS))
}

/// The heading that the table of sections gives.
fn heading(id: &str) -> &'static str {
    SectionKind::find(id).map_or("", |kind| kind.title)
}

fn section(title: &str, text: &str) -> String {
    format!("## {title}\n{text}")
}
