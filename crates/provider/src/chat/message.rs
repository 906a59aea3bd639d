//! Tool calls in the history of a request.

use protocol::ToolCall;
use serde_json::{Map, Value};

/// Returns a call's arguments as written by the model, or as the text of an object if they are not one.
pub(crate) fn arguments_for_history(call: &ToolCall) -> String {
    match call.input() {
        // The original spelling is kept whenever it is valid: formatting it again could change a space or the order of
        // keys, and the changed bytes would end the prefix that the provider has cached.
        Ok(_) if !call.arguments.trim().is_empty() => call.arguments.clone(),
        _ => Value::Object(input_for_history(call)).to_string(),
    }
}

/// Returns a call's arguments as an object in every case: providers reject a history with other arguments.
pub(crate) fn input_for_history(call: &ToolCall) -> Map<String, Value> {
    call.input().unwrap_or_else(|_| {
        Map::from_iter([("malformed_arguments".to_owned(), Value::String(call.arguments.clone()))])
    })
}
