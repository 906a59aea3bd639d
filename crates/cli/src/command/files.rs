//! Commands that read instruction files.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod guard;
pub(crate) mod init;
pub(crate) mod map;
pub(crate) mod profile;
pub(crate) mod resolve;
pub(crate) mod session;
pub(crate) mod watch;
