//! State of one client across its requests: its name and its subscriptions.

use std::collections::BTreeMap;

use instructions::ContentHash;
use parking_lot::Mutex;

use super::{McpCatalog, Refusal};

/// Maximum characters of a resource's address that a client may subscribe to, the same as of a path.
const MAX_ADDRESS_CHARS: usize = 4096;
/// Maximum characters kept of a client's name, which is chosen by the client.
const MAX_NAME_CHARS: usize = 100;

/// State of a client.
#[derive(Debug)]
pub struct Session {
    /// Name the client sent in `initialize`.
    client: Mutex<String>,
    /// Subscribed resources, with the digest of the version the client knows.
    followed: Mutex<BTreeMap<String, ContentHash>>,
    max_followed: usize,
}

impl Session {
    /// Returns the session of a new client that may subscribe to `max_followed` resources.
    pub fn new(max_followed: usize) -> Self {
        Self { client: Mutex::new(String::new()), followed: Mutex::default(), max_followed }
    }

    /// Returns the name of the client, which is empty until it sends one.
    pub fn client(&self) -> String {
        self.client.lock().clone()
    }

    pub(super) fn max_followed(&self) -> usize {
        self.max_followed
    }

    pub(super) fn set_client(&self, name: &str) {
        *self.client.lock() = client_name(name);
    }

    /// Returns true if the client has no subscriptions.
    pub fn follows_nothing(&self) -> bool {
        self.followed.lock().is_empty()
    }

    /// Subscribes to a resource. Only an unreadable one is reported as such: the other refusals depend on the client.
    pub(super) fn follow(&self, catalog: &impl McpCatalog, uri: &str) -> Result<(), FollowError> {
        // An address is kept for as long as the session, so one without a limit would be memory without a limit.
        if uri.chars().count() > MAX_ADDRESS_CHARS {
            let message = format!("a followed address has at most {MAX_ADDRESS_CHARS} characters");
            return Err(FollowError::Limit(message));
        }
        let text = catalog.read(uri).map_err(FollowError::Unreadable)?;
        let mut followed = self.followed.lock();
        if followed.len() >= self.max_followed && !followed.contains_key(uri) {
            let message = format!("no more than {} resources can be followed", self.max_followed);
            return Err(FollowError::Limit(message));
        }
        followed.insert(uri.to_owned(), ContentHash::of(text));
        Ok(())
    }

    pub(super) fn unfollow(&self, uri: &str) {
        self.followed.lock().remove(uri);
    }

    /// Returns the addresses of subscribed resources that have changed since the last call.
    pub fn changes(&self, catalog: &impl McpCatalog) -> Vec<String> {
        let mut changed = Vec::new();
        // Copied, because reading resources takes long and must not block calls of the same client. It may unsubscribe
        // meanwhile, which is why each address is looked up again below.
        let followed = self.followed.lock().clone();
        for (uri, had) in followed {
            // A removed resource counts as changed.
            let now = ContentHash::of(catalog.read(&uri).unwrap_or_default());
            if now == had {
                continue;
            }
            let mut followed = self.followed.lock();
            let Some(known) = followed.get_mut(&uri) else { continue };
            *known = now;
            changed.push(uri);
        }
        changed
    }
}

/// Reason why a resource cannot be followed.
#[derive(Debug)]
pub(super) enum FollowError {
    Unreadable(Refusal),
    Limit(String),
}

/// Returns the part of a client's name that is kept.
pub(super) fn client_name(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}
