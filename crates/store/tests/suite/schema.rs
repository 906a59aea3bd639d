//! What the tables themselves forbid, whoever writes to them.

use sea_orm::{ConnectionTrait as _, SqlErr};

use crate::fixture::Fixture;

async fn violation(given: &Fixture, statement: &str) -> Option<SqlErr> {
    let connection = given.connection().await;
    let executed = connection.execute_unprepared(statement).await;
    connection.close().await.unwrap();
    executed.unwrap_err().sql_err()
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
            assert!(matches!(violation, Some(SqlErr::UniqueConstraintViolation(_))), "{violation:?}");
        }
        let connection = given.connection().await;
        connection.execute_unprepared(&copy_of_document("archived")).await.unwrap();
        connection.execute_unprepared("DELETE FROM thread_agents_doc_revision").await.unwrap();
        connection.execute_unprepared("DELETE FROM thread_agents_doc").await.unwrap();
        connection.close().await.unwrap();
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
        assert!(matches!(violation, Some(SqlErr::ForeignKeyConstraintViolation(_))), "{violation:?}");
    }
});

both_databases!(a_version_of_a_scope_has_one_revision, async |given| {
    given.save(&given.root(), "one").await;
    given.save(&given.root(), "two").await;
    let violation = violation(given, "UPDATE thread_agents_doc_revision SET version = 1").await;
    assert!(matches!(violation, Some(SqlErr::UniqueConstraintViolation(_))), "{violation:?}");
});
