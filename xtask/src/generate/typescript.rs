//! TypeScript types of the protocol for the web console, made from the JSON Schemas.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use protocol::method::METHODS;
use protocol::notification::NOTIFICATIONS;
use serde_json::{Map, Value};

/// Returns the file with all types, methods and notifications.
pub(super) fn types() -> String {
    let mut text = String::from(
        "// Written by `cargo xtask generate` from the types of the protocol; never edited by hand.\n",
    );
    for (name, schema) in protocol::schema::all() {
        definition(&mut text, &name, schema.as_value());
    }
    methods(&mut text);
    notifications(&mut text);
    text
}

fn definition(text: &mut String, name: &str, schema: &Value) {
    text.push('\n');
    comment(text, schema, "");
    let is_object = schema.get("properties").is_some() && schema.get("oneOf").is_none();
    match schema.get("properties").and_then(Value::as_object).filter(|_| is_object) {
        Some(properties) => {
            let _ = writeln!(text, "export interface {name} {}", object(properties, schema, ""));
        }
        None => {
            let _ = writeln!(text, "export type {name} = {};", expression(schema, ""));
        }
    }
}

fn methods(text: &mut String) {
    text.push_str("\n/** All methods by name. */\nexport interface Methods {\n");
    for method in METHODS {
        let _ = writeln!(
            text,
            "  \"{}\": {{ params: {}; result: {} }};",
            method.name, method.params_type, method.result_type
        );
    }
    text.push_str("}\n\n/** Weakest role that may call each method. */\n");
    text.push_str("export const ROLE_OF_METHOD: Record<keyof Methods, Role> = {\n");
    for method in METHODS {
        let _ = writeln!(text, "  \"{}\": \"{}\",", method.name, method.role);
    }
    text.push_str("};\n");
}

fn notifications(text: &mut String) {
    text.push_str("\n/** All notifications by name. */\nexport interface Notifications {\n");
    for notification in NOTIFICATIONS {
        let _ = writeln!(text, "  \"{}\": {};", notification.name, notification.params_type);
    }
    text.push_str("}\n");
}

fn comment(text: &mut String, schema: &Value, indent: &str) {
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        let joined = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{indent}/** {} */", joined.replace("*/", "*\\/"));
    }
}

fn object(properties: &Map<String, Value>, schema: &Value, indent: &str) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let inner = format!("{indent}  ");
    let mut text = String::from("{\n");
    for (name, property) in properties {
        comment(&mut text, property, &inner);
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let _ = writeln!(text, "{inner}{}{mark}: {};", key(name), expression(property, &inner));
    }
    text.push_str(indent);
    text.push('}');
    text
}

fn key(name: &str) -> String {
    let is_word = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_word { name.to_owned() } else { format!("{name:?}") }
}

/// Returns the type of a schema as an expression.
fn expression(schema: &Value, indent: &str) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference.rsplit('/').next().unwrap_or(reference).to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return union(values.iter().map(Value::to_string));
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(variants) = schema.get(choice).and_then(Value::as_array) {
            let chosen = union(variants.iter().filter(|it| !is_null(it)).map(|it| expression(it, indent)));
            // Fields beside a choice belong to each of its variants.
            return match schema.get("properties").and_then(Value::as_object) {
                Some(properties) => format!("{} & ({chosen})", object(properties, schema, indent)),
                None => chosen,
            };
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => named(name, schema, indent),
        // A missing field is absent and never null, so `null` is no part of the type.
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            union(names.map(|name| named(name, schema, indent)))
        }
        _ => "unknown".to_owned(),
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn named(name: &str, schema: &Value, indent: &str) -> String {
    match name {
        "string" => "string".to_owned(),
        "boolean" => "boolean".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let item = schema.get("items").map_or("unknown".to_owned(), |items| expression(items, indent));
            if item.contains(' ') { format!("({item})[]") } else { format!("{item}[]") }
        }
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) => object(properties, schema, indent),
            None => {
                let value = schema.get("additionalProperties").filter(|it| it.is_object());
                let value = value.map_or("unknown".to_owned(), |it| expression(it, indent));
                format!("Record<string, {value}>")
            }
        },
        _ => "unknown".to_owned(),
    }
}

fn union(variants: impl Iterator<Item = String>) -> String {
    // A set would lose the order of the schema, which is the order of meaning.
    let mut seen = BTreeMap::new();
    let unique = variants.filter(|it| seen.insert(it.clone(), ()).is_none()).collect::<Vec<_>>();
    unique.join(" | ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_become_types() {
        let cases = [
            (json!({"type": ["string", "null"]}), "string"),
            (json!({"anyOf": [{"$ref": "#/$defs/Role"}, {"type": "null"}]}), "Role"),
            (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), "\"a\" | \"b\""),
            (json!({"type": "array", "items": {"type": ["integer", "string"]}}), "(number | string)[]"),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), "Record<string, string>"),
            (json!(true), "unknown"),
        ];
        for (schema, expected) in cases {
            assert_eq!(expression(&schema, ""), expected, "{schema}");
        }
    }

    #[test]
    fn optional_fields_have_a_question_mark() {
        let schema =
            json!({"properties": {"a": {"type": "string"}, "b-c": {"type": "boolean"}}, "required": ["a"]});
        let mut text = String::new();
        definition(&mut text, "Pair", &schema);
        assert_eq!(text, "\nexport interface Pair {\n  a: string;\n  \"b-c\"?: boolean;\n}\n");
    }

    #[test]
    fn every_method_is_typed() {
        let text = types();
        for method in METHODS {
            assert!(text.contains(&format!("\"{}\": {{ params: ", method.name)), "{}", method.name);
            assert!(text.contains(&format!(" {} ", method.params_type)), "{}", method.params_type);
        }
    }
}
