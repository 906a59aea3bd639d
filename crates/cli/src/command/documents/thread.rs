//! `foreword thread`.

use std::collections::{HashMap, HashSet};

use client::{LiveTree, TreeRow, TreeRowKind};
use protocol::method::{
    SessionGet, SessionGetParams, ThreadArchive, ThreadCreate, ThreadCreateParams, ThreadGet,
    ThreadGetParams, ThreadMove, ThreadMoveParams, ThreadRename, ThreadRenameParams, ThreadTree,
    ThreadTreeParams,
};
use protocol::{DocumentStatus, Thread as ThreadRecord, ThreadId, ThreadSummary};

use crate::arguments::{InWorkspace, Thread};
use crate::command::files::session::describe as describe_session;
use crate::context::{Context, find_thread};
use crate::enum_names::enum_str;
use crate::failure::{Exit, Failure};
use crate::output::one_line;
use crate::output::terminal::time;

/// Maximum length of a title in the tree. The title of delegated work is its whole task.
const TITLE_WIDTH: usize = 80;

pub(crate) async fn run(context: Context, command: Thread) -> Result<Exit, Failure> {
    let output = context.output;
    let client = context.connect().await?;
    let workspace = async |scope: &InWorkspace| context.workspace(&client, scope).await;
    match command {
        Thread::Create { title, folder, mode, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let folder_id = match folder {
                Some(folder) => context.folder_or_root(&client, &workspace_id, &folder).await?,
                None => None,
            };
            let params = ThreadCreateParams { workspace_id, folder_id, title, mode };
            let result = client.call::<ThreadCreate>(&params).await?;
            output.data(&result, || format!("{}\n", result.thread.id))?;
            output.note(format!("created thread `{}`", result.thread.title));
        }
        Thread::Tree { folder, depth, threads, scope } => {
            let workspace = workspace(&scope).await?;
            let folder_id = match &folder {
                Some(folder) => context.folder_or_root(&client, &workspace.id, folder).await?,
                None => None,
            };
            let params =
                ThreadTreeParams { workspace_id: workspace.id, folder_id, depth, thread_limit: threads };
            let result = client.call::<ThreadTree>(&params).await?;
            let name = folder.filter(|_| params.folder_id.is_some()).unwrap_or(workspace.name);
            output.data(&result, || draw(&name, &LiveTree::of(result.clone(), params.folder_id.clone())))?;
        }
        Thread::Get { thread, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let thread_id = find_thread(&client, &workspace_id, &thread).await?;
            let params = ThreadGetParams { workspace_id, thread_id };
            let result = client.call::<ThreadGet>(&params).await?;
            output.data(&result, || describe(&result.thread))?;
        }
        Thread::Rename { thread, title, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let thread_id = find_thread(&client, &workspace_id, &thread).await?;
            let params = ThreadRenameParams { workspace_id, thread_id, title };
            let result = client.call::<ThreadRename>(&params).await?;
            output.data(&result, String::new)?;
            output.note(format!("renamed thread `{thread}` to `{}`", result.thread.title));
        }
        Thread::Move { thread, to, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let folder_id = context.folder_or_root(&client, &workspace_id, &to).await?;
            let thread_id = find_thread(&client, &workspace_id, &thread).await?;
            let params = ThreadMoveParams { workspace_id, thread_id, folder_id };
            let result = client.call::<ThreadMove>(&params).await?;
            output.data(&result, String::new)?;
            output.note(format!("moved thread `{}` to `{to}`", result.thread.title));
        }
        Thread::Archive { thread, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let thread_id = find_thread(&client, &workspace_id, &thread).await?;
            let params = ThreadGetParams { workspace_id, thread_id };
            let result = client.call::<ThreadArchive>(&params).await?;
            output.data(&result, String::new)?;
            output.note(format!("archived thread `{}`", result.thread.title));
        }
        Thread::History { thread, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let thread_id = find_thread(&client, &workspace_id, &thread).await?;
            crate::command::turns::turn::history(&context, &client, workspace_id, thread_id).await?;
        }
        Thread::Session { thread, scope } => {
            let workspace_id = workspace(&scope).await?.id;
            let thread_id = find_thread(&client, &workspace_id, &thread).await?;
            let result = client.call::<SessionGet>(&SessionGetParams { workspace_id, thread_id }).await?;
            output.data(&result, || {
                result.session.as_ref().map_or_else(String::new, |session| describe_session(&session.state))
            })?;
            // A thread without a session is a normal state, but a script that looks for one gets exit code 1.
            if result.session.is_none() {
                output.note(
                    "the thread has no session: it gets one with its first completed turn, where its workspace has \
                     a directory",
                );
                return Ok(Exit::CheckFailed);
            }
        }
    }
    Ok(Exit::Done)
}

/// Formats the tree with two spaces per level: documents as files, folders with a slash, threads with their ids. Threads of
/// delegated work are below the thread that delegated it.
fn draw(name: &str, tree: &LiveTree) -> String {
    let threads = || tree.threads().map(|(thread, _)| thread);
    let shown: HashSet<&ThreadId> = threads().map(|thread| &thread.id).collect();
    let mut delegated: HashMap<&ThreadId, Vec<&ThreadSummary>> = HashMap::new();
    for thread in threads() {
        // A delegated thread stays in its own place if its parent is not shown, for example because it is in
        // another folder.
        if let Some(parent) = thread.parent_thread_id.as_ref().filter(|parent| shown.contains(parent)) {
            delegated.entry(parent).or_default().push(thread);
        }
    }
    // Ids are ordered by time, so delegated threads appear in the order of delegation.
    delegated.values_mut().for_each(|children| children.sort_by(|one, other| one.id.cmp(&other.id)));
    let mut text = format!("{name}\n");
    let mut waiting: Vec<TreeRow<'_>> = tree.rows().collect();
    waiting.retain(|row| {
        !matches!(row.kind, TreeRowKind::Thread(thread)
            if thread.parent_thread_id.as_ref().is_some_and(|parent| shown.contains(parent)))
    });
    waiting.reverse();
    while let Some(TreeRow { depth, kind }) = waiting.pop() {
        if let TreeRowKind::Thread(thread) = kind {
            let children = delegated.get(&thread.id).into_iter().flatten().rev();
            waiting
                .extend(children.map(|child| TreeRow { depth: depth + 1, kind: TreeRowKind::Thread(child) }));
        }
        let line = match kind {
            TreeRowKind::Document(row) => {
                let Some(document) = row.summary else { continue };
                let draft = if document.status == DocumentStatus::Draft { ", draft" } else { "" };
                format!(
                    "AGENTS.md  (version {}, {} characters{draft})",
                    document.version, document.char_count
                )
            }
            TreeRowKind::Folder(row) => format!("{}/", row.folder.name),
            TreeRowKind::Thread(thread) => {
                let by = if thread.parent_thread_id.is_some() { "delegated: " } else { "" };
                format!("{by}{}  [{}]", one_line(&thread.title, TITLE_WIDTH), thread.id)
            }
            TreeRowKind::More { threads, folders, .. } => {
                let counts = [(folders, "folder"), (threads, "thread")].into_iter();
                let counts: Vec<String> = counts
                    .filter(|(count, _)| *count > 0)
                    .map(|(count, what)| format!("{count} more {what}{}", if count == 1 { "" } else { "s" }))
                    .collect();
                format!("… {}", counts.join(", "))
            }
        };
        text.push_str(&"  ".repeat(depth + 1));
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn describe(thread: &ThreadRecord) -> String {
    let folder = thread.folder_id.as_ref().map_or("/", |folder| folder.as_str());
    let mode = enum_str(&thread.mode);
    let mut text = format!(
        "title     {}\nid        {}\nfolder    {folder}\nmode      {mode}\ncreated   {}\nupdated   {}\n",
        thread.title,
        thread.id,
        time(thread.created_at),
        time(thread.updated_at)
    );
    if let Some(archived) = thread.archived_at {
        text.push_str(&format!("archived  {}\n", time(archived)));
    }
    text
}
