//! Parameters at random: mostly what a schema allows, with ids that exist, and now and then something else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value, json};

use crate::support::World;

/// Deeper values of schemas that refer to themselves are left out.
const MAX_DEPTH: usize = 8;

/// Texts that have surprised somebody before.
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

/// What exists, by the name of the parameter that takes it.
pub(super) struct Known(Vec<(&'static str, String)>);

impl Known {
    pub(super) fn of(worlds: &[&World], turn: &str) -> Self {
        let mut known = vec![("turn_id", turn.to_owned())];
        for world in worlds {
            known.push(("workspace_id", world.workspace.clone()));
            known.push(("thread_id", world.thread.clone()));
            known.push(("folder_id", world.folder.clone()));
            known.push(("parent_folder_id", world.folder.clone()));
        }
        Self(known)
    }
}

pub(super) struct Inventor {
    seed: u64,
    drawn: u64,
}

impl Inventor {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Parameters of a method.
    pub(super) fn params(&mut self, schema: &Value, known: &Known) -> Value {
        self.value(schema, schema, "", known, 0)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.drawn += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, self.drawn).hash(&mut hasher);
        usize::try_from(hasher.finish() % limit.max(1) as u64).unwrap()
    }

    fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn value(&mut self, schema: &Value, root: &Value, name: &str, known: &Known, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        // Not at the top: parameters that are no object are refused before any method hears of them.
        if depth > 0 && self.percent(2) {
            return self.anything();
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = root.pointer(reference.trim_start_matches('#'));
            return self.value(target.expect("a definition"), root, name, known, depth + 1);
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(schemas) = schema.get(choice).and_then(Value::as_array) {
                let schema = self.pick(schemas).clone();
                return self.value(&schema, root, name, known, depth + 1);
            }
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return self.pick(values).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.pick(kinds).clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("object") => self.object(schema, root, known, depth),
            Some("array") => {
                let count = self.below(4);
                (0..count).map(|_| self.value(&schema["items"], root, name, known, depth + 1)).collect()
            }
            Some("string") => self.text(name, known),
            Some("integer" | "number") => self.number(),
            Some("boolean") => Value::Bool(self.percent(50)),
            Some("null") => Value::Null,
            _ => self.anything(),
        }
    }

    fn object(&mut self, schema: &Value, root: &Value, known: &Known, depth: usize) -> Value {
        let mut members = Map::new();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let share = if required.contains(&name.as_str()) { 98 } else { 40 };
            if self.percent(share) {
                members.insert(name.clone(), self.value(schema, root, name, known, depth + 1));
            }
        }
        if let Some(others) = schema.get("additionalProperties").filter(|others| others.is_object()) {
            for _ in 0..self.below(3) {
                let name = (*self.pick(TEXTS)).to_owned();
                members.insert(name, self.value(others, root, "", known, depth + 1));
            }
        }
        if self.percent(2) {
            members.insert("unknown".to_owned(), self.anything());
        }
        Value::Object(members)
    }

    fn text(&mut self, name: &str, known: &Known) -> Value {
        let fitting: Vec<&String> = known.0.iter().filter(|(of, _)| *of == name).map(|(_, id)| id).collect();
        if !fitting.is_empty() && self.percent(90) {
            return json!(self.pick(&fitting));
        }
        if self.percent(5) {
            return json!("long ".repeat(2_000));
        }
        json!(self.pick(TEXTS))
    }

    fn number(&mut self) -> Value {
        let small = json!(self.below(10));
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
        // Small ones reach further.
        if self.percent(50) { numbers[0].clone() } else { self.pick(&numbers).clone() }
    }

    fn anything(&mut self) -> Value {
        let values = [json!(null), json!(true), json!([]), json!({}), json!([[]]), json!({ "a": null })];
        match self.below(3) {
            0 => self.number(),
            1 => json!(self.pick(TEXTS)),
            _ => self.pick(&values).clone(),
        }
    }
}
