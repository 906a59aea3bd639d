//! Trials with programs of others, for the tables that `cargo xtask` prints.

use std::io::Write as _;

use serde_json::json;

/// Variable with the file to which trials append one JSON object a line; absent by default.
const FILE: &str = "FOREWORD_TEST_COUNTERPARTS";

/// A trial with a real server or client. Without a result it counts as failed.
pub struct Trial {
    counterpart: String,
    tried: String,
    result: Option<String>,
}

impl Trial {
    /// Begins a trial with a counterpart, named with its version.
    pub fn new(counterpart: impl Into<String>, tried: impl Into<String>) -> Self {
        Self { counterpart: counterpart.into(), tried: tried.into(), result: None }
    }

    /// Ends the trial.
    pub fn succeeded(mut self, result: impl Into<String>) {
        self.result = Some(result.into());
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let Some(file) = std::env::var_os(FILE) else { return };
        let result = self.result.as_deref().unwrap_or("failed");
        let row = json!({ "counterpart": self.counterpart, "tried": self.tried, "result": result });
        let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
        // Written as a whole, because other tests append to the same file. The table is only a report, so a failure to
        // write it fails no test.
        let _ = file.and_then(|mut file| file.write_all(format!("{row}\n").as_bytes()));
    }
}
