//! A typed client
