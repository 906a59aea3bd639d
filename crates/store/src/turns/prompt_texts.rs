//! Texts of prompts, each stored once under its digest while it is in use.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};

use protocol::{ContentHash, Timestamp, WorkspaceId};

use crate::column::{Value, values};
use crate::connection::{MAX_ROWS, Statement, Tx, inserts, numbered};
use crate::retention::OldRows;
use crate::validation;
use crate::{Store, StoreError};

/// A text and its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    pub sha256: ContentHash,
    pub content: String,
}

impl PromptText {
    /// Computes the digest of a text.
    pub fn new(content: impl Into<String>) -> Self {
        let content = content.into();
        Self { sha256: ContentHash::of(&content), content }
    }
}

const PROMPT_TEXTS: OldRows = OldRows {
    delete: "DELETE FROM prompt_text WHERE (workspace_id, sha256) IN",
    select: "SELECT workspace_id, sha256 FROM prompt_text WHERE last_used_at < $1",
    order: "workspace_id, sha256",
};

impl Store {
    /// Returns true if a text was stored and then purged, because something in it was forgotten.
    pub fn is_purged<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        sha256: &'a ContentHash,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        const PURGED: &str = "SELECT purged_at FROM prompt_text WHERE workspace_id = $1 AND sha256 = $2 AND purged_at IS NOT NULL";
        let workspace_id = workspace_id.clone();
        let sha256 = sha256.clone();
        self.read(async move |tx: &mut Tx<'_>| {
            let values = values![&workspace_id, &sha256];
            Ok(tx.one_by_key(PURGED, values, |mut row| row.next::<i64>()).await?.is_some())
        })
        .boxed()
    }

    /// Returns the texts with these digests. Texts that are not stored are missing from the result.
    pub fn prompt_texts<'a>(
        &'a self,
        workspace_id: &'a WorkspaceId,
        digests: &'a [ContentHash],
    ) -> BoxFuture<'a, Result<HashMap<ContentHash, String>, StoreError>> {
        let workspace_id = workspace_id.clone();
        let digests = digests.to_vec();
        self.read(async move |tx: &mut Tx<'_>| {
            let mut found = HashMap::new();
            for batch in digests.chunks(MAX_ROWS) {
                let (select, values) = by_digest("SELECT sha256, content", &workspace_id, batch);
                found.extend(tx.all(select, &values, |mut row| Ok((row.next()?, row.next()?))).await?);
            }
            if found.is_empty() {
                tx.sequence(&workspace_id).await?;
            }
            Ok(found)
        })
        .boxed()
    }

    /// Deletes texts that were last used before a time, of one workspace or all, and returns their number.
    ///
    /// The recorded time of the last use may be up to an hour old.
    pub fn prune_prompt_texts<'a>(
        &'a self,
        workspace_id: Option<&'a WorkspaceId>,
        older_than: Timestamp,
    ) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.prune(&PROMPT_TEXTS, workspace_id, older_than).boxed()
    }
}

fn by_digest<'a>(
    select: &str,
    workspace_id: &'a WorkspaceId,
    digests: &'a [ContentHash],
) -> (String, Vec<Value<'a>>) {
    let values = [Value::from(workspace_id)].into_iter().chain(digests.iter().map(Value::from)).collect();
    let numbers = numbered(2, digests.len());
    (
        format!(
            "{select} FROM prompt_text WHERE workspace_id = $1 AND purged_at IS NULL AND sha256 IN ({numbers})"
        ),
        values,
    )
}

/// Verifies texts against their digests, and sorts and deduplicates them.
// Sorted, because two gateways that write the same rows in different orders could deadlock.
pub(crate) fn in_order(texts: &[PromptText]) -> Result<BTreeMap<ContentHash, String>, StoreError> {
    let mut wanted = BTreeMap::new();
    for text in texts {
        check(text)?;
        wanted.insert(text.sha256.clone(), text.content.clone());
    }
    Ok(wanted)
}

/// Builds the statements that store texts, or mark existing ones as used.
// The mark is refreshed once an hour.
pub(crate) fn put<'a>(
    workspace_id: &'a WorkspaceId,
    texts: &'a BTreeMap<ContentHash, String>,
    now: Timestamp,
) -> Vec<Statement<'a>> {
    const INSERT: &str =
        "INSERT INTO prompt_text (workspace_id, sha256, content, chars, last_used_at) VALUES";
    // The limit is computed from the new mark, which is a parameter: a time in the text would make each statement a new
    // one to prepare. A purged text that is used again has been remembered again; writing one that is forgotten purges
    // it again afterwards.
    const USED: &str = "ON CONFLICT (workspace_id, sha256) DO UPDATE SET last_used_at = excluded.last_used_at,
            content = CASE WHEN prompt_text.purged_at IS NULL THEN prompt_text.content ELSE excluded.content END,
            chars = CASE WHEN prompt_text.purged_at IS NULL THEN prompt_text.chars ELSE excluded.chars END,
            purged_at = NULL
        WHERE prompt_text.last_used_at < excluded.last_used_at - 3600000 OR prompt_text.purged_at IS NOT NULL";
    let mut rows: Vec<Value<'_>> = Vec::with_capacity(texts.len() * 5);
    for (sha256, content) in texts {
        let characters = content.chars().count() as u64;
        rows.extend_from_slice(values![workspace_id, sha256, content, characters, now]);
    }
    inserts(INSERT, 5, &rows, USED)
}

fn check(text: &PromptText) -> Result<(), StoreError> {
    validation::check_text("content", &text.content)?;
    if ContentHash::of(&text.content) != text.sha256 {
        return Err(StoreError::invalid("sha256", "is not the digest of its text"));
    }
    Ok(())
}
