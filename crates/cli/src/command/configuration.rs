//! `foreword config`.

use serde_json::{Value, json};

use crate::config::Configuration;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::table::table;

pub(crate) fn run(context: &Context) -> Result<Exit, Failure> {
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

/// Every setting for programs.
pub(crate) fn values(configuration: &Configuration) -> Vec<Value> {
    let entries = configuration.entries().into_iter();
    entries
        .map(|entry| {
            json!({ "key": entry.key, "value": entry.value, "origin": entry.origin, "source": entry.source })
        })
        .collect()
}
