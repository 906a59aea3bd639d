//! `foreword doc drafts`: lists drafts that editors left behind.

use serde_json::json;

use crate::context::Context;
use crate::editor::{Draft, drafts_directory};
use crate::failure::{Exit, Failure};
use crate::output::table;
use crate::output::terminal::time;

pub(super) fn run(context: &Context) -> Result<Exit, Failure> {
    let drafts = Draft::list(&drafts_directory(&context.directories.data))?;
    let listed: Vec<_> = drafts
        .iter()
        .map(|draft| {
            json!({
                "path": draft.path().display().to_string(),
                "modified": draft.modified().map(|time| time.to_string()),
                "bytes": draft.bytes(),
                "origin": draft.origin(),
            })
        })
        .collect();
    context.output.data(&json!({ "drafts": listed }), || {
        let rows = drafts.iter().map(|draft| {
            let origin = draft.origin();
            vec![
                draft.path().display().to_string(),
                draft.modified().map_or_else(|| "-".to_owned(), time),
                draft.bytes().to_string(),
                origin.map_or_else(|| "-".to_owned(), |origin| origin.scope.clone()),
                origin.map_or_else(|| "-".to_owned(), |origin| origin.version.to_string()),
            ]
        });
        table(&["file", "changed", "bytes", "of", "version"], rows)
    })?;
    match drafts.len() {
        0 => context.output.note("there are no drafts"),
        _ => context.output.note("resume one with `foreword doc edit --resume [FILE]`"),
    }
    Ok(Exit::Done)
}
