//! Tools: descriptions for models, calls, and approval requests.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Description of a tool for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Name by which it is called.
    pub name: String,
    /// Purpose and usage, for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub schema: Value,
}

impl ToolSpec {
    /// Creates a description whose schema is derived from a type.
    pub fn of<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into(), schema: schema_of::<A>() }
    }
}

/// Returns the schema of a type without keywords that carry no meaning for a model.
// Every request repeats the schemas of all tools, so keywords without meaning for a model would be paid for
// in each round.
fn schema_of<A: JsonSchema>() -> Value {
    // The draft is named explicitly, since the default of the library may change and every change of a
    // schema invalidates cached prompts.
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    // Small servers constrain a model's output by the schema and do not resolve references.
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
        object.remove("description");
        for property in object.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            simplify(property.1);
        }
    }
    schema
}

/// Writes the schema of a parameter with the keywords that every server understands.
fn simplify(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    // Formats such as `uint32` are not part of the standard and mean nothing to a model.
    object.remove("format");
    // `null` for an absent value is accepted but not advertised: a model leaves the parameter out.
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // An optional enumeration is a choice between the enumeration and `null`.
    if let Some(Value::Array(choices)) = object.remove("anyOf") {
        let mut choices: Vec<Value> = choices.into_iter().filter(|choice| choice["type"] != "null").collect();
        match (choices.pop(), choices.is_empty()) {
            (Some(Value::Object(only)), true) => {
                for (key, value) in only {
                    // The description of the parameter is more specific than that of its type.
                    object.entry(key).or_insert(value);
                }
            }
            (last, _) => {
                choices.extend(last);
                object.insert("anyOf".to_owned(), choices.into());
            }
        }
    }
    // Variants with descriptions become single constants, which are one enumeration without them.
    if let Some(Value::Array(choices)) = object.get("oneOf")
        && let Some(values) =
            choices.iter().map(|choice| choice.get("const").cloned()).collect::<Option<Vec<_>>>()
    {
        object.remove("oneOf");
        object.insert("type".to_owned(), "string".into());
        object.insert("enum".to_owned(), values.into());
    }
    if let Some(items) = object.get_mut("items") {
        simplify(items);
    }
}

/// A tool call as written by the model.
///
/// Turn items stored by earlier versions name the first two fields `id` and `name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Id that the result refers to.
    #[serde(rename = "call_id", alias = "id")]
    pub id: String,
    /// Name of the tool.
    #[serde(rename = "tool", alias = "name")]
    pub name: String,
    /// Arguments as written by the model, normally a JSON object.
    // Kept as text: parsing and writing JSON again could reorder keys, and a replayed call must equal the
    // original byte for byte.
    pub arguments: String,
}

impl ToolCall {
    /// Parses the arguments as an object. Fails if the model wrote anything else, or was cut off.
    pub fn input(&self) -> Result<Map<String, Value>, MalformedArguments> {
        // Some servers send an empty string for a tool without parameters.
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
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Reason for the failure.
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

/// Question about a call that requires approval. The same value goes from the tool to the screen that shows
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// Arguments that the tool would run with.
    pub arguments: Map<String, Value>,
    /// Files that the call would write, with links resolved; empty for a command, which may write anywhere.
    // Resolved, because a link with a harmless name could lead to the file that is really written.
    pub paths: Vec<String>,
    /// Base of the call's relative paths, and the directory in which a command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// SHA-256 of exactly what would run: tool, arguments, directory, files and their current contents.
    /// Absent in requests stored by earlier versions.
    // The digest ties a decision to what was shown. A file may change between the question and the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<crate::ContentHash>,
    /// Unified diff of the change; absent if the tool cannot predict it.
    // Not every change can be predicted: a command writes whatever it likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// True if the call would create the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_file: bool,
    /// Number of existing lines that the call removes or replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_lines: Option<u64>,
    /// Rule that requires the approval, such as `permissions.write = ask`.
    pub rule: String,
    /// True if the file is part of the model's identity, which all workspaces share. Only an owner with an
    /// unbound token may decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identity: bool,
    /// Isolation of the command; absent for tools that run none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<crate::SandboxLevel>,
}

/// A request for approval and its decision.
///
/// [`ApprovalRequest`] is a separate type because tools know neither times nor people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnApproval {
    /// Turn to send the decision to, for a delegated turn; absent for the turn itself.
    // A person sees one turn, while the call may belong to one that it delegated. The decision has to reach
    // the latter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<crate::TurnId>,
    /// The question.
    #[serde(flatten)]
    pub request: ApprovalRequest,
    /// Time of the request.
    pub requested_at: crate::Timestamp,
    /// Time at which the call is denied if it is still undecided.
    // An absolute time, so that every client counts down to the same moment regardless of when it asked.
    pub expires_at: crate::Timestamp,
    /// The decision; absent while the call waits, and if it expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
}

/// Decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalDecision {
    /// True if the call may run.
    pub allowed: bool,
    /// Name of the decider; absent if unnamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// Time of the decision.
    pub decided_at: crate::Timestamp,
    /// Origin of the decision.
    // Decisions stored before this field existed were all made by a person, which is the default.
    #[serde(default)]
    pub how: HowDecided,
}

/// Origin of a decision. Behind a name may be a person who read the call, or a flag of a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HowDecided {
    /// A person was shown the call and answered.
    #[default]
    Asked,
    /// An earlier answer covered all calls of this tool in the turn.
    Standing,
    /// A flag of the command that started the turn covered all calls.
    Flag,
    /// Denied because no client was available to ask.
    Unattended,
    /// Denied because the request expired.
    Expired,
}

/// Reads a [`HowDecided`], or the boolean `standing` stored by earlier versions.
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
    fn calls_of_earlier_versions_are_readable() {
        let old: ToolCall = serde_json::from_str(r#"{"id":"1","name":"f","arguments":"{}"}"#).unwrap();
        assert_eq!(old, ToolCall { id: "1".into(), name: "f".into(), arguments: "{}".into() });
        let new = serde_json::to_string(&old).unwrap();
        assert_eq!(new, r#"{"call_id":"1","tool":"f","arguments":"{}"}"#);
        assert_eq!(serde_json::from_str::<ToolCall>(&new).unwrap(), old);
    }
}
