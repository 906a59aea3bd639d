//! The registry of hooks, validated before any of them runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use protocol::hook::{Execution, FailurePolicy, Phase, Visibility};
use strum::VariantArray as _;

use crate::admission::{Admitted, admit};
use crate::job::RegisteredJob;
use crate::order::{HookOrder, Rank, order};
use crate::{
    Capabilities, HookFailure, HookPackage, HookSubscription, JobContext, MAX_TIMEOUT, RegistrationError,
};

/// Longest id, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// Returns true if `text` is a valid id: visible ASCII, not empty, at most [`MAX_ID_BYTES`] long.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_ID_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The hooks of all packages, in order.
#[derive(Debug, Default)]
pub struct HookRegistry {
    packages: Vec<(String, String)>,
    entries: Vec<Arc<RegisteredHook>>,
    plans: [Plan; Phase::VARIANTS.len()],
    jobs: Vec<RegisteredJob>,
}

/// A validated subscription.
#[derive(Debug)]
pub(crate) struct RegisteredHook {
    pub(crate) package_id: String,
    pub(crate) subscription: HookSubscription,
    pub(crate) timeout: Duration,
    pub(crate) fallback: Admitted,
}

/// The hooks of a phase, in order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) entries: Vec<Arc<RegisteredHook>>,
    /// Positions in `entries` that run concurrently.
    pub(crate) batches: Vec<Vec<usize>>,
}

impl HookRegistry {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a package. On an error the registry is unchanged.
    pub fn register(&mut self, package: HookPackage) -> Result<(), RegistrationError> {
        self.register_all([package])
    }

    /// Adds packages that may name each other's hooks: all of them or none.
    pub fn register_all(
        &mut self,
        packages: impl IntoIterator<Item = HookPackage>,
    ) -> Result<(), RegistrationError> {
        // Work on copies and replace `self` at the end, so that an error in the last package leaves no trace of the
        // first.
        let mut names = self.packages.clone();
        let mut entries = self.entries.clone();
        let mut jobs = self.jobs.clone();
        for package in packages {
            check_ids(&package)?;
            if names.iter().any(|(id, _)| *id == package.id) {
                return Err(RegistrationError::DuplicatePackage(package.id));
            }
            for job in package.jobs {
                if jobs.iter().any(|other| other.kind == job.kind) {
                    return Err(RegistrationError::DuplicateJob { kind: job.kind, package_id: package.id });
                }
                jobs.push(job);
            }
            for subscription in package.subscriptions {
                if let Some(other) = entries.iter().find(|entry| entry.subscription.id == subscription.id) {
                    return Err(RegistrationError::DuplicateSubscription {
                        id: subscription.id,
                        package_id: package.id,
                        other_package_id: other.package_id.clone(),
                    });
                }
                entries.push(Arc::new(entry(&package.id, subscription)?));
            }
            names.push((package.id, package.domain));
        }
        let mut plans: [Plan; Phase::VARIANTS.len()] = Default::default();
        for &phase in Phase::VARIANTS {
            // Plan all phases only after all packages are known: `before` and `after` may name hooks of packages that
            // come later.
            plans[phase as usize] = plan(phase, &entries)?;
        }
        *self = Self { packages: names, entries, plans, jobs };
        Ok(())
    }

    /// Returns the packages as (id, domain), in registration order.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.packages.iter().map(|(id, domain)| (id.as_str(), domain.as_str()))
    }

    /// Returns the subscription ids of a phase, in order.
    pub fn subscriptions(&self, phase: Phase) -> impl Iterator<Item = &str> {
        self.plan(phase).entries.iter().map(|entry| entry.subscription.id.as_str())
    }

    /// Returns the visibility of a subscription; `None` if it is unknown.
    pub fn visibility(&self, subscription_id: &str) -> Option<Visibility> {
        let found = self.entries.iter().find(|entry| entry.subscription.id == subscription_id);
        found.map(|entry| entry.subscription.visibility)
    }

    /// Returns the kinds of jobs that have a worker.
    pub fn job_kinds(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().map(|job| job.kind.as_str())
    }

    /// Starts a job; `None` if its kind has no worker.
    pub fn start_job(&self, job: JobContext) -> Option<BoxFuture<'static, Result<(), HookFailure>>> {
        let found = self.jobs.iter().find(|registered| registered.kind == job.kind)?;
        Some(found.start(job))
    }

    pub(crate) fn plan(&self, phase: Phase) -> &Plan {
        &self.plans[phase as usize]
    }
}

fn check_ids(package: &HookPackage) -> Result<(), RegistrationError> {
    let subscriptions = package.subscriptions.iter();
    let ids = subscriptions.flat_map(|subscription| [&subscription.id, &subscription.hook_id]);
    let ids = ids.chain(package.jobs.iter().map(|job| &job.kind));
    match [&package.id, &package.domain].into_iter().chain(ids).find(|id| !is_id(id)) {
        Some(id) => Err(RegistrationError::InvalidId {
            package_id: package.id.clone(),
            id: id.chars().take(200).collect(),
        }),
        None => Ok(()),
    }
}

/// Validates a subscription on its own.
fn entry(package_id: &str, subscription: HookSubscription) -> Result<RegisteredHook, RegistrationError> {
    let subscription_id = || subscription.id.clone();
    let timeout = subscription.given_timeout();
    if timeout.is_zero() || timeout > MAX_TIMEOUT {
        return Err(RegistrationError::Timeout { subscription_id: subscription_id(), timeout });
    }
    // A background hook ends after its phase, so nothing of it can influence the phase any more. Refuse settings that
    // suggest otherwise.
    if subscription.execution == Execution::Background {
        if subscription.failure == FailurePolicy::FailClosed {
            return Err(RegistrationError::BackgroundFailsClosed(subscription_id()));
        }
        let mut kinds = subscription.capabilities.kinds();
        if let Some(kind) = kinds.find(|kind| !Capabilities::BACKGROUND.allow(*kind)) {
            return Err(RegistrationError::BackgroundContributes {
                subscription_id: subscription_id(),
                kind,
            });
        }
    }
    let unusable = |reason| RegistrationError::Fallback { subscription_id: subscription_id(), reason };
    if !subscription.fallback.is_empty() && subscription.failure != FailurePolicy::Fallback {
        return Err(unusable("it needs the failure policy `fallback`".to_owned()));
    }
    let fallback =
        admit(&subscription, subscription.fallback.clone()).map_err(|fault| unusable(fault.preview))?;
    // A fallback that would be cut or refused is a mistake of the package. Report it now, rather than when the hook
    // fails.
    if let Some(diagnostic) = fallback.diagnostics.first() {
        return Err(unusable(diagnostic.message.clone()));
    }
    Ok(RegisteredHook { package_id: package_id.to_owned(), timeout, fallback, subscription })
}

/// Orders the subscriptions of a phase.
fn plan(phase: Phase, all: &[Arc<RegisteredHook>]) -> Result<Plan, RegistrationError> {
    let entries: Vec<&Arc<RegisteredHook>> =
        all.iter().filter(|entry| entry.subscription.phase == phase).collect();
    let edges = edges(phase, &entries, all)?;
    let ranks: Vec<Rank<'_>> = entries
        .iter()
        .map(|entry| Rank { priority: entry.subscription.priority, id: &entry.subscription.id })
        .collect();
    let HookOrder { sequence, batches } =
        order(&ranks, &edges).map_err(|circle| RegistrationError::Cycle {
            phase,
            cycle: circle.into_iter().map(|index| entries[index].subscription.id.clone()).collect(),
        })?;
    // Check after ordering, so that a cycle through a background hook is reported as a cycle.
    for (before, after) in edges {
        if entries[before].subscription.execution == Execution::Background {
            return Err(RegistrationError::AfterBackground {
                subscription_id: entries[after].subscription.id.clone(),
                background_id: entries[before].subscription.id.clone(),
            });
        }
    }
    Ok(Plan { entries: sequence.into_iter().map(|index| entries[index].clone()).collect(), batches })
}

/// Resolves `before` and `after` into pairs of indices.
fn edges(
    phase: Phase,
    entries: &[&Arc<RegisteredHook>],
    all: &[Arc<RegisteredHook>],
) -> Result<Vec<(usize, usize)>, RegistrationError> {
    let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let subscription = &entry.subscription;
        named.entry(&subscription.id).or_default().push(index);
        // A hook id stands for all its subscriptions; do not list the same subscription twice if both are equal.
        if subscription.hook_id != subscription.id {
            named.entry(&subscription.hook_id).or_default().push(index);
        }
    }
    let find = |subscription: &HookSubscription, name: &String| match named.get(name.as_str()) {
        Some(indices) => Ok(indices.clone()),
        None => Err(RegistrationError::UnknownName {
            subscription_id: subscription.id.clone(),
            name: name.clone(),
            phase,
            found_in: phase_of(name, all),
        }),
    };
    let mut edges = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        for name in &entry.subscription.before {
            edges.extend(find(&entry.subscription, name)?.into_iter().map(|other| (index, other)));
        }
        for name in &entry.subscription.after {
            edges.extend(find(&entry.subscription, name)?.into_iter().map(|other| (other, index)));
        }
    }
    Ok(edges)
}

/// Returns the phase of a subscription or hook with this name.
fn phase_of(name: &str, all: &[Arc<RegisteredHook>]) -> Option<Phase> {
    all.iter()
        .map(|entry| &entry.subscription)
        .find(|subscription| subscription.id == name || subscription.hook_id == name)
        .map(|subscription| subscription.phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        for good in ["a", "foreword.thread_agents_doc_prompt", "mcp/server:1"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", " ", "a b", "a\n", "é", &"x".repeat(MAX_ID_BYTES + 1)] {
            assert!(!is_id(bad), "{bad:?}");
        }
    }
}
