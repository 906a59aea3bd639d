//! JSON Schemas of all public types, one document each.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};

use crate::ResolvedAgents;
use crate::error::ErrorObject;
use crate::local::GatewayFile;
use crate::method::METHODS;
use crate::notification::{ChangeOrigin, NOTIFICATIONS};

/// Returns the schema of every public type by name.
pub fn all() -> BTreeMap<String, Schema> {
    let mut schemas = BTreeMap::new();
    for method in METHODS {
        schemas.insert(method.params_type.to_owned(), (method.params_schema)(generator()));
        schemas.insert(method.result_type.to_owned(), (method.result_schema)(generator()));
    }
    for notification in NOTIFICATIONS {
        schemas.insert(notification.params_type.to_owned(), (notification.params_schema)(generator()));
    }
    schemas.insert("ChangeOrigin".to_owned(), generator().into_root_schema_for::<ChangeOrigin>());
    schemas.insert("ErrorObject".to_owned(), generator().into_root_schema_for::<ErrorObject>());
    schemas.insert("GatewayFile".to_owned(), generator().into_root_schema_for::<GatewayFile>());
    schemas.insert("ResolvedAgents".to_owned(), generator().into_root_schema_for::<ResolvedAgents>());
    for (name, schema) in entities(&schemas) {
        schemas.entry(name).or_insert(schema);
    }
    schemas
}

/// Returns every schema as the content of a file, by file name.
pub fn files() -> BTreeMap<String, String> {
    all()
        .into_iter()
        .map(|(name, schema)| {
            let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
            text.push('\n');
            (format!("{name}.json"), text)
        })
        .collect()
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Extracts the types that others refer to (documents, folders, …) as schemas of their own.
fn entities(schemas: &BTreeMap<String, Schema>) -> BTreeMap<String, Schema> {
    let mut found = BTreeMap::new();
    for schema in schemas.values() {
        let Some(definitions) = schema.get("$defs").and_then(|value| value.as_object()) else {
            continue;
        };
        for (name, definition) in definitions {
            let mut alone = serde_json::Map::new();
            if let Some(dialect) = schema.get("$schema") {
                alone.insert("$schema".to_owned(), dialect.clone());
            }
            alone.insert("title".to_owned(), name.clone().into());
            if let Some(members) = definition.as_object() {
                alone.extend(members.clone());
            }
            // Each file must be usable on its own, so the definitions it refers to are copied into it.
            let needed = referenced(definition, definitions);
            if !needed.is_empty() {
                alone.insert("$defs".to_owned(), serde_json::Value::Object(needed));
            }
            found.insert(name.clone(), Schema::from(alone));
        }
    }
    found
}

/// Collects the definitions that a schema refers to, directly or indirectly.
fn referenced(
    schema: &serde_json::Value,
    definitions: &serde_json::Map<String, serde_json::Value>,
) -> serde_json::Map<String, serde_json::Value> {
    let mut needed = BTreeMap::new();
    let mut waiting = vec![schema];
    while let Some(value) = waiting.pop() {
        match value {
            serde_json::Value::Object(members) => {
                let target = members.get("$ref").and_then(|reference| reference.as_str());
                if let Some(name) = target.and_then(|target| target.strip_prefix("#/$defs/"))
                    && let Some(definition) = definitions.get(name)
                    // A type may refer to itself. Following only new names ends the search in that case.
                    && needed.insert(name.to_owned(), definition.clone()).is_none()
                {
                    waiting.push(definition);
                }
                waiting.extend(members.values());
            }
            serde_json::Value::Array(elements) => waiting.extend(elements),
            _ => {}
        }
    }
    needed.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_schemas_are_self_contained() {
        let schemas = all();
        let resolved = &schemas["ResolvedDocument"];
        assert!(resolved.get("$defs").is_some_and(|defs| defs.get("Document").is_some()));
        assert!(schemas.contains_key("Workspace") && schemas.contains_key("AgentsConfig"));
        assert!(schemas.contains_key("ResolvedAgents") && schemas.contains_key("SystemReminderType"));
    }
}
