//! A call: its arguments, its permission and its answer.

pub(crate) mod approval_request;
pub(crate) mod arguments;
pub(crate) mod authorisation;
pub(crate) mod context;
pub(crate) mod guarding;
pub(crate) mod limits;
pub(crate) mod output;
pub(crate) mod permission;
pub(crate) mod router;
pub(crate) mod trim;
pub(crate) mod unreported_effects;
