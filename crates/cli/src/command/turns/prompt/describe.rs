//! Formats a prompt's content, size and differences.

use std::path::Path;

use protocol::preview::{FrozenStart, PromptSizes};
use protocol::prompt::{
    PromptBlame, PromptChange, PromptDiagnostic, PromptLeftOut, PromptManifest, PromptManifestSection,
    PromptRole, PromptSource, PromptSourceKind, PromptTruncation, Stability,
};
use protocol::{ContentHash, FrozenChange, FrozenFile, ToolSpec};

use crate::enum_names::enum_str;
use crate::output::count;
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::wrap;
use crate::output::{one_line, shown_path};

/// Length of the longest bar.
const BAR: u64 = 24;
/// Minimum useful length of the longest bar.
const MIN_BAR: u64 = 6;
/// Indentation of names in a chart.
const INDENT: usize = 9;
/// Width of a source's outcome.
const OUTCOME_WIDTH: usize = 100;
/// Length of an abbreviated hash.
const HASH: usize = 12;

/// A line of a chart.
struct Row<'a> {
    stability: &'static str,
    name: &'a str,
    tokens: u64,
    rest: String,
}

/// Formats the sections with bars and totals, and the tools, history and context window if known. Narrow screens get shorter
/// bars or none.
pub(super) fn chart(manifest: &PromptManifest, sizes: Option<&PromptSizes>, screen: Option<usize>) -> String {
    let sections = &manifest.sections;
    let digits = |number: u64| number.to_string().len();
    let char_width = sections.iter().map(|section| digits(section.chars)).max().unwrap_or(0);
    let mut rows: Vec<Row<'_>> = sections
        .iter()
        .map(|section| Row {
            stability: section.stability.name(),
            name: &section.id,
            tokens: section.tokens,
            rest: format!("{:>char_width$} characters{}", section.chars, describe_remark(section)),
        })
        .collect();
    let mut text = String::new();
    if sections.is_empty() {
        text.push_str("the prompt is empty\n");
    }
    if let Some(sizes) = sizes {
        let rest = count(sizes.tools.len() as u64, "tool");
        rows.push(Row { stability: "", name: "(tools)", tokens: sizes.tool_tokens, rest });
    }
    if let Some(history) = sizes.and_then(|sizes| sizes.history.as_ref()) {
        let summary = if history.summarised { " and a summary" } else { "" };
        let rest = format!("{}{summary}", count(history.turns, "earlier turn"));
        rows.push(Row { stability: "", name: "(history)", tokens: history.tokens, rest });
    }
    // At least 1, because an empty prompt must not cause a division by zero.
    let largest = rows.iter().map(|row| row.tokens).max().unwrap_or(0).max(1);
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let token_width = digits(largest);
    // A remark may wrap to the next line.
    let beside = INDENT + width + 2 + 2 + token_width + " tokens, ".len() + char_width + " characters".len();
    let room = screen.map_or(BAR, |screen| BAR.min(screen.saturating_sub(beside) as u64));
    for row in rows {
        // Rounded up, so that every section with any text has a visible bar.
        let filled = (row.tokens * room).div_ceil(largest);
        let bar = "█".repeat(usize::try_from(filled).unwrap_or(0));
        let bar = if room < MIN_BAR { String::new() } else { format!("{bar:<0$}  ", room as usize) };
        // On a screen too narrow for sizes beside the names, put them below.
        if screen.is_some_and(|screen| beside - 2 > screen) {
            text.push_str(&format!("{:<7}  {}\n", row.stability, row.name));
            let sizes = format!("{:INDENT$}{} tokens, {}", "", row.tokens, row.rest.trim_start());
            text.push_str(&format!("{}\n", wrap(&sizes, screen, INDENT)));
            continue;
        }
        let line = format!(
            "{:<7}  {:<width$}  {bar}{:>token_width$} tokens, {}",
            row.stability, row.name, row.tokens, row.rest,
        );
        text.push_str(&format!("{}\n", wrap(&line, screen, INDENT)));
    }
    let mut sums = String::new();
    let of = |stability: Stability| -> u64 {
        // Sections that an earlier turn contains are listed but not sent, so they do not count.
        let sections =
            sections.iter().filter(|section| section.stability == stability && !section.said_earlier);
        sections.map(|section| section.tokens).sum()
    };
    let stable = of(Stability::Stable);
    let session = of(Stability::Session);
    let turn = of(Stability::Turn);
    if !sections.is_empty() {
        sums.push_str(&format!(
            "{} tokens: {stable} stable, {session} of the session, {turn} of the turn\n",
            stable + session + turn
        ));
    }
    if let Some(sizes) = sizes {
        sums.push_str(&describe_window(sizes));
    }
    sums.lines().for_each(|line| text.push_str(&format!("{}\n", wrap(line, screen, 2))));
    text
}

/// Formats remarks about a section, shown after its size.
pub(crate) fn describe_remark(section: &PromptManifestSection) -> String {
    let mut remark = String::new();
    for (holds, words) in [
        (section.truncated, ", cut"),
        (section.role == PromptRole::User, ", sent as the first user message"),
        (section.said_earlier, ", not sent again: an earlier turn says it"),
    ] {
        if holds {
            remark.push_str(words);
        }
    }
    remark
}

/// Formats the share of the context window that a request takes.
fn describe_window(sizes: &PromptSizes) -> String {
    let share = sizes.request_tokens as f64 * 100.0 / (sizes.window_tokens.max(1)) as f64;
    let mut text = format!(
        "request: {} of {} tokens ({share:.1} % of the window), {} more are kept for the answer\n",
        sizes.request_tokens, sizes.window_tokens, sizes.reserve_tokens
    );
    if sizes.request_tokens + sizes.reserve_tokens > sizes.window_tokens {
        text.push_str("that is too much: the next turn summarises earlier ones first, or fails\n");
    }
    text
}

/// Formats how a thread's frozen start differs from the disk, and the reminder for the next turn.
pub(super) fn describe_frozen(frozen: &FrozenStart) -> String {
    let mut text = String::new();
    if !frozen.files.is_empty() {
        text.push_str("the thread goes on with the instructions it began with; on disk they differ:\n");
        for file in &frozen.files {
            text.push_str(&format!("  {}\n", describe_frozen_file(file)));
        }
    }
    if let Some(asked) = &frozen.asked_cwd {
        let cwd = &frozen.cwd;
        text.push_str(&format!(
            "the thread has worked in {cwd}; its next turn works in {asked}, with the prompt it has\n"
        ));
    }
    match &frozen.reminder {
        Some(reminder) => {
            text.push_str("the next turn will be told:\n");
            for line in reminder.text.lines() {
                text.push_str(format!("  {line}").trim_end());
                text.push('\n');
            }
        }
        None => text.push_str("the model has been told in an earlier turn\n"),
    }
    text.push_str("`--fresh` shows the prompt of a new thread\n");
    text
}

fn describe_frozen_file(file: &FrozenFile) -> String {
    let line = file.line.map_or_else(String::new, |line| format!(", from line {line} on"));
    let change = enum_str::<FrozenChange>(&file.change);
    format!("{change:<7}  {}{line}", shown_path(&file.path))
}

/// Formats tools as a model reads them.
pub(super) fn describe_tools(tools: &[ToolSpec]) -> String {
    let described = tools.iter().map(|ToolSpec { name, description, schema }| {
        let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
        format!("{name}\n{}\n{}\n", indented(description), indented(&schema))
    });
    described.collect::<Vec<_>>().join("\n")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Formats the sources of every section, deviations from the request, and fingerprints.
pub(super) fn details(manifest: &PromptManifest) -> String {
    let mut text = String::new();
    let width = manifest.sections.iter().map(|section| section.id.chars().count()).max().unwrap_or(0);
    let sources = manifest.sections.iter().flat_map(|section| {
        section.sources.iter().map(move |it| format!("{:<width$}  {}", section.id, describe_source(it)))
    });
    list(&mut text, "sources", sources);
    list(&mut text, "left out", manifest.left_out.iter().map(|it| describe_left_out(it, width)));
    let hooks = manifest.hook_sources.iter().map(|source| {
        let cut = match source.truncation {
            PromptTruncation::None => "",
            PromptTruncation::Hook => ", cut to the hook's budget",
            PromptTruncation::Prompt => ", cut to the prompt's budget",
        };
        format!("{:<width$}  {}, priority {}{cut}", source.section_id, source.hook_id, source.priority)
    });
    list(&mut text, "hooks", hooks);
    let request = manifest.request.iter().flat_map(|request| {
        let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        let mode = enum_str(&request.mode);
        let choice = enum_str(&request.tool_choice);
        let mut lines = vec![
            format!("mode         {mode}"),
            format!("tools        {tools}"),
            format!("tool choice  {choice}"),
        ];
        if !request.requested_tools.is_empty() {
            lines.push(format!("requested    {}", request.requested_tools.join(", ")));
        }
        let hidden = request.hidden_tools.iter();
        lines.extend(hidden.map(|it| format!("hidden       {}: {}", it.domain, it.tools.join(", "))));
        lines
    });
    list(&mut text, "request", request);
    list(&mut text, "diagnostics", manifest.diagnostics.iter().map(|it| describe_diagnostic(it, None)));
    let prints = &manifest.fingerprints;
    let prints = [
        ("stable", &prints.stable),
        ("session", &prints.session),
        ("turn", &prints.turn),
        ("dynamic", &prints.dynamic),
        ("full", &prints.full),
    ];
    list(&mut text, "fingerprints", prints.map(|(part, print)| format!("{part:<7}  {print}")));
    text
}

/// Appends a heading and its lines, if there are any.
pub(crate) fn list(text: &mut String, heading: &str, lines: impl IntoIterator<Item = String>) {
    for (index, line) in lines.into_iter().enumerate() {
        if index == 0 {
            text.push_str(&format!("\n{heading}\n"));
        }
        text.push_str(&format!("  {line}\n"));
    }
}

/// Formats a diagnostic, with its file's path relative to the root.
pub(crate) fn describe_diagnostic(diagnostic: &PromptDiagnostic, root: Option<Viewpoint<'_>>) -> String {
    let file = diagnostic.file.as_ref().map(|file| match root {
        Some(root) => root.path(Path::new(file)),
        None => file.clone(),
    });
    let about: Vec<String> = diagnostic.section_id.iter().cloned().chain(file).collect();
    let about = if about.is_empty() { "prompt".to_owned() } else { about.join(", ") };
    format!("{about}: {} ({})", diagnostic.message, diagnostic.code.name())
}

/// Formats the origin of a part of a prompt.
pub(crate) fn describe_source(source: &PromptSource) -> String {
    let mut words = match &source.kind {
        PromptSourceKind::BuiltIn => vec!["built in".to_owned()],
        kind => vec![kind.to_string()],
    };
    // For people, a path is more useful than an id.
    if source.kind != PromptSourceKind::BuiltIn {
        words.extend(source.path.as_ref().or(source.id.as_ref()).map(shown_path));
    }
    words.extend(source.version.map(|version| format!("version {version}")));
    words.extend(source.sha256.as_ref().map(|sha256| format!("sha256 {}", hash(sha256))));
    let text = if source.whole { ", with its text" } else { "" };
    words.extend(source.reason.as_ref().map(|reason| format!("({}{text})", reason.replace('_', " "))));
    words.join(" ")
}

/// Formats a part that is not in a section, with its reason.
pub(crate) fn describe_left_out(left_out: &PromptLeftOut, width: usize) -> String {
    let outcome = left_out.outcome.replace('_', " ");
    let reason = left_out.reason.as_deref().map(|reason| format!(" ({})", reason.replace('_', " ")));
    let mut words = format!(
        "{:<width$}  {}  {}{}",
        left_out.section_id,
        describe_source(&left_out.source),
        one_line(&outcome, OUTCOME_WIDTH),
        one_line(&reason.unwrap_or_default(), OUTCOME_WIDTH)
    );
    if let Some(detail) = &left_out.detail {
        words.push_str(&format!(": {}", one_line(detail, usize::MAX)));
    }
    words
}

/// Abbreviates a hash, keeping enough to distinguish two.
pub(crate) fn hash(sha256: &ContentHash) -> &str {
    sha256.as_str().get(..HASH).unwrap_or(sha256.as_str())
}

/// Subject of a comparison. Only turns have a history that a difference may invalidate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    Turns,
    Directories,
}

/// Formats the cause of a difference.
pub(super) fn describe_blame(blame: &PromptBlame, between: Between) -> String {
    let Some(first) = &blame.first_difference else {
        return format!("nothing differs: all {} tokens can be reused\n", blame.kept_tokens);
    };
    let what = match first.change {
        PromptChange::Edited => "was edited",
        PromptChange::Added => "was added",
        PromptChange::Removed => "was removed",
    };
    let line = first.line.map_or_else(String::new, |line| format!(", from line {line} on"));
    let mut text = format!("section `{}` ({}) {what}{line}\n", first.section_id, first.stability.name());
    for (label, sources) in [("before", &first.sources_before), ("after", &first.sources_after)] {
        for source in sources {
            text.push_str(&format!("  {label:<6}  {}\n", describe_source(source)));
        }
    }
    let PromptBlame { kept_tokens, tokens_before, tokens_after, lost_tokens, lost_prefix_tokens, .. } = blame;
    text.push_str(&format!(
        "{kept_tokens} of the {tokens_after} tokens can be reused, {} are new",
        tokens_after.saturating_sub(*kept_tokens)
    ));
    text.push_str(&match between {
        Between::Turns => format!(
            "; of the {tokens_before} before, {lost_tokens} are lost, {lost_prefix_tokens} of them before the history\n"
        ),
        Between::Directories => format!("; before there were {tokens_before}\n"),
    });
    if blame.changed_sections.len() > 1 {
        text.push_str(&format!("all that differ: {}\n", blame.changed_sections.join(", ")));
    }
    text
}
