//! `write_file`: a whole file, in one step.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::queue;
use crate::work::{self, Work};
use crate::{Arguments, FileError, Needs, Tool, ToolContext, ToolOutput, ToolSpec};

/// Writes a whole file.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The file, absolute or relative to the working directory.
    path: PathBuf,
    /// What the file contains afterwards, all of it.
    content: String,
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec::of::<Parameters>(
            "write_file",
            "Writes a file: a new one, with the directories above it, or another content for an existing one. To change a part of a file use edit_file.",
        )
    }

    fn needs(&self, arguments: &Arguments) -> Needs {
        arguments.text("path").map(Needs::write).unwrap_or_default()
    }

    fn preview(&self, arguments: &Arguments, _: &[u8]) -> Option<Vec<u8>> {
        arguments.text("content").map(|content| content.as_bytes().to_owned())
    }

    async fn call(&self, context: ToolContext, arguments: Arguments) -> ToolOutput {
        work::run(context, &arguments, write).await
    }
}

fn write(context: &ToolContext, parameters: &Parameters, work: &Work) -> Result<ToolOutput, FileError> {
    let place = context.find(&parameters.path)?;
    let _turn = queue::wait(&place.real());
    context.replace(&place, parameters.content.as_bytes(), None, work)?;
    let did = if place.exists() { "replaced" } else { "created" };
    let bytes = parameters.content.len();
    Ok(ToolOutput::text(format!("{did} {}: {bytes} bytes", context.shown(&place.real()).display())))
}
