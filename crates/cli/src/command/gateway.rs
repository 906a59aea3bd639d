//! Commands that run and inspect the gateway.

pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod console;
pub(crate) mod doctor;
mod proxy;
pub(crate) mod reference;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod token;
