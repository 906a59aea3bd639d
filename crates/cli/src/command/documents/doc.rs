//! `foreword doc`.

mod diff;
mod drafts;
mod edit;
mod last_text;
mod save;

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use client::Client;
use protocol::method::{
    DocumentArchive, DocumentArchiveParams, DocumentGet, DocumentHistory, DocumentHistoryParams,
    DocumentResolveForFolder, DocumentResolveForThread, DocumentResolveForThreadParams, DocumentRestore,
    DocumentRestoreParams, DocumentRevision, DocumentRevisionParams, DocumentScopeParams,
};
use protocol::{Document, DocumentStatus, ResolvedDocument, Revision, RevisionSummary, Version, Warning};

use crate::arguments::{Doc, InScope};
use crate::context::{Context, PastScope, find_thread};
use crate::enum_names::enum_str;
use crate::failure::{Exit, Failure};
use crate::output::terminal::time;
use crate::output::{Output, one_line, print, shown, shown_name, table};

/// Maximum length of a message in a list.
const MESSAGE_WIDTH: usize = 60;

pub(crate) async fn run(context: Context, command: Doc) -> Result<Exit, Failure> {
    // Drafts are files of this machine, so no gateway is needed.
    if let Doc::Drafts = command {
        return drafts::run(&context);
    }
    let client = context.connect().await?;
    match command {
        Doc::Get { version, scope } => match version {
            Some(version) => revision(&context, &client, Version(version), &scope).await,
            None => get(&context, &client, &scope).await,
        },
        Doc::Effective { thread, scope } => effective(&context, &client, thread, &scope).await,
        Doc::Save(arguments) => save::run(&context, &client, arguments).await,
        Doc::Edit { message, resume, scope } => {
            edit::run(&context, &client, message, resume.as_deref(), &scope).await
        }
        Doc::Drafts => drafts::run(&context),
        Doc::History { limit, before, scope } => {
            history(&context, &client, limit, before.map(Version), &scope).await
        }
        Doc::Diff { from, to, scope } => {
            diff::run(&context, &client, from.map(Version), to.map(Version), &scope).await
        }
        Doc::Restore { version, expected_version, message, scope } => {
            let version = Version(version);
            let expected = expected_version.map(Version);
            restore(&context, &client, version, expected, message, &scope).await
        }
        Doc::Archive { expected_version, scope } => {
            archive(&context, &client, expected_version.map(Version), &scope).await
        }
    }
}

/// Returns the description of a scope.
fn scope_name(scope: &InScope) -> String {
    match scope.folder.as_deref().map(|folder| folder.trim_matches('/')) {
        None | Some("") => "the workspace root".to_owned(),
        Some(folder) => format!("folder `{folder}`"),
    }
}

async fn get(context: &Context, client: &Client, scope: &InScope) -> Result<Exit, Failure> {
    // The document of a deleted folder can still be read: its last text is often what the user is looking for.
    let PastScope { workspace_id, folder_id, deleted } = context.past_scope(client, scope).await?;
    if let Some(deleted) = deleted {
        return last_text::run(context, client, deleted, scope).await;
    }
    let result = client.call::<DocumentGet>(&DocumentScopeParams { workspace_id, folder_id }).await?;
    if context.output.is_json() {
        context.output.json(&result)?;
        // A missing document is a negative result, so scripts get exit code 1 together with the JSON.
        return Ok(if result.explicit.is_some() { Exit::Done } else { Exit::CheckFailed });
    }
    match (&result.explicit, &result.effective) {
        (Some(document), _) => {
            print_document(context.output, document)?;
            Ok(Exit::Done)
        }
        (None, Some(effective)) => {
            context.output.note(format!(
                "{} has no document of its own and inherits from {}; see `foreword doc effective`",
                scope_name(scope),
                place(effective)
            ));
            Ok(Exit::CheckFailed)
        }
        (None, None) => {
            context.output.note(format!("{} has no document and inherits none", scope_name(scope)));
            Ok(Exit::CheckFailed)
        }
    }
}

async fn effective(
    context: &Context,
    client: &Client,
    thread: Option<String>,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let result = match thread {
        Some(thread) => {
            let thread_id = find_thread(client, &workspace_id, &thread).await?;
            let params = DocumentResolveForThreadParams { workspace_id, thread_id };
            client.call::<DocumentResolveForThread>(&params).await?
        }
        None => {
            client.call::<DocumentResolveForFolder>(&DocumentScopeParams { workspace_id, folder_id }).await?
        }
    };
    if context.output.is_json() {
        context.output.json(&result)?;
        return Ok(if result.effective.is_some() { Exit::Done } else { Exit::CheckFailed });
    }
    let Some(effective) = &result.effective else {
        context.output.note("no document applies here");
        return Ok(Exit::CheckFailed);
    };
    print_document(context.output, &effective.doc)?;
    let inherited = if effective.inherited { "inherited from" } else { "of" };
    context.output.note(format!("{inherited} {}", place(effective)));
    Ok(Exit::Done)
}

fn place(resolved: &ResolvedDocument) -> String {
    match resolved.source_path.as_slice() {
        [] => "the workspace root".to_owned(),
        path => format!("folder `{}`", path.join("/")),
    }
}

fn print_text(content: &str) -> Result<(), Failure> {
    print(&shown(content))?;
    // Without a final newline, the next line of output would continue the text.
    if !content.is_empty() && !content.ends_with('\n') {
        print("\n")?;
    }
    Ok(())
}

/// Prints the text to standard output and its metadata to standard error.
fn print_document(output: Output, document: &Document) -> Result<(), Failure> {
    print_text(&document.content)?;
    let status = if document.status == DocumentStatus::Draft { ", a draft" } else { "" };
    let author =
        document.updated_by.as_deref().map(|name| format!(" by {}", shown_name(name))).unwrap_or_default();
    output.note(format!("version {}{status}, saved {}{author}", document.version, time(document.updated_at)));
    Ok(())
}

fn report_saved(output: Output, document: &Document, warnings: &[Warning], scope: &InScope) {
    let draft = match document.status {
        DocumentStatus::Draft => "; it is blank, so it is a draft and does not override inherited documents",
        _ => "",
    };
    output.note(format!("{} is at version {}{draft}", scope_name(scope), document.version));
    for warning in warnings {
        output.warning(&warning.message, None);
    }
}

/// Prints the text of one version.
async fn revision(
    context: &Context,
    client: &Client,
    version: Version,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let PastScope { workspace_id, folder_id, .. } = context.past_scope(client, scope).await?;
    let params = DocumentRevisionParams { workspace_id, folder_id, version };
    let result = client.call::<DocumentRevision>(&params).await?;
    if context.output.is_json() {
        context.output.json(&result)?;
        return Ok(Exit::Done);
    }
    let Revision { summary, content } = &result.revision;
    print_text(content)?;
    let author =
        summary.saved_by.as_deref().map(|name| format!(" by {}", shown_name(name))).unwrap_or_default();
    context.output.note(format!("version {version}, saved {}{author}", time(summary.saved_at)));
    Ok(Exit::Done)
}

fn read_text(file: Option<&Path>, output: Output) -> Result<String, Failure> {
    // Stop reading once the input exceeds the size of a message, because it would be rejected anyway.
    let max_read = protocol::limits::MAX_MESSAGE_BYTES as u64;
    let mut bytes = Vec::new();
    let (name, read) = match file {
        Some(path) if path != Path::new("-") => {
            let read = std::fs::File::open(path).and_then(|file| file.take(max_read).read_to_end(&mut bytes));
            (path, read)
        }
        _ => {
            let stdin = std::io::stdin().lock();
            // Without the note, a command that waits for input looks as if it hangs.
            if stdin.is_terminal() {
                output.note("type the text, then Ctrl-D on a line of its own");
            }
            (Path::new("standard input"), stdin.take(max_read).read_to_end(&mut bytes))
        }
    };
    read.map_err(|error| Failure::file("read", name, error))?;
    let name = name.display();
    // At exactly the maximum more input may follow, so the text must be treated as incomplete.
    if bytes.len() as u64 == max_read {
        let limit = protocol::limits::MAX_DOCUMENT_BYTES;
        return Err(Failure::usage(format!("{name} has more than {max_read} bytes, the limit is {limit}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        Failure::usage(format!("{name} is not UTF-8 (byte {byte})"))
            .hint("a document is text: convert it to UTF-8 first")
    })
}

async fn history(
    context: &Context,
    client: &Client,
    limit: u32,
    before: Option<Version>,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let PastScope { workspace_id, folder_id, .. } = context.past_scope(client, scope).await?;
    let params = DocumentHistoryParams { workspace_id, folder_id, limit: Some(limit), before };
    let result = client.call::<DocumentHistory>(&params).await?;
    context.output.data(&result, || {
        let rows = result.revisions.iter().map(|revision| {
            let reason = match revision.restored_from {
                Some(version) => format!("restore of {version}"),
                None => enum_str(&revision.save_reason).to_owned(),
            };
            vec![
                revision.version.to_string(),
                time(revision.saved_at),
                author(revision),
                reason,
                revision.char_count.to_string(),
                revision.content_sha256.as_str().chars().take(12).collect(),
                one_line(revision.message.as_deref().unwrap_or_default(), MESSAGE_WIDTH),
            ]
        });
        table(&["version", "saved", "by", "why", "characters", "sha256", "message"], rows)
    })?;
    Ok(Exit::Done)
}

/// Returns the token that saved a revision, with the program that used it.
fn author(revision: &RevisionSummary) -> String {
    let token = revision.saved_by.as_deref().map_or_else(|| "-".to_owned(), shown_name);
    match &revision.client {
        Some(client) => format!("{token} ({})", shown_name(client)),
        None => token,
    }
}

async fn restore(
    context: &Context,
    client: &Client,
    version: Version,
    expected_version: Option<Version>,
    message: Option<String>,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let params = DocumentRestoreParams { workspace_id, folder_id, version, expected_version, message };
    let result = client.call::<DocumentRestore>(&params).await?;
    context.output.data(&result, || format!("{}\n", result.doc.version))?;
    // The gateway adds no version if the restored text is already the current one.
    if result.doc.version == version {
        context.output.note(format!("version {version} of {} is the current one", scope_name(scope)));
    } else {
        let now = result.doc.version;
        context.output.note(format!("restored version {version} of {} as {now}", scope_name(scope)));
    }
    Ok(Exit::Done)
}

async fn archive(
    context: &Context,
    client: &Client,
    expected_version: Option<Version>,
    scope: &InScope,
) -> Result<Exit, Failure> {
    let (workspace_id, folder_id) = context.scope(client, scope).await?;
    let params = DocumentArchiveParams { workspace_id, folder_id, expected_version };
    let result = client.call::<DocumentArchive>(&params).await?;
    context.output.data(&result, String::new)?;
    if !result.archived {
        context.output.note(format!("{} has no document to archive", scope_name(scope)));
        return Ok(Exit::CheckFailed);
    }
    let now = match &result.effective {
        Some(effective) => format!("it now inherits the one of {}", place(effective)),
        None => "no document applies there now".to_owned(),
    };
    context.output.note(format!("archived the document of {}; {now}", scope_name(scope)));
    Ok(Exit::Done)
}
