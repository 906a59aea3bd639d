//! Documents: versioned saves, restores and archives of a scope.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::document::TITLE;
use protocol::limits::{MAX_DOCUMENT_BYTES, MAX_SAVE_MESSAGE_CHARACTERS};
use protocol::method::{DocumentRestoreParams, DocumentSaveParams};
use protocol::notification::{ChangeOrigin, TreeChange, WorkspaceEvent};
use protocol::text::{is_blank, normalise};
use protocol::{
    ContentHash, Document, DocumentId, DocumentStatus, ErrorSubject, ResolvedDocument, RevisionReason,
    Sequence, Timestamp, Version,
};

use crate::change_log::Wake;
use crate::column::{enum_str, values};
use crate::connection::{Columns, Tx};
use crate::documents::resolution;
use crate::documents::scope::in_scope;
use crate::validation;
use crate::write::workspace_write::{LogEntry, WorkspaceWrite};
use crate::{Scope, Store, StoreError};

/// The columns that [`read_document`] reads, from a table named `d`.
macro_rules! document_columns {
    () => {
        "d.id, d.workspace_id, d.folder_id, d.status, d.title, d.content, d.content_sha256, d.version, d.char_count,
        d.created_at, d.updated_at, d.archived_at, d.created_by, d.updated_by"
    };
}
pub(crate) use document_columns;

pub(crate) fn read_document(mut row: Columns<'_>) -> Result<Document, StoreError> {
    Ok(Document {
        id: row.next()?,
        workspace_id: row.next()?,
        folder_id: row.next()?,
        status: row.next()?,
        title: row.next()?,
        content: row.next()?,
        content_sha256: row.next()?,
        version: row.next()?,
        char_count: row.next()?,
        created_at: row.next()?,
        updated_at: row.next()?,
        archived_at: row.next()?,
        created_by: row.next()?,
        updated_by: row.next()?,
    })
}

/// A scope's own document, and its effective one.
type OwnAndEffective = (Option<Document>, Option<ResolvedDocument>);

impl Store {
    /// Returns a scope's own document and its effective one, both from the same snapshot.
    pub fn document<'a>(&'a self, scope: &'a Scope) -> BoxFuture<'a, Result<OwnAndEffective, StoreError>> {
        let scope = scope.clone();
        self.read_snapshot(async move |tx: &mut Tx<'_>| {
            let effective = resolution::resolve_for_scope(tx, &scope).await?;
            let explicit = match &effective {
                // The nearest active document is the scope's own one, so it need not be read again.
                Some(resolved) if !resolved.inherited => Some(resolved.doc.clone()),
                _ => find_live(tx, &scope).await?,
            };
            Ok((explicit, effective))
        })
        .boxed()
    }

    /// Saves a scope's document and returns its current state. Saving identical text changes nothing.
    pub fn save_document<'a>(
        &'a self,
        save: DocumentSaveParams,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Document, StoreError>> {
        self.save_document_with(save, actor, None)
    }

    /// Like [`Self::save_document`], and records the program that acted for the actor.
    pub fn save_document_with<'a>(
        &'a self,
        save: DocumentSaveParams,
        actor: Option<&'a str>,
        client: Option<String>,
    ) -> BoxFuture<'a, Result<Document, StoreError>> {
        Box::pin(async move {
            let text = Text::new(&save.content)?;
            let DocumentSaveParams {
                workspace_id, folder_id, expected_version, save_reason, message, ..
            } = save;
            let scope = Scope { workspace_id, folder_id };
            let cause = Cause { client, ..Cause::new(save_reason.unwrap_or_default().into(), message)? };
            if self.is_postgres()
                && let Some(saved) = self.save_joined(&scope, &text, expected_version, &cause, actor).await?
            {
                return Ok(saved);
            }
            let workspace_id = scope.workspace_id.clone();
            self.write_workspace(&workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let live = write.live_document(&scope).await?;
                write.put(&scope, live, text, expected_version, &cause).await
            })
            .await
        })
    }

    /// Makes an older revision's text current again, as a new version.
    pub fn restore_document<'a>(
        &'a self,
        restore: DocumentRestoreParams,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Document, StoreError>> {
        Box::pin(async move {
            let DocumentRestoreParams { workspace_id, folder_id, version, expected_version, message } =
                restore;
            let scope = Scope { workspace_id, folder_id };
            let cause =
                Cause { restored_from: Some(version), ..Cause::new(RevisionReason::Restore, message)? };
            // Revisions never change, so the text is read and hashed before the workspace is locked.
            let text = match self.revision(&scope, version).await {
                Ok(revision) => Some(Text::new(&revision.content)?),
                // A missing folder is reported before a missing revision, so this error waits for the checks under the
                // lock.
                Err(StoreError::NotFound { what: ErrorSubject::Revision, .. }) => None,
                Err(error) => return Err(error),
            };
            let workspace_id = scope.workspace_id.clone();
            self.write_workspace(&workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let live = write.live_document(&scope).await?;
                let text = text.ok_or_else(|| StoreError::not_found(ErrorSubject::Revision, version))?;
                write.put(&scope, live, text, expected_version, &cause).await
            })
            .await
        })
    }

    /// Archives a scope's document. Returns false if there is none.
    pub fn archive_document<'a>(
        &'a self,
        scope: &'a Scope,
        expected_version: Option<Version>,
        actor: Option<&'a str>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let scope = scope.clone();
            let workspace_id = scope.workspace_id.clone();
            self.write_workspace(&workspace_id, actor, async move |write: &mut WorkspaceWrite<'_, '_>| {
                let live = write.live_document(&scope).await?;
                check_version(expected_version, live.as_ref())?;
                let Some(document) = live else { return Ok(false) };
                write.archive(document).await?;
                Ok(true)
            })
            .await
        })
    }
}

/// Takes the workspace's next number, replaces the document `$4` if its version precedes `$8`, adds the revision and
/// writes the log.
// The document refers to the number, so that the workspace is locked first, as in every write. If the document has changed
// meanwhile, no row is returned. That is not an error, because people save at the same time, and errors would fill the
// server's log.
const SAVE_JOINED: &str = "
WITH w AS (UPDATE workspace SET seq = seq + 1 WHERE id = $1 RETURNING seq),
d AS (
    UPDATE thread_agents_doc SET status = $5, content = $6, content_sha256 = $7, version = $8, char_count = $9,
        updated_at = $2, updated_by = $3
    WHERE id = $4 AND version = $8 - 1 AND status IN ('draft', 'active') AND (SELECT seq FROM w) > 0
    RETURNING id, folder_id
),
r AS (
    INSERT INTO thread_agents_doc_revision (id, doc_id, workspace_id, folder_id, version, content, content_sha256,
        char_count, saved_at, saved_by, save_reason, message, client)
    SELECT $10, d.id, $1, d.folder_id, $8, $6, $7, $9, $2, $3, $11, $14, $15 FROM d
)
INSERT INTO change_log (workspace_id, seq, changed_at, actor, method, params)
SELECT $1, w.seq, $2, $3, $12, $13 FROM w, d RETURNING seq";

impl Store {
    /// Replaces a live document in one statement. `None` if the caller must run the statements one by one.
    // For a server that is a network away: while a workspace is locked, each further round trip delays its other writers.
    async fn save_joined(
        &self,
        scope: &Scope,
        text: &Text,
        expected: Option<Version>,
        cause: &Cause,
        actor: Option<&str>,
    ) -> Result<Option<Document>, StoreError> {
        let read = scope.clone();
        let live = self.read(async move |tx: &mut Tx<'_>| match &read.folder_id {
            None => find_live(tx, &read).await,
            Some(folder_id) => {
                let values = values![&read.workspace_id, folder_id];
                Ok(tx.one_by_key(LIVE_IN_FOLDER, values, read_if_there).await?.flatten())
            }
        });
        let Some(live) = live.await? else { return Ok(None) };
        // Before the version is checked: saving the current text again succeeds whatever version the client has seen.
        if live.content_sha256 == text.sha256 {
            return Ok(Some(live));
        }
        check_version(expected, Some(&live))?;
        if live.status != text.status {
            // A document that becomes active or a draft also changes the tree, which is a second entry in the log.
            return Ok(None);
        }
        let actor = actor.map(str::to_owned);
        let cause = cause.clone();
        let document = next_version(live, text.clone(), self.now(), actor.clone());
        let event = WorkspaceEvent::DocumentChanged {
            folder_id: scope.folder_id.clone(),
            summary: Some(document.summary()),
            effective_changed: document.status == DocumentStatus::Active,
        };
        let entry = LogEntry::of_workspace(&scope.workspace_id, &event)?;
        let _permit = self.workspace_permit(&scope.workspace_id).await?;
        self.write(async move |tx: &mut Tx<'_>| {
            let revision = DocumentId::new();
            let status = enum_str(document.status);
            let reason = enum_str(cause.reason);
            let values = values![
                &document.workspace_id,
                document.updated_at,
                &actor,
                &document.id,
                &status,
                &document.content,
                &document.content_sha256,
                document.version,
                document.char_count,
                &revision,
                &reason,
                entry.method,
                &entry.body,
                &cause.message,
                &cause.client,
            ];
            let saved = tx.one_by_key(SAVE_JOINED, values, |mut row| row.next()).await?;
            let Some(seq): Option<Sequence> = saved else {
                tx.discard();
                return Ok(None);
            };
            let origin = ChangeOrigin { changed_at: document.updated_at, changed_by: actor };
            tx.wake(Wake::logged(document.workspace_id.clone(), seq, &origin, vec![entry]));
            Ok(Some(document))
        })
        .await
    }
}

fn read_if_there(row: Columns<'_>) -> Result<Option<Document>, StoreError> {
    if row.is_null()? { Ok(None) } else { read_document(row).map(Some) }
}

/// Returns the document of a scope, or `None` if it has none or only an archived one.
async fn find_live(tx: &mut Tx<'_>, scope: &Scope) -> Result<Option<Document>, StoreError> {
    let select = in_scope!(
        scope,
        concat!("SELECT ", document_columns!(), " FROM thread_agents_doc d WHERE"),
        "AND status IN ('draft', 'active')"
    );
    tx.one_by_key(select, values![&scope.workspace_id, scope.folder_id.as_ref()], read_document).await
}

/// Returns the next version of a document, with a new text.
fn next_version(document: Document, text: Text, now: Timestamp, actor: Option<String>) -> Document {
    Document {
        status: text.status,
        content: text.content,
        content_sha256: text.sha256,
        char_count: text.characters,
        version: document.version.next(),
        updated_at: now,
        updated_by: actor,
        ..document
    }
}

/// A normalised text within its size limit.
#[derive(Clone)]
pub(crate) struct Text {
    content: String,
    sha256: ContentHash,
    characters: u64,
    status: DocumentStatus,
}

impl Text {
    pub(crate) fn new(content: &str) -> Result<Self, StoreError> {
        // Normalised before it is hashed: texts that differ only in line ends count as identical.
        let content = normalise(content).into_owned();
        if content.len() > MAX_DOCUMENT_BYTES {
            return Err(StoreError::TooLarge { limit: MAX_DOCUMENT_BYTES, actual: content.len() });
        }
        if content.contains('\0') {
            return Err(StoreError::invalid("content", "must not contain a zero byte (U+0000)"));
        }
        let status = if is_blank(&content) { DocumentStatus::Draft } else { DocumentStatus::Active };
        let characters = content.chars().count() as u64;
        Ok(Self { sha256: ContentHash::of(&content), characters, status, content })
    }
}

/// Reason for a new version.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    reason: RevisionReason,
    message: Option<String>,
    restored_from: Option<Version>,
    /// Program that acted for the author.
    client: Option<String>,
}

impl Cause {
    fn new(reason: RevisionReason, message: Option<String>) -> Result<Self, StoreError> {
        // A message of white space carries no information.
        let message = message.filter(|message| !message.trim().is_empty());
        if let Some(message) = &message {
            validation::check_text("message", message)?;
            let characters = message.chars().count();
            if characters > MAX_SAVE_MESSAGE_CHARACTERS {
                let reason =
                    format!("has {characters} characters, at most {MAX_SAVE_MESSAGE_CHARACTERS} are allowed");
                return Err(StoreError::invalid("message", reason));
            }
        }
        Ok(Self { reason, message, restored_from: None, client: None })
    }
}

impl From<RevisionReason> for Cause {
    fn from(reason: RevisionReason) -> Self {
        Self { reason, message: None, restored_from: None, client: None }
    }
}

fn check_version(expected: Option<Version>, live: Option<&Document>) -> Result<(), StoreError> {
    let actual = live.map_or(Version(0), |document| document.version);
    match expected {
        Some(expected) if expected != actual => {
            Err(StoreError::VersionConflict { expected, actual, current: live.cloned().map(Box::new) })
        }
        _ => Ok(()),
    }
}

/// The live document of the folder `$2`, in a row that exists if the folder does.
// The LEFT JOIN distinguishes a missing folder (no row) from a folder without a document (a row of NULLs) in one query.
const LIVE_IN_FOLDER: &str = concat!(
    "SELECT ",
    document_columns!(),
    " FROM folder f LEFT JOIN thread_agents_doc d
        ON d.workspace_id = f.workspace_id AND d.folder_id = f.id AND d.status IN ('draft', 'active')
    WHERE f.id = $2 AND f.workspace_id = $1 AND f.deleted_at IS NULL"
);

impl WorkspaceWrite<'_, '_> {
    /// Returns the document of an existing scope, or `None` if it has none or only an archived one.
    pub(crate) async fn live_document(&mut self, scope: &Scope) -> Result<Option<Document>, StoreError> {
        let Some(folder_id) = &scope.folder_id else { return find_live(self.tx, scope).await };
        let values = values![&scope.workspace_id, folder_id];
        let found = self.tx.one_by_key(LIVE_IN_FOLDER, values, read_if_there).await?;
        found.ok_or_else(|| StoreError::not_found(ErrorSubject::Folder, folder_id))
    }

    /// Writes a text as the next version of a scope, given the live document.
    // Identical text changes nothing.
    pub(crate) async fn put(
        &mut self,
        scope: &Scope,
        live: Option<Document>,
        text: Text,
        expected: Option<Version>,
        cause: &Cause,
    ) -> Result<Document, StoreError> {
        if let Some(document) = &live
            && document.content_sha256 == text.sha256
        {
            return Ok(document.clone());
        }
        check_version(expected, live.as_ref())?;
        // Compared below, because a document that appears or changes between draft and active also changes the tree.
        let status_before = live.as_ref().map(|document| document.status);
        let document = match live {
            Some(document) => self.replace(document, text).await?,
            None => self.insert(scope, text).await?,
        };
        self.add_revision(&document, cause).await?;
        let effective_changed =
            status_before == Some(DocumentStatus::Active) || document.status == DocumentStatus::Active;
        self.document_changed(scope.folder_id.clone(), Some(document.summary()), effective_changed)?;
        if status_before != Some(document.status) {
            self.tree_changed(TreeChange::AgentsDoc, scope.folder_id.clone(), None)?;
        }
        Ok(document)
    }

    async fn insert(&mut self, scope: &Scope, text: Text) -> Result<Document, StoreError> {
        const INSERT: &str =
            "INSERT INTO thread_agents_doc (id, workspace_id, folder_id, status, title, content,
            content_sha256, version, char_count, created_at, updated_at, created_by, updated_by)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $11)";
        // Versions continue after an archived document, so that a scope never has the same version twice.
        let newest = in_scope!(scope, "SELECT max(version) FROM thread_agents_doc_revision WHERE", "");
        let values = values![&scope.workspace_id, scope.folder_id.as_ref()];
        let newest: Option<Option<Version>> =
            self.tx.one_by_key(newest, values, |mut row| row.next()).await?;
        let document = Document {
            id: DocumentId::new(),
            workspace_id: scope.workspace_id.clone(),
            folder_id: scope.folder_id.clone(),
            status: text.status,
            title: TITLE.to_owned(),
            content: text.content,
            content_sha256: text.sha256,
            version: newest.flatten().unwrap_or(Version(0)).next(),
            char_count: text.characters,
            created_at: self.now,
            updated_at: self.now,
            archived_at: None,
            created_by: self.actor.clone(),
            updated_by: self.actor.clone(),
        };
        let status = enum_str(document.status);
        let values = values![
            &document.id,
            &document.workspace_id,
            document.folder_id.as_ref(),
            &status,
            &document.title,
            &document.content,
            &document.content_sha256,
            document.version,
            document.char_count,
            self.now,
            &self.actor,
        ];
        self.tx.execute(INSERT, values).await?;
        Ok(document)
    }

    async fn replace(&mut self, document: Document, text: Text) -> Result<Document, StoreError> {
        let expected = document.version;
        let after = next_version(document, text, self.now, self.actor.clone());
        self.update_guarded(&after, expected).await?;
        Ok(after)
    }

    /// Archives a document as its scope's next version, and logs it.
    pub(crate) async fn archive(&mut self, document: Document) -> Result<(), StoreError> {
        let was_active = document.status == DocumentStatus::Active;
        let after = Document {
            status: DocumentStatus::Archived,
            version: document.version.next(),
            updated_at: self.now,
            archived_at: Some(self.now),
            updated_by: self.actor.clone(),
            ..document
        };
        self.update_guarded(&after, document.version).await?;
        self.add_revision(&after, &RevisionReason::Archive.into()).await?;
        self.document_changed(after.folder_id.clone(), None, was_active)?;
        self.tree_changed(TreeChange::AgentsDoc, after.folder_id, None)
    }

    /// Updates a document only if it is still at the expected version.
    // The workspace's lock already orders writers; the condition protects the document should that ever fail.
    async fn update_guarded(&mut self, after: &Document, expected: Version) -> Result<(), StoreError> {
        const UPDATE: &str = "UPDATE thread_agents_doc SET status = $1, content = $2, content_sha256 = $3,
            char_count = $4, version = $5, updated_at = $6, archived_at = $7, updated_by = $8
            WHERE id = $9 AND version = $10";
        let status = enum_str(after.status);
        let values = values![
            &status,
            &after.content,
            &after.content_sha256,
            after.char_count,
            after.version,
            after.updated_at,
            after.archived_at,
            &after.updated_by,
            &after.id,
            expected,
        ];
        if self.tx.execute(UPDATE, values).await? == 1 {
            return Ok(());
        }
        let select = concat!("SELECT ", document_columns!(), " FROM thread_agents_doc d WHERE d.id = $1");
        let current = self.tx.one_by_key(select, values![&after.id], read_document).await?;
        let actual = current.as_ref().map_or(Version(0), |document| document.version);
        Err(StoreError::VersionConflict { expected, actual, current: current.map(Box::new) })
    }

    async fn add_revision(&mut self, document: &Document, cause: &Cause) -> Result<(), StoreError> {
        const INSERT: &str =
            "INSERT INTO thread_agents_doc_revision (id, doc_id, workspace_id, folder_id, version,
            content, content_sha256, char_count, saved_at, saved_by, save_reason, message, restored_from,
            client)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
        let id = DocumentId::new();
        let reason = enum_str(cause.reason);
        let values = values![
            &id,
            &document.id,
            &document.workspace_id,
            document.folder_id.as_ref(),
            document.version,
            &document.content,
            &document.content_sha256,
            document.char_count,
            self.now,
            &self.actor,
            &reason,
            &cause.message,
            cause.restored_from.map(Version::to_column),
            &cause.client,
        ];
        self.tx.execute(INSERT, values).await.map(drop)
    }
}
