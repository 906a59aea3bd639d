//! `foreword memory`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use client::Client;
use protocol::limits::MAX_MEMORY_IMPORT;
use protocol::method::{
    MemoryAdd, MemoryAddParams, MemoryExport, MemoryExportParams, MemoryExportResult, MemoryForget,
    MemoryForgetResult, MemoryGet, MemoryGetParams, MemoryImport, MemoryImportParams, MemoryImportResult,
    MemoryList, MemoryListParams, MemorySearch, MemorySearchParams, RefusedMemory,
};
use protocol::{MemoryItem, MemoryRecord, MemoryScope, ThreadId, Timestamp, WorkspaceId};
use serde::Deserialize;

use crate::arguments::{InWorkspace, Memory, MemoryAdd as AddArguments};
use crate::context::{Context, find_thread};
use crate::enum_names::enum_str;
use crate::failure::{Exit, Failure};
use crate::output::terminal::{columns, time};
use crate::output::{one_line, shown, shown_name, table};

/// Width of a text in a list on a terminal. In a pipe it is not cut.
const TEXT_COLUMNS: usize = 80;
/// Default category.
const DEFAULT_CATEGORY: &str = "fact";
/// Maximum size of the items in one call, well below the limit of a message.
const MAX_IMPORT_BYTES: usize = 512 * 1024;

pub(crate) async fn run(context: Context, command: Memory) -> Result<Exit, Failure> {
    let output = context.output;
    let client = context.connect().await?;
    let workspace = async |scope: &InWorkspace| context.workspace(&client, scope).await.map(|it| it.id);
    match command {
        Memory::List { scope, thread, status, limit, workspace: of } => {
            let workspace_id = workspace(&of).await?;
            let thread_id = in_thread(&client, &workspace_id, thread.as_deref()).await?;
            let status = Some(status);
            let limit = Some(limit);
            let params = MemoryListParams { workspace_id, scope, thread_id, status, before: None, limit };
            let result = client.call::<MemoryList>(&params).await?;
            output.data(&result, || listed(&result.items))?;
            if result.items.is_empty() {
                output.note("no memories match");
            }
        }
        Memory::Show { id, workspace: of } => {
            let params = MemoryGetParams { workspace_id: workspace(&of).await?, id };
            let result = client.call::<MemoryGet>(&params).await?;
            output.data(&result, || described(&result.item))?;
        }
        Memory::Add(arguments) => return add(&context, &client, arguments).await,
        Memory::Search { words, thread, limit, workspace: of } => {
            let workspace_id = workspace(&of).await?;
            let thread_id = in_thread(&client, &workspace_id, thread.as_deref()).await?;
            let query = words.join(" ");
            let params = MemorySearchParams { workspace_id, query, thread_id, limit: Some(limit) };
            let result = client.call::<MemorySearch>(&params).await?;
            output.data(&result, || listed(&result.items))?;
            if result.items.is_empty() {
                output.note("no memories contain these words");
            }
        }
        Memory::Forget { id, workspace: of } => {
            let params = MemoryGetParams { workspace_id: workspace(&of).await?, id };
            let result = client.call::<MemoryForget>(&params).await?;
            output.data(&result, String::new)?;
            output.note(what_went(&result));
            output.note(
                "what stays: the messages of users, what models said in their own words, and backups made before",
            );
        }
        Memory::Export { workspace: of } => {
            let items = exported(&client, workspace(&of).await?).await?;
            let result = MemoryExportResult { items, next: None };
            // The export is JSON in every output format, because it is meant for `memory import`.
            output.json(&result)?;
        }
        Memory::Import { file, workspace: of } => {
            let items = read(file.as_deref())?;
            let result = import(&client, workspace(&of).await?, items).await?;
            output.data(&result, String::new)?;
            output.note(format!("{} added, {} already known", result.added, result.unchanged));
            // Rejected items do not stop the import. The others are stored, and the exit code reveals that some are
            // missing.
            for RefusedMemory { index, reason } in &result.refused {
                output.warning(&format!("item {index} was rejected: {reason}"), None);
            }
            if !result.refused.is_empty() {
                return Ok(Exit::CheckFailed);
            }
        }
    }
    Ok(Exit::Done)
}

async fn in_thread(
    client: &Client,
    workspace_id: &WorkspaceId,
    thread: Option<&str>,
) -> Result<Option<ThreadId>, Failure> {
    match thread {
        Some(thread) => find_thread(client, workspace_id, thread).await.map(Some),
        None => Ok(None),
    }
}

async fn add(context: &Context, client: &Client, arguments: AddArguments) -> Result<Exit, Failure> {
    let AddArguments { text, category, scope, thread, expires, supersedes, workspace } = arguments;
    let scope = match (scope, &thread) {
        (None, None) => MemoryScope::Workspace,
        (None | Some(MemoryScope::Thread), Some(_)) => MemoryScope::Thread,
        (Some(MemoryScope::Thread), None) => {
            let failure = Failure::usage("the scope `thread` needs a thread");
            return Err(failure.hint("name it with --thread THREAD"));
        }
        (Some(scope), None) => scope,
        (Some(scope), Some(_)) => {
            let message = format!("--thread requires the scope `thread`, but the scope is `{scope}`");
            return Err(Failure::usage(message).hint("omit one of them"));
        }
    };
    let text = if text == "-" { read_text()? } else { text };
    let found = context.workspace(client, &workspace).await?;
    let workspace_id = found.id;
    let thread_id = in_thread(client, &workspace_id, thread.as_deref()).await?;
    // A replacement keeps the category of the item that it supersedes, unless another one is given.
    let category = match (category, &supersedes) {
        (Some(category), _) => category,
        (None, Some(id)) => {
            let params = MemoryGetParams { workspace_id: workspace_id.clone(), id: id.clone() };
            client.call::<MemoryGet>(&params).await?.item.category
        }
        (None, None) => DEFAULT_CATEGORY.to_owned(),
    };
    let expires_at = expires.map(|expiry| expiry.from(Timestamp::now()));
    let params = MemoryAddParams { workspace_id, scope, category, text, thread_id, expires_at, supersedes };
    let result = client.call::<MemoryAdd>(&params).await?;
    context.output.data(&result, || format!("{}\n", result.item.id))?;
    let place = match (scope, thread) {
        (MemoryScope::User, _) => "for you, in all workspaces".to_owned(),
        (MemoryScope::Thread, Some(thread)) => format!("in thread `{}`", shown_name(&thread)),
        (MemoryScope::Workspace | MemoryScope::Thread, _) => {
            format!("in workspace `{}`", shown_name(&found.name))
        }
    };
    let already = if result.was_there { " already" } else { "" };
    context.output.note(format!("remembered{already} {place}"));
    Ok(Exit::Done)
}

/// Reads the text to remember from standard input.
fn read_text() -> Result<String, Failure> {
    let mut text = String::new();
    let input =
        std::io::stdin().lock().take(protocol::limits::MAX_MESSAGE_BYTES as u64).read_to_string(&mut text);
    input.map_err(|error| Failure::caused_by(Exit::Failed, "could not read standard input", error))?;
    Ok(text.trim_end().to_owned())
}

/// Formats one item in full.
fn described(item: &MemoryItem) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("{name:<8}  {value}\n"));
        }
    };
    row("id", Some(item.id.to_string()));
    row("scope", Some(item.scope.to_string()));
    row("thread", item.thread_id.as_ref().map(ToString::to_string));
    row("category", Some(shown_name(&item.category)));
    row("status", Some(enum_str(&item.status).to_owned()));
    row("created", Some(time(item.created_at)));
    row("by", item.created_by.as_deref().map(shown_name));
    row("turn", item.source_turn.as_ref().map(ToString::to_string));
    row("expires", item.expires_at.map(time));
    let body = item.text.as_deref().map_or("(forgotten)".into(), shown);
    format!("{text}\n{body}\n")
}

fn listed(items: &[MemoryItem]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let rows = items.iter().map(|item| {
        let text =
            item.text.as_deref().map_or_else(|| "(forgotten)".to_owned(), |text| shown(text).into_owned());
        vec![
            item.id.to_string(),
            item.scope.to_string(),
            shown_name(&item.category),
            time(item.created_at),
            one_line(&text, columns().map_or(usize::MAX, |_| TEXT_COLUMNS)),
        ]
    });
    table(&["id", "scope", "category", "created", "text"], rows)
}

fn what_went(result: &MemoryForgetResult) -> String {
    if result.was_forgotten {
        return "it had already been forgotten".to_owned();
    }
    let removed = result.removed;
    let went = [
        (removed.prompt_texts, "text of a past prompt", "texts of past prompts"),
        (removed.openings, "message", "messages"),
        (removed.calls, "tool call", "tool calls"),
        (removed.summaries, "summary", "summaries"),
    ];
    let went = went.into_iter().filter(|(number, ..)| *number > 0);
    let went: Vec<String> = went
        .map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }))
        .collect();
    match went.as_slice() {
        [] => "forgotten; no other text contained it".to_owned(),
        went => format!("forgotten, together with the texts that contained it: {}", went.join(", ")),
    }
}

async fn exported(client: &Client, workspace_id: WorkspaceId) -> Result<Vec<MemoryRecord>, Failure> {
    let mut params = MemoryExportParams { workspace_id, after: None };
    let mut items = Vec::new();
    loop {
        let part = client.call::<MemoryExport>(&params).await?;
        items.extend(part.items);
        match part.next {
            Some(next) => params.after = Some(next),
            None => return Ok(items),
        }
    }
}

/// Output of `foreword memory export`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    items: Vec<MemoryRecord>,
}

fn read(file: Option<&Path>) -> Result<Vec<MemoryRecord>, Failure> {
    let named: PathBuf = match file {
        Some(path) if path != Path::new("-") => path.to_owned(),
        _ => "standard input".into(),
    };
    let text = if file.is_some_and(|path| path != Path::new("-")) {
        std::fs::read_to_string(&named)
    } else {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    };
    let text = text.map_err(|error| Failure::file("read", &named, error))?;
    let exported: Exported = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{} is not an export of `foreword memory export`: {error}", named.display()))
    })?;
    Ok(exported.items)
}

/// Returns the size of an item in a message.
fn json_bytes(item: &MemoryRecord) -> usize {
    // An item that cannot be measured counts as a full batch, so that it is sent alone.
    serde_json::to_string(item).map_or(MAX_IMPORT_BYTES, |json| json.len())
}

/// Imports items in as few calls as possible. Rejected items are identified by their index in the file.
async fn import(
    client: &Client,
    workspace_id: WorkspaceId,
    items: Vec<MemoryRecord>,
) -> Result<MemoryImportResult, Failure> {
    let mut result = MemoryImportResult::default();
    let mut left = items.into_iter().peekable();
    let mut done = 0;
    while left.peek().is_some() {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(item) = left.next_if(|item| {
            bytes += json_bytes(item);
            // The first item is always taken. Otherwise one above the limit would never be sent, and the loop would
            // not end.
            batch.is_empty() || (batch.len() < MAX_MEMORY_IMPORT && bytes <= MAX_IMPORT_BYTES)
        }) {
            batch.push(item);
        }
        let number = batch.len() as u64;
        let params = MemoryImportParams { workspace_id: workspace_id.clone(), items: batch };
        let part = client.call::<MemoryImport>(&params).await?;
        result.added += part.added;
        result.unchanged += part.unchanged;
        // The gateway counts within the batch, but the user needs the position in the file.
        let refused = part.refused.into_iter();
        result.refused.extend(refused.map(|it| RefusedMemory { index: it.index + done, ..it }));
        done += number;
    }
    Ok(result)
}
