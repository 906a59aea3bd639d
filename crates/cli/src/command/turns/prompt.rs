//! `foreword prompt`.

mod describe;

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use client::Client;
use instructions::Request;
use protocol::method::{
    PromptDiff, PromptDiffParams, PromptDiffResult, PromptPreview, PromptPreviewParams, PromptRebuild,
    PromptRebuildParams, PromptResult, RoundManifest, TurnGet, TurnGetParams, TurnList, TurnListParams,
    TurnManifest,
};
use protocol::preview::{FrozenStart, PromptSizes};
use protocol::prompt::{PromptDiagnostic, PromptManifest, PromptManifestSection};
use protocol::{ContentHash, ThreadId, ThreadMode, TurnId, TurnStatus, Workspace, WorkspaceId};
use provider::Providers;
use serde::Serialize;
use serde_json::json;

use crate::arguments::{InWorkspace, Prompt, PromptDifference, PromptSubject};
use crate::command::gateway::serve::agent_settings;
use crate::command::turns::turn::start::read_context;
use crate::context::{Context, find_thread, find_turn};
use crate::failure::{Exit, Failure};
use crate::files::{Files, directory};
use crate::output::relative_path::Viewpoint;
use crate::output::terminal::{columns, columns_of, fit};
use crate::output::{Output, print, shown_exactly};

use describe::{Between, chart, describe_blame, describe_frozen, describe_tools, details};
pub(crate) use describe::{
    describe_diagnostic, describe_left_out, describe_remark, describe_source, hash, list,
};

/// Number of turns searched for one to compare with.
const RECENT: u32 = 50;

pub(crate) async fn run(context: Context, command: Prompt) -> Result<Exit, Failure> {
    let output = context.output;
    match command {
        Prompt::Show { subject, tools: true, .. } => {
            let tools = load(&context, &subject).await?.result.tools;
            output.data(&json!({ "tools": tools }), || describe_tools(&tools))?;
            if tools.is_empty() {
                output.note("the request has no tools");
            }
        }
        Prompt::Show { subject, section, tools: false } => {
            let loaded = load(&context, &subject).await?;
            print_prompt(output, &loaded, section.as_deref())?;
        }
        Prompt::Sections { subject } => {
            let loaded = load(&context, &subject).await?;
            let result = &loaded.result;
            let printed =
                PrintedSections { sections: &result.manifest.sections, sizes: result.sizes.as_ref() };
            output.data(&printed, || chart(&result.manifest, result.sizes.as_ref(), columns()))?;
            tell(output, &loaded);
        }
        Prompt::Manifest { subject } => {
            let result = load_manifest(&context, &subject).await?;
            let describe = |manifest: &PromptManifest, sizes| {
                format!("{}{}", chart(manifest, sizes, columns()), fit(&details(manifest)))
            };
            match &result {
                Found::Prompt(result) => {
                    output.data(&result.manifest, || describe(&result.manifest, result.sizes.as_ref()))?;
                    // Its diagnostics are part of the printed text.
                    if let Some(frozen) = &result.frozen {
                        tell_frozen(output, frozen);
                    }
                }
                Found::Manifest(manifest) => {
                    output.data(manifest, || describe(manifest, None))?;
                }
            }
        }
        Prompt::Diff(arguments) => {
            let (result, between) = match &arguments.thread {
                Some(thread) => (thread_difference(&context, thread, &arguments).await?, Between::Turns),
                None => (directory_difference(&context, &arguments).await?, Between::Directories),
            };
            output.data(&result, || {
                let frozen = result.frozen.as_ref().map_or_else(String::new, describe_frozen);
                describe_blame(&result.blame, between) + &frozen
            })?;
        }
    }
    Ok(Exit::Done)
}

/// JSON output of `prompt sections`.
#[derive(Serialize)]
struct PrintedSections<'a> {
    sections: &'a [PromptManifestSection],
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<&'a PromptSizes>,
}

/// A prompt, or the manifest of one whose text is not needed and may not be stored.
enum Found {
    Prompt(Box<PromptResult>),
    Manifest(Box<PromptManifest>),
}

/// A prompt and the root of the paths shown for its files.
struct Loaded {
    result: PromptResult,
    root: Option<PathBuf>,
}

/// Loads the prompt that the command works on.
async fn load(context: &Context, subject: &PromptSubject) -> Result<Loaded, Failure> {
    let Some(thread) = &subject.thread else {
        return directory_prompt(context, subject.cwd.as_deref(), subject.mode).await;
    };
    let thread = Thread::find(context, thread, &subject.scope).await?;
    let result = match &subject.turn {
        Some(turn) => {
            let TurnGetParams { workspace_id, turn_id } = thread.turn(turn).await?;
            let params = PromptRebuildParams { workspace_id, turn_id, round: subject.round };
            thread.client.call::<PromptRebuild>(&params).await?
        }
        None => thread.preview(subject).await?,
    };
    Ok(Loaded { result, root: thread.root.map(PathBuf::from) })
}

async fn load_manifest(context: &Context, subject: &PromptSubject) -> Result<Found, Failure> {
    // The manifest of a past turn is stored even if its text is not, so it is requested without the text.
    let (Some(thread), Some(turn)) = (&subject.thread, &subject.turn) else {
        return Ok(Found::Prompt(Box::new(load(context, subject).await?.result)));
    };
    let thread = Thread::find(context, thread, &subject.scope).await?;
    let params = thread.turn(turn).await?;
    let result = thread.client.call::<TurnManifest>(&params).await?;
    let wanted = |found: &RoundManifest| subject.round.is_none_or(|round| found.round == round);
    let found = result.manifests.into_iter().rfind(wanted);
    let found = found.ok_or_else(|| Failure::usage(format!("turn `{turn}` does not have this round")))?;
    Ok(Found::Manifest(Box::new(found.manifest)))
}

/// A thread and the connection to its gateway.
struct Thread {
    client: Client,
    workspace_id: WorkspaceId,
    /// Root directory of the workspace.
    root: Option<String>,
    thread_id: ThreadId,
}

impl Thread {
    async fn find(context: &Context, named: &str, scope: &InWorkspace) -> Result<Self, Failure> {
        let client = context.connect().await?;
        let Workspace { id: workspace_id, root_path: root, .. } = context.workspace(&client, scope).await?;
        let thread_id = find_thread(&client, &workspace_id, named).await?;
        Ok(Self { client, workspace_id, root, thread_id })
    }

    /// Returns the turn with this name; a number refers to this thread.
    async fn turn_id(&self, named: &str) -> Result<TurnId, Failure> {
        find_turn(&self.client, &self.workspace_id, Some(&self.thread_id), named).await
    }

    /// Returns the prompt of one of its turns.
    async fn turn(&self, named: &str) -> Result<TurnGetParams, Failure> {
        let turn_id = self.turn_id(named).await?;
        let params = TurnGetParams { workspace_id: self.workspace_id.clone(), turn_id };
        let thread_id = &self.thread_id;
        // An id finds turns of every thread, but the prompt of another thread is certainly not meant.
        if self.client.call::<TurnGet>(&params.clone().into()).await?.turn.thread_id != *thread_id {
            let message = format!("turn `{named}` belongs to another thread than `{thread_id}`");
            return Err(Failure::usage(message));
        }
        Ok(params)
    }

    /// Returns the default turn to compare the next prompt with.
    async fn last_turn(&self) -> Result<TurnId, Failure> {
        let params = TurnListParams {
            workspace_id: self.workspace_id.clone(),
            thread_id: Some(self.thread_id.clone()),
            limit: Some(RECENT),
            before: None,
        };
        let turns = self.client.call::<TurnList>(&params).await?.turns;
        // A turn that failed early has no prompt to compare with.
        let completed = turns.iter().find(|turn| turn.status == TurnStatus::Completed);
        completed.or(turns.first()).map(|turn| turn.id.clone()).ok_or_else(|| {
            let message = format!("thread `{}` has no turn to compare with yet", self.thread_id);
            Failure::usage(message).hint("`foreword prompt show THREAD` prints its first prompt")
        })
    }

    /// Returns the prompt of the thread's next turn.
    async fn preview(&self, subject: &PromptSubject) -> Result<PromptResult, Failure> {
        let params = PromptPreviewParams {
            workspace_id: self.workspace_id.clone(),
            thread_id: self.thread_id.clone(),
            cwd: subject.cwd.clone(),
            input: subject.input.clone(),
            context: subject.context.as_deref().map(read_context).transpose()?,
            skills: subject.skills.clone(),
            fresh: subject.fresh,
        };
        Ok(self.client.call::<PromptPreview>(&params).await?)
    }
}

/// Compiles the prompt of a new thread in a directory, without a gateway.
async fn directory_prompt(context: &Context, cwd: Option<&str>, mode: ThreadMode) -> Result<Loaded, Failure> {
    let cwd = directory(cwd.map(Path::new))?;
    let settings = agent_settings(context, Providers::default())?;
    let preview = agent::directory_preview(&settings, &cwd, mode).await;
    match preview {
        Ok(preview) => {
            // The root only shortens printed paths, so a failed lookup does not matter.
            let request = Request { cwd: &cwd, settings: &settings.files };
            let root = instructions::resolve(&request, None).ok().and_then(|found| found.root.clone());
            Ok(Loaded { result: preview.into(), root: root.or(Some(cwd)) })
        }
        Err(agent::AgentError::Files(error)) => Err(Files::new(context)?.failure(&error)),
        Err(error) => Err(Failure::new(Exit::Failed, error.to_string())),
    }
}

/// Compares with a turn's prompt and reports the first section that differs.
async fn thread_difference(
    context: &Context,
    thread: &str,
    arguments: &PromptDifference,
) -> Result<PromptDiffResult, Failure> {
    let thread = Thread::find(context, thread, &arguments.scope).await?;
    let since = match &arguments.since {
        Some(turn) => thread.turn_id(turn).await?,
        None => thread.last_turn().await?,
    };
    let until = match &arguments.until {
        Some(turn) => Some(thread.turn_id(turn).await?),
        None => None,
    };
    let params = PromptDiffParams {
        workspace_id: thread.workspace_id.clone(),
        thread_id: thread.thread_id.clone(),
        turn_id: since,
        other_turn_id: until,
        cwd: arguments.cwd.clone(),
        fresh: arguments.fresh,
    };
    Ok(thread.client.call::<PromptDiff>(&params).await?)
}

/// Compares with a prompt stored in a file and reports the first section that differs.
async fn directory_difference(
    context: &Context,
    arguments: &PromptDifference,
) -> Result<PromptDiffResult, Failure> {
    let made_by = "`foreword prompt show --format json > FILE` makes one";
    let Some(file) = &arguments.since else {
        let message = "a directory has no turns: name a THREAD, or with --since a file to compare with";
        return Err(Failure::usage(message).hint(made_by));
    };
    let path = Path::new(file);
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
    let before: PromptResult = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{file} does not contain a prompt: {error}")).hint(made_by)
    })?;
    let after = directory_prompt(context, arguments.cwd.as_deref(), arguments.mode).await?.result;
    let texts = [&before, &after].into_iter().flat_map(sections);
    // Unchanged sections have the same hash in both prompts, so one map serves both.
    let texts: HashMap<&ContentHash, &str> = texts.map(|(section, text)| (&section.sha256, text)).collect();
    let text_of = |sha256: &ContentHash| texts.get(sha256).map(|text| (*text).to_owned());
    let blame = prompt::blame(&before.manifest, &after.manifest, text_of);
    Ok(PromptDiffResult { blame, frozen: None })
}

/// Sections that a thread keeps from its start, even if the files change.
const FROZEN_SECTIONS: &[&str] = &["agents_guidance", "environment", "agents_context"];

/// Prints a prompt, or one section of it.
fn print_prompt(output: Output, loaded: &Loaded, section: Option<&str>) -> Result<(), Failure> {
    let result = &loaded.result;
    let manifest = &result.manifest;
    if let Some(id) = section {
        let found = sections(result).find(|(section, _)| section.id == id);
        let (_, text) = found.ok_or_else(|| no_section(manifest, id))?;
        print_text(output, &json!({ "id": id, "text": text }), text)?;
        let about = |diagnostic: &PromptDiagnostic| diagnostic.section_id.as_deref() == Some(id);
        // Only sections with a frozen start can differ from the files on disk, so the note would be wrong for any
        // other.
        if let Some(frozen) = result.frozen.as_ref().filter(|_| FROZEN_SECTIONS.contains(&id)) {
            tell_frozen(output, frozen);
        }
        loaded.warn(output, about);
        return Ok(());
    }
    print_text(output, result, &result.full_text)?;
    // The chart goes to standard error, because standard output must be exactly the prompt.
    let chart = chart(manifest, result.sizes.as_ref(), columns_of(std::io::stderr()));
    output.note(format!("\n{}", chart.trim_end()));
    tell(output, loaded);
    Ok(())
}

/// Prints exactly the text for programs, so that its fingerprint matches. On a terminal it ends with a newline.
pub(super) fn print_text(output: Output, result: &impl Serialize, text: &str) -> Result<(), Failure> {
    output.data(result, || shown_exactly(text).into_owned())?;
    if !output.is_json() && !text.is_empty() && std::io::stdout().is_terminal() {
        print("\n")?;
    }
    Ok(())
}

/// Prints notes for people. Programs find them in the result.
fn tell(output: Output, loaded: &Loaded) {
    if let Some(frozen) = &loaded.result.frozen {
        tell_frozen(output, frozen);
    }
    if let Some(reason) = &loaded.result.root_fallback {
        output.note(format!("\n`foreword show` finds other files there: {reason}"));
    }
    loaded.warn(output, |_| true);
}

fn tell_frozen(output: Output, frozen: &FrozenStart) {
    output.note(format!("\n{}", describe_frozen(frozen).trim_end()));
}

impl Loaded {
    /// Prints diagnostics for people. Programs find them in the manifest.
    fn warn(&self, output: Output, is_wanted: impl Fn(&PromptDiagnostic) -> bool) {
        if output.is_json() {
            return;
        }
        let viewpoint = self.root.as_deref().map(Viewpoint::at);
        for diagnostic in self.result.manifest.diagnostics.iter().filter(|diagnostic| is_wanted(diagnostic)) {
            output.warning(&describe_diagnostic(diagnostic, viewpoint), None);
        }
    }
}

fn no_section(manifest: &PromptManifest, id: &str) -> Failure {
    // The section is part of the conversation, only not of this request, so "no such section" would be
    // misleading.
    if manifest.sections.iter().any(|section| section.id == id && section.said_earlier) {
        let failure =
            Failure::usage(format!("section `{id}` is not sent again: an earlier turn contains it"));
        return failure.hint("`--fresh` shows the prompt of a new thread");
    }
    let known: Vec<&str> = manifest.sections.iter().map(|section| section.id.as_str()).collect();
    let failure = Failure::usage(format!("the prompt has no section `{id}`"));
    if known.is_empty() {
        failure.hint("it has no sections at all (prompt.profile)")
    } else {
        failure.hint(format!("its sections are {}", known.join(", ")))
    }
}

/// Returns the texts of the sections that are sent, located by the lengths of those before them.
fn sections(result: &PromptResult) -> impl Iterator<Item = (&PromptManifestSection, &str)> {
    // The compiler joins sections by an empty line, that is, by two newlines.
    const JOINT: usize = 2;
    let mut rest = result.full_text.as_str();
    let sent = result.manifest.sections.iter().filter(|section| !section.said_earlier);
    sent.map_while(move |section| {
        let chars = usize::try_from(section.chars).ok()?;
        // The manifest counts characters, but a slice needs bytes.
        let end = rest.char_indices().nth(chars).map_or(rest.len(), |(index, _)| index);
        let text = &rest[..end];
        rest = rest.get(end + JOINT..).unwrap_or_default();
        Some((section, text))
    })
}
