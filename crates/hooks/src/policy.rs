//! How a hook is waited for, what its failure means, and who hears of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest timeout a subscription may ask for; one without an end would be none.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// How a phase waits for a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// The phase needs the result and waits for it, up to the timeout.
    Blocking,
    /// The phase takes the result if it comes in time; one that comes later is dropped.
    Deadline,
    /// The phase does not wait. Such a hook can contribute only to the recorder.
    Background,
}

impl Execution {
    /// The timeout of a subscription that names none.
    pub const fn default_timeout(self) -> Duration {
        match self {
            Self::Blocking => Duration::from_secs(5),
            Self::Deadline => Duration::from_secs(1),
            Self::Background => Duration::from_secs(60),
        }
    }
}

/// What a hook's failure means: an error, a panic, a timeout or a result that is far too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The phase ends with an error. A single refused contribution counts as a failure, too.
    FailClosed,
    /// The subscription's fallback contributions stand in, with a diagnostic.
    Fallback,
    /// The phase goes on without the hook's contributions, with a diagnostic.
    #[default]
    BestEffort,
    /// The phase goes on without the hook's contributions; only the record tells.
    Skip,
}

/// Who may be shown that a hook ran, and its diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Nobody but the records.
    #[default]
    Internal,
    /// Those who look for the cause of something.
    Debug,
    /// Users.
    User,
}
