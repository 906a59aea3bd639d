//! What goes wrong: a package that is refused, a phase that is ended.

use std::borrow::Cow;
use std::time::Duration;

use protocol::Hint;
use protocol::hook::{ContributionKind, Phase};
use thiserror::Error;

use crate::{MAX_ID_BYTES, MAX_TIMEOUT};

/// Why a phase ended without a result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HookError {
    /// A hook that must not fail has failed.
    #[error("hook `{hook_id}` (subscription `{subscription_id}`) failed closed in {phase}: {preview}")]
    Failed {
        hook_id: String,
        subscription_id: String,
        /// The phase it ended.
        phase: Phase,
        /// In which way it failed.
        cause: FailureCause,
        /// What it said, in one line without secrets.
        preview: String,
    },
}

/// In which way a hook failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCause {
    /// It returned an error.
    Error,
    Panic,
    /// It did not end in time.
    Timeout,
    /// It returned more than a hook may.
    TooLarge,
    /// It contributed something that was refused, and must not fail.
    Refused,
    /// There was no room for it in the background.
    Rejected,
}

/// How a hook failed, and what is shown of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunFailure {
    pub(crate) cause: FailureCause,
    pub(crate) preview: String,
}

/// Why packages were refused; the registry is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// An id is empty, too long, or not visible ASCII.
    #[error("{id:?} of package {package_id:?} is not an id")]
    InvalidId {
        /// The package it is in.
        package_id: String,
        id: String,
    },
    /// There is a package of that id.
    #[error("package `{0}` is registered twice")]
    DuplicatePackage(String),
    /// There is a subscription of that id.
    #[error("subscription `{id}` of package `{package_id}` exists already, in package `{other_package_id}`")]
    DuplicateSubscription {
        id: String,
        /// The package that was refused.
        package_id: String,
        /// The package that has it.
        other_package_id: String,
    },
    /// Somebody does the jobs of that kind.
    #[error("jobs of the kind `{kind}`, which package `{package_id}` would do, are done already")]
    DuplicateJob {
        kind: String,
        /// The package that was refused.
        package_id: String,
    },
    /// A name in `before` or `after` is nobody's.
    #[error("subscription `{subscription_id}` names `{name}`, which is not in {phase}")]
    UnknownName {
        /// The subscription that names it.
        subscription_id: String,
        name: String,
        /// The phase in which it was looked for.
        phase: Phase,
        /// The phase it is in, if any.
        found_in: Option<Phase>,
    },
    /// `before` and `after` contradict each other.
    #[error("the order of {phase} goes in a circle: {}", .cycle.join(" before "))]
    Cycle {
        phase: Phase,
        /// The subscriptions, each before the next; the last is the first again.
        cycle: Vec<String>,
    },
    /// Something is to wait for a hook that nothing waits for.
    #[error(
        "subscription `{subscription_id}` is to run after `{background_id}`, which runs in the background"
    )]
    AfterBackground {
        /// The subscription that would wait.
        subscription_id: String,
        /// The one in the background.
        background_id: String,
    },
    /// A timeout is zero or longer than [`MAX_TIMEOUT`].
    #[error("subscription `{subscription_id}` has a timeout of {timeout:?}")]
    Timeout { subscription_id: String, timeout: Duration },
    /// A hook in the background cannot end a phase that is over.
    #[error("subscription `{0}` runs in the background and cannot fail closed")]
    BackgroundFailsClosed(String),
    /// A hook in the background cannot contribute to a phase that is over.
    #[error("subscription `{subscription_id}` runs in the background and cannot contribute {kind}")]
    BackgroundContributes {
        subscription_id: String,
        /// What it wanted to contribute.
        kind: ContributionKind,
    },
    /// The fallback would be refused, or cut, whenever it is needed.
    #[error("the fallback of subscription `{subscription_id}` cannot be used: {reason}")]
    Fallback {
        subscription_id: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Hint for RegistrationError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::InvalidId { .. } => format!("1 to {MAX_ID_BYTES} visible ASCII characters"),
            Self::UnknownName { found_in, .. } => format!("it is in {}", (*found_in)?),
            Self::Timeout { .. } => format!("more than nothing, at most {MAX_TIMEOUT:?}"),
            _ => return None,
        };
        Some(hint.into())
    }
}
