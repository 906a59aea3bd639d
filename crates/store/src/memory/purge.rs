//! Purging texts from the records of a turn, wherever it is known what carried them. Records are not searched for
//! words.

// A purged row stays and is marked: a reader must not mistake it for what was sent.

use std::collections::{BTreeMap, BTreeSet};

use protocol::message::TurnMessage;
use protocol::turn::ExplainedHistory;
use protocol::{
    ApprovalRequest, ContentHash, MemoryRemoved, Redacted, Redaction, ThreadId, TurnId, TurnItemId,
    WorkspaceId,
};

use crate::StoreError;
use crate::column::{from_json, to_json, values};
use crate::connection::{Columns, Tx};
use crate::memory::uses::Carrier;

/// Carriers of a text in one turn.
pub(crate) type Carriers = BTreeSet<Carrier>;

/// Replaces purged content.
const PURGED: Redaction = Redaction {
    note: "[foreword: purged: something remembered that was here has been forgotten]",
    result: "[foreword: purged: something remembered that was in this result has been forgotten]",
};

/// Purges texts from turns, and from the summaries that were made from them.
pub(crate) async fn purge_turns(
    tx: &mut Tx<'_>,
    uses: &BTreeMap<(WorkspaceId, TurnId), Carriers>,
) -> Result<MemoryRemoved, StoreError> {
    const TURN: &str = "SELECT thread_id, ordinal FROM turn WHERE id = $1";
    let mut removed = MemoryRemoved::default();
    // The first purged turn of each thread: a summary through any later turn includes it too.
    let mut threads: BTreeMap<(&WorkspaceId, ThreadId), u64> = BTreeMap::new();
    for ((workspace_id, turn_id), carriers) in uses {
        removed += purge_turn(tx, workspace_id, turn_id, carriers).await?;
        let read = |mut row: Columns<'_>| Ok((row.next::<ThreadId>()?, row.next::<u64>()?));
        if let Some((thread_id, ordinal)) = tx.one_by_key(TURN, values![turn_id], read).await? {
            let first = threads.entry((workspace_id, thread_id)).or_insert(ordinal);
            *first = ordinal.min(*first);
        }
    }
    for ((workspace_id, thread_id), first) in &threads {
        removed.summaries += purge_summaries(tx, workspace_id, thread_id, *first).await?;
    }
    Ok(removed)
}

/// Purges texts from a turn: its prompts, its messages and its approval requests.
async fn purge_turn(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    turn_id: &TurnId,
    carriers: &Carriers,
) -> Result<MemoryRemoved, StoreError> {
    let mut removed = MemoryRemoved::default();
    for carrier in carriers {
        match carrier {
            Carrier::Section(sha256) => removed.prompt_texts += purge_text(tx, workspace_id, sha256).await?,
            Carrier::Call(call_id) => purge_question(tx, turn_id, call_id).await?,
        }
    }
    const MESSAGES: &str =
        "SELECT id, content FROM turn_item WHERE turn_id = $1 AND kind = 'message' ORDER BY ordinal";
    let messages = tx
        .all(MESSAGES, values![turn_id], |mut row| {
            Ok((row.next::<TurnItemId>()?, row.json::<TurnMessage>("message")?))
        })
        .await?;
    for (item_id, mut message) in messages {
        let is_section = |text: &str| carriers.contains(&Carrier::Section(ContentHash::of(text)));
        let is_call = |call_id: &str| carriers.contains(&Carrier::Call(call_id.to_owned()));
        let redacted = message.redact(PURGED, |note| is_section(&note.text), is_call);
        // Untouched messages are not written again, because a turn may have very many.
        if redacted != Redacted::default() {
            replace_item(tx, &item_id, &to_json(&message)?).await?;
        }
        removed.openings += redacted.notes;
    }
    removed.calls = carriers.iter().filter(|carrier| matches!(carrier, Carrier::Call(_))).count() as u64;
    Ok(removed)
}

async fn replace_item(tx: &mut Tx<'_>, item_id: &TurnItemId, content: &str) -> Result<(), StoreError> {
    tx.execute("UPDATE turn_item SET content = $1 WHERE id = $2", values![content, item_id]).await.map(drop)
}

/// Empties a text.
// The row stays and records the purge, also for writers that would store the same text again.
async fn purge_text(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    sha256: &ContentHash,
) -> Result<u64, StoreError> {
    const PURGE: &str = "UPDATE prompt_text SET content = '', chars = 0, purged_at = $1
        WHERE workspace_id = $2 AND sha256 = $3 AND purged_at IS NULL";
    tx.execute(PURGE, values![tx.now(), workspace_id, sha256]).await
}

/// An approval request contains all arguments of its call.
async fn purge_question(tx: &mut Tx<'_>, turn_id: &TurnId, call_id: &str) -> Result<(), StoreError> {
    const REQUEST: &str = "SELECT request FROM turn_approval WHERE turn_id = $1 AND call_id = $2";
    const REPLACE: &str = "UPDATE turn_approval SET request = $1 WHERE turn_id = $2 AND call_id = $3";
    let asked = tx.one_by_key(REQUEST, values![turn_id, call_id], |mut row| row.next::<String>()).await?;
    let Some(asked) = asked else { return Ok(()) };
    let mut request: ApprovalRequest = from_json("question about a call", &asked)?;
    request.arguments.clear();
    request.diff = None;
    tx.execute(REPLACE, values![&to_json(&request)?, turn_id, call_id]).await.map(drop)
}

/// Deletes the summaries that cover a thread's turn of this ordinal. The thread's next turn reads its history again,
/// without what was purged, and summarizes what no longer fits.
// The version is increased even without a summary: one may be in the making from the old history, and must not be saved
// over the purge.
async fn purge_summaries(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    thread_id: &ThreadId,
    ordinal: u64,
) -> Result<u64, StoreError> {
    const FORGET: &str =
        "UPDATE thread_context SET through = 0, summary = NULL, version = version + 1, updated_at = $1
        WHERE thread_id = $2 AND through >= $3 AND summary IS NOT NULL";
    const OUTDATE: &str = "INSERT INTO thread_context (thread_id, workspace_id, through, version, updated_at)
        VALUES ($1, $2, 0, 1, $3)
        ON CONFLICT (thread_id) DO UPDATE SET version = thread_context.version + 1, updated_at = excluded.updated_at";
    const LATER: &str = "SELECT i.id, i.content FROM turn t JOIN turn_item i ON i.turn_id = t.id
        WHERE t.thread_id = $1 AND t.ordinal > $2 AND i.kind = 'context'";
    let forgotten = tx.execute(FORGET, values![tx.now(), thread_id, ordinal]).await?;
    if forgotten == 0 {
        tx.execute(OUTDATE, values![thread_id, workspace_id, tx.now()]).await?;
    }
    let later = tx
        .all(LATER, values![thread_id, ordinal], |mut row| {
            Ok((row.next::<TurnItemId>()?, row.json::<ExplainedHistory>("context of a turn")?))
        })
        .await?;
    for (item_id, mut context) in later {
        if context.left_out_through >= ordinal && context.summary.take().is_some() {
            replace_item(tx, &item_id, &to_json(&context)?).await?;
        }
    }
    Ok(forgotten)
}
