//! Tests of the commands for the gateway, and of output and completion.

mod completions;
mod configuration;
mod json;
mod output;
mod progress;
mod providers;
mod schema;
mod tokens;
mod widths;
