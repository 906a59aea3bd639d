//! `foreword schema`.

use std::path::Path;

use serde_json::json;

use crate::context::Context;
use crate::failure::{Exit, Failure};

pub(crate) fn run(context: &Context, directory: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(directory).map_err(|error| Failure::file("create", directory, error))?;
    let files = protocol::schema::files();
    for (name, text) in &files {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::file("write", &path, error))?;
    }
    let names: Vec<&String> = files.keys().collect();
    // A path need not be UTF-8, JSON must be.
    let shown = directory.to_string_lossy();
    context.output.data(&json!({ "directory": shown, "files": names }), || {
        files.keys().map(|name| format!("{}\n", directory.join(name).display())).collect()
    })?;
    Ok(Exit::Done)
}
