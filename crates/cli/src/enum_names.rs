//! Names of enum variants as serde spells them.

use std::fmt;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::{self, DeserializeOwned, IntoDeserializer as _, Visitor};

/// Returns the names that an enum deserializes from, so that they are written only once.
pub(crate) fn enum_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names = Names(&[]);
    // The call always fails, but it makes the derived code pass the names of the variants to
    // `deserialize_enum`.
    let _ = T::deserialize(&mut names);
    names.0
}

pub(crate) fn parse_enum<T: DeserializeOwned>(name: &str) -> Option<T> {
    let name: de::value::StrDeserializer<'_, Unnamed> = name.into_deserializer();
    T::deserialize(name).ok()
}

/// Returns the name of a variant; empty for a variant that cannot be deserialized.
pub(crate) fn enum_str<T: DeserializeOwned + PartialEq>(variant: &T) -> &'static str {
    let is_its = |name: &&&str| parse_enum(name).as_ref() == Some(variant);
    enum_names::<T>().iter().find(is_its).copied().unwrap_or_default()
}

/// Returns a clap parser that accepts the names of an enum.
pub(crate) fn one_of<T>() -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(enum_names::<T>()).try_map(|name| parse_enum(&name).ok_or(Unnamed))
}

/// Deserializer that records an enum's names and returns no value.
struct Names(&'static [&'static str]);

#[derive(Debug)]
struct Unnamed;

impl<'de> serde::Deserializer<'de> for &mut Names {
    type Error = Unnamed;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unnamed> {
        Err(Unnamed)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Unnamed> {
        self.0 = names;
        Err(Unnamed)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl fmt::Display for Unnamed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("no such name")
    }
}

impl std::error::Error for Unnamed {}

impl de::Error for Unnamed {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Unnamed
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Role, ThreadMode};

    use super::*;

    #[test]
    fn an_enum_provides_its_own_names() {
        assert_eq!(enum_names::<Role>(), ["reader", "editor", "operator", "owner"]);
        assert_eq!(parse_enum("owner"), Some(Role::Owner));
        assert_eq!(parse_enum::<Role>("owners"), None);
        assert_eq!(enum_str(&ThreadMode::Agent), "agent");
    }
}
