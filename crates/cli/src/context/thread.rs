//! Lookup of threads and turns.

use client::{Client, LiveTree};
use protocol::method::{ThreadGet, ThreadGetParams, ThreadTree, ThreadTreeParams, TurnList, TurnListParams};
use protocol::{ThreadId, Turn, TurnId, WorkspaceId};

use super::names::{self, Candidate, LAST, THREAD, TURN};
use crate::failure::Failure;

/// Number of latest turns that are searched for an id prefix.
const TURNS_LOOKED_AT: u32 = 500;

/// Returns the thread with this id, path, title or id prefix, or for `last` the one with the latest turn.
pub(crate) async fn find_thread(
    client: &Client,
    workspace_id: &WorkspaceId,
    named: &str,
) -> Result<ThreadId, Failure> {
    // A complete id needs no lookup.
    if names::is_id(named)
        && let Ok(id) = named.parse()
    {
        return Ok(id);
    }
    let params = ThreadTreeParams::whole(workspace_id.clone());
    let tree = LiveTree::of(client.call::<ThreadTree>(&params).await?, None);
    let candidates: Vec<Candidate<ThreadId>> = tree
        .threads()
        .map(|(thread, folder)| {
            let title = thread.title.clone();
            let name = match folder {
                Some(folder) => format!("{}/{title}", tree.folder_path(folder)),
                None => title.clone(),
            };
            let id = thread.id.to_string();
            let title = Some(title);
            Candidate { value: thread.id.clone(), id, name, title, about: None }
        })
        .collect();
    let titles: Vec<String> = candidates.iter().filter_map(|candidate| candidate.title.clone()).collect();
    // Ids are ordered by time, so the largest one belongs to the newest thread.
    let newest = candidates.iter().map(|candidate| &candidate.value).max().cloned();
    if let Some(id) = names::choose(THREAD, named, candidates)? {
        return Ok(id);
    }
    let unknown = || names::unknown(THREAD, named, titles.iter().map(String::as_str));
    // A thread may be titled `last`, so the word has its special meaning only if no thread is.
    if named != LAST {
        return Err(unknown());
    }
    let latest = latest_turns(client, workspace_id, 1).await?.pop().map(|turn| turn.thread_id);
    latest.or(newest).ok_or_else(unknown)
}

/// Returns the turn with this id, number or id prefix, or the `last` one. A number refers to the given thread, or to the
/// thread with the latest turn.
pub(crate) async fn find_turn(
    client: &Client,
    workspace_id: &WorkspaceId,
    thread: Option<&ThreadId>,
    named: &str,
) -> Result<TurnId, Failure> {
    if names::is_id(named)
        && let Ok(id) = named.parse()
    {
        return Ok(id);
    }
    let list = async |before: Option<u64>, limit: u32| {
        let workspace_id = workspace_id.clone();
        let thread_id = thread.cloned();
        let thread_id = match (thread_id, before) {
            // A turn number only has a meaning within a thread.
            (None, Some(_)) => latest_turns(client, &workspace_id, 1).await?.pop().map(|turn| turn.thread_id),
            (thread_id, _) => thread_id,
        };
        if thread_id.is_none() && before.is_some() {
            return Ok(Vec::new());
        }
        let params = TurnListParams { workspace_id, thread_id, limit: Some(limit), before };
        Ok::<_, Failure>(client.call::<TurnList>(&params).await?.turns)
    };
    if let Ok(number) = named.parse::<u64>() {
        // The list contains the turns before a number, so the one before the next number is the turn itself.
        let turns = list(Some(number.saturating_add(1)), 1).await?;
        if let Some(turn) = turns.into_iter().find(|turn| turn.ordinal == number) {
            return Ok(turn.id);
        }
        let newest = list(None, 1).await?.pop();
        let Some(newest) = newest else { return Err(no_turns(thread)) };
        let workspace_id = workspace_id.clone();
        let thread_id = newest.thread_id;
        let found = client.call::<ThreadGet>(&ThreadGetParams { workspace_id, thread_id }).await?;
        let there = match newest.ordinal {
            1 => "it has one turn".to_owned(),
            last => format!("its turns are 1 to {last}"),
        };
        let title = found.thread.title;
        return Err(Failure::usage(format!("turn {number} not found in thread `{title}`; {there}")));
    }
    if named == LAST {
        return list(None, 1).await?.pop().map(|turn| turn.id).ok_or_else(|| no_turns(thread));
    }
    let candidates = list(None, TURNS_LOOKED_AT).await?.into_iter().map(|turn| Candidate {
        id: turn.id.to_string(),
        name: turn.id.to_string(),
        title: Some(format!("turn {}: {}", turn.ordinal, crate::output::one_line(&turn.input, 60))),
        about: None,
        value: turn.id,
    });
    let found = names::choose(TURN, named, candidates.collect())?;
    found.ok_or_else(|| names::unknown(TURN, named, []).hint("name a turn by its number, `last`, or its id"))
}

fn no_turns(thread: Option<&ThreadId>) -> Failure {
    let place = if thread.is_some() { "the thread" } else { "the workspace" };
    Failure::usage(format!("{place} has no turns yet"))
        .hint("start one with `foreword turn start THREAD TEXT`")
}

async fn latest_turns(client: &Client, workspace_id: &WorkspaceId, limit: u32) -> Result<Vec<Turn>, Failure> {
    let params = TurnListParams {
        workspace_id: workspace_id.clone(),
        thread_id: None,
        limit: Some(limit),
        before: None,
    };
    Ok(client.call::<TurnList>(&params).await?.turns)
}
