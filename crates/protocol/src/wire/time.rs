//! Timestamps: RFC 3339 in UTC with milliseconds on the wire, milliseconds since 1970 in storage.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::DateTimePrinter;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

// Always three decimals, so that times of equal length also sort as text.
const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// A point in time with millisecond precision.
// Truncated to milliseconds on construction: a value that was sent and read back, or stored and loaded, must
// compare equal to the original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Returns the current time.
    pub fn now() -> Self {
        Self::from_milliseconds(jiff::Timestamp::now().as_millisecond())
    }

    /// Creates a time from milliseconds since 1970. Values out of range become 1970.
    pub fn from_milliseconds(milliseconds: i64) -> Self {
        Self(jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH))
    }

    /// Returns milliseconds since 1970.
    pub fn milliseconds(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&PRINTER.timestamp_to_string(&self.0))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `Cow` accepts borrowed and owned strings: a JSON text with escapes cannot be borrowed from its
        // source.
        Cow::<str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        let parsed: jiff::Timestamp = text.parse()?;
        Ok(Self::from_milliseconds(parsed.as_millisecond()))
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn always_three_decimals_and_utc() {
        assert_eq!(Timestamp::from_milliseconds(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_milliseconds(1_738_970_000_120).to_string(), "2025-02-07T23:13:20.120Z");
        let parsed: Timestamp = serde_json::from_str("\"2025-02-08T00:13:20.1209+01:00\"").unwrap();
        assert_eq!(parsed.milliseconds(), 1_738_970_000_120);
    }
}
