//! The life of a turn: created under a lease, planned, run in rounds, finished once.

pub(crate) mod approvals;
pub(crate) mod call_ids;
pub(crate) mod context_refresh;
pub(crate) mod control;
pub(crate) mod executor;
pub(crate) mod failed_turns;
pub(crate) mod finish;
pub(crate) mod handles;
pub(crate) mod lease;
pub(crate) mod lifecycle;
pub(crate) mod listener;
pub(crate) mod message;
pub(crate) mod plan;
pub(crate) mod queue;
pub(crate) mod rounds;
pub(crate) mod running;
pub(crate) mod start;
pub(crate) mod token_limit;
pub(crate) mod tools;
pub(crate) mod window;
