//! Formats an event for people: sequence number, time, author and affected item.

use client::Event;
use protocol::notification::{ChangeOrigin, DocumentChanged, Notification as _, TreeChange, TreeChanged};
use protocol::{DocumentStatus, FolderId, ThreadId, TurnId};

use super::names::Names;
use crate::enum_names::enum_str;
use crate::output::count;
use crate::output::terminal::{self, moment, wrap};
use crate::output::{one_line, shown_name};

/// Maximum length of a user-chosen name.
const NAME_WIDTH: usize = 100;
/// Indentation of wrapped lines.
const INDENT: usize = 8;

pub(super) async fn describe(event: &Event, names: &mut Names) -> String {
    let params = event.params.get();
    let what = match event.method.as_str() {
        DocumentChanged::NAME => match serde_json::from_str(params) {
            Ok(changed) => document(changed, names).await,
            Err(_) => as_it_is(event),
        },
        TreeChanged::NAME => match serde_json::from_str(params) {
            Ok(changed) => tree(changed, names).await,
            Err(_) => as_it_is(event),
        },
        method if method.starts_with("turn/") || method.starts_with("context/") => {
            match serde_json::from_str(params) {
                Ok(changed) => turn(method, changed, names).await,
                Err(_) => as_it_is(event),
            }
        }
        _ => as_it_is(event),
    };
    let (at, by) = match serde_json::from_str::<ChangeOrigin>(params) {
        Ok(origin) => (moment(origin.changed_at), origin.changed_by),
        // Events from older gateways have no time and author.
        Err(_) => ("-".to_owned(), None),
    };
    let by = by.map_or_else(|| "-".to_owned(), |by| one_line(&shown_name(&by), NAME_WIDTH));
    let line = format!("{:>6}  {at}  {by}  {what}", event.seq);
    format!("{}\n", wrap(&line, terminal::columns(), INDENT))
}

/// Formats an event of an unknown kind, from a newer gateway.
fn as_it_is(event: &Event) -> String {
    format!("{} {}", event.method, event.params.get())
}

async fn document(changed: DocumentChanged, names: &mut Names) -> String {
    let scope = scope(changed.folder_id.as_ref(), names).await;
    match changed.summary {
        Some(summary) => {
            let draft = if summary.status == DocumentStatus::Draft { ", draft" } else { "" };
            let characters = count(summary.char_count, "character");
            format!("document of {scope}: version {}, {characters}{draft}", summary.version)
        }
        None => format!("document of {scope}: archived"),
    }
}

async fn tree(changed: TreeChanged, names: &mut Names) -> String {
    // A rename or move may have changed any of the cached paths and titles.
    names.forget_tree();
    let reason = enum_str(&changed.reason).replace('_', " ");
    match (changed.reason, &changed.thread_id, &changed.folder_id) {
        (TreeChange::AgentsDoc, _, folder_id) => {
            format!("document of {}: status changed", scope(folder_id.as_ref(), names).await)
        }
        (_, Some(thread_id), _) => format!("{reason}: {}", thread(thread_id, names).await),
        (_, None, folder_id @ Some(_)) => format!("{reason}: {}", scope(folder_id.as_ref(), names).await),
        (_, None, None) => reason,
    }
}

/// Fields of turn notifications; some are only in a few of them.
#[derive(serde::Deserialize)]
struct TurnEvent {
    thread_id: ThreadId,
    turn_id: TurnId,
    round: Option<u32>,
    tool: Option<String>,
    is_error: Option<bool>,
    through: Option<u64>,
}

async fn turn(method: &str, event: TurnEvent, names: &mut Names) -> String {
    let what = method.split_once('/').map_or(method, |(_, what)| what).replace('_', " ");
    let number = names.turn(&event.turn_id).await;
    let mut words = vec![format!("turn {number} of {}: {what}", thread(&event.thread_id, names).await)];
    words.extend(event.round.map(|round| format!("round {round}")));
    words.extend(event.tool.map(|tool| one_line(&tool, NAME_WIDTH)));
    words.extend(event.is_error.map(|is_error| if is_error { "failed" } else { "ok" }.to_owned()));
    words.extend(event.through.map(|through| format!("up to turn {through}")));
    words.join(", ")
}

/// Returns a folder's path; the root is `/`.
async fn scope(folder_id: Option<&FolderId>, names: &mut Names) -> String {
    match folder_id {
        Some(folder_id) => one_line(&names.folder(folder_id).await, NAME_WIDTH),
        None => "/".to_owned(),
    }
}

async fn thread(thread_id: &ThreadId, names: &mut Names) -> String {
    one_line(&names.thread(thread_id).await, NAME_WIDTH)
}
