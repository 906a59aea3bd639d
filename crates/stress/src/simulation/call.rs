//! Calls of an answer, as the next request repeats them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::simulation::request::{Request, elements};

/// A call of the last answer with its result.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    input: &'a Value,
    pub(crate) has_failed: bool,
    output: String,
}

/// Returns the calls of the request's last answer with their results, if that answer had any.
pub(crate) fn answered_calls(request: &Request) -> impl Iterator<Item = Call<'_>> {
    let answer = request.messages.iter().rposition(|message| message["role"] == "assistant");
    let messages = answer.map(|at| (&request.messages[at], request.messages.get(at + 1)));
    messages.into_iter().flat_map(|(answer, results)| {
        elements(&answer["content"]).filter(|block| block["type"] == "tool_use").filter_map(move |call| {
            let mut results = elements(&results?["content"]);
            let result = results.find(|block| block["tool_use_id"] == call["id"])?;
            let texts = elements(&result["content"]).filter_map(|text| text["text"].as_str());
            Some(Call {
                name: call["name"].as_str()?,
                input: &call["input"],
                has_failed: result["is_error"] == true,
                output: texts.collect(),
            })
        })
    })
}

impl Call<'_> {
    /// Returns true if the gateway resolved instructions for the call's path.
    pub(crate) fn was_resolved(&self) -> bool {
        // Calls beyond the limit are rejected before instructions are resolved, so they create no obligation.
        self.input["path"].is_string() && !self.output.contains("no more tool calls left")
    }

    pub(crate) fn is_write(&self) -> bool {
        self.name == "write_file" || self.name == "edit_file"
    }

    /// Returns the directories that the call touched or found something in.
    pub(crate) fn directories(&self, cwd: &Path, project: &Path) -> Vec<PathBuf> {
        let path = cwd.join(self.input["path"].as_str().unwrap_or_default());
        match self.name {
            "list_dir" => vec![path],
            // Every directory has a file that contains the search pattern.
            "search" => crate::simulation::world::DIRECTORIES
                .iter()
                .map(|directory| project.join(directory))
                .filter(|directory| directory.starts_with(&path))
                .collect(),
            _ => path.parent().map(Path::to_owned).into_iter().collect(),
        }
    }
}
