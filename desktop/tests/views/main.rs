//! The views besides the editor, drawn without a screen, against a real gateway in a temporary directory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a fixture that cannot be made fails its test")]

mod documents;
mod prompts;
mod stage;
mod threads;
