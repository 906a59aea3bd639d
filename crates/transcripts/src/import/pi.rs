//! pi: a tree of entries in one file, without instruction texts. The branch of the last entry counts.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{content_text, text};
use crate::event::Remainder;
use crate::lines;
use crate::model::ReadError;
use crate::recorder::Recorder;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    parent_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    first_kept_entry_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Reads a session.
pub(crate) fn read(path: &Path, recorder: &mut Recorder<'_>) -> Result<(), ReadError> {
    let branch = branch(path)?;
    let mut reader = Reader { recorder, branch, order: Vec::new() };
    let mut problems = lines::Problems::default();
    lines::read(path, &mut problems, |line| reader.line(line))?;
    recorder.problems.broken += problems.broken;
    recorder.problems.too_long += problems.too_long;
    Ok(())
}

/// Returns the ids from the last entry up to the root.
fn branch(path: &Path) -> Result<HashSet<String>, ReadError> {
    let mut parents: HashMap<String, Option<String>> = HashMap::new();
    let mut last = None;
    let mut problems = lines::Problems::default();
    lines::read(path, &mut problems, |line| {
        if let Ok(Link { id: Some(id), parent_id }) = serde_json::from_slice(line) {
            last = Some(id.clone());
            parents.insert(id, parent_id);
        }
        true
    })?;
    let mut branch = HashSet::new();
    // A cycle in a damaged file ends at the first repeated id.
    while let Some(id) = last.take().filter(|id| !branch.contains(id)) {
        last = parents.get(&id).cloned().flatten();
        branch.insert(id);
    }
    Ok(branch)
}

struct Reader<'a, 'b> {
    recorder: &'a mut Recorder<'b>,
    branch: HashSet<String>,
    /// Ids of the branch so far.
    order: Vec<String>,
}

impl Reader<'_, '_> {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return false };
        let id = line.id.clone().unwrap_or_default();
        if line.kind == "session" {
            self.recorder.header.id = id;
            self.recorder.header.cwd = line.cwd.map(Into::into);
            self.recorder.at_text(line.timestamp.as_deref());
            self.recorder.start(false);
            return true;
        }
        if !self.branch.contains(&id) {
            return true;
        }
        self.recorder.at_text(line.timestamp.as_deref());
        self.order.push(id);
        match line.kind.as_str() {
            "message" => self.message(&line),
            "compaction" | "branch_summary" => {
                let first = line.first_kept_entry_id.as_deref();
                let kept = self.order.iter().position(|id| Some(id.as_str()) == first);
                let kept = kept.map(|first| self.order[first..].to_vec()).unwrap_or_default();
                if line.kind == "compaction" {
                    self.recorder.compaction(Remainder::Records(kept));
                }
            }
            "session_info" => {
                self.recorder.header.title = line.name.or(self.recorder.header.title.take());
            }
            "model_change" | "thinking_level_change" | "custom" | "custom_message" | "label" => {}
            _ => self.recorder.problems.unknown += 1,
        }
        true
    }

    fn message(&mut self, line: &Line<'_>) {
        let Some(message) = line.message.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) else {
            return;
        };
        let content = &message["content"];
        match text(&message, "role") {
            "user" => self.recorder.user(|| content_text(content)),
            "toolResult" => self.recorder.result(text(&message, "toolCallId"), || content_text(content)),
            "assistant" => {
                self.recorder.close();
                for block in content.as_array().into_iter().flatten() {
                    match text(block, "type") {
                        "text" => self.recorder.assistant(|| text(block, "text").to_owned()),
                        "toolCall" => {
                            self.recorder.call(text(block, "id"), text(block, "name"), &block["arguments"]);
                        }
                        _ => {}
                    }
                }
                let tokens = |key| message["usage"].get(key).and_then(Value::as_u64).unwrap_or(0);
                self.recorder.usage(Some(tokens("input") + tokens("cacheRead") + tokens("cacheWrite")));
            }
            // Commands of the user and notes of extensions.
            _ => {}
        }
    }
}
