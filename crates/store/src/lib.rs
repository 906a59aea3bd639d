//! SQLite and PostgreSQL: migrations, documents, trees, turns, tokens and the change log.
//!
//! A [`Store`] is the only way to the database. Every change of a workspace runs in one transaction that first
//! takes the workspace's next sequence number and with it the lock of its row, then changes what it came for, and
//! last writes what happened to the change log under that number and those after it. So changes of one workspace
//! happen one after another, and a lower number never becomes visible after a higher one.
//!
//! What a [`Store`] offers returns boxed futures instead of being `async`: the compiler generates the body of an
//! `async fn` anew in every crate that awaits it, and the store's would be most of what `agent` and `gateway` compile.

#![expect(
    missing_docs,
    reason = "it is published to nobody: fields and variants are documented where their name does not say it"
)]

mod approval;
mod at_once;
mod audit;
mod backup;
mod change;
mod clock;
mod column;
mod counter;
mod database;
mod delegation;
mod deleted_folder;
mod document;
mod error;
mod folder;
mod history;
mod hook_run;
mod instance;
mod job;
mod lease;
mod listener;
mod manifest;
mod memory_change;
mod memory_forget;
mod memory_item;
mod memory_search;
mod memory_use;
mod migration;
mod moved_out;
mod name;
mod on;
mod postgres;
mod postgres_report;
mod prompt_text;
mod purge;
mod requested_tools;
mod resolution;
mod retention;
mod round;
mod scope;
mod session;
mod sqlite;
mod stop;
mod thread;
mod thread_context;
mod token;
mod tree;
mod turn;
mod turn_event;
mod turn_item;
mod workspace;
mod workspace_writers;
mod write;

pub use approval::ApprovalAnswer;
pub use audit::AuditFilter;
pub use backup::{RestoredTokens, SqliteReport, check_sqlite, copy_backup, copy_sqlite, sqlite_files_beside};
pub use change::{Change, LoggedChanges, Wake};
pub use counter::Statements;
pub use database::{Database, InvalidDatabase, Store};
pub use delegation::NewChildThread;
pub use deleted_folder::RestoredFolder;
pub use error::{Cause, StoreError};
pub use job::{ClaimedJob, JobFailure, JobRetries, NewJob};
pub use lease::{Lease, TurnHold};
pub use memory_change::{Added, NewMemory};
pub use memory_forget::Forgotten;
pub use memory_item::{MemoryFilter, MemoryPlace, MemoryPlaceError, MemoryView};
pub use memory_search::{Recallable, WordMatch};
pub use moved_out::{Moved, MovedOut};
pub use postgres_report::{PostgresReport, ask_postgres};
pub use prompt_text::PromptText;
pub use round::{BeginRound, StoredHistory, TurnStart, TurnSubject};
pub use scope::Scope;
pub use stop::UnansweredTurn;
pub use thread_context::ThreadContext;
pub use token::{NewToken, hash_secret};
pub use turn::{FinishTurn, INSERT_TURN, TurnActor, TurnEnd};
pub use turn_event::TurnEvent;
pub use turn_item::{RangePart, StoredItem, TurnRange};

pub use resolution::RESOLVE_FOR_THREAD;
