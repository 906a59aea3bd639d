//! What tests share: a throw-away PostgreSQL cluster.

pub mod postgres;
