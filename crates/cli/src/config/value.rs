//! Values of settings and their kinds.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::period;

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A string, URL or word.
    Text(String),
    /// A path; absolute once it is in a [`Configuration`](super::Configuration).
    Path(PathBuf),
    /// A boolean.
    Switch(bool),
    Integer(u64),
    List(Vec<String>),
    /// Paths in order, made absolute like a single one.
    Paths(Vec<PathBuf>),
    /// Secret texts by name, which are never shown.
    Headers(BTreeMap<String, String>),
}

/// Kind of values that a key accepts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// A non-empty string.
    Text,
    /// An address whose password is never shown.
    Url,
    /// A path, relative to the directory of its file or to the working directory.
    Path,
    /// True or false.
    Switch,
    /// 0 or more.
    NonNegative,
    /// 1 or more.
    Positive,
    /// A list of texts.
    List,
    /// A list of paths.
    Paths,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A model's name, as `provider/model`.
    Model,
    /// A retention time.
    Period,
    /// The name of an environment variable. Only capitals, so that a key pasted by mistake is not accepted as a name.
    Variable,
    /// A table of texts that may be secret.
    Headers,
}

/// Description of a value of the wrong kind.
pub(crate) type Found = String;

impl Kind {
    /// Returns the requirement for a value, as in "must be …".
    pub(crate) fn expectation(self) -> String {
        match self {
            Kind::Text => "a non-empty string".to_owned(),
            Kind::Url => "a URL in a string".to_owned(),
            Kind::Path => "a path in a string".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::NonNegative => "a non-negative integer".to_owned(),
            Kind::Positive => "a positive integer".to_owned(),
            Kind::List => "a list of strings".to_owned(),
            Kind::Paths => "a list of paths in strings".to_owned(),
            Kind::Words(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Kind::Model => "a model's name such as `anthropic/claude-opus-5`".to_owned(),
            Kind::Period => "a time such as `30 days`, `1 year` or `forever`".to_owned(),
            Kind::Variable => "the name of an environment variable, such as `LOCAL_API_KEY`".to_owned(),
            Kind::Headers => "a table of strings".to_owned(),
        }
    }

    /// Reads a TOML value.
    pub(crate) fn read_toml(self, value: &DeValue<'_>) -> Result<Value, Found> {
        let found = || self.found(value);
        let read = match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Boolean(on) => Value::Switch(*on),
            DeValue::Integer(number) => {
                // TOML integers may be negative or larger than 64 bits. Both are values of the wrong kind and not parse
                // errors.
                Value::Integer(u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| found())?)
            }
            DeValue::Array(elements) => {
                let texts = elements.iter().map(|element| match element.get_ref() {
                    DeValue::String(text) => Ok(text.clone().into_owned()),
                    other => Err(format!("a list with {}", describe(other))),
                });
                Value::List(texts.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => {
                let texts = table.iter().map(|(name, element)| match element.get_ref() {
                    DeValue::String(text) => Ok((name.get_ref().to_string(), text.clone().into_owned())),
                    // The value is not described, because a header may contain a secret.
                    _ => Err(found()),
                });
                Value::Headers(texts.collect::<Result<_, _>>()?)
            }
            DeValue::Float(_) | DeValue::Datetime(_) => return Err(found()),
        };
        self.check(read).map_err(|_| found())
    }

    /// Describes a value of the wrong kind, omitting text that may be secret.
    fn found(self, value: &DeValue<'_>) -> Found {
        match (self, value) {
            (Kind::Variable, DeValue::String(_)) => "a string that is not one".to_owned(),
            (Kind::Headers, DeValue::Table(_)) => "a table with something else".to_owned(),
            (Kind::Variable | Kind::Headers, _) => "something else".to_owned(),
            _ => describe(value),
        }
    }

    /// Reads the value of an environment variable.
    pub(crate) fn read_variable(self, value: &OsStr) -> Result<Value, Found> {
        // A path need not be UTF-8, so it is taken before the conversion to text.
        if let Kind::Path = self {
            return Ok(Value::Path(value.into()));
        }
        let text = value.to_str().ok_or("text that is not UTF-8")?;
        let found = || format!("{text:?}");
        let read = match self {
            Kind::Text
            | Kind::Url
            | Kind::Path
            | Kind::Words(_)
            | Kind::Model
            | Kind::Period
            | Kind::Variable => Value::Text(text.to_owned()),
            // Switches accept the words that are usual in shells, whereas TOML only knows true and false.
            Kind::Switch => Value::Switch(switch(text).ok_or_else(found)?),
            Kind::NonNegative | Kind::Positive => Value::Integer(text.trim().parse().map_err(|_| found())?),
            // Empty items are dropped, so that a lone comma is the empty list.
            Kind::List | Kind::Paths => Value::List(
                text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect(),
            ),
            Kind::Headers => return Err("something that a variable cannot hold".to_owned()),
        };
        self.check(read)
    }

    /// Checks a value and converts it to a path if the key needs one. An error describes the value.
    pub(crate) fn check(self, value: Value) -> Result<Value, Found> {
        let fits = match (self, &value) {
            (Kind::Text | Kind::Url, Value::Text(text)) => !text.is_empty(),
            (Kind::Path, Value::Text(text)) if !text.is_empty() => return Ok(Value::Path(text.into())),
            (Kind::Path, Value::Path(path)) => !path.as_os_str().is_empty(),
            (Kind::Paths, Value::List(items)) if items.iter().all(|item| !item.is_empty()) => {
                return Ok(Value::Paths(items.iter().map(PathBuf::from).collect()));
            }
            (Kind::Words(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Kind::Model, Value::Text(text)) => text.parse::<provider::ModelName>().is_ok(),
            (Kind::Period, Value::Text(text)) => period::parse(text).is_some(),
            (Kind::Variable, Value::Text(text)) => is_variable(text),
            (Kind::NonNegative, Value::Integer(_))
            | (Kind::Switch, Value::Switch(_))
            | (Kind::List, Value::List(_))
            | (Kind::Paths, Value::Paths(_))
            | (Kind::Headers, Value::Headers(_)) => true,
            (Kind::Positive, Value::Integer(number)) => *number > 0,
            _ => false,
        };
        if fits { Ok(value) } else { Err(value.in_toml()) }
    }

    /// Returns a value as TOML for people, without passwords.
    pub(crate) fn shown(self, value: &Value) -> String {
        self.without_password(value).in_toml()
    }

    /// Returns a value as JSON for programs, without passwords.
    pub(crate) fn json(self, value: &Value) -> serde_json::Value {
        match self.without_password(value) {
            Value::Text(text) => text.into(),
            Value::Path(path) => path.to_string_lossy().into(),
            Value::Switch(on) => on.into(),
            Value::Integer(number) => number.into(),
            Value::List(items) => items.into(),
            Value::Paths(paths) => paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().into(),
            Value::Headers(headers) => headers.into_iter().collect(),
        }
    }

    fn without_password(self, value: &Value) -> Value {
        match (self, value) {
            (Kind::Url, Value::Text(url)) => Value::Text(without_password(url)),
            (_, Value::Headers(headers)) => {
                // The names of headers are harmless and help to find a mistake, but their values may be secrets.
                Value::Headers(headers.keys().map(|name| (name.clone(), HIDDEN.to_owned())).collect())
            }
            _ => value.clone(),
        }
    }
}

impl Value {
    /// Resolves relative paths against `base`.
    pub(crate) fn below(self, base: &Path) -> Value {
        match self {
            Value::Path(path) => Value::Path(base.join(path).components().collect()),
            Value::Paths(paths) => {
                Value::Paths(paths.iter().map(|path| base.join(path).components().collect()).collect())
            }
            other => other,
        }
    }

    fn in_toml(&self) -> String {
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        match self {
            Value::Text(value) => text(value),
            Value::Path(path) => text(&path.to_string_lossy()),
            Value::Switch(on) => on.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| text(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Paths(paths) => {
                let items: Vec<String> = paths.iter().map(|path| text(&path.to_string_lossy())).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Headers(headers) => {
                let items: Vec<String> =
                    headers.iter().map(|(name, value)| format!("{} = {}", text(name), text(value))).collect();
                format!("{{ {} }}", items.join(", "))
            }
        }
    }
}

/// Replacement for hidden values.
const HIDDEN: &str = "***";

/// Words that mark a query parameter as secret.
const SECRET_WORDS: &[&str] = &["password", "key", "token", "secret"];

fn is_variable(text: &str) -> bool {
    let fits =
        |character: char| character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_';
    text.chars().all(fits) && text.starts_with(|first: char| !first.is_ascii_digit())
}

fn switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Describes a TOML value. Strings are quoted, so that a file cannot send control characters to the terminal.
pub(crate) fn describe(value: &DeValue<'_>) -> Found {
    match value {
        DeValue::String(text) => format!("the string {text:?}"),
        DeValue::Integer(number) => format!("the integer {number}"),
        DeValue::Float(number) => format!("the float {number}"),
        DeValue::Boolean(on) => format!("the boolean {on}"),
        DeValue::Datetime(time) => format!("the date or time {time}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Hides the password before the host, and secret query parameters. If unescaped characters make the two ambiguous, hides
/// too much rather than too little.
fn without_password(url: &str) -> String {
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    };
    let url = match url.split_once('?') {
        Some((address, query)) => {
            // An unescaped secret may itself contain `=`. Splitting at the last one and cutting the name at the first
            // hides all of it.
            let pairs = query.split('&').map(|pair| match pair.rsplit_once('=') {
                Some((name, _)) if is_secret(name) => {
                    format!("{}={HIDDEN}", name.split('=').next().unwrap_or_default())
                }
                _ => pair.to_owned(),
            });
            format!("{address}?{}", pairs.collect::<Vec<_>>().join("&"))
        }
        None => url.to_owned(),
    };
    let authority = url.find("://").map_or(0, |scheme| scheme + 3);
    let (scheme, rest) = url.split_at(authority);
    // An unescaped password may contain `@`, so only the last one ends it.
    match rest.rsplit_once('@').map(|(user, host)| (user.split_once(':'), host)) {
        Some((Some((user, _)), host)) => format!("{scheme}{user}:{HIDDEN}@{host}"),
        _ => url,
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<PathBuf> for Value {
    fn from(path: PathBuf) -> Self {
        Value::Path(path)
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Value::Switch(on)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Integer(number)
    }
}

impl From<Vec<String>> for Value {
    fn from(items: Vec<String>) -> Self {
        Value::List(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_urls_are_hidden() {
        let cases = [
            ("postgres://me:secret@db/foreword", "postgres://me:***@db/foreword"),
            ("postgres://me:p@ss:w@db/foreword", "postgres://me:***@db/foreword"),
            ("postgres://me@db/foreword", "postgres://me@db/foreword"),
            ("postgres://db/f?user=me&password=secret", "postgres://db/f?user=me&password=***"),
            ("postgres://me:a?b@db/foreword", "postgres://me:***@db/foreword"),
            ("postgres://me:a/b@db/foreword", "postgres://me:***@db/foreword"),
            ("postgres://me@db/f?password=a=b@c&x=1", "postgres://me@db/f?password=***&x=1"),
            ("https://models.example/v1?api_key=secret&v=2", "https://models.example/v1?api_key=***&v=2"),
            ("sqlite:/tmp/x.db", "sqlite:/tmp/x.db"),
        ];
        for (url, shown) in cases {
            assert_eq!(Kind::Url.shown(&url.into()), format!("\"{shown}\""));
            assert_eq!(Kind::Url.json(&url.into()), shown);
        }
    }

    #[test]
    fn a_relative_path_resolves_against_its_base() {
        let below = |path: &str| Value::Path(path.into()).below(Path::new("/base"));
        assert_eq!(below("./a/b/"), Value::Path("/base/a/b".into()));
        assert_eq!(below("/c"), Value::Path("/c".into()));
    }

    #[test]
    fn each_path_of_a_list_is_resolved() {
        let list = Kind::Paths.check(Value::List(vec!["a".into(), "/b".into()])).unwrap();
        assert_eq!(list.below(Path::new("/base")), Value::Paths(vec!["/base/a".into(), "/b".into()]));
        assert!(Kind::Paths.check(Value::List(vec![String::new()])).is_err());
    }

    #[test]
    fn header_values_are_hidden() {
        let headers = Value::Headers([("X-Key".to_owned(), "secret".to_owned())].into());
        assert_eq!(Kind::Headers.shown(&headers), "{ \"X-Key\" = \"***\" }");
        assert_eq!(Kind::Headers.json(&headers), serde_json::json!({ "X-Key": "***" }));
    }

    #[test]
    fn variable_names_are_distinguished_from_keys() {
        for name in ["LOCAL_API_KEY", "_A1"] {
            assert!(Kind::Variable.check(name.into()).is_ok(), "{name}");
        }
        for text in ["", "sk-ant-api03", "1A", "d41d8cd98f00", "A=B", "$KEY"] {
            assert!(Kind::Variable.check(text.into()).is_err(), "{text}");
        }
    }

    #[test]
    fn empty_text_is_not_a_value() {
        for kind in [Kind::Text, Kind::Url, Kind::Path] {
            assert_eq!(kind.check("".into()), Err("\"\"".to_owned()));
        }
    }
}
