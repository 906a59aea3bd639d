//! `foreword config`, `schema` and `man`: reference output.

use std::path::Path;

use protocol::similar;
use serde_json::{Value, json};

use crate::arguments::{ConfigCommand, manual};
use crate::config::Configuration;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{print, table};

pub(crate) fn config(context: &Context) -> Result<Exit, Failure> {
    let directories = &context.directories;
    let json = json!({
        "home": directories.home.to_string_lossy(),
        "data": directories.data.to_string_lossy(),
        "values": values(&context.configuration),
    });
    context.output.data(&json, || {
        let entries = context.configuration.entries();
        table(
            &["key", "value", "from"],
            entries.into_iter().map(|entry| {
                let from = match entry.source {
                    Some(source) => format!("{} ({source})", entry.origin),
                    None => entry.origin.to_owned(),
                };
                vec![entry.key, entry.shown, from]
            }),
        )
    })?;
    context.output.note(format!("home: {}", directories.home.display()));
    context.output.note(format!("data: {}", directories.data.display()));
    Ok(Exit::Done)
}

/// Prints one setting, or shows where to set it.
pub(crate) fn config_key(context: &Context, command: &ConfigCommand) -> Result<Exit, Failure> {
    let (ConfigCommand::Get { key } | ConfigCommand::Set { key, .. }) = command;
    let entries = context.configuration.entries();
    let Some(entry) = entries.iter().find(|entry| entry.key == *key) else {
        let failure = Failure::usage(format!("there is no setting `{key}`"));
        return Err(match similar(key, entries.iter().map(|entry| entry.key.as_str())) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
            None => failure.hint("`foreword config` lists all settings"),
        });
    };
    match command {
        ConfigCommand::Get { .. } => {
            let json = json!({ "key": entry.key, "value": entry.value, "origin": entry.origin, "source": entry.source });
            context.output.data(&json, || format!("{}\n", entry.shown))?;
            Ok(Exit::Done)
        }
        // Rewriting a file would lose its comments and its order.
        ConfigCommand::Set { value, .. } => {
            let file = context.directories.user_file();
            let failure = Failure::usage("settings are not written by commands");
            Err(failure.hint(format!("write `{key} = {value}` to {}; text needs quotes", file.display())))
        }
    }
}

/// Returns every setting for programs.
pub(crate) fn values(configuration: &Configuration) -> Vec<Value> {
    let entries = configuration.entries().into_iter();
    entries
        .map(|entry| {
            json!({ "key": entry.key, "value": entry.value, "origin": entry.origin, "source": entry.source })
        })
        .collect()
}

pub(crate) fn schema(context: &Context, directory: Option<&Path>) -> Result<Exit, Failure> {
    let Some(directory) = directory.filter(|directory| *directory != Path::new("-")) else {
        let document = all_schemas();
        context.output.data(&document, || format!("{document:#}\n"))?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(directory).map_err(|error| Failure::file("create", directory, error))?;
    let files = protocol::schema::files();
    for (name, text) in &files {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::file("write", &path, error))?;
    }
    let names: Vec<&String> = files.keys().collect();
    // A path need not be UTF-8, but JSON must be.
    let shown = directory.to_string_lossy();
    context.output.data(&json!({ "directory": shown, "files": names }), || {
        files.keys().map(|name| format!("{}\n", directory.join(name).display())).collect()
    })?;
    Ok(Exit::Done)
}

/// Combines all types into the definitions of one document, so that `#/$defs/NAME` references resolve.
fn all_schemas() -> Value {
    let mut definitions = serde_json::Map::new();
    let mut dialect = Value::Null;
    for (name, schema) in protocol::schema::all() {
        let mut schema = schema.to_value();
        if let Some(members) = schema.as_object_mut() {
            // Each schema would bring its own copy of the types that it refers to.
            members.remove("$defs");
            dialect = members.remove("$schema").unwrap_or(dialect);
        }
        definitions.insert(name, schema);
    }
    json!({ "$schema": dialect, "title": "The protocol of Foreword", "$defs": definitions })
}

/// Prints the first manual page, or writes all pages as files.
pub(crate) fn manual(context: &Context, directory: Option<&Path>) -> Result<Exit, Failure> {
    let pages = manual::pages();
    let Some(directory) = directory.filter(|directory| *directory != Path::new("-")) else {
        let text = pages.into_iter().next().map(|(_, text)| text).unwrap_or_default();
        print(&text)?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(directory).map_err(|error| Failure::file("create", directory, error))?;
    for (name, text) in &pages {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::file("write", &path, error))?;
    }
    let names: Vec<&String> = pages.iter().map(|(name, _)| name).collect();
    let shown = directory.to_string_lossy();
    context.output.data(&json!({ "directory": shown, "files": names }), || {
        names.iter().map(|name| format!("{}\n", directory.join(name).display())).collect()
    })?;
    Ok(Exit::Done)
}
