//! Counts of database work, for tests and benchmarks that enforce a bound.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of statements and transactions so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statements {
    /// Statements, without those that begin and end transactions.
    pub statements: u64,
    pub transactions: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counter {
    statements: AtomicU64,
    transactions: AtomicU64,
}

impl Counter {
    pub(crate) fn count(&self, statements: u64) {
        self.statements.fetch_add(statements, Ordering::Relaxed);
    }

    pub(crate) fn count_transaction(&self) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Statements {
        Statements {
            statements: self.statements.load(Ordering::Relaxed),
            transactions: self.transactions.load(Ordering::Relaxed),
        }
    }
}
