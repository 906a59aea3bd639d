//! A request to a model, and its answer.

pub(crate) mod assembly;
pub(crate) mod cache;
pub(crate) mod message;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod round;
