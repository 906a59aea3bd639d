//! Arguments of a call: parses the model's text, validates it against the tool's schema, and explains what to change.

use std::borrow::Cow;

use jsonschema::{PatternOptions, ValidationError, Validator};
use protocol::Hint;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Arguments that match the schema of their tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolArguments(Map<String, Value>);

/// Problems with arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ArgumentError {
    problem: String,
    /// Fields that the tool accepts.
    hint: Option<String>,
}

impl Hint for ArgumentError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint.as_deref().map(Cow::Borrowed)
    }
}

/// JSON schema of a tool's arguments, compiled once.
pub(crate) struct ArgumentSchema {
    schema: Value,
    validator: Validator,
}

/// Backtracking limit of a schema's pattern. Both schemas and arguments are untrusted.
const PATTERN_STEPS: usize = 100_000;
/// Most problems reported in one answer.
const MAX_PROBLEMS: usize = 5;

impl ArgumentSchema {
    /// Compiles a schema. References to other documents are an error, because nothing is ever fetched.
    pub(crate) fn new(schema: &Value) -> Result<Self, Box<ValidationError<'static>>> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(PATTERN_STEPS);
        let validator = jsonschema::options().with_pattern_options(patterns).build(schema);
        Ok(Self { schema: schema.clone(), validator: validator? })
    }

    /// Returns the violations in the validator's words.
    fn violations(&self, fields: &Value) -> Vec<String> {
        let errors = self.validator.iter_errors(fields).take(MAX_PROBLEMS);
        let named = errors.map(|error| match error.instance_path().as_str() {
            // `masked` leaves out the values: arguments may hold secrets, and the answer is stored.
            "" => error.masked().to_string(),
            path => format!("{path}: {}", error.masked()),
        });
        named.collect()
    }
}

impl ToolArguments {
    /// Parses a call's arguments and validates them.
    pub(crate) fn parse(text: &str, schema: &ArgumentSchema) -> Result<Self, ArgumentError> {
        let ArgumentSchema { schema: described, .. } = schema;
        // Some models send an empty text if a tool has no required field.
        let text = if text.trim().is_empty() { "{}" } else { text };
        let refused = |problem: String| ArgumentError { problem, hint: Some(expected(described)) };
        let value: Value = serde_json::from_str(text)
            .map_err(|error| refused(format!("the arguments are not valid JSON: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(refused(format!("the arguments are {}, not an object", type_name(&value))));
        };
        // Before validation, because a schema that names only `string` rejects `null`, and the call would cost a round for
        // a field that means nothing.
        drop_empty_options(&mut fields, described);
        let fields = Value::Object(fields);
        // Only the validator decides. Our own checks merely find clearer wording for what it rejects, so a difference between
        // the two cannot let invalid arguments through.
        let violations = schema.violations(&fields);
        let fields = match fields {
            Value::Object(fields) if violations.is_empty() => return Ok(Self(fields)),
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let named = problems(&fields, described);
        let problems = if named.is_empty() { violations } else { named };
        Err(refused(problems.join("\n")))
    }

    /// Deserializes the arguments.
    pub fn get<T: DeserializeOwned>(&self) -> Result<T, ArgumentError> {
        T::deserialize(Value::Object(self.0.clone()))
            .map_err(|error| ArgumentError { problem: error.to_string(), hint: None })
    }

    /// Returns a field that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns all fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// Removes optional fields that are `null` although their schema does not allow it. Some models write such fields.
///
/// A `null` that the schema allows may have a meaning and is kept.
fn drop_empty_options(fields: &mut Map<String, Value>, schema: &Value) {
    let required = required(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    let refuses_null = |name: &str| {
        let types = properties.and_then(|properties| properties.get(name)).map(types).unwrap_or_default();
        !types.is_empty() && !types.contains(&"null")
    };
    fields.retain(|name, value| !value.is_null() || required.contains(&name.as_str()) || !refuses_null(name));
}

fn problems(fields: &Map<String, Value>, schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut problems = Vec::new();
    for name in required(schema) {
        if !fields.contains_key(name) {
            problems.push(format!("field `{name}` is missing"));
        }
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => problems.extend(mistake(name, value, property)),
            None if closed => problems.push(unknown(name, properties)),
            None => {}
        }
    }
    problems
}

fn unknown(name: &str, properties: Option<&Map<String, Value>>) -> String {
    let known = properties.into_iter().flat_map(Map::keys).map(String::as_str);
    match protocol::similar(name, known) {
        Some(near) => format!("field `{name}` is unknown; did you mean `{near}`?"),
        None => format!("field `{name}` is unknown"),
    }
}

/// Describes a problem with the value of one field.
fn mistake(name: &str, value: &Value, property: &Value) -> Option<String> {
    let types = types(property);
    if !types.is_empty() && !types.iter().any(|expected| is_of_type(value, expected)) {
        // Optional fields of our schemas allow `null`. Naming it here would invite models to send it.
        let wanted: Vec<&str> = types.into_iter().filter(|name| *name != "null").collect();
        return Some(format!("field `{name}` must be {}, not {}", with_article(&wanted), type_name(value)));
    }
    if let Some(values) = property.get("enum").and_then(Value::as_array)
        && !values.contains(value)
    {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return Some(format!("field `{name}` must be one of {}", values.join(", ")));
    }
    let number = value.as_f64()?;
    let bound = |keyword: &str| property.get(keyword).and_then(Value::as_f64);
    if let Some(least) = bound("minimum").filter(|least| number < *least) {
        return Some(format!("field `{name}` must be at least {least}"));
    }
    let limit = bound("maximum").filter(|limit| number > *limit)?;
    Some(format!("field `{name}` must be at most {limit}"))
}

fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn types(property: &Value) -> Vec<&str> {
    match property.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn with_article(names: &[&str]) -> String {
    let articles = names.iter().map(|name| match name.as_bytes().first() {
        Some(b'a' | b'i' | b'o') => format!("an {name}"),
        _ => format!("a {name}"),
    });
    articles.collect::<Vec<_>>().join(" or ")
}

/// Lists the fields of a schema in one line.
fn expected(schema: &Value) -> String {
    let required = required(schema);
    let Some(properties) = schema.get("properties").and_then(Value::as_object).filter(|map| !map.is_empty())
    else {
        return "the tool takes no fields: {}".to_owned();
    };
    let fields = properties.iter().map(|(name, property)| {
        let types: Vec<&str> = types(property).into_iter().filter(|name| *name != "null").collect();
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        if types.is_empty() {
            format!("{name}{optional}")
        } else {
            format!("{name}{optional}: {}", types.join("|"))
        }
    });
    format!("the fields are {{{}}}", fields.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str) -> String {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "offset": { "type": ["integer", "null"], "minimum": 1, "maximum": 9 },
                "limit": { "type": "integer" },
                "mode": { "enum": ["a", "b"] },
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        match ToolArguments::parse(text, &ArgumentSchema::new(&schema).unwrap()) {
            Ok(arguments) => Value::Object(arguments.0).to_string(),
            Err(error) => error.to_string().replace('\n', "; "),
        }
    }

    #[test]
    fn valid_arguments_are_accepted() {
        assert_eq!(check(r#"{"path":"a","offset":2}"#), r#"{"path":"a","offset":2}"#);
        assert_eq!(check(r#"{"path":"a","offset":2.0}"#), r#"{"path":"a","offset":2.0}"#);
        assert_eq!(
            check(r#"{"path":"a","offset":null,"limit":null,"mode":"b"}"#),
            r#"{"path":"a","offset":null,"mode":"b"}"#,
            "null is removed only where it is not allowed"
        );
    }

    #[test]
    fn invalid_arguments_are_named() {
        for (text, message) in [
            ("", "field `path` is missing"),
            ("{}", "field `path` is missing"),
            (r#"{"path":null}"#, "field `path` must be a string, not null"),
            (r#"{"path":["a"]}"#, "field `path` must be a string, not an array"),
            (r#"{"paht":"a"}"#, "field `path` is missing; field `paht` is unknown; did you mean `path`?"),
            (r#"{"path":"a","zzz":1}"#, "field `zzz` is unknown"),
            (r#"{"path":"a","offset":"2"}"#, "field `offset` must be an integer, not a string"),
            (
                r#"{"path":"a","offset":1.5}"#,
                "field `offset` must be an integer, not a number with a fraction",
            ),
            (r#"{"path":"a","offset":0}"#, "field `offset` must be at least 1"),
            (r#"{"path":"a","offset":-3}"#, "field `offset` must be at least 1"),
            (r#"{"path":"a","offset":10}"#, "field `offset` must be at most 9"),
            (r#"{"path":"a","mode":"c"}"#, r#"field `mode` must be one of "a", "b""#),
            ("[1]", "the arguments are an array, not an object"),
            (r#""path""#, "the arguments are a string, not an object"),
        ] {
            assert_eq!(check(text), message, "{text}");
        }
        assert!(check(r#"{"path": "a"#).starts_with("the arguments are not valid JSON: EOF"));
    }

    #[test]
    fn hint_lists_the_fields() {
        let schema = json!({ "properties": { "a": { "type": "string" }, "b": { "type": ["integer", "null"] } }, "required": ["a"] });
        let schema = ArgumentSchema::new(&schema).unwrap();
        let error = ToolArguments::parse("{", &schema).unwrap_err().with_hint();
        assert!(error.ends_with("\nhint: the fields are {a: string, b?: integer}"), "{error}");
    }

    #[test]
    fn foreign_schemas_are_validated_in_full() {
        let schema = ArgumentSchema::new(&json!({
            "type": "object",
            "properties": {
                "issue": { "$ref": "#/$defs/issue" },
                "tags": { "type": "array", "items": { "type": "string" }, "maxItems": 2, "uniqueItems": true },
                "key": { "type": "string", "pattern": "^[A-Z]+-[0-9]+$" },
            },
            "oneOf": [{ "required": ["issue"] }, { "required": ["key"] }],
            "$defs": { "issue": { "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] } },
        }))
        .unwrap();
        let check =
            |text: &str| ToolArguments::parse(text, &schema).map(|_| ()).map_err(|error| error.to_string());
        assert_eq!(check(r#"{"key":"AB-1","tags":["a","b"]}"#), Ok(()));
        assert_eq!(check(r#"{"issue":{"id":1}}"#), Ok(()));
        for (text, part) in [
            (r#"{"issue":{"id":"x"}}"#, "/issue/id"),
            (r#"{"issue":{}}"#, "/issue"),
            (r#"{"key":"ab"}"#, "/key"),
            (r#"{"key":"AB-1","tags":["a","a"]}"#, "/tags"),
            (r#"{"key":"AB-1","tags":["a",1]}"#, "/tags/1"),
            (r#"{"key":"AB-1","issue":{"id":1}}"#, "more than one"),
            ("{}", "oneOf"),
        ] {
            let error = check(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(
            !check(r#"{"key":"secret words"}"#).unwrap_err().contains("secret"),
            "values are not repeated"
        );
    }

    #[test]
    fn only_the_validator_rejects() {
        // Our own checks do not understand `anyOf` and `patternProperties` and would reject both of these.
        let schema = ArgumentSchema::new(&json!({
            "type": "object",
            "properties": { "assignee": { "anyOf": [{ "type": "string" }, { "type": "null" }] } },
            "patternProperties": { "^x-": { "type": "string" } },
            "additionalProperties": false,
        }))
        .unwrap();
        for text in [r#"{"x-note":"a"}"#, r#"{"assignee":null}"#] {
            let arguments = ToolArguments::parse(text, &schema).unwrap();
            assert_eq!(Value::Object(arguments.0).to_string(), text);
        }
        assert!(ToolArguments::parse(r#"{"y":"a"}"#, &schema).is_err());
    }

    #[test]
    fn schema_with_external_reference_is_rejected() {
        for schema in
            [json!({ "$ref": "https://example.com/schema.json" }), json!({ "$ref": "file:///etc/passwd" })]
        {
            assert!(ArgumentSchema::new(&schema).is_err(), "{schema}");
        }
        assert!(ArgumentSchema::new(&json!({ "type": "nonsense" })).is_err());
    }
}
