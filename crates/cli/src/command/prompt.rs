//! `foreword prompt`.

use std::io::IsTerminal as _;

use client::Client;
use protocol::method::{
    PromptDiff, PromptDiffParams, PromptPreview, PromptPreviewParams, PromptRebuild, PromptRebuildParams,
    PromptResult, RoundManifest, TurnGet, TurnGetParams, TurnManifest,
};
use protocol::prompt::{
    PromptBlame, PromptChange, PromptDiagnostic, PromptManifest, PromptSource, PromptSourceKind,
    PromptTruncation, Stability,
};
use protocol::{ContentHash, ThreadId, WorkspaceId};
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
    let client = context.connect().await?;
    let workspace_id = context.workspace(&client, &arguments.scope).await?.id;
    let thread_id = thread_id(&arguments.thread)?;
    let command = PromptCommand { output: context.output, client, workspace_id, thread_id, arguments };
    let arguments = &command.arguments;
    match (&arguments.diff, &arguments.turn) {
        (Some(turn), _) => command.print_difference(turn).await?,
        (None, Some(turn)) => command.print_past(turn).await?,
        (None, None) => command.print_result(&command.preview().await?)?,
    }
    Ok(Exit::Done)
}

/// What a command asks about, and whom.
struct PromptCommand {
    output: Output,
    client: Client,
    workspace_id: WorkspaceId,
    thread_id: ThreadId,
    arguments: Prompt,
}

impl PromptCommand {
    /// Which section first differs from a turn's prompt.
    async fn print_difference(&self, turn: &str) -> Result<(), Failure> {
        let params = PromptDiffParams {
            workspace_id: self.workspace_id.clone(),
            thread_id: self.thread_id.clone(),
            turn_id: turn_id(turn)?,
            other_turn_id: self.arguments.against.as_deref().map(turn_id).transpose()?,
            cwd: self.arguments.cwd.clone(),
        };
        let result = self.client.call::<PromptDiff>(&params).await?;
        self.output.data(&result, || describe_blame(&result.blame))?;
        Ok(())
    }

    /// The prompt of a past turn, or what it consisted of.
    async fn print_past(&self, turn: &str) -> Result<(), Failure> {
        let turn_id = turn_id(turn)?;
        let workspace_id = self.workspace_id.clone();
        let params = TurnGetParams { workspace_id: workspace_id.clone(), turn_id: turn_id.clone() };
        let thread_id = &self.thread_id;
        if self.client.call::<TurnGet>(&params).await?.turn.thread_id != *thread_id {
            let message = format!("turn `{turn}` belongs to another thread than `{thread_id}`");
            return Err(Failure::usage(message));
        }
        let round = self.arguments.round;
        if self.arguments.manifest {
            let result = self.client.call::<TurnManifest>(&params).await?;
            let wanted = |found: &&RoundManifest| round.is_none_or(|round| found.round == round);
            let found = result.manifests.iter().rfind(wanted);
            let found = found.ok_or_else(|| Failure::usage(format!("turn `{turn}` has no such round")))?;
            return self.print_manifest(&found.manifest);
        }
        let params = PromptRebuildParams { workspace_id, turn_id, round };
        self.print_result(&self.client.call::<PromptRebuild>(&params).await?)
    }

    /// The prompt that the thread's next turn would have.
    async fn preview(&self) -> Result<PromptResult, Failure> {
        let params = PromptPreviewParams {
            workspace_id: self.workspace_id.clone(),
            thread_id: self.thread_id.clone(),
            cwd: self.arguments.cwd.clone(),
            input: self.arguments.input.clone(),
        };
        Ok(self.client.call::<PromptPreview>(&params).await?)
    }

    /// A prompt, or the part of it that was asked for.
    fn print_result(&self, result: &PromptResult) -> Result<(), Failure> {
        let (output, manifest) = (self.output, &result.manifest);
        if let Some(id) = &self.arguments.section {
            let text = section(result, id).ok_or_else(|| no_section(manifest, id))?;
            print_text(output, &json!({ "id": id, "text": text }), text)?;
            let about = |diagnostic: &&PromptDiagnostic| diagnostic.section_id.as_ref() == Some(id);
            warn(output, manifest.diagnostics.iter().filter(about));
            return Ok(());
        }
        if self.arguments.manifest {
            return self.print_manifest(manifest);
        }
        print_text(output, result, &result.full_text)?;
        if !output.is_json() {
            output.note(format!("\n{}", chart(manifest).trim_end()));
        }
        warn(output, manifest.diagnostics.iter());
        Ok(())
    }

    fn print_manifest(&self, manifest: &PromptManifest) -> Result<(), Failure> {
        self.output.data(manifest, || format!("{}{}", chart(manifest), details(manifest)))?;
        Ok(())
    }
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

fn no_section(manifest: &PromptManifest, id: &str) -> Failure {
    let known: Vec<&str> = manifest.sections.iter().map(|section| section.id.as_str()).collect();
    let failure = Failure::usage(format!("the prompt has no section `{id}`"));
    if known.is_empty() {
        failure.hint("it has none at all (prompt.profile)")
    } else {
        failure.hint(format!("its sections are {}", known.join(", ")))
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
    let mut words = match &source.kind {
        PromptSourceKind::BuiltIn => vec!["built in".to_owned()],
        kind => vec![kind.to_string()],
    };
    // A path tells people more than an id; programs have both.
    if source.kind != PromptSourceKind::BuiltIn {
        words.extend(source.path.clone().or_else(|| source.id.clone()));
    }
    words.extend(source.version.map(|version| format!("version {version}")));
    words.extend(source.sha256.as_ref().map(|sha256| format!("sha256 {}", hash(sha256))));
    words.join(" ")
}

/// The beginning of a hash; enough to tell two apart.
pub(crate) fn hash(sha256: &ContentHash) -> &str {
    sha256.as_str().get(..HASH).unwrap_or(sha256.as_str())
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
        "{} of {} tokens can be reused, {} cannot; {} of those are before the history\n",
        blame.kept_tokens, blame.tokens_before, blame.lost_tokens, blame.lost_prefix_tokens
    ));
    if blame.changed_sections.len() > 1 {
        text.push_str(&format!("all that differ: {}\n", blame.changed_sections.join(", ")));
    }
    text
}
