//! Configured providers and known models.

pub(crate) mod config;
pub(crate) mod key;
pub(crate) mod model_name;
pub(crate) mod rules;
