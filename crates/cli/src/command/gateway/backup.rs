//! `foreword backup` and `foreword restore`.

use std::path::Path;

use gateway::{BackupError, Database, Existing, RestoredTokens};
use protocol::Hint as _;
use protocol::local::{DATABASE_FILE, OWNER_TOKEN_FILE};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::progress::Progress;

pub(crate) async fn back_up(context: &Context, file: &Path, existing: Existing) -> Result<Exit, Failure> {
    let database = match context.database()? {
        Database::Sqlite(path) => path,
        database @ Database::Postgres(_) => {
            return Err(on_postgres("backup", &database)
                .hint("create one with `pg_dump --format=custom --file=foreword.dump DATABASE`"));
        }
    };
    let progress = Progress::start(context.output, format!("copying {}", database.display()));
    gateway::back_up(&database, file, existing).await.map_err(|error| match error {
        // The running gateway may use another database than this configuration names.
        BackupError::NoDatabase { .. } => failure(&error).hint(
            "name the data directory of the gateway with --data; if its database is PostgreSQL, use pg_dump",
        ),
        error => failure(&error),
    })?;
    drop(progress);
    // An unknown size is no reason to report a completed backup as failed.
    let bytes = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    let result =
        json!({ "file": file.to_string_lossy(), "database": database.to_string_lossy(), "bytes": bytes });
    context.output.data(&result, || format!("{}\n", file.display()))?;
    context.output.note(format!("copied {} ({bytes} bytes)", database.display()));
    Ok(Exit::Done)
}

pub(crate) async fn restore(context: &Context, file: &Path, tokens: RestoredTokens) -> Result<Exit, Failure> {
    let data = &context.directories.data;
    let place = data.join(DATABASE_FILE);
    match context.database()? {
        Database::Sqlite(path) if path == place => {}
        // A database outside the data directory may be shared, so the owner gets the steps instead of an automatic
        // restore.
        Database::Sqlite(path) => {
            let message = format!("gateway.database names {}, not the data directory's own", path.display());
            let hint = format!(
                "move what is at {0}, {0}-wal and {0}-shm away, copy the backup to {0}, and start once with \
                 --new-database",
                path.display()
            );
            return Err(Failure::usage(message).hint(hint));
        }
        database @ Database::Postgres(_) => {
            return Err(on_postgres("restore", &database)
                .hint("restore one with `pg_restore --clean --if-exists --dbname=DATABASE foreword.dump`"));
        }
    }
    let progress = Progress::start(context.output, format!("restoring {}", file.display()));
    gateway::restore(file, data, tokens).await.map_err(|error| failure(&error))?;
    drop(progress);
    let token = data.join(OWNER_TOKEN_FILE);
    let result = json!({
        "database": place.to_string_lossy(),
        "owner_token": token.to_string_lossy(),
        "tokens_kept": tokens == RestoredTokens::Kept,
    });
    context.output.data(&result, || format!("{}\n", place.display()))?;
    context.output.note(match tokens {
        RestoredTokens::Revoked => {
            format!("restored; every token is revoked, and {} holds a new owner's", token.display())
        }
        RestoredTokens::Kept => format!("restored with its tokens; {} holds a new owner's", token.display()),
    });
    Ok(Exit::Done)
}

fn on_postgres(command: &str, database: &Database) -> Failure {
    Failure::usage(format!(
        "`foreword {command}` is for the embedded database, and {database} is PostgreSQL's"
    ))
}

fn failure(error: &BackupError) -> Failure {
    // Problems that the user solves by naming another file or directory are usage errors.
    let exit = match error {
        BackupError::Exists { .. }
        | BackupError::Directory { .. }
        | BackupError::NoDirectory { .. }
        | BackupError::InUse { .. }
        | BackupError::NotEmpty { .. }
        | BackupError::LeftBehind { .. }
        | BackupError::NoDatabase { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::new(exit, error.to_string()).hints(error.hint().as_deref())
}
