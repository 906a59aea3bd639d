//! A server's tool as we keep it: what is too much or cannot be right is left out with a reason.

use instructions::{make_harmless, neutralise, unsafe_parts};
use protocol::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::secrets::Secrets;

/// Most tools of a server.
pub(crate) const MAX_TOOLS: usize = 256;
/// Most characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// Most bytes of a schema: each is in every request that has the tool.
const MAX_SCHEMA_BYTES: usize = 32 << 10;
/// Most characters of a parameter's name, as model APIs take it.
const MAX_PARAMETER_CHARS: usize = 64;
/// Most bytes of a name that is the server's own.
const MAX_NAME_BYTES: usize = 256;

/// What a server says of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definition {
    /// By which the server calls it.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    /// Whether it says that it only reads.
    pub(crate) read_only: bool,
}

impl Definition {
    /// The definition, harmless and bounded, or why there is none.
    pub(crate) fn new(tool: &rmcp::model::Tool, secrets: &Secrets) -> Result<Self, String> {
        let shown: String = tool.name.chars().take(80).collect();
        if tool.name.is_empty() || tool.name.len() > MAX_NAME_BYTES {
            return Err(format!("the tool `{shown}` is left out: its name is empty or too long"));
        }
        let mut schema = Value::Object((*tool.input_schema).clone());
        let written = serde_json::to_string(&schema).unwrap_or_default();
        if secrets.are_in(&tool.name) || secrets.are_in(&written) {
            let shown = secrets.mask(shown);
            return Err(format!(
                "the tool `{shown}` is left out: its name or its schema has a secret of ours"
            ));
        }
        let bytes = written.len();
        if bytes > MAX_SCHEMA_BYTES {
            return Err(format!(
                "the tool `{shown}` is left out: the schema of its arguments has {bytes} bytes; at most \
                 {MAX_SCHEMA_BYTES} are taken"
            ));
        }
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(format!("the tool `{shown}` is left out: its arguments are no object by its schema"));
        }
        if let Some(choice) = CHOICES.into_iter().find(|choice| schema.get(*choice).is_some()) {
            return Err(format!(
                "the tool `{shown}` is left out: model APIs take no schema of arguments with `{choice}` at its top"
            ));
        }
        neutralise_texts(&mut schema);
        if let Some(unsafe_text) = first_unsafe(&schema) {
            let shown: String = make_harmless(unsafe_text).0.chars().take(80).collect();
            return Err(format!(
                "the tool `{}` is left out: a name or a value in the schema of its arguments has a tag of ours or hidden \
                 characters: `{shown}`",
                make_harmless(&tool.name.chars().take(80).collect::<String>()).0
            ));
        }
        if let Some(parameter) = unusable_parameter(&schema) {
            let parameter: String = parameter.chars().take(80).collect();
            return Err(format!(
                "the tool `{shown}` is left out: model APIs take no parameter with the name `{parameter}`; letters, digits, \
                 `_`, `.` and `-` can be in one, up to {MAX_PARAMETER_CHARS} of them"
            ));
        }
        let description = tool.description.as_deref().unwrap_or_default();
        let description = secrets.mask(description.to_owned());
        let description: String = description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        Ok(Self {
            name: tool.name.to_string(),
            description: neutralise(&description).into_owned(),
            schema,
            read_only: tool.annotations.as_ref().is_some_and(|about| about.read_only_hint == Some(true)),
        })
    }

    /// How much of a request it takes, nearly.
    pub(crate) fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }

    /// Tells one definition from another: what a model reads, and what we believe because of it.
    pub(crate) fn digest(&self) -> ContentHash {
        ContentHash::of(serde_json::to_string(self).unwrap_or_default())
    }
}

/// What a schema of arguments as a whole may not be made of: model APIs refuse the whole request.
const CHOICES: [&str; 4] = ["anyOf", "oneOf", "allOf", "not"];

/// The parts of a schema that are written for readers.
const FOR_READERS: [&str; 5] = ["description", "title", "$comment", "default", "examples"];

/// Makes the texts harmless that a schema has for readers. Names and values stay: the server has to know them again.
fn neutralise_texts(schema: &mut Value) {
    let mut open: Vec<(&mut Value, bool)> = vec![(schema, false)];
    while let Some((value, is_for_readers)) = open.pop() {
        match value {
            Value::String(text) if is_for_readers => *text = neutralise(text).into_owned(),
            Value::Array(items) => open.extend(items.iter_mut().map(|item| (item, is_for_readers))),
            Value::Object(fields) => open.extend(fields.iter_mut().map(|(name, value)| {
                // A parameter may be called so: then an object says what it is.
                let is_text = FOR_READERS.contains(&name.as_str()) && (value.is_string() || value.is_array());
                (value, is_for_readers || is_text)
            })),
            _ => {}
        }
    }
}

/// A name or a value that no model may read as it is, and that cannot be changed without the server's knowing.
fn first_unsafe(schema: &Value) -> Option<&str> {
    let mut open: Vec<&Value> = vec![schema];
    let is_unsafe = |text: &&str| !unsafe_parts(text).is_empty();
    while let Some(value) = open.pop() {
        let found = match value {
            Value::String(text) => Some(text.as_str()).filter(is_unsafe),
            Value::Array(items) => {
                open.extend(items);
                None
            }
            Value::Object(fields) => {
                open.extend(fields.values());
                fields.keys().map(String::as_str).find(is_unsafe)
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// A parameter that would make a model's API refuse the whole request.
fn unusable_parameter(schema: &Value) -> Option<&str> {
    let is_usable = |name: &str| {
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
        (1..=MAX_PARAMETER_CHARS).contains(&name.len()) && name.chars().all(is_allowed)
    };
    let parameters = schema.get("properties")?.as_object()?;
    parameters.keys().map(String::as_str).find(|name| !is_usable(name))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn tool(value: Value) -> rmcp::model::Tool {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn texts_are_harmless_and_what_cannot_be_right_is_left_out() {
        let fine = tool(serde_json::json!({
            "name": "look", "description": "Looks. </system-reminder>",
            "inputSchema": { "type": "object", "properties": { "path": { "type": "string",
                "description": "<system-reminder>", "default": "<system-reminder>",
                "examples": ["<system-reminder>"] }, "description": { "type": "string" } } },
            "annotations": { "readOnlyHint": true },
        }));
        let definition = Definition::new(&fine, &Secrets::default()).unwrap();
        assert!(definition.read_only && definition.description.contains("&lt;/system-reminder>"));
        assert!(!definition.schema.to_string().contains("<system-reminder>"), "{}", definition.schema);
        let many: Map<String, Value> =
            (0..10_000).map(|number| (format!("parameter_{number}"), serde_json::json!({}))).collect();
        for (schema, reason) in [
            (serde_json::json!({ "type": "object", "properties": many }), "bytes; at most 32768 are taken"),
            (serde_json::json!({ "type": "string" }), "are no object by its schema"),
            (serde_json::json!({}), "are no object by its schema"),
            (
                serde_json::json!({ "type": "object", "oneOf": [{ "required": ["a"] }] }),
                "model APIs take no schema of arguments with `oneOf` at its top",
            ),
            (
                serde_json::json!({ "type": "object", "properties": { "</system-reminder>": {} } }),
                "a name or a value in the schema of its arguments has a tag of ours or hidden characters: \
                 `&lt;/system-reminder>`",
            ),
            (
                serde_json::json!({ "type": "object", "properties": { "kind": { "enum": ["a", "<system-reminder>"] } } }),
                "characters: `&lt;system-reminder>`",
            ),
            (
                serde_json::json!({ "type": "object", "properties": { "one two": {} } }),
                "model APIs take no parameter with the name `one two`",
            ),
        ] {
            let odd = tool(serde_json::json!({ "name": "odd", "inputSchema": schema }));
            let problem = Definition::new(&odd, &Secrets::default()).unwrap_err();
            assert!(problem.contains(reason), "{problem}");
        }
    }

    #[test]
    fn a_secret_of_ours_is_in_no_definition() {
        let secrets = Secrets::read(["KEY"], |_| Some("hunter2-hunter2".to_owned()));
        let told = tool(serde_json::json!({
            "name": "look", "description": "The key is hunter2-hunter2.", "inputSchema": { "type": "object" },
        }));
        assert_eq!(Definition::new(&told, &secrets).unwrap().description, "The key is [secret].");
        for (name, schema) in [
            ("hunter2-hunter2", serde_json::json!({ "type": "object" })),
            ("look", serde_json::json!({ "type": "object", "title": "hunter2-hunter2" })),
        ] {
            let told = tool(serde_json::json!({ "name": name, "inputSchema": schema }));
            let problem = Definition::new(&told, &secrets).unwrap_err();
            assert!(problem.contains("has a secret of ours") && !problem.contains("hunter2"), "{problem}");
        }
    }
}
