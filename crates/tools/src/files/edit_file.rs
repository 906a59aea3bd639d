//! `edit_file` makes one exact replacement.

use std::io::Read as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use rustix::fs::Stat;

use crate::files::blocking::{self, BlockingWork};
use crate::files::location::Location;
use crate::files::text_replacement::{Replaced, replace};
use crate::files::write_lock;
use crate::{FileError, Needs, Tool, ToolArguments, ToolContext, ToolOutput, ToolSpec};

/// Replaces a text that occurs once in a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct EditFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// File, absolute or relative to the working directory.
    path: PathBuf,
    /// Text to replace, exactly as it is in the file. It must occur there once: include lines around it if necessary.
    old_text: String,
    /// Text to put in its place; empty to remove it.
    new_text: String,
}

impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "edit_file",
            "Replaces a text that occurs exactly once in a file. The rest of the file and its line endings stay as they are.",
        )
    }

    fn needs(&self, arguments: &ToolArguments) -> Needs {
        arguments.text("path").map(Needs::write).unwrap_or_default()
    }

    fn preview(&self, arguments: &ToolArguments, current: &[u8]) -> Option<Vec<u8>> {
        let old = arguments.text("old_text")?;
        let new = arguments.text("new_text")?;
        replace(current, old, new).ok().map(|replaced| replaced.content)
    }

    fn validate(&self, context: &ToolContext, arguments: &ToolArguments) -> Option<ToolOutput> {
        let parameters: Parameters = arguments.get().ok()?;
        planned(context, &parameters).err().map(|error| ToolOutput::failed(&error))
    }

    async fn call(&self, context: ToolContext, arguments: ToolArguments) -> ToolOutput {
        blocking::run(context, &arguments, edit).await
    }
}

fn edit(
    context: &ToolContext,
    parameters: &Parameters,
    work: &BlockingWork,
) -> Result<ToolOutput, FileError> {
    let _turn = write_lock::wait(&context.find(&parameters.path)?.real());
    // Resolved again after waiting: the call that held the lock may have replaced the file.
    let PlannedEdit { place, stat, replaced: Replaced { content, line } } = planned(context, parameters)?;
    // The edit is based on the content that was read, so the file must still be in that state. The lock only excludes
    // calls of this process.
    context.replace(&place, &content, Some(&stat), work)?;
    let path = context.shown(&place.real());
    Ok(ToolOutput::text(format!("edited {} at line {line}", path.display())))
}

/// An edit that fits the present content of its file.
struct PlannedEdit {
    place: Location,
    stat: Stat,
    replaced: Replaced,
}

/// Reads the file and makes the replacement without writing it.
fn planned(context: &ToolContext, parameters: &Parameters) -> Result<PlannedEdit, FileError> {
    let place = context.find(&parameters.path)?;
    let (file, stat) = place.open_file()?;
    let limit = context.limits().edit_bytes;
    let path = context.shown(&place.real());
    let mut content = Vec::new();
    // One byte more than the limit shows that the file is too large, whatever its reported size was.
    file.take(limit + 1).read_to_end(&mut content).map_err(|error| FileError::io(error, &path))?;
    if content.len() as u64 > limit {
        let size = u64::try_from(stat.st_size).unwrap_or(limit + 1);
        return Err(FileError::TooLarge { path, size, limit });
    }
    let replaced = replace(&content, &parameters.old_text, &parameters.new_text)
        .map_err(|source| FileError::NotReplaced { path, source })?;
    Ok(PlannedEdit { place, stat, replaced })
}
