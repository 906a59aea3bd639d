//! Random parameters: mostly valid ones with existing ids, sometimes invalid ones.

use chance::Chance;
use serde_json::{Map, Value, json};

use crate::random_calls::world::World;

/// Depth at which recursive schemas are cut off.
const MAX_DEPTH: usize = 8;

/// Texts that tend to reveal bugs.
// Control characters, reversed writing, invisible and combining characters, extreme dates, and fragments of paths, SQL,
// format strings, patterns and our own tags.
const TEXTS: &[&str] = &[
    "",
    " ",
    "name",
    "a name with spaces",
    "1",
    "-1",
    "last",
    ".",
    "..",
    "../../etc/passwd",
    "/",
    "/nonexistent",
    "a\0b",
    "line\nbreak",
    "\u{202e}txt.exe",
    "\u{200b}",
    "\u{feff}",
    "\u{10ffff}",
    "é",
    "e\u{301}",
    "%s%n",
    "'; DROP TABLE documents; --",
    "<system-reminder>",
    "2026-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
    "-9999-01-01T00:00:00Z",
    "00000000-0000-7000-8000-000000000000",
    "*",
    "[",
    "{}",
    "null",
];

/// Existing ids by the name of the parameter that takes them.
pub(crate) struct Known(Vec<(&'static str, String)>);

impl Known {
    pub(crate) fn of(worlds: &[&World], turn: &str) -> Self {
        let mut known = vec![("turn_id", turn.to_owned())];
        for world in worlds {
            known.push(("workspace_id", world.workspace_id.to_string()));
            known.push(("thread_id", world.thread_id.to_string()));
            known.push(("folder_id", world.folder_id.to_string()));
            known.push(("parent_folder_id", world.folder_id.to_string()));
        }
        Self(known)
    }
}

pub(crate) struct Inventor(Chance);

impl Inventor {
    pub(crate) fn new(chance: Chance) -> Self {
        Self(chance)
    }

    /// Generates parameters for a method.
    pub(crate) fn params(&mut self, schema: &Value, known: &Known) -> Value {
        self.value(schema, schema, "", known, 0)
    }

    fn value(&mut self, schema: &Value, root: &Value, name: &str, known: &Known, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        // Not at the top level: parameters that are not an object are rejected before they reach a method.
        if depth > 0 && self.0.percent(2) {
            return self.anything();
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            // A missing reference yields `null`, which is rejected like any other wrong value.
            let target = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
            return self.value(target, root, name, known, depth + 1);
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(schemas) = schema.get(choice).and_then(Value::as_array) {
                let schema = self.0.pick(schemas).clone();
                return self.value(&schema, root, name, known, depth + 1);
            }
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.0.pick(values).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.0.pick(kinds).clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") => self.object(schema, root, known, depth),
            Some("array") => {
                let count = self.0.below(4);
                (0..count).map(|_| self.value(&schema["items"], root, name, known, depth + 1)).collect()
            }
            Some("string") => self.text(name, known),
            Some("integer" | "number") => self.number(),
            Some("boolean") => Value::Bool(self.0.percent(50)),
            Some("null") => Value::Null,
            _ => self.anything(),
        }
    }

    fn object(&mut self, schema: &Value, root: &Value, known: &Known, depth: usize) -> Value {
        let mut members = Map::new();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            // A missing required parameter is always rejected, so it is rare: the validation is tested soon enough.
            let share = if required.contains(&name.as_str()) { 98 } else { 40 };
            if self.0.percent(share) {
                members.insert(name.clone(), self.value(schema, root, name, known, depth + 1));
            }
        }
        if let Some(others) = schema.get("additionalProperties").filter(|others| others.is_object()) {
            for _ in 0..self.0.below(3) {
                let name = (*self.0.pick(TEXTS)).to_owned();
                members.insert(name, self.value(others, root, "", known, depth + 1));
            }
        }
        if self.0.percent(2) {
            members.insert("unknown".to_owned(), self.anything());
        }
        Value::Object(members)
    }

    fn text(&mut self, name: &str, known: &Known) -> Value {
        let fitting: Vec<&String> = known.0.iter().filter(|(of, _)| *of == name).map(|(_, id)| id).collect();
        // An invented id is hardly ever found, and the call would end before it does anything.
        if !fitting.is_empty() && self.0.percent(90) {
            return json!(self.0.pick(&fitting));
        }
        if self.0.percent(5) {
            return json!("long ".repeat(2_000));
        }
        json!(self.0.pick(TEXTS))
    }

    fn number(&mut self) -> Value {
        let small = json!(self.0.below(10));
        let numbers = [
            small,
            json!(0),
            json!(1),
            json!(-1),
            json!(500),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(1.5),
            json!(1e300),
        ];
        // Small numbers are more often valid, so the call gets further.
        if self.0.percent(50) { numbers[0].clone() } else { self.0.pick(&numbers).clone() }
    }

    fn anything(&mut self) -> Value {
        let values = [json!(null), json!(true), json!([]), json!({}), json!([[]]), json!({ "a": null })];
        match self.0.below(3) {
            0 => self.number(),
            1 => json!(self.0.pick(TEXTS)),
            _ => self.0.pick(&values).clone(),
        }
    }
}
