//! How the type of a field becomes what a setting takes: its kind, and its value in both directions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use agent::{Clock, WhenBusy};
use instructions::Delivery;
use prompt::PromptProfile;
use provider::{ProviderKind, ReasoningEffort};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::{self, DeserializeOwned, IntoDeserializer as _, Visitor};
use tools::{Permission, Sandbox};

use super::period;
use super::value::{Kind, Value};

/// A way to write a field of type `T` in a configuration.
pub(super) trait Form<T> {
    fn kind() -> Kind;
    /// None only where nothing is set and there is no default.
    fn to_value(field: &T) -> Option<Value>;
    /// None for a value that is not of the kind.
    fn from_value(value: Option<Value>) -> Option<T>;
}

impl<T, F: Form<T>> Form<Option<T>> for F {
    fn kind() -> Kind {
        F::kind()
    }

    fn to_value(field: &Option<T>) -> Option<Value> {
        field.as_ref().and_then(F::to_value)
    }

    fn from_value(value: Option<Value>) -> Option<Option<T>> {
        match value {
            None => Some(None),
            value => F::from_value(value).map(Some),
        }
    }
}

macro_rules! forms {
    ($($form:ty, $field:ty, $kind:expr, $value:ident, $to:expr, $from:expr;)*) => {$(
        impl Form<$field> for $form {
            fn kind() -> Kind {
                $kind
            }

            fn to_value(field: &$field) -> Option<Value> {
                let to: fn(&$field) -> _ = $to;
                Some(Value::$value(to(field)))
            }

            fn from_value(value: Option<Value>) -> Option<$field> {
                let from: fn(_) -> $field = $from;
                if let Some(Value::$value(value)) = value { Some(from(value)) } else { None }
            }
        }
    )*};
}

/// As the type alone says.
pub(super) struct Plain;
/// A number of at least 1.
pub(super) struct Positive;
/// An address that may carry a password.
pub(super) struct Url;
/// A model's name, as `provider/model`.
pub(super) struct Model;
/// The name of an environment variable.
pub(super) struct Variable;
/// A number of which 0 is no limit.
pub(super) struct ZeroIsNone;
/// Whether the time stands beside the date.
pub(super) struct WithTime;
/// Whole seconds, at least 1.
pub(super) struct Seconds;
/// Whole minutes, at least 1.
pub(super) struct Minutes;
/// A time with its unit, or `forever`.
pub(super) struct Period;

const MINUTE: u64 = 60;

forms! {
    Plain, String, Kind::Text, Text, String::clone, |text| text;
    Plain, PathBuf, Kind::Path, Path, PathBuf::clone, |path| path;
    Plain, bool, Kind::Switch, Switch, |on| *on, |on| on;
    Plain, u64, Kind::NonNegative, Integer, |number| *number, |number| number;
    Plain, usize, Kind::NonNegative, Integer, |number| *number as u64, size;
    Plain, Vec<String>, Kind::List, List, Vec::clone, |items| items;
    Plain, BTreeSet<String>, Kind::List, List, |items| items.iter().cloned().collect(), from_list;
    Plain, Vec<PathBuf>, Kind::Paths, Paths, Vec::clone, |paths| paths;
    Plain, BTreeMap<String, SecretString>, Kind::Headers, Headers, expose, |headers: BTreeMap<String, String>| {
        headers.into_iter().map(|(name, value)| (name, value.into())).collect()
    };
    Positive, u32, Kind::Positive, Integer, |number| u64::from(*number), small;
    Positive, usize, Kind::Positive, Integer, |number| *number as u64, size;
    Url, String, Kind::Url, Text, String::clone, |text| text;
    Model, String, Kind::Model, Text, String::clone, |text| text;
    Variable, String, Kind::Variable, Text, String::clone, |text| text;
    ZeroIsNone, Option<NonZeroU32>, Kind::NonNegative, Integer, |number| {
        number.map_or(0, |number| u64::from(number.get()))
    }, |number| NonZeroU32::new(small(number));
    WithTime, Clock, Kind::Switch, Switch, |clock| *clock == Clock::DateAndTime, |on| {
        if on { Clock::DateAndTime } else { Clock::Date }
    };
    Seconds, Duration, Kind::Positive, Integer, Duration::as_secs, Duration::from_secs;
    Minutes, Duration, Kind::Positive, Integer, |time| time.as_secs() / MINUTE, |number: u64| {
        Duration::from_secs(number.saturating_mul(MINUTE))
    };
    Period, Option<Duration>, Kind::Period, Text, |time| period::show(*time), |text: String| {
        period::parse(&text).flatten()
    };
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn from_list(items: Vec<String>) -> BTreeSet<String> {
    items.into_iter().collect()
}

fn expose(headers: &BTreeMap<String, SecretString>) -> BTreeMap<String, String> {
    headers.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned())).collect()
}

macro_rules! words {
    ($($choice:ty),*) => {$(
        impl Form<$choice> for Plain {
            fn kind() -> Kind {
                Kind::Words(words_of::<$choice>())
            }

            fn to_value(field: &$choice) -> Option<Value> {
                let word = words_of::<$choice>().iter().find(|word| choice(word).as_ref() == Some(field))?;
                Some((*word).into())
            }

            fn from_value(value: Option<Value>) -> Option<$choice> {
                if let Some(Value::Text(word)) = value { choice(&word) } else { None }
            }
        }
    )*};
}

words!(Delivery, Permission, PromptProfile, ProviderKind, ReasoningEffort, Sandbox, WhenBusy);

fn choice<T: DeserializeOwned>(word: &str) -> Option<T> {
    let word: de::value::StrDeserializer<'_, NotThere> = word.into_deserializer();
    T::deserialize(word).ok()
}

/// The words of an enum, as it names them when it is deserialised: they are written down nowhere else.
fn words_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut words = Words(&[]);
    let _ = T::deserialize(&mut words);
    words.0
}

/// Asks a type which words it takes, and gives it none.
struct Words(&'static [&'static str]);

#[derive(Debug)]
struct NotThere;

impl<'de> serde::Deserializer<'de> for &mut Words {
    type Error = NotThere;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NotThere> {
        Err(NotThere)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NotThere> {
        self.0 = words;
        Err(NotThere)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl fmt::Display for NotThere {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not there")
    }
}

impl std::error::Error for NotThere {}

impl de::Error for NotThere {
    fn custom<T: fmt::Display>(_: T) -> Self {
        NotThere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_enum_says_its_own_words() {
        assert_eq!(words_of::<Permission>(), ["deny", "ask", "allow"]);
        assert_eq!(choice("allow"), Some(Permission::Allow));
        assert_eq!(choice::<Permission>("allowed"), None);
        assert_eq!(<Plain as Form<Permission>>::to_value(&Permission::Ask), Some("ask".into()));
    }
}
