//! The connection to a provider.

pub(crate) mod http;
pub(crate) mod retry;
pub(crate) mod secret;
pub(crate) mod sse;
