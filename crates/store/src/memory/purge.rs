//! Taking a text out of what is kept of a turn, where it is known what carried it. Nothing is searched for words.
//!
//! A row stays where it was, and says that something was purged: whoever reads it must not take it for what was sent.

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

/// What carried a text in one turn.
pub(crate) type Carriers = BTreeSet<Carrier>;

/// Stands in the place of what is purged.
const PURGED: Redaction = Redaction {
    note: "[foreword: purged: something remembered that was here has been forgotten]",
    result: "[foreword: purged: something remembered that was in this result has been forgotten]",
};

/// Takes texts out of turns, and out of the summaries that were made from them.
pub(crate) async fn purge_turns(
    tx: &mut Tx<'_>,
    uses: &BTreeMap<(WorkspaceId, TurnId), Carriers>,
) -> Result<MemoryRemoved, StoreError> {
    const TURN: &str = "SELECT thread_id, ordinal FROM turn WHERE id = $1";
    let mut removed = MemoryRemoved::default();
    // The first of each thread's: what was summarised from a later one was summarised from it, too.
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

/// Takes texts out of a turn: out of its prompts, its messages and the questions about its calls.
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

/// The row stays: it says that the text was purged, also to whoever would put it there again.
async fn purge_text(
    tx: &mut Tx<'_>,
    workspace_id: &WorkspaceId,
    sha256: &ContentHash,
) -> Result<u64, StoreError> {
    const PURGE: &str = "UPDATE prompt_text SET content = '', chars = 0, purged_at = $1
        WHERE workspace_id = $2 AND sha256 = $3 AND purged_at IS NULL";
    tx.execute(PURGE, values![tx.now(), workspace_id, sha256]).await
}

/// Whoever was asked about a call was shown all of it.
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

/// Forgets the summaries that a thread's turn of this ordinal was part of. The thread's next turn reads its turns anew, without what was purged, and
/// summarises those that no longer fit.
///
/// Also where there is none: one may be in the making, from what was read before, and must not be saved over the new version.
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
