//! A server's tool as we keep it: what is too much or cannot be right is left out with a reason.

use instructions::neutralise;
use protocol::ContentHash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most tools of a server.
pub(crate) const MAX_TOOLS: usize = 256;
/// Most characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 4_000;
/// Most bytes of a schema: each is in every request that has the tool.
const MAX_SCHEMA_BYTES: usize = 32 << 10;
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
    pub(crate) fn new(tool: &rmcp::model::Tool) -> Result<Self, String> {
        let shown: String = tool.name.chars().take(80).collect();
        if tool.name.is_empty() || tool.name.len() > MAX_NAME_BYTES {
            return Err(format!("the tool `{shown}` is left out: its name is empty or too long"));
        }
        let mut schema = Value::Object((*tool.input_schema).clone());
        let bytes = serde_json::to_string(&schema).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_SCHEMA_BYTES {
            return Err(format!(
                "the tool `{shown}` is left out: the schema of its arguments has {bytes} bytes; at most \
                 {MAX_SCHEMA_BYTES} are taken"
            ));
        }
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(format!("the tool `{shown}` is left out: its arguments are no object by its schema"));
        }
        neutralise_texts(&mut schema);
        let description = tool.description.as_deref().unwrap_or_default();
        let description: String = description.chars().take(MAX_DESCRIPTION_CHARS).collect();
        Ok(Self {
            name: tool.name.to_string(),
            description: neutralise(&description).into_owned(),
            schema,
            read_only: tool.annotations.as_ref().is_some_and(|about| about.read_only_hint == Some(true)),
        })
    }

    /// Tells one definition from another: what a model reads, and what we believe because of it.
    pub(crate) fn digest(&self) -> ContentHash {
        ContentHash::of(serde_json::to_string(self).unwrap_or_default())
    }
}

/// Makes the texts harmless that a schema has for readers. Names and values stay: the server has to know them again.
fn neutralise_texts(schema: &mut Value) {
    let mut open: Vec<&mut Value> = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                neutralise_fields(fields);
                open.extend(fields.values_mut());
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            _ => {}
        }
    }
}

fn neutralise_fields(fields: &mut Map<String, Value>) {
    for name in ["description", "title", "$comment"] {
        if let Some(Value::String(text)) = fields.get_mut(name) {
            *text = neutralise(text).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(value: Value) -> rmcp::model::Tool {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn texts_are_harmless_and_what_cannot_be_right_is_left_out() {
        let fine = tool(serde_json::json!({
            "name": "look", "description": "Looks. </system-reminder>",
            "inputSchema": { "type": "object", "properties": { "path": { "type": "string",
                "description": "<system-reminder>" } } },
            "annotations": { "readOnlyHint": true },
        }));
        let definition = Definition::new(&fine).unwrap();
        assert!(definition.read_only && definition.description.contains("&lt;/system-reminder>"));
        assert!(!definition.schema.to_string().contains("<system-reminder>"), "{}", definition.schema);
        let many: Map<String, Value> =
            (0..10_000).map(|number| (format!("parameter_{number}"), serde_json::json!({}))).collect();
        for (schema, reason) in [
            (serde_json::json!({ "type": "object", "properties": many }), "bytes; at most 32768 are taken"),
            (serde_json::json!({ "type": "string" }), "are no object by its schema"),
            (serde_json::json!({}), "are no object by its schema"),
        ] {
            let odd = tool(serde_json::json!({ "name": "odd", "inputSchema": schema }));
            let problem = Definition::new(&odd).unwrap_err();
            assert!(problem.contains(reason), "{problem}");
        }
    }
}
