//! The table of programs of others that were tried: servers, clients and SDKs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// Variable with the file to which tests append what they have tried, one JSON object a line.
const VARIABLE: &str = "FOREWORD_TEST_COUNTERPARTS";

/// What was tried in one run.
pub(crate) struct Counterparts {
    file: PathBuf,
    rows: Vec<Tried>,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Tried {
    /// Name and version.
    pub(crate) counterpart: String,
    pub(crate) tried: String,
    pub(crate) result: String,
}

impl Counterparts {
    /// Creates an empty table, whose file is in the target directory.
    pub(crate) fn new(root: &Path, name: &str) -> Result<Self> {
        let file = root.join("target").join(format!("{name}-counterparts.jsonl"));
        std::fs::write(&file, "").with_context(|| format!("failed to write {}", file.display()))?;
        Ok(Self { file, rows: Vec::new() })
    }

    /// Lets a command's tests add rows.
    pub(crate) fn pass_to(&self, command: &mut Command) {
        command.env(VARIABLE, &self.file);
    }

    pub(crate) fn add(&mut self, row: Tried) {
        self.rows.push(row);
    }

    /// Prints the table, with the rows of the tests first.
    pub(crate) fn print(&self) -> Result<()> {
        let text = std::fs::read_to_string(&self.file)?;
        let mut rows = text.lines().map(serde_json::from_str).collect::<Result<Vec<Tried>, _>>()?;
        rows.extend(self.rows.iter().cloned());
        crate::print_status(table(&rows));
        Ok(())
    }
}

/// Formats the rows as a Markdown table.
fn table(rows: &[Tried]) -> String {
    let mut text = "counterparts:\n| counterpart | tried | result |\n| --- | --- | --- |".to_owned();
    for Tried { counterpart, tried, result } in rows {
        text += &format!("\n| {counterpart} | {tried} | {result} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_a_table() {
        let row = serde_json::from_str(r#"{"counterpart":"a 1","tried":"b","result":"c"}"#).unwrap();
        assert!(table(&[row]).ends_with("| --- | --- | --- |\n| a 1 | b | c |"));
    }
}
