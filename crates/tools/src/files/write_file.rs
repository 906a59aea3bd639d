//! `write_file` writes a whole file in one step.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::files::blocking::{self, BlockingWork};
use crate::files::location::Location;
use crate::files::restore_shown_text::{looks_shown, restored};
use crate::files::write_lock;
use crate::{FileError, Needs, Tool, ToolArguments, ToolContext, ToolOutput, ToolSpec};

/// Writes a whole file.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// File, absolute or relative to the working directory.
    path: PathBuf,
    /// Whole content of the file afterwards.
    content: String,
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "write_file",
            "Writes a whole file: creates it with the directories above it, or replaces its content. To change a part of a file, use edit_file.",
        )
    }

    fn needs(&self, arguments: &ToolArguments) -> Needs {
        arguments.text("path").map(Needs::write).unwrap_or_default()
    }

    fn preview(&self, arguments: &ToolArguments, current: &[u8]) -> Option<Vec<u8>> {
        let content = arguments.text("content")?;
        Some(restored(current, content).into_owned().into_bytes())
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        blocking::run(context, &arguments, write).await
    }
}

fn write(
    context: &ToolContext,
    parameters: &Parameters,
    work: &BlockingWork,
) -> Result<ToolOutput, FileError> {
    let _turn = write_lock::wait(&context.find(&parameters.path)?.real());
    // Resolved again after waiting: the call that held the lock may have replaced the file.
    let place = context.find(&parameters.path)?;
    let content = meant(context, &place, &parameters.content);
    // No known state is required here, unlike for an edit: the caller wants this content whatever the file contains
    // now.
    context.replace(&place, content.as_bytes(), None, work)?;
    let did = if place.exists() { "replaced" } else { "created" };
    let bytes = content.len();
    Ok(ToolOutput::text(format!("{did} {}: {bytes} bytes", context.shown(&place.real()).display())))
}

/// Restores escaped text from the file's current content. A file that is unreadable or too large to edit was never shown
/// whole, so nothing is restored from it.
fn meant<'a>(context: &ToolContext, place: &Location, content: &'a str) -> Cow<'a, str> {
    if !looks_shown(content) || !place.exists() {
        return Cow::Borrowed(content);
    }
    let limit = context.limits().edit_bytes;
    let mut current = Vec::new();
    match place.open_file().map(|(file, _)| file.take(limit + 1).read_to_end(&mut current)) {
        Ok(Ok(length)) if length as u64 <= limit => restored(&current, content),
        _ => Cow::Borrowed(content),
    }
}
