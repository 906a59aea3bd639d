//! Errors: a package that is refused, a phase that is ended.

use std::borrow::Cow;
use std::time::Duration;

use protocol::Hint;
use protocol::hook::{ContributionKind, Phase};
use thiserror::Error;

use crate::{MAX_ID_BYTES, MAX_TIMEOUT};

/// Error that ended a phase without a result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HookError {
    /// A fail-closed hook failed.
    #[error("hook `{hook_id}` (subscription `{subscription_id}`) failed closed in {phase}: {preview}")]
    Failed {
        hook_id: String,
        subscription_id: String,
        /// The phase that ended.
        phase: Phase,
        /// The kind of failure.
        cause: FailureCause,
        /// The hook's error in one line, without secrets.
        preview: String,
    },
}

/// Kind of hook failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCause {
    /// The hook returned an error.
    Error,
    Panic,
    /// The hook did not finish in time.
    Timeout,
    /// The hook returned more than its budget allows.
    TooLarge,
    /// A contribution of a fail-closed hook was refused.
    Refused,
    /// The background queue was full.
    Rejected,
}

/// A hook failure with the text that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFailure {
    pub(crate) cause: FailureCause,
    pub(crate) preview: String,
}

/// Reason that packages were refused. The registry is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// An id is empty, too long, or not visible ASCII.
    #[error("invalid id {id:?} in package {package_id:?}")]
    InvalidId { package_id: String, id: String },
    /// A package with this id is already registered.
    #[error("package `{0}` is registered twice")]
    DuplicatePackage(String),
    /// A subscription with this id is already registered.
    #[error("subscription `{id}` of package `{package_id}` already exists in package `{other_package_id}`")]
    DuplicateSubscription {
        id: String,
        /// The refused package.
        package_id: String,
        /// The package that owns the id.
        other_package_id: String,
    },
    /// Another package already has a worker for this kind of job.
    #[error("package `{package_id}` registers a second worker for jobs of kind `{kind}`")]
    DuplicateJob {
        kind: String,
        /// The refused package.
        package_id: String,
    },
    /// A name in `before` or `after` is unknown in the phase.
    #[error("subscription `{subscription_id}` names `{name}`, which is not in {phase}")]
    UnknownName {
        /// The subscription that uses the name.
        subscription_id: String,
        name: String,
        /// The phase that was searched.
        phase: Phase,
        /// The phase where the name exists, if any.
        found_in: Option<Phase>,
    },
    /// `before` and `after` form a cycle.
    #[error("cyclic hook order in {phase}: {}", .cycle.join(" before "))]
    Cycle {
        phase: Phase,
        /// The subscriptions, each before the next; the last equals the first.
        cycle: Vec<String>,
    },
    /// A hook would wait for a background hook, which nothing waits for.
    #[error(
        "subscription `{subscription_id}` is to run after `{background_id}`, which runs in the background"
    )]
    AfterBackground {
        /// The subscription that would wait.
        subscription_id: String,
        /// The background subscription.
        background_id: String,
    },
    /// A timeout is zero or longer than [`MAX_TIMEOUT`].
    #[error("subscription `{subscription_id}` has a timeout of {timeout:?}")]
    Timeout { subscription_id: String, timeout: Duration },
    /// A background hook cannot fail a phase that is over.
    #[error("subscription `{0}` runs in the background and cannot fail closed")]
    BackgroundFailsClosed(String),
    /// A background hook cannot contribute this kind to a phase that is over.
    #[error("subscription `{subscription_id}` runs in the background and cannot contribute {kind}")]
    BackgroundContributes {
        subscription_id: String,
        /// The kind it declared.
        kind: ContributionKind,
    },
    /// The fallback would be refused or cut each time it is needed.
    #[error("the fallback of subscription `{subscription_id}` cannot be used: {reason}")]
    Fallback { subscription_id: String, reason: String },
}

impl Hint for RegistrationError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        // Only errors whose remedy is not obvious from the message have a hint.
        let hint = match self {
            Self::InvalidId { .. } => format!("1 to {MAX_ID_BYTES} visible ASCII characters"),
            Self::UnknownName { found_in, .. } => format!("it is in {}", (*found_in)?),
            Self::Timeout { .. } => format!("use a timeout above zero, at most {MAX_TIMEOUT:?}"),
            _ => return None,
        };
        Some(hint.into())
    }
}
