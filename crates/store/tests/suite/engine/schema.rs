//! Constraints of the tables, which hold for every writer.

use crate::fixture::{Fixture, Violation};

async fn violation(given: &Fixture, statement: &str) -> Option<Violation> {
    let connection = given.connection().await;
    let executed = connection.execute(statement).await;
    connection.close().await;
    executed.unwrap_err().violation()
}

/// Copies the only document, as another one.
fn copy_of_document(status: &str) -> String {
    format!(
        "INSERT INTO thread_agents_doc (id, workspace_id, folder_id, status, title, content, content_sha256,
            char_count, version, created_at, updated_at)
        SELECT 'copy', workspace_id, folder_id, '{status}', title, content, content_sha256,
            char_count, version, created_at, updated_at FROM thread_agents_doc"
    )
}

both_databases!(a_scope_has_at_most_one_document_that_is_not_archived, async |given| {
    let folder = given.folder(None, "folder").await;
    for scope in [given.root(), given.scope(&folder)] {
        given.save(&scope, "text").await;
        for status in ["draft", "active"] {
            let violation = violation(given, &copy_of_document(status)).await;
            assert!(matches!(violation, Some(Violation::Unique)), "{violation:?}");
        }
        let connection = given.connection().await;
        connection.execute(&copy_of_document("archived")).await.unwrap();
        connection.execute("DELETE FROM thread_agents_doc_revision").await.unwrap();
        connection.execute("DELETE FROM thread_agents_doc").await.unwrap();
        connection.close().await;
    }
});

both_databases!(foreign_keys_are_real, async |given| {
    given.folder(None, "folder").await;
    for statement in [
        "UPDATE folder SET parent_folder_id = 'nowhere'",
        "UPDATE folder SET workspace_id = 'nowhere'",
        "DELETE FROM workspace",
    ] {
        let violation = violation(given, statement).await;
        assert!(matches!(violation, Some(Violation::ForeignKey)), "{violation:?}");
    }
});

both_databases!(a_version_of_a_scope_has_one_revision, async |given| {
    given.save(&given.root(), "one").await;
    given.save(&given.root(), "two").await;
    let violation = violation(given, "UPDATE thread_agents_doc_revision SET version = 1").await;
    assert!(matches!(violation, Some(Violation::Unique)), "{violation:?}");
});

both_databases!(a_thread_has_at_most_one_running_turn, async |given| {
    let thread = given.thread(None, "thread").await;
    given.turn(&thread).await;
    let copy = |ordinal: u8, status: &str, finished_at: &str| {
        format!(
            "INSERT INTO turn (id, workspace_id, thread_id, ordinal, status, input, lease_owner, lease_expires_at,
                created_at, finished_at)
            SELECT 'copy', workspace_id, thread_id, {ordinal}, '{status}', input, lease_owner, lease_expires_at,
                created_at, {finished_at} FROM turn"
        )
    };
    for refused in [copy(2, "running", "NULL"), copy(1, "completed", "1")] {
        let violation = violation(given, &refused).await;
        assert!(matches!(violation, Some(Violation::Unique)), "{violation:?}");
    }
    // A running turn has no end, and an ended one has a time.
    for refused in [copy(2, "running", "1"), copy(2, "completed", "NULL"), copy(2, "lost", "1")] {
        assert_eq!(violation(given, &refused).await, None);
    }
    let connection = given.connection().await;
    connection.execute(&copy(2, "completed", "1")).await.unwrap();
    connection.close().await;
});

both_databases!(what_a_turn_leaves_behind_belongs_to_it, async |given| {
    given.turn(&given.thread(None, "thread").await).await;
    for statement in [
        "INSERT INTO turn_item SELECT 'i', workspace_id, 'nowhere', 1, 'kind', '1', 1 FROM turn",
        "INSERT INTO prompt_manifest SELECT workspace_id, 'nowhere', 1, '1', 'f', 1 FROM turn",
        "INSERT INTO prompt_text (workspace_id, sha256, content, chars, last_used_at) VALUES ('nowhere', 's', 'c', 1, 1)",
        "INSERT INTO session SELECT 'nowhere', workspace_id, '1', 1, 1 FROM turn",
        "INSERT INTO turn_approval SELECT workspace_id, 'nowhere', 'c', '1', 1, 1, NULL, NULL, NULL, 'asked' FROM turn",
        "INSERT INTO thread_context SELECT 'nowhere', workspace_id, 1, NULL, 1, 1 FROM turn",
        "INSERT INTO requested_tools SELECT 'nowhere', workspace_id, '[]', 1 FROM turn",
        "INSERT INTO hook_run SELECT 'h', workspace_id, thread_id, 'nowhere', 'p', 'h', 's', 'p', 's', 1, 1, '1'
            FROM turn",
        "DELETE FROM thread",
    ] {
        let violation = violation(given, statement).await;
        assert!(matches!(violation, Some(Violation::ForeignKey)), "{statement}: {violation:?}");
    }
});
