//! Marks the tools of a list that only run as tasks. The library drops the field that says so.

use serde_json::{Value, json};

/// Metadata of a marked tool.
pub(crate) const TASK_ONLY: &str = "foreword/task-only";

/// Returns a message with its tools marked, or the message itself if it has none that needs it.
pub(crate) fn marked(message: Vec<u8>) -> Vec<u8> {
    /// Only messages with this text are parsed once more than necessary.
    const FIELD: &[u8] = b"\"taskSupport\"";
    if !message.windows(FIELD.len()).any(|text| text == FIELD) {
        return message;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(&message) else { return message };
    let Some(tools) = value.pointer_mut("/result/tools").and_then(Value::as_array_mut) else {
        return message;
    };
    for tool in tools {
        if tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required") {
            tool["_meta"] = json!({ TASK_ONLY: true });
        }
    }
    let mut marked = value.to_string().into_bytes();
    // Lines must still end.
    if message.ends_with(b"\n") {
        marked.push(b'\n');
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tools_that_require_tasks_are_marked() {
        let list = json!({ "result": { "tools": [
            { "name": "a", "execution": { "taskSupport": "required" } },
            { "name": "b", "execution": { "taskSupport": "optional" } },
        ] } });
        let marked = marked(format!("{list}\n").into_bytes());
        assert!(marked.ends_with(b"\n"));
        let value: Value = serde_json::from_slice(&marked).unwrap();
        assert_eq!(value["result"]["tools"][0]["_meta"][TASK_ONLY], true);
        assert!(value["result"]["tools"][1].get("_meta").is_none());
        let other = br#"{"result":{"content":[{"text":"\"taskSupport\""}]}}"#.to_vec();
        assert_eq!(super::marked(other.clone()), other);
    }
}
