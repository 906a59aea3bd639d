//! A share of a resource for each token, so that one client cannot use what belongs to all.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use protocol::TokenId;
use tokio::sync::Semaphore;

/// Number of entries from which on unused ones are removed.
const SWEPT_FROM: usize = 64;

/// One semaphore for each token, kept while it is in use.
pub(crate) struct PerToken {
    permits: usize,
    // Weak, because a permit in use keeps its semaphore alive, and an unused one can be made again.
    shares: Mutex<HashMap<Option<TokenId>, Weak<Semaphore>>>,
}

impl PerToken {
    pub(crate) fn new(permits: usize) -> Self {
        Self { permits, shares: Mutex::default() }
    }

    /// Returns the share of a token.
    pub(crate) fn share(&self, token_id: Option<&TokenId>) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        if shares.len() >= SWEPT_FROM {
            shares.retain(|_, share| share.strong_count() > 0);
        }
        if let Some(share) = shares.get(&token_id.cloned()).and_then(Weak::upgrade) {
            return share;
        }
        let share = Arc::new(Semaphore::new(self.permits));
        shares.insert(token_id.cloned(), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_one_share_while_it_is_used() {
        let per_token = PerToken::new(1);
        let ada = TokenId::new();
        let used = per_token.share(Some(&ada)).try_acquire_owned().unwrap();
        assert_eq!(per_token.share(Some(&ada)).available_permits(), 0);
        assert_eq!(per_token.share(Some(&TokenId::new())).available_permits(), 1);
        drop(used);
        assert_eq!(per_token.share(Some(&ada)).available_permits(), 1);
    }

    #[test]
    fn unused_shares_are_removed() {
        let per_token = PerToken::new(1);
        for _ in 0..10 * SWEPT_FROM {
            per_token.share(Some(&TokenId::new()));
        }
        assert!(per_token.shares.lock().len() <= SWEPT_FROM);
    }
}
