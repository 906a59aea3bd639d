//! Tools: how they are described to a model, how a model calls them, and what a person is asked about a call.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// What it is called by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub schema: Value,
}

impl ToolSpec {
    /// A description whose schema is that of a type.
    pub fn of<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), schema: schema_of::<A>() }
    }
}

/// The schema of a type, without what means nothing to a model.
fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
        object.remove("description");
        for property in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            if let Some(property) = property.1.as_object_mut() {
                property.remove("format");
            }
        }
    }
    schema
}

/// A tool call, as the model wrote it.
///
/// Turn items stored by earlier versions call the first two fields `id` and `name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// What its result refers to.
    #[serde(rename = "call_id", alias = "id")]
    pub id: String,
    /// The tool.
    #[serde(rename = "tool", alias = "name")]
    pub name: String,
    /// The arguments as the model wrote them: a JSON object, if all went well.
    pub arguments: String,
}

impl ToolCall {
    /// The arguments as an object. A model may have written anything, or been cut off.
    pub fn input(&self) -> Result<Map<String, Value>, MalformedArguments> {
        // Some servers write nothing at all for a tool without parameters.
        if self.arguments.trim().is_empty() {
            return Ok(Map::new());
        }
        let problem = match serde_json::from_str(&self.arguments) {
            Ok(Value::Object(object)) => return Ok(object),
            Ok(other) => format!("found {}", type_name(&other)),
            Err(error) => error.to_string(),
        };
        Err(MalformedArguments { id: self.id.clone(), name: self.name.clone(), problem })
    }
}

/// Arguments of a tool call that are not a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedArguments {
    /// The call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What is wrong with them.
    pub problem: String,
}

impl fmt::Display for MalformedArguments {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, name, problem } = self;
        write!(formatter, "the arguments of tool call `{id}` to `{name}` are not a JSON object: {problem}")
    }
}

impl std::error::Error for MalformedArguments {}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// What a person is asked about a call: the same from the tool that asks to the screen that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The arguments it would run with.
    pub arguments: Map<String, Value>,
    /// The files it would write, without links; none for a command, which may write anywhere.
    pub paths: Vec<String>,
    /// The directory from which its relative paths count, and in which a command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// SHA-256 of exactly what would run: the tool, its arguments, the directory, the files and what they contain now.
    /// Absent in questions that were stored by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<crate::ContentHash>,
    /// What would change in the file, as a unified diff; absent where the tool cannot tell before it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Whether the file is not there yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_file: bool,
    /// How many lines the call removes or replaces in a file that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_lines: Option<u64>,
    /// The rule that asks, such as `permissions.write = ask`.
    pub rule: String,
    /// Whether the file is one of the model's identity, which every workspace shares: only an owner whose token is for
    /// all workspaces decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identity: bool,
    /// How far a command would be kept apart from the machine; absent for tools that run none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<crate::SandboxLevel>,
}

/// A question about a call: asked, and at some time decided, or over.
///
/// [`ApprovalRequest`] is apart because the tool that asks knows nothing of times and people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnApproval {
    /// The turn to answer, where that is one that the turn in question delegated work to; absent: the turn itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<crate::TurnId>,
    /// What is asked.
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// When it was asked.
    pub requested_at: crate::Timestamp,
    /// When the answer is no because nobody answered.
    pub expires_at: crate::Timestamp,
    /// What was decided; absent while the call waits, and when nobody answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDecision {
    /// Whether it may run.
    pub allowed: bool,
    /// Who decided; absent for somebody without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: crate::Timestamp,
    /// How the decision came about.
    #[serde(default)]
    pub how: HowDecided,
}

/// How a decision about a call came about: behind a name may be a person who has read the call, or a flag of a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HowDecided {
    /// Somebody was shown the call and answered.
    #[default]
    Asked,
    /// Somebody who was asked about an earlier call had answered for all calls of this tool in the turn.
    Standing,
    /// A flag of the command that started the turn answered for all calls; nobody was asked.
    Flag,
    /// Denied, because nobody was there to be asked.
    Unattended,
    /// Denied, because nobody answered in time.
    Expired,
}

/// Reads what earlier versions kept in place of [`HowDecided`]: whether the answer was a standing one.
pub(crate) fn how_or_standing<'de, D: serde::Deserializer<'de>>(from: D) -> Result<HowDecided, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Kept {
        How(HowDecided),
        Standing(bool),
    }
    Ok(match Kept::deserialize(from)? {
        Kept::How(how) => how,
        Kept::Standing(true) => HowDecided::Standing,
        Kept::Standing(false) => HowDecided::Asked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_stored_by_earlier_versions_can_be_read() {
        let old: ToolCall = serde_json::from_str(r#"{"id":"1","name":"f","arguments":"{}"}"#).unwrap();
        assert_eq!(old, ToolCall { id: "1".into(), name: "f".into(), arguments: "{}".into() });
        let new = serde_json::to_string(&old).unwrap();
        assert_eq!(new, r#"{"call_id":"1","tool":"f","arguments":"{}"}"#);
        assert_eq!(serde_json::from_str::<ToolCall>(&new).unwrap(), old);
    }
}
