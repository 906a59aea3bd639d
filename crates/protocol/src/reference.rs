//! The protocol reference, written from the same tables the gateway answers from.

use std::fmt::Write as _;

use schemars::Schema;
use serde_json::Value;

use crate::error::ErrorKind;
use crate::method::METHODS;
use crate::notification::NOTIFICATIONS;
use crate::schema;

const INTRODUCTION: &str = "\
# Protocol reference

This page is written by `cargo xtask generate` from the types in `crates/protocol`; do not edit it by hand.

A gateway speaks JSON-RPC 2.0 with named parameters, in three ways that behave alike:

| transport | how |
| --- | --- |
| WebSocket | `GET /rpc`, one message a text frame; subprotocol `foreword.v1` |
| HTTP | `POST /rpc`, one message or batch a request; stateless, so no events |
| stdio | `foreword serve --stdio`, one message a line |

**Access.** Send the token as `Authorization: Bearer TOKEN`. A browser's WebSocket cannot set that header, so there the token may be
offered as the subprotocol `bearer.TOKEN` beside `foreword.v1`; only `foreword.v1` is echoed. stdio needs no token and has the role `owner`.
Roles include one another: `reader` < `editor` < `owner`. A token bound to a workspace is refused everywhere else.

**Order.** Requests of one connection are handled one after another, in the order they arrive, the elements of a batch too.

**Ids** are UUIDv7 strings, **times** RFC 3339 in UTC with milliseconds. Optional fields are absent, not null. Unknown parameters are an error.

**Events.** Every change gets the next sequence number of its workspace. `events/subscribe` with `since` first sends everything after
that number, so a client that was away misses nothing. Notifications carry no content: fetch what you show.
A client that does not read is disconnected with close code 1013; reconnect and subscribe with the last `seq` you saw.
";

/// The whole page in Markdown.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n## Methods\n\n| method | role | what it does |\n| --- | --- | --- |\n");
    for method in METHODS {
        let _ = writeln!(
            page,
            "| [`{}`](#{}) | {} | {} |",
            method.name,
            anchor(method.name),
            method.role,
            method.summary.trim()
        );
    }
    page.push_str("\n## Errors\n\nEvery error has `code`, `message` and `data.kind`.\n\n| code | kind | meaning and extra data |\n| --- | --- | --- |\n");
    for (kind, code, meaning) in ErrorKind::TABLE {
        let name = serde_json::to_value(kind).unwrap_or_default();
        let _ = writeln!(page, "| {code} | `{}` | {meaning} |", name.as_str().unwrap_or_default());
    }
    let schemas = schema::all();
    page.push_str("\n## Calls\n");
    for method in METHODS {
        let _ =
            write!(page, "\n### {}\n\n{} Role: `{}`.\n\n", method.name, method.summary.trim(), method.role);
        fields(&mut page, &format!("Parameters (`{}`)", method.params_type), &schemas[method.params_type]);
        fields(&mut page, &format!("Result (`{}`)", method.result_type), &schemas[method.result_type]);
    }
    page.push_str("\n## Notifications\n");
    for notification in NOTIFICATIONS {
        let _ = write!(page, "\n### {}\n\n{}\n\n", notification.name, notification.summary);
        fields(
            &mut page,
            &format!("Parameters (`{}`)", notification.params_type),
            &schemas[notification.params_type],
        );
    }
    page.push_str("\n## Types\n");
    for (name, schema) in &schemas {
        let is_call = METHODS.iter().any(|method| method.params_type == name || method.result_type == name);
        if is_call || NOTIFICATIONS.iter().any(|notification| notification.params_type == name) {
            continue;
        }
        let _ = write!(page, "\n### {name}\n\n");
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(page, "{description}\n\n");
        }
        let alternatives = alternatives(schema);
        if alternatives.is_empty() {
            fields(&mut page, "Fields", schema);
        } else {
            for (value, description) in alternatives {
                let _ = writeln!(page, "- `{value}`: {description}");
            }
        }
    }
    page
}

fn anchor(heading: &str) -> String {
    heading.chars().filter(|character| *character != '/').collect()
}

/// The values of an enumeration with what they mean.
fn alternatives(schema: &Schema) -> Vec<(String, String)> {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    schema
        .get("oneOf")
        .and_then(Value::as_array)
        .map(|list| list.iter().map(|value| (text(value, "const"), text(value, "description"))).collect())
        .unwrap_or_default()
}

fn fields(page: &mut String, title: &str, schema: &Schema) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        let _ = writeln!(page, "{title}: none.\n");
        return;
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let _ = write!(page, "{title}:\n\n| field | type | meaning |\n| --- | --- | --- |\n");
    for (name, property) in properties {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{name}`{optional} | {} | {} |",
            type_name(property),
            description.replace('\n', " ")
        );
    }
    page.push('\n');
}

/// A property's type in words, with a link where the type has a heading of its own.
fn type_name(property: &Value) -> String {
    if let Some(name) =
        property.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/$defs/"))
    {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(options) = property.get("anyOf").and_then(Value::as_array) {
        let names: Vec<String> = options
            .iter()
            .filter(|option| option.get("type") != Some(&"null".into()))
            .map(type_name)
            .collect();
        return names.join(" or ");
    }
    let kinds: Vec<&str> = match property.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => vec!["any"],
    };
    match property.get("items") {
        Some(items) => format!("list of {}", type_name(items)),
        None => kinds.join(" or "),
    }
}
