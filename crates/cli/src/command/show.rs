//! `foreword show`.

use std::io::IsTerminal as _;
use std::path::Path;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::files::{Absent, Files, Printed, directory, warn};
use crate::output::{print, shown};

pub(crate) fn run(context: &Context, path: Option<&Path>) -> Result<Exit, Failure> {
    let files = Files::new(context)?;
    let cwd = directory(path)?;
    let resolution = instructions::survey(&files.request(&cwd)).map_err(|error| files.failure(&error))?;
    if context.output.is_json() {
        context.output.json(&Printed::new(&resolution, Absent::LeftOut))?;
        return Ok(Exit::Done);
    }
    warn(context, &resolution.diagnostics);
    match &resolution.text {
        Some(text) => {
            print(&shown(text))?;
            // Exactly the text for programs; people want a terminal that is not steered, and their prompt on a line
            // of its own.
            if std::io::stdout().is_terminal() {
                print("\n")?;
            }
        }
        None => {
            let cwd = cwd.display();
            context.output.note(match &resolution.switched_off {
                Some(reason) => format!("no instruction file applies in {cwd}: {reason}"),
                None => format!(
                    "no instruction file applies in {cwd}; `foreword explain --all` says what was looked for"
                ),
            });
        }
    }
    Ok(Exit::Done)
}
