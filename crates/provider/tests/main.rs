//! Providers tested against a scripted server.

#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod broken;
mod caching;
mod dialects;
mod litellm;
mod real_model;
mod reasoning;
mod requests;
mod retries;
mod secrets;
mod stage;
mod streaming;
mod unfinished;
mod whole;
