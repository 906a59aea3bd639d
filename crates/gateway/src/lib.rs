//! The gateway
