//! Conversion between the types of fields and the values of settings.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use agent::{Clock, WhenBusy};
use instructions::Delivery;
use prompt::PromptProfile;
use protocol::{DelegateInstructions, SandboxLevel};
use provider::{ProviderKind, ReasoningEffort};
use secrecy::{ExposeSecret as _, SecretString};
use tools::Permission;

use super::period;
use super::value::{Kind, Value};
use crate::enum_names::enum_names;
use crate::enum_names::enum_str;
use crate::enum_names::parse_enum;

/// Representation of a field of type `T` in the configuration.
pub(super) trait Form<T> {
    fn kind() -> Kind;
    /// Returns the value. `None` only if nothing is set and there is no default.
    fn to_value(field: &T) -> Option<Value>;
    /// Returns the field. `None` if the value has the wrong kind.
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

/// Representation given by the type alone.
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
/// A number where 0 means no limit.
pub(super) struct WithTime;
/// True if the time is included with the date.
pub(super) struct Seconds;
/// Whole milliseconds, at least 1.
pub(super) struct Milliseconds;
/// Whole minutes, at least 1.
pub(super) struct Minutes;
/// A duration with a unit, or `forever`.
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
    Positive, u64, Kind::Positive, Integer, |number| *number, |number| number;
    Positive, u32, Kind::Positive, Integer, |number| u64::from(*number), small;
    Positive, usize, Kind::Positive, Integer, |number| *number as u64, size;
    Url, String, Kind::Url, Text, String::clone, |text| text;
    Model, String, Kind::Model, Text, String::clone, |text| text;
    Variable, String, Kind::Variable, Text, String::clone, |text| text;
    ZeroIsNone, Option<NonZeroU32>, Kind::NonNegative, Integer, |number| {
        number.map_or(0, |number| u64::from(number.get()))
    }, |number| NonZeroU32::new(small(number));
    ZeroIsNone, Option<NonZeroU64>, Kind::NonNegative, Integer, |number| {
        number.map_or(0, NonZeroU64::get)
    }, NonZeroU64::new;
    WithTime, Clock, Kind::Switch, Switch, |clock| *clock == Clock::DateAndTime, |on| {
        if on { Clock::DateAndTime } else { Clock::Date }
    };
    Seconds, Duration, Kind::Positive, Integer, Duration::as_secs, Duration::from_secs;
    Milliseconds, Duration, Kind::Positive, Integer, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }, Duration::from_millis;
    Minutes, Duration, Kind::Positive, Integer, |time| time.as_secs() / MINUTE, |number: u64| {
        Duration::from_secs(number.saturating_mul(MINUTE))
    };
    Period, Option<Duration>, Kind::Period, Text, |time| period::show(*time), |text: String| {
        period::parse(&text).flatten()
    };
}

fn size(number: u64) -> usize {
    // A number beyond the range of the type means "no limit" in practice, so it saturates.
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

macro_rules! choices {
    ($($choice:ty),*) => {$(
        impl Form<$choice> for Plain {
            fn kind() -> Kind {
                Kind::Words(enum_names::<$choice>())
            }

            fn to_value(field: &$choice) -> Option<Value> {
                Some(enum_str(field).into())
            }

            fn from_value(value: Option<Value>) -> Option<$choice> {
                if let Some(Value::Text(name)) = value { parse_enum(&name) } else { None }
            }
        }
    )*};
}

choices!(
    DelegateInstructions,
    Delivery,
    Permission,
    PromptProfile,
    ProviderKind,
    ReasoningEffort,
    SandboxLevel,
    WhenBusy
);
