//! Messages as the history of a request has them.

use protocol::ToolCall;
use serde_json::{Map, Value};

/// A call's arguments as the model wrote them, or if they are no object, as the text of one.
pub(crate) fn arguments_for_history(call: &ToolCall) -> String {
    match call.input() {
        Ok(_) if !call.arguments.trim().is_empty() => call.arguments.clone(),
        _ => Value::Object(input_for_history(call)).to_string(),
    }
}

/// A call's arguments as an object in any case: providers refuse a history in which they are something else.
pub(crate) fn input_for_history(call: &ToolCall) -> Map<String, Value> {
    call.input().unwrap_or_else(|_| {
        Map::from_iter([("malformed_arguments".to_owned(), Value::String(call.arguments.clone()))])
    })
}
