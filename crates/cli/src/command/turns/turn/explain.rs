//! Formats what a turn's prompt was made of.

use protocol::hook::HookRun;
use protocol::prompt::PromptPolicy;
use protocol::round::ExplainedRound;
use protocol::turn::{
    ExplainedFile, ExplainedHistory, ExplainedJob, ExplainedTool, FileDelivery, TurnExplanation,
};
use protocol::{ApprovalDecision, CallEffects, HowDecided, ProtectedChange, Turn, TurnApproval, TurnStatus};

use super::steps::outcome;
use super::{describe_spent, describe_usage, status_name};
use crate::command::turns::prompt::{
    describe_diagnostic, describe_left_out, describe_remark, describe_source, hash, list,
};
use crate::enum_names::enum_str;
use crate::output::count;
use crate::output::terminal::when;
use crate::output::{one_line, shown_name, shown_path};

/// Maximum length of a call id or question.
const WIDTH: usize = 100;

pub(super) fn describe(explanation: &TurnExplanation) -> String {
    let turn = &explanation.turn;
    let mut text = format!(
        "turn {} of thread {}: {}, {}\n{}\n",
        turn.ordinal,
        turn.thread_id,
        status_name(turn.status),
        count(explanation.rounds.len() as u64, "round"),
        one_line(&turn.input, WIDTH)
    );
    let width = explanation.sections.iter().map(|section| section.id.chars().count()).max().unwrap_or(0);
    let sections = explanation.sections.iter().map(|section| {
        let remark = describe_remark(section);
        format!("{:<7}  {:<width$}  {} tokens{remark}", section.stability.name(), section.id, section.tokens)
    });
    list(&mut text, "sections", sections);
    let sources = explanation.sources.iter();
    list(
        &mut text,
        "sources",
        sources.map(|source| format!("{:<width$}  {}", source.section_id, describe_source(&source.source))),
    );
    list(&mut text, "policies", explanation.policies.iter().map(describe_policy));
    list(&mut text, "left out", explanation.left_out.iter().map(|it| describe_left_out(it, width)));
    let diagnostics = explanation.diagnostics.iter();
    list(
        &mut text,
        "diagnostics",
        diagnostics.map(|it| one_line(&describe_diagnostic(it, None), usize::MAX)),
    );
    list(&mut text, "files", explanation.files.iter().map(describe_file));
    list(&mut text, "hooks", explanation.hooks.iter().map(describe_hook));
    list(&mut text, "tools", explanation.tools.iter().map(describe_tool));
    let delegated = &explanation.delegated;
    let numbered = (1..).zip(delegated);
    list(&mut text, "delegated", numbered.map(|(number, it)| describe_delegated(number, it, delegated)));
    list(&mut text, "afterwards", explanation.jobs.iter().map(describe_job));
    list(&mut text, "decisions", explanation.approvals.iter().map(|it| describe_decision(it, turn.status)));
    list(&mut text, "history", explanation.history.iter().map(describe_history));
    let several = explanation.rounds.iter();
    list(&mut text, "rounds", several.flat_map(|round| describe_round(round, turn.status)));
    let model = turn.model.iter().map(|model| format!("asked   {model}"));
    let usage = describe_spent(turn).map(|spent| format!("tokens  {spent}"));
    list(&mut text, "model", model.chain(usage));
    text
}

fn describe_file(file: &ExplainedFile) -> String {
    let how = match file.delivery {
        FileDelivery::Initial => "at the start",
        FileDelivery::Inline => "delivered with its text",
        FileDelivery::Read => "read whole",
        FileDelivery::Pointer => "announced by its path",
        FileDelivery::Removed => "no longer applies",
    };
    let mut words = format!("{}  {how}", shown_path(&file.path));
    if let Some(call_id) = &file.call_id {
        words.push_str(&format!(", after call {}", one_line(call_id, WIDTH)));
    }
    if let Some(sha256) = &file.sha256 {
        words.push_str(&format!(", sha256 {}", hash(sha256)));
    }
    words
}

/// Formats a decision about the turn, with its reason and effect.
fn describe_policy(policy: &PromptPolicy) -> String {
    let mut words = format!("{}  {}", one_line(&policy.key, WIDTH), policy.value);
    for (name, text) in [("because", &policy.reason), ("effect:", &policy.effect)] {
        if let Some(text) = text {
            words.push_str(&format!("; {name} {}", one_line(text, usize::MAX)));
        }
    }
    words
}

fn describe_hook(hook: &HookRun) -> String {
    let milliseconds = hook.duration_us as f64 / 1000.0;
    let HookRun { phase, hook_id, status, package_id, .. } = hook;
    format!("{phase}  {hook_id}  {}  {milliseconds:.1} ms  ({package_id})", status.name())
}

fn describe_tool(tool: &ExplainedTool) -> String {
    let result = match tool.is_error {
        // A call without a result was interrupted, or it is still running.
        Some(is_error) => outcome(is_error, tool.reminders.iter().copied()),
        None => "no result",
    };
    let reminders = match tool.reminders.as_slice() {
        [] => String::new(),
        kinds => {
            let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
            format!(", reminders: {}", kinds.join(", "))
        }
    };
    let effects = describe_effects(&tool.effects);
    format!(
        "{} {result}  ({}){reminders}{effects}",
        one_line(&tool.tool, WIDTH),
        one_line(&tool.call_id, WIDTH)
    )
}

/// Formats a delegated turn; turns of deeper levels are indented.
fn describe_delegated(number: usize, turn: &Turn, all: &[Turn]) -> String {
    let spent = describe_spent(turn).map(|spent| format!(", tokens: {spent}")).unwrap_or_default();
    let parent = |turn: &Turn| all.iter().find(|other| Some(&other.id) == turn.parent_turn_id.as_ref());
    // A delegated turn may delegate again, so its depth is the number of its ancestors in the list.
    let depth = std::iter::successors(parent(turn), |above| parent(above)).count();
    let indent = "  ".repeat(depth);
    let goal = one_line(&turn.input, WIDTH);
    format!("{indent}{number}  {}  {}{spent}  {goal}", turn.id, status_name(turn.status))
}

/// Formats a job that runs after the turn.
fn describe_job(job: &ExplainedJob) -> String {
    let mut words = format!("{}  {}", one_line(&job.kind, WIDTH), enum_str(&job.status));
    // A first attempt that succeeded is the usual case and not worth a remark.
    if job.attempts > 1 || job.error.is_some() {
        words.push_str(&format!(", tried {}", count(u64::from(job.attempts), "time")));
    }
    if let Some(usage) = &job.usage {
        words.push_str(&format!(", tokens: {}", describe_usage(usage)));
    }
    if let Some(error) = &job.error {
        words.push_str(&format!(": {}", one_line(error, usize::MAX)));
    }
    words
}

/// Formats the side effects of a call, if any.
pub(super) fn describe_effects(effects: &CallEffects) -> String {
    let mut words = String::new();
    if let Some(level) = effects.sandbox {
        words.push_str(&format!(", sandbox {}", level.name()));
    }
    for ProtectedChange { path, change, undone } in &effects.protected_changes {
        let outcome = if *undone { change.undoing() } else { "left as it is" };
        words.push_str(&format!(", protected {} {} ({outcome})", one_line(path, WIDTH), change.name()));
    }
    if effects.unwatched {
        words.push_str(", not all protected files were watched");
    }
    words
}

/// Formats who decided about a call, and how.
pub(super) fn describe_decision(approval: &TurnApproval, status: TurnStatus) -> String {
    let call = one_line(&approval.request.call_id, WIDTH);
    let tool = one_line(&approval.request.tool, WIDTH);
    let outcome = match &approval.decision {
        Some(decision) => describe_verdict(decision),
        None if status == TurnStatus::Running => {
            format!("undecided; a denial from {} on", approval.expires_at)
        }
        None => "undecided when the turn ended; it did not run".to_owned(),
    };
    format!("{tool} ({call})  {outcome}")
}

fn describe_verdict(decision: &ApprovalDecision) -> String {
    let ApprovalDecision { allowed, decided_by, decided_at, how } = decision;
    let when = when(*decided_at);
    let who = decided_by.as_deref().map_or_else(|| "somebody without a name".to_owned(), shown_name);
    let (verb, flag) = if *allowed { ("allowed", "--allow-writes") } else { ("denied", "--deny-writes") };
    match how {
        HowDecided::Asked => format!("{verb} by {who} {when}"),
        HowDecided::Standing => format!("{verb} by {who} {when} (standing)"),
        HowDecided::Flag => format!("{verb} by {flag} of {who} {when}; nobody was asked"),
        HowDecided::Unattended => format!("{verb} {when}: nobody was there to be asked, for {who}"),
        HowDecided::Expired => format!("{verb} {when}: nobody answered in time"),
    }
}

/// Formats a round: its number, request, reminders, calls and usage.
fn describe_round(round: &ExplainedRound, status: TurnStatus) -> Vec<String> {
    // Sections that an earlier turn contains are not sent again, so they do not count as part of this request.
    let sent = round.sections.iter().filter(|section| !section.said_earlier);
    let (sections, tokens) = sent.fold((0, 0), |(count, sum), section| (count + 1, sum + section.tokens));
    let prompt = match round.same_as {
        Some(same) => format!("the manifest of round {same}"),
        None => format!("{} of {tokens} tokens", count(sections, "section")),
    };
    let mut lines = vec![format!("{:<3} {prompt}", round.round)];
    let mut add = |label: &str, text: String| lines.push(format!("    {label:<9} {text}"));
    if let Some(request) = &round.request {
        let tools: Vec<String> = request.tools.iter().map(|tool| one_line(&tool.name, WIDTH)).collect();
        let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        add("mode", enum_str(&request.mode).to_owned());
        add("tools", format!("{tools} (choice: {})", enum_str(&request.tool_choice)));
        if !request.requested_tools.is_empty() {
            add("requested", one_line(&request.requested_tools.join(", "), usize::MAX));
        }
        for hidden in &request.hidden_tools {
            add("hidden", one_line(&format!("{}: {}", hidden.domain, hidden.tools.join(", ")), usize::MAX));
        }
        for note in &request.notes {
            add("note", enum_str(note).to_owned());
        }
    }
    if let Some(history) = &round.history {
        add("history", describe_history(history));
        add_text(&mut add, "summary", history.summary.as_deref().unwrap_or_default());
    }
    for note in &round.notes {
        add_text(&mut add, "said", &note.text);
    }
    for reminder in &round.reminders {
        let after = reminder.call_id.as_deref().map(|id| format!(", after call {}", one_line(id, WIDTH)));
        add("told", format!("{}{}", reminder.kind, after.unwrap_or_default()));
        for file in &reminder.files {
            add("", describe_file(&ExplainedFile { call_id: None, ..file.clone() }));
        }
    }
    for call in &round.calls {
        add("called", describe_tool(call));
    }
    for approval in &round.approvals {
        add("decided", describe_decision(approval, status));
    }
    if let Some(outcome) = &round.outcome {
        let marks: Vec<&str> = outcome.cache_marks.iter().map(enum_str).collect();
        if !marks.is_empty() {
            add("cache", format!("marked after {}", marks.join(", ").replace('_', " ")));
        }
        if outcome.cut {
            add("answer", "cut off before its end".to_owned());
        }
        add("tokens", describe_usage(&outcome.usage));
    }
    lines
}

/// Appends a text that a model was sent, line by line.
fn add_text(add: &mut impl FnMut(&str, String), label: &str, text: &str) {
    // Only the first line carries the label; the others are aligned below it.
    let mut label = label;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        add(label, one_line(line, usize::MAX));
        label = "";
    }
}

fn describe_history(history: &ExplainedHistory) -> String {
    let left_out = match (history.left_out_through, history.missing_after, history.summarised) {
        (0, ..) => String::new(),
        (through, None, true) => format!("; a summary replaces turns 1 to {through}"),
        (through, Some(after), true) => format!(
            "; a summary replaces turns 1 to {after}, and turns {} to {through} are left out without one",
            after + 1
        ),
        (through, _, false) => format!("; turns 1 to {through} are left out"),
    };
    format!(
        "{} word for word in {}, {} of {} tokens{left_out}",
        count(history.turns, "turn"),
        count(history.entries, "message"),
        history.tokens,
        history.budget_tokens
    )
}
