//! `foreword prompt`.

use std::io::IsTerminal as _;

use protocol::ThreadId;
use protocol::WorkspaceId;
use protocol::method::{
    PromptDiff, PromptDiffParams, PromptPreview, PromptPreviewParams, PromptRebuild, PromptRebuildParams,
    PromptResult, RoundManifest, TurnGet, TurnGetParams, TurnManifest,
};
use protocol::prompt::{
    PromptBlame, PromptChange, PromptDiagnostic, PromptManifest, PromptSource, PromptTruncation, Stability,
};
use serde::Serialize;
use serde_json::json;

use crate::arguments::Prompt;
use crate::context::{Context, thread_id, turn_id};
use crate::failure::{Exit, Failure};
use crate::output::{Output, print, shown};

/// Characters of the longest bar.
const BAR: u64 = 24;
/// Characters of a hash that people are shown.
const HASH: usize = 12;

pub(crate) async fn run(context: Context, arguments: Prompt) -> Result<Exit, Failure> {
    let output = context.output;
    let client = context.connect().await?;
    let workspace_id = context.workspace(&client, &arguments.scope).await?.id;
    let thread_id = thread_id(&arguments.thread)?;
    if let Some(turn) = &arguments.diff {
        let params = PromptDiffParams {
            workspace_id,
            thread_id,
            turn_id: turn_id(turn)?,
            other_turn_id: arguments.against.as_deref().map(turn_id).transpose()?,
            cwd: arguments.cwd,
        };
        let result = client.call::<PromptDiff>(&params).await?;
        output.data(&result, || describe_blame(&result.blame))?;
        return Ok(Exit::Done);
    }
    if let Some(turn) = &arguments.turn {
        let params = TurnGetParams { workspace_id: workspace_id.clone(), turn_id: turn_id(turn)? };
        if client.call::<TurnGet>(&params).await?.turn.thread_id != thread_id {
            return Err(Failure::usage(format!(
                "turn `{turn}` belongs to another thread than `{thread_id}`"
            )));
        }
    }
    if let (Some(turn), true) = (&arguments.turn, arguments.manifest) {
        let params = TurnGetParams { workspace_id, turn_id: turn_id(turn)? };
        let result = client.call::<TurnManifest>(&params).await?;
        let wanted = |found: &&RoundManifest| arguments.round.is_none_or(|round| found.round == round);
        let Some(found) = result.manifests.iter().rfind(wanted) else {
            return Err(Failure::usage(format!("turn `{turn}` has no such round")));
        };
        let manifest = &found.manifest;
        output.data(manifest, || format!("{}{}", chart(manifest), details(manifest)))?;
        return Ok(Exit::Done);
    }
    let result = match &arguments.turn {
        Some(turn) => {
            let params = rebuild_params(workspace_id, turn, arguments.round)?;
            client.call::<PromptRebuild>(&params).await?
        }
        None => {
            let params = preview_params(workspace_id, thread_id, &arguments);
            client.call::<PromptPreview>(&params).await?
        }
    };
    let manifest = &result.manifest;
    if let Some(id) = &arguments.section {
        let text = section(&result, id).ok_or_else(|| no_section(manifest, id))?;
        print_text(output, &json!({ "id": id, "text": text }), text)?;
        let about = |diagnostic: &&PromptDiagnostic| diagnostic.section_id.as_ref() == Some(id);
        warn(output, manifest.diagnostics.iter().filter(about));
        return Ok(Exit::Done);
    }
    if arguments.manifest {
        output.data(manifest, || format!("{}{}", chart(manifest), details(manifest)))?;
        return Ok(Exit::Done);
    }
    print_text(output, &result, &result.full_text)?;
    if !output.is_json() {
        output.note(format!("\n{}", chart(manifest).trim_end()));
    }
    warn(output, manifest.diagnostics.iter());
    Ok(Exit::Done)
}

/// Exactly the text for programs, so that its fingerprint holds; people want their prompt on a line of its own.
fn print_text(output: Output, result: &impl Serialize, text: &str) -> Result<(), Failure> {
    output.data(result, || shown(text).into_owned())?;
    if !output.is_json() && !text.is_empty() && std::io::stdout().is_terminal() {
        print("\n")?;
    }
    Ok(())
}

/// Programs find this in the manifest.
fn warn<'a>(output: Output, diagnostics: impl Iterator<Item = &'a PromptDiagnostic>) {
    if !output.is_json() {
        diagnostics.for_each(|diagnostic| output.warning(&describe_diagnostic(diagnostic), None));
    }
}

fn preview_params(workspace_id: WorkspaceId, thread_id: ThreadId, arguments: &Prompt) -> PromptPreviewParams {
    PromptPreviewParams {
        workspace_id,
        thread_id,
        cwd: arguments.cwd.clone(),
        input: arguments.input.clone(),
    }
}

fn rebuild_params(
    workspace_id: WorkspaceId,
    turn: &str,
    round: Option<u32>,
) -> Result<PromptRebuildParams, Failure> {
    Ok(PromptRebuildParams { workspace_id, turn_id: turn_id(turn)?, round })
}

fn no_section(manifest: &PromptManifest, id: &str) -> Failure {
    let known: Vec<&str> = manifest.sections.iter().map(|section| section.id.as_str()).collect();
    let failure = Failure::usage(format!("the prompt has no section `{id}`"));
    match known.is_empty() {
        true => failure.hint("it has none at all (prompt.profile)"),
        false => failure.hint(format!("its sections are {}", known.join(", "))),
    }
}

/// One section's text, found by the characters of those before it.
fn section<'a>(result: &'a PromptResult, id: &str) -> Option<&'a str> {
    const JOINT: usize = 2;
    let mut rest = result.full_text.as_str();
    for section in &result.manifest.sections {
        let chars = usize::try_from(section.chars).ok()?;
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(index, _)| index);
        if section.id == id {
            return Some(&rest[..end]);
        }
        rest = rest.get(end + JOINT..)?;
    }
    None
}

/// The sections with their sizes as bars, and how much each part has.
fn chart(manifest: &PromptManifest) -> String {
    let sections = &manifest.sections;
    if sections.is_empty() {
        return "the prompt is empty\n".to_owned();
    }
    let most = sections.iter().map(|section| section.tokens).max().unwrap_or(0).max(1);
    let width = sections.iter().map(|section| section.id.chars().count()).max().unwrap_or(0);
    let digits = |number: u64| number.to_string().len();
    let token_width = digits(most);
    let char_width = sections.iter().map(|section| digits(section.chars)).max().unwrap_or(0);
    let mut text = String::new();
    for section in sections {
        let filled = (section.tokens * BAR).div_ceil(most);
        let bar = "█".repeat(usize::try_from(filled).unwrap_or(0));
        let cut = if section.truncated { ", cut" } else { "" };
        text.push_str(&format!(
            "{:<7}  {:<width$}  {bar:<bar_width$}  {:>token_width$} tokens, {:>char_width$} characters{cut}\n",
            section.stability.name(),
            section.id,
            section.tokens,
            section.chars,
            bar_width = BAR as usize,
        ));
    }
    let of = |stability: Stability| -> u64 {
        let sections = sections.iter().filter(|section| section.stability == stability);
        sections.map(|section| section.tokens).sum()
    };
    let (stable, session, turn) = (of(Stability::Stable), of(Stability::Session), of(Stability::Turn));
    text.push_str(&format!(
        "{} tokens: {stable} stable, {session} of the session, {turn} of the turn\n",
        stable + session + turn
    ));
    text
}

/// Where every section came from, what went otherwise than asked, and the fingerprints.
fn details(manifest: &PromptManifest) -> String {
    let mut text = String::new();
    let width = manifest.sections.iter().map(|section| section.id.chars().count()).max().unwrap_or(0);
    let sources = manifest.sections.iter().flat_map(|section| {
        section.sources.iter().map(move |it| format!("{:<width$}  {}", section.id, describe_source(it)))
    });
    list(&mut text, "sources", sources);
    let hooks = manifest.hook_sources.iter().map(|source| {
        let cut = match source.truncation {
            PromptTruncation::None => "",
            PromptTruncation::Hook => ", cut to the hook's budget",
            PromptTruncation::Prompt => ", cut to the prompt's budget",
        };
        format!("{:<width$}  {}, priority {}{cut}", source.section_id, source.hook_id, source.priority)
    });
    list(&mut text, "hooks", hooks);
    list(&mut text, "diagnostics", manifest.diagnostics.iter().map(describe_diagnostic));
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

/// A heading and lines below it, if there are any.
pub(crate) fn list(text: &mut String, heading: &str, lines: impl IntoIterator<Item = String>) {
    for (index, line) in lines.into_iter().enumerate() {
        if index == 0 {
            text.push_str(&format!("\n{heading}\n"));
        }
        text.push_str(&format!("  {line}\n"));
    }
}

fn describe_diagnostic(diagnostic: &PromptDiagnostic) -> String {
    let about = diagnostic.section_id.as_deref().or(diagnostic.file.as_deref()).unwrap_or("prompt");
    format!("{about}: {} ({})", diagnostic.message, diagnostic.code.name())
}

/// Where a part of a prompt came from, in words.
pub(crate) fn describe_source(source: &PromptSource) -> String {
    let mut words = match source.kind.as_str() {
        "built_in" => vec!["built in".to_owned()],
        kind => vec![kind.to_owned()],
    };
    // A path tells people more than an id; programs have both.
    if source.kind != "built_in" {
        words.extend(source.path.clone().or_else(|| source.id.clone()));
    }
    words.extend(source.version.map(|version| format!("version {version}")));
    words.push(format!("sha256 {}", hash(&source.sha256)));
    words.join(" ")
}

/// The beginning of a hash; enough to tell two apart.
pub(crate) fn hash(sha256: &str) -> &str {
    sha256.get(..HASH).unwrap_or(sha256)
}

/// What is to blame, in words.
fn describe_blame(blame: &PromptBlame) -> String {
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
    text.push_str(&format!(
        "{} of {} tokens can be reused, {} cannot; {} of those stand before the history\n",
        blame.kept_tokens, blame.tokens_before, blame.lost_tokens, blame.lost_prefix_tokens
    ));
    if blame.changed_sections.len() > 1 {
        text.push_str(&format!("all that differ: {}\n", blame.changed_sections.join(", ")));
    }
    text
}
