//! Subscriptions that come together.

use crate::HookSubscription;

/// The subscriptions of one domain, registered or refused as a whole.
#[derive(Debug)]
pub struct HookPackage {
    pub(crate) id: String,
    pub(crate) domain: String,
    pub(crate) subscriptions: Vec<HookSubscription>,
}

impl HookPackage {
    /// A package without subscriptions.
    pub fn new(id: impl Into<String>, domain: impl Into<String>) -> Self {
        Self { id: id.into(), domain: domain.into(), subscriptions: Vec::new() }
    }

    /// Adds a subscription.
    pub fn with(mut self, subscription: HookSubscription) -> Self {
        self.subscriptions.push(subscription);
        self
    }
}
