//! Document versions and change sequence numbers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        #[schemars(inline)]
        pub struct $name(pub u64);

        impl $name {
            /// Converts the number to a database column. Numbers beyond its range match nothing.
            pub fn to_column(self) -> i64 {
                // Databases have no unsigned integers. A number from a client that does not fit must match
                // no row instead of a wrong one.
                i64::try_from(self.0).unwrap_or(i64::MAX)
            }

            /// Reads the number from a database column.
            pub fn from_column(column: i64) -> Self {
                Self(u64::try_from(column).unwrap_or(0))
            }

            /// Returns the next number.
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    )*};
}

numbers! {
    /// Version of a scope's document. Starts at 1 and never restarts; 0 means that there is no document.
    Version,
    /// Position of a change in its workspace's change log, from 1.
    Sequence,
}
