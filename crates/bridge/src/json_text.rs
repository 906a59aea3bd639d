//! Edits JSON files of other programs, preserving comments, order, whitespace and line ends.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

// Editors on Windows write this mark. The parser rejects it, and a file that has it must keep it, because an edit may
// change nothing but our entries.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Accepts JSON with comments and trailing commas, the most any agent's settings use. Other leniencies are errors,
/// because the agent might parse them differently.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
};

/// A JSON text whose root is an object.
pub(crate) struct JsonText {
    root: CstRootNode,
    object: CstObject,
    has_mark: bool,
}

impl JsonText {
    /// Parses a text; a blank one is an empty object. Errors contain the position.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (text, has_mark) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(text) => (text, true),
            None => (text, false),
        };
        // An object of two lines, so that entries added to it are put on lines of their own.
        let text = if text.trim().is_empty() { "{\n}\n" } else { text };
        let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| {
            format!("{}:{}: {}", error.line_display(), error.column_display(), lowercase(error.kind()))
        })?;
        let object = root.object_value().ok_or_else(|| "it is not an object".to_owned())?;
        Ok(Self { root, object, has_mark })
    }

    pub(crate) fn object(&self) -> Object {
        Object { object: self.object.clone(), path: String::new() }
    }

    pub(crate) fn text(&self) -> String {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { "" };
        format!("{mark}{}", self.root)
    }
}

fn lowercase(message: impl ToString) -> String {
    let message = message.to_string();
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

/// An object within the text.
pub(crate) struct Object {
    object: CstObject,
    /// Path of the object for messages.
    path: String,
}

/// An array within the text.
pub(crate) struct Array {
    array: CstArray,
    path: String,
}

impl Object {
    /// Returns the property with this name. Duplicates are an error, because programs disagree about which one counts.
    fn property(&self, name: &str) -> Result<Option<CstObjectProp>, String> {
        let is_named = |property: &CstObjectProp| {
            property.name().and_then(|found| found.decoded_value().ok()).as_deref() == Some(name)
        };
        let mut found = self.object.properties().into_iter().filter(is_named);
        let first = found.next();
        match found.next() {
            Some(_) => Err(format!("`{}` is there twice", self.path(name))),
            None => Ok(first),
        }
    }

    fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(crate) fn value(&self, name: &str) -> Result<Option<Value>, String> {
        Ok(self.property(name)?.and_then(|property| property.value()?.to_serde_value()))
    }

    pub(crate) fn child(&self, name: &str) -> Result<Option<Object>, String> {
        let Some(property) = self.property(name)? else { return Ok(None) };
        let path = self.path(name);
        let object = property.object_value().ok_or_else(|| format!("`{path}` is not an object"))?;
        Ok(Some(Object { object, path }))
    }

    /// Returns the object with this name, creating it if needed.
    pub(crate) fn child_or_new(&self, name: &str) -> Result<Object, String> {
        if let Some(child) = self.child(name)? {
            return Ok(child);
        }
        self.object.append(name, CstInputValue::Object(Vec::new()));
        self.child(name)?.ok_or_else(|| format!("`{}` cannot be added", self.path(name)))
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<Array>, String> {
        let Some(property) = self.property(name)? else { return Ok(None) };
        let path = self.path(name);
        let array = property.array_value().ok_or_else(|| format!("`{path}` is not an array"))?;
        Ok(Some(Array { array, path }))
    }

    /// Returns the array with this name, creating it if needed.
    pub(crate) fn list_or_new(&self, name: &str) -> Result<Array, String> {
        if let Some(list) = self.list(name)? {
            return Ok(list);
        }
        self.object.append(name, CstInputValue::Array(Vec::new()));
        self.list(name)?.ok_or_else(|| format!("`{}` cannot be added", self.path(name)))
    }

    pub(crate) fn set(&self, name: &str, value: &Value) -> Result<(), String> {
        match self.property(name)? {
            Some(property) => property.set_value(input(value)),
            None => {
                self.object.append(name, input(value));
            }
        }
        Ok(())
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), String> {
        if let Some(property) = self.property(name)? {
            property.remove();
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.object.properties().is_empty()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let properties = self.object.properties().into_iter();
        properties.filter_map(|property| property.name()?.decoded_value().ok()).collect()
    }
}

impl Array {
    pub(crate) fn is_empty(&self) -> bool {
        self.array.elements().is_empty()
    }

    pub(crate) fn push(&self, value: &Value) {
        self.array.append(input(value));
    }

    /// Removes the elements for which `matches` returns true.
    pub(crate) fn remove_where(&self, matches: impl Fn(&Value) -> bool) {
        for element in self.array.elements() {
            if element.to_serde_value().is_some_and(|value| matches(&value)) {
                remove(element);
            }
        }
    }

    /// Returns the elements that are objects, ignoring all others.
    pub(crate) fn objects(&self) -> Vec<Object> {
        let path = format!("{}[]", self.path);
        let objects = self.array.elements().into_iter().filter_map(|element| element.as_object());
        objects.map(|object| Object { object, path: path.clone() }).collect()
    }

    pub(crate) fn values(&self) -> Vec<Value> {
        self.array.elements().into_iter().filter_map(|element| element.to_serde_value()).collect()
    }
}

impl Object {
    /// Removes this object from its array.
    pub(crate) fn detach(self) {
        self.object.remove();
    }
}

fn remove(element: CstNode) {
    element.remove();
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn edits_preserve_comments_and_whitespace() {
        let text = "\u{feff}{\r\n\t// mine\r\n\t\"a\": 1, /* two */\r\n\t\"hooks\": {},\r\n}\r\n";
        let json = JsonText::parse(text).unwrap();
        json.object()
            .child_or_new("hooks")
            .unwrap()
            .list_or_new("E")
            .unwrap()
            .push(&json!({ "x": [1, "y"] }));
        let edited = json.text();
        assert!(
            edited.starts_with("\u{feff}{\r\n\t// mine\r\n\t\"a\": 1, /* two */\r\n\t\"hooks\": {"),
            "{edited:?}"
        );
        assert!(!edited.replace("\r\n", "").contains('\n'), "{edited:?}");
        let json = JsonText::parse(&edited).unwrap();
        let hooks = json.object().child("hooks").unwrap().unwrap();
        assert_eq!(hooks.value("E").unwrap(), Some(json!([{ "x": [1, "y"] }])));
    }

    #[test]
    fn errors_contain_the_position() {
        for (text, expected) in [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "2:9: expected comma"),
            ("{ 'a': 1 }", "1:3: "),
            ("[]", "it is not an object"),
            ("{", "1:"),
        ] {
            let error = JsonText::parse(text).err().unwrap();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let twice = JsonText::parse(r#"{"a": {}, "a": {}}"#).unwrap();
        assert_eq!(twice.object().child("a").err().unwrap(), "`a` is there twice");
        let other = JsonText::parse(r#"{"a": {"b": 1}}"#).unwrap();
        let child = other.object().child("a").unwrap().unwrap();
        assert_eq!(child.list_or_new("b").err().unwrap(), "`a.b` is not an array");
    }
}
