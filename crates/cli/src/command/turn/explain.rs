//! What made a turn's prompt, for people.

use protocol::hook::HookRun;
use protocol::turn::{ExplainedFile, ExplainedHistory, ExplainedTool, FileDelivery, TurnExplanation};

use super::{describe_spent, status_name};
use crate::command::prompt::{describe_source, hash, list};
use crate::output::one_line;
use crate::words::count;

/// Characters of a call's id or a question.
const WIDTH: usize = 100;

pub(super) fn describe(explanation: &TurnExplanation) -> String {
    let turn = &explanation.turn;
    let mut text = format!(
        "turn {} of thread {}: {}, {}\n{}\n",
        turn.ordinal,
        turn.thread_id,
        status_name(turn.status),
        count(u64::from(explanation.rounds), "round"),
        one_line(&turn.input, WIDTH)
    );
    let width = explanation.sections.iter().map(|section| section.id.chars().count()).max().unwrap_or(0);
    let sections = explanation.sections.iter().map(|section| {
        let cut = if section.truncated { ", cut" } else { "" };
        format!("{:<7}  {:<width$}  {} tokens{cut}", section.stability.name(), section.id, section.tokens)
    });
    list(&mut text, "sections", sections);
    let sources = explanation.sources.iter();
    list(
        &mut text,
        "sources",
        sources.map(|source| format!("{:<width$}  {}", source.section_id, describe_source(&source.source))),
    );
    list(&mut text, "files", explanation.files.iter().map(describe_file));
    list(&mut text, "hooks", explanation.hooks.iter().map(describe_hook));
    list(&mut text, "tools", explanation.tools.iter().map(describe_tool));
    list(&mut text, "history", explanation.history.iter().map(describe_history));
    let model = turn.model.iter().map(|model| format!("asked   {model}"));
    let usage = describe_spent(turn).map(|spent| format!("tokens  {spent}"));
    list(&mut text, "model", model.chain(usage));
    text
}

fn describe_file(file: &ExplainedFile) -> String {
    let how = match file.delivery {
        FileDelivery::Initial => "at the start",
        FileDelivery::Inline => "with its text",
        FileDelivery::Pointer => "by its path",
        FileDelivery::Removed => "no longer applies",
    };
    let mut words = format!("{}  {how}", file.path);
    if let Some(call_id) = &file.call_id {
        words.push_str(&format!(", after call {}", one_line(call_id, WIDTH)));
    }
    if let Some(sha256) = &file.sha256 {
        words.push_str(&format!(", sha256 {}", hash(sha256)));
    }
    words
}

fn describe_hook(hook: &HookRun) -> String {
    let milliseconds = hook.duration_us as f64 / 1000.0;
    let HookRun { phase, hook_id, status, package_id, .. } = hook;
    format!("{phase}  {hook_id}  {}  {milliseconds:.1} ms  ({package_id})", status.name())
}

fn describe_tool(tool: &ExplainedTool) -> String {
    let outcome = match tool.is_error {
        Some(true) => "failed",
        Some(false) => "ok",
        None => "no result",
    };
    let reminders = match tool.reminders.as_slice() {
        [] => String::new(),
        kinds => {
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            format!(", reminders: {}", kinds.join(", "))
        }
    };
    format!("{} {outcome}  ({}){reminders}", one_line(&tool.tool, WIDTH), one_line(&tool.call_id, WIDTH))
}

fn describe_history(history: &ExplainedHistory) -> String {
    let left_out = match (history.left_out_through, history.summarised) {
        (0, _) => String::new(),
        (through, true) => format!("; a summary replaces turns 1 to {through}"),
        (through, false) => format!("; turns 1 to {through} are left out"),
    };
    format!(
        "{} word for word in {}, {} of {} tokens{left_out}",
        count(history.turns, "turn"),
        count(history.entries, "message"),
        history.tokens,
        history.budget_tokens
    )
}
