//! SQLite and PostgreSQL: migrations, documents, trees, turns, tokens and the change log.
//!
//! A [`Store`] is the only way to the database. Every change of a workspace runs in one transaction that first takes
//! the workspace's next sequence number, and with it the lock of its row, then makes its changes, and last writes them
//! to the change log under that number and the following ones. So changes of one workspace happen one after another,
//! and a lower number never becomes visible after a higher one.

// Functions of [`Store`] return boxed futures instead of being `async`: the compiler generates the body of an `async
// fn` anew in every crate that awaits it, and the store's would be most of what `agent` and `gateway` compile.

mod audit;
mod backup;
mod change_log;
mod column;
mod connection;
mod database;
mod database_id;
mod documents;
mod engine;
mod error;
mod jobs;
mod memory;
mod migrations;
mod retention;
mod tokens;
mod tree;
mod turns;
mod validation;
mod workspaces;
mod write;

pub use audit::AuditFilter;
pub use backup::{RestoredTokens, SqliteReport, check_sqlite, copy_backup, copy_sqlite, sqlite_files_beside};
pub use change_log::{Change, LoggedChanges, Wake};
pub use database::{Database, InvalidDatabase, Store};
pub use documents::{RESOLVE_FOR_THREAD, Scope};
pub use engine::{PoolFigures, PostgresReport, Statements, ask_postgres};
pub use error::{Cause, StoreError};
pub use jobs::{ClaimedJob, JobFailure, JobRetries, NewJob};
pub use memory::{
    Added, Forgotten, MemoryFilter, MemoryPlace, MemoryPlaceError, MemoryView, NewMemory, Recallable,
    WordMatch,
};
pub use tokens::{NewToken, hash_secret};
pub use tree::{Moved, RelocatedChildren, RestoredFolder};
pub use turns::{
    ApprovalAnswer, BeginRound, FinishTurn, INSERT_TURN, Lease, NewChildThread, PromptText, RangePart,
    StoredHistory, StoredItem, ThreadContext, TurnActor, TurnEnd, TurnEvent, TurnHold, TurnRange, TurnStart,
    TurnSubject, UnansweredTurn,
};
