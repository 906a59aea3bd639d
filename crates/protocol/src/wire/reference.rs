//! The protocol reference, written from the same tables the gateway answers from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::Schema;
use serde_json::Value;

use crate::error::ErrorKind;
use crate::limits;
use crate::method::METHODS;
use crate::notification::NOTIFICATIONS;
use crate::schema;

const INTRODUCTION: &str = r#"# Protocol reference

This page is written by `cargo xtask generate` from the types in `crates/protocol`; do not edit it by hand.
The same types as JSON Schema are in [`schemas/`](../schemas), one file each.

A gateway speaks JSON-RPC 2.0 with named parameters, in three ways that behave alike:

| transport | how |
| --- | --- |
| WebSocket | `GET /rpc`, one message a text frame; subprotocol `foreword.v1` |
| HTTP | `POST /rpc`, one message or batch a request; stateless, so no events |
| stdio | `foreword serve --stdio`, one message a line |

Beside `/rpc` there are `GET /` (a page for whoever opens the address in a browser: what this is, its version and whether it is healthy, and no data),
`GET /healthz` (it runs), `GET /readyz` (its database answers and takes a write) and, with a token, `GET /metrics` (Prometheus).

A running gateway says where it listens in `gateway.json` of its data directory (`{"url": …, "pid": …}`); the owner's token is beside it, in `owner.token`. The data directory is
`~/.local/share/foreword` on Linux, `~/Library/Application Support/foreword` on macOS, or what `FOREWORD_DATA` says.

```sh serve
foreword serve
```

```console
$ TOKEN=$(cat ~/.local/share/foreword/owner.token)
$ curl -s http://127.0.0.1:4670/rpc -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \
    -d '{"jsonrpc":"2.0","id":1,"method":"workspace/list","params":{}}'
{"jsonrpc":"2.0","id":1,"result":{"workspaces":[]}}
```

**Access.** Send the token as `Authorization: Bearer TOKEN`. A browser's WebSocket cannot set that header, so there the token may be
offered as the subprotocol `bearer.TOKEN` beside `foreword.v1`; only `foreword.v1` is echoed. stdio needs no token and has the role `owner`.
Roles include one another: `reader` < `editor` < `operator` < `owner`. A token bound to a workspace is refused everywhere else.

**Order.** Requests of one connection are handled one after another, in the order they arrive, the elements of a batch too.

**Fields.** Ids are UUIDv7 strings, times RFC 3339 in UTC with milliseconds. A field marked *optional* is absent when there is nothing to
say, not null. Unknown parameters are an error. A *scope* is what can have a document: a folder, or the workspace root when `folder_id` is absent.

**Events.** Every change gets the next sequence number of its workspace. `events/subscribe` with `since` first sends everything after
that number, so a client that was away misses nothing. Notifications carry no content: fetch what you show. Those with a `seq` say when and by
whom the change was made, in the fields of [ChangeOrigin](#changeorigin).
A client that does not read is disconnected with close code 1013; reconnect and subscribe with the last `seq` you saw.

Contents: [a turn step by step](#a-turn-step-by-step) · [methods](#methods) · [notifications](#notifications) · [errors](#errors) · [limits](#limits) · [calls](#calls) ·
[types](#types)

## A turn step by step

What a program does that asks a model, on one WebSocket; [examples](../examples) has it in Python and in Rust.

1. `workspace/list`, or `workspace/create` with the absolute path of a directory: an agent has tools for the files below it.
2. `thread/create` with `"mode": "agent"`, or `"chat"` for a thread without tools.
3. `events/subscribe`. Notifications with a `seq` go to subscribers of the workspace only, also those about a turn that this connection has started. They tell of
   every turn of the workspace: compare `turn_id`.
4. `turn/start`. It answers at once with the turn, which then runs by itself.
5. Until `turn/completed`, `turn/failed` or `turn/cancelled`: `turn/delta` brings the pieces of the answer, in order and all before the end, to the connection that started
   the turn. After a lost connection subscribe with the last `seq`, and `turn/watch` the turn.
6. At `turn/approval_requested` a tool waits. `turn/get` has the whole of it in `approvals`; show that to somebody, and send `turn/approve` with the `digest` that they saw. A
   call that nobody decides about is denied when its `expires_at` has come.
7. `turn/get` has the answer, or why there is none in `error`; `turn/explain` has which instructions the model had, and how they reached it.
"#;

/// The whole page in Markdown.
pub fn markdown() -> String {
    let schemas = schema::all();
    let mut page = INTRODUCTION.to_owned();
    method_table(&mut page);
    notification_sections(&mut page, &schemas);
    error_table(&mut page);
    limit_table(&mut page);
    call_sections(&mut page, &schemas);
    type_sections(&mut page, &schemas);
    page
}

type Schemas = BTreeMap<String, Schema>;

fn method_table(page: &mut String) {
    heading(page, 2, "Methods");
    table(page, ["method", "role", "what it does"]);
    for method in METHODS {
        let link = format!("[`{}`](#{})", method.name, anchor(method.name));
        row(page, [&link, method.role.as_str(), method.summary.trim()]);
    }
}

fn notification_sections(page: &mut String, schemas: &Schemas) {
    heading(page, 2, "Notifications");
    for notification in NOTIFICATIONS {
        // A method and a notification may have the same name, and links lead to the method.
        heading(page, 3, &format!("{} is told", notification.name));
        paragraph(page, notification.summary);
        type_of(page, "Parameters", notification.params_type, schemas);
    }
}

fn error_table(page: &mut String) {
    heading(page, 2, "Errors");
    paragraph(
        page,
        "Every error has a `code`, a `message` for people, and in `data` at least the `kind`: see [ErrorObject](#errorobject).",
    );
    table(page, ["code", "kind", "meaning and extra data"]);
    for (kind, code, meaning) in ErrorKind::TABLE {
        let name = serde_json::to_value(kind).unwrap_or_default();
        row(page, [&code.to_string(), &format!("`{}`", name.as_str().unwrap_or_default()), meaning]);
    }
}

fn limit_table(page: &mut String) {
    heading(page, 2, "Limits");
    table(page, ["what", "limit"]);
    for (limit, meaning) in limits::TABLE {
        row(page, [meaning, &limit.to_string()]);
    }
}

fn call_sections(page: &mut String, schemas: &Schemas) {
    heading(page, 2, "Calls");
    for method in METHODS {
        heading(page, 3, method.name);
        paragraph(page, &format!("{} Role: `{}`.", method.summary.trim(), method.role));
        type_of(page, "Parameters", method.params_type, schemas);
        type_of(page, "Result", method.result_type, schemas);
    }
}

fn type_sections(page: &mut String, schemas: &Schemas) {
    heading(page, 2, "Types");
    for (name, schema) in schemas {
        let is_call = METHODS.iter().any(|method| method.params_type == name || method.result_type == name);
        if is_call || NOTIFICATIONS.iter().any(|notification| notification.params_type == name) {
            continue;
        }
        heading(page, 3, name);
        if let Some(description) = schema.get("description").and_then(Value::as_str) {
            paragraph(page, description);
        }
        let alternatives = alternatives(schema);
        if alternatives.is_empty() {
            fields(page, schema);
            continue;
        }
        table(page, ["value", "meaning"]);
        for (value, description) in alternatives {
            row(page, [&format!("`{value}`"), &description]);
        }
    }
}

/// What a call takes or gives, with a link to its schema.
fn type_of(page: &mut String, what: &str, name: &str, schemas: &Schemas) {
    let Some(schema) = schemas.get(name) else { return };
    let link = format!("[`{name}`](../schemas/{name}.json)");
    if properties(schema).is_none() {
        paragraph(page, &format!("{what}: none ({link})."));
    } else {
        paragraph(page, &format!("{what}: {link}"));
        fields(page, schema);
    }
}

fn heading(page: &mut String, level: usize, text: &str) {
    let _ = write!(page, "\n{} {text}\n", "#".repeat(level));
}

fn paragraph(page: &mut String, text: &str) {
    let _ = write!(page, "\n{text}\n");
}

fn table<const COLUMNS: usize>(page: &mut String, titles: [&str; COLUMNS]) {
    page.push('\n');
    row(page, titles);
    row(page, ["---"; COLUMNS]);
}

fn row<const COLUMNS: usize>(page: &mut String, cells: [&str; COLUMNS]) {
    for cell in cells {
        let _ = write!(page, "| {} ", cell.replace('\n', " ").replace('|', "\\|"));
    }
    page.push_str("|\n");
}

/// The anchor that Markdown viewers give a heading: lower case, without the slashes.
fn anchor(heading: &str) -> String {
    heading.chars().filter(|character| *character != '/').collect::<String>().to_lowercase()
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

fn properties(schema: &Schema) -> Option<&serde_json::Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object).filter(|properties| !properties.is_empty())
}

fn fields(page: &mut String, schema: &Schema) {
    let Some(properties) = properties(schema) else { return };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    table(page, ["field", "type", "meaning"]);
    for (name, property) in properties {
        let optional = if required.contains(&name.as_str()) { "" } else { ", *optional*" };
        let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
        row(page, [&format!("`{name}`"), &format!("{}{optional}", type_name(property)), description]);
    }
}

/// A property's type in words, with a link where the type has a heading of its own.
fn type_name(property: &Value) -> String {
    if let Some(name) =
        property.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix("#/$defs/"))
    {
        return format!("[{name}](#{})", anchor(name));
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
    let number = |key: &str| property.get(key).and_then(Value::as_i64);
    match (property.get("items"), number("minimum"), number("maximum")) {
        (Some(items), ..) => format!("list of {}", type_name(items)),
        (None, Some(min), Some(max)) => format!("{} from {min} to {max}", kinds.join(" or ")),
        _ if property.get("format") == Some(&"date-time".into()) => "time".to_owned(),
        _ => kinds.join(" or "),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_link_of_the_page_has_one_target() {
        let page = markdown();
        let mut anchors = BTreeSet::new();
        for heading in page.lines().filter(|line| line.starts_with('#')) {
            let anchor = anchor(heading.trim_start_matches('#').trim()).replace(' ', "-");
            assert!(anchors.insert(anchor), "two headings `{heading}`");
        }
        for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(anchors.contains(link), "no heading for the link `#{link}`");
        }
        let schemas = schema::files();
        for link in page.split("](../schemas/").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(schemas.contains_key(link), "no schema for the link `{link}`");
        }
    }

    #[test]
    fn the_page_is_laid_out_with_single_blank_lines() {
        let page = markdown();
        assert!(!page.contains("\n\n\n") && page.ends_with("|\n"));
    }

    #[test]
    fn a_bar_in_a_cell_does_not_end_it() {
        let mut page = String::new();
        row(&mut page, ["a|b", "c"]);
        assert_eq!(page, "| a\\|b | c |\n");
    }
}
