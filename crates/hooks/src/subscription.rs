//! Subscriptions: the phase of a hook, how it runs, and its capabilities.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use protocol::hook::{ContributionKind, Execution, FailurePolicy, Phase, Visibility};

use crate::hook::AnyHook;
use crate::job::{JobWorker, RegisteredJob};
use crate::{Budget, Capabilities, Contribution, Hook};

/// Longest timeout a subscription may have. Every hook must end eventually.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Retry policy of a hook and of the jobs it contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Total number of attempts, including the first.
    pub max_attempts: u32,
    /// Pause after the first failure; doubled after each further one.
    pub back_off: Duration,
}

/// A single attempt.
impl Default for Retries {
    fn default() -> Self {
        Self { max_attempts: 1, back_off: Duration::ZERO }
    }
}

/// One hook in one phase.
///
/// By default it is blocking, best effort, internal, of priority 0, and may contribute nothing.
#[derive(Clone)]
pub struct HookSubscription {
    pub(crate) id: String,
    pub(crate) hook_id: String,
    pub(crate) phase: Phase,
    pub(crate) execution: Execution,
    pub(crate) failure: FailurePolicy,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retries: Retries,
    pub(crate) priority: i32,
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
    pub(crate) visibility: Visibility,
    pub(crate) capabilities: Capabilities,
    pub(crate) budget: Budget,
    pub(crate) fallback: Vec<Contribution>,
    pub(crate) hook: Arc<dyn AnyHook>,
}

impl HookSubscription {
    /// Subscribes a hook to a phase. The subscription uses the hook's id unless it gets its own.
    pub fn new(hook_id: impl Into<String>, phase: Phase, hook: impl Hook) -> Self {
        let hook_id = hook_id.into();
        Self {
            id: hook_id.clone(),
            hook_id,
            phase,
            execution: Execution::Blocking,
            failure: FailurePolicy::default(),
            timeout: None,
            retries: Retries::default(),
            priority: 0,
            before: Vec::new(),
            after: Vec::new(),
            visibility: Visibility::default(),
            capabilities: Capabilities::default(),
            budget: Budget::default(),
            fallback: Vec::new(),
            hook: Arc::new(hook),
        }
    }

    /// Sets a separate id, for a hook with several subscriptions; ids are unique in a registry.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Sets how the phase waits for the hook.
    pub fn execution(mut self, execution: Execution) -> Self {
        self.execution = execution;
        self
    }

    /// Sets the failure policy.
    pub fn failure(mut self, failure: FailurePolicy) -> Self {
        self.failure = failure;
        self
    }

    /// Sets the contributions to use if the hook fails.
    pub fn fallback(mut self, contributions: impl IntoIterator<Item = Contribution>) -> Self {
        // The policy is set along with the contributions, because they have no effect under any other one.
        self.failure = FailurePolicy::Fallback;
        self.fallback = contributions.into_iter().collect();
        self
    }

    /// Overrides the default timeout of the execution mode.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how often a failing hook is retried within its timeout; a panic is not retried. The background jobs it
    /// contributes use the same policy without that timeout.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the priority; higher comes first unless `before` or `after` decide.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Makes this hook finish before others start.
    ///
    /// The name is a subscription id, or a hook id that stands for all its subscriptions in the same phase.
    pub fn before(mut self, name: impl Into<String>) -> Self {
        self.before.push(name.into());
        self
    }

    /// Makes this hook start after others have finished; names as in [`before`](Self::before).
    pub fn after(mut self, name: impl Into<String>) -> Self {
        self.after.push(name.into());
        self
    }

    /// Sets the roles that may see the hook's diagnostics.
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Sets the kinds of contribution accepted from the hook.
    pub fn may_contribute(mut self, kinds: impl IntoIterator<Item = ContributionKind>) -> Self {
        self.capabilities = kinds.into_iter().collect();
        self
    }

    /// Sets the contribution limits of the hook.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Returns the effective timeout.
    pub(crate) fn given_timeout(&self) -> Duration {
        self.timeout.unwrap_or_else(|| self.execution.default_timeout())
    }
}

impl fmt::Debug for HookSubscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HookSubscription")
            .field("id", &self.id)
            .field("hook_id", &self.hook_id)
            .field("phase", &self.phase)
            .field("execution", &self.execution)
            .field("failure", &self.failure)
            .field("timeout", &self.given_timeout())
            .field("retries", &self.retries)
            .field("priority", &self.priority)
            .field("before", &self.before)
            .field("after", &self.after)
            .field("visibility", &self.visibility)
            .field("capabilities", &self.capabilities)
            .field("budget", &self.budget)
            .field("fallback", &self.fallback.len())
            .finish_non_exhaustive()
    }
}

/// The subscriptions of one domain, registered or refused as a whole.
#[derive(Debug)]
pub struct HookPackage {
    pub(crate) id: String,
    pub(crate) domain: String,
    pub(crate) subscriptions: Vec<HookSubscription>,
    pub(crate) jobs: Vec<RegisteredJob>,
}

impl HookPackage {
    /// Creates a package without subscriptions.
    pub fn new(id: impl Into<String>, domain: impl Into<String>) -> Self {
        Self { id: id.into(), domain: domain.into(), subscriptions: Vec::new(), jobs: Vec::new() }
    }

    /// Adds a worker for a kind of job that its hooks contribute.
    pub fn doing(mut self, kind: impl Into<String>, worker: impl JobWorker) -> Self {
        self.jobs.push(RegisteredJob::new(kind, worker));
        self
    }

    pub fn with(mut self, subscription: HookSubscription) -> Self {
        self.subscriptions.push(subscription);
        self
    }
}
