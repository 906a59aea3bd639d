//! Sessions of the console, each bound to a token.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::SecretString;
use store::hash_secret;

use super::mint;

/// Lifetime of a session since its last use.
pub(crate) const VALID_FOR: Duration = Duration::from_secs(12 * 60 * 60);
/// Bytes of a cookie's value.
const COOKIE_BYTES: usize = 32;
/// Most sessions. The one that was unused for the longest time makes room.
const MAX_SESSIONS: usize = 4096;

/// Key of a session: the digest of its cookie.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey(String);

struct ConsoleSession {
    /// Digest of the token that the session stands for.
    token_sha256: String,
    used_at: Instant,
}

/// Open sessions.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<SessionKey, ConsoleSession>>);

impl SessionKey {
    /// Returns the key for a cookie's value.
    pub(crate) fn of(cookie: &str) -> Self {
        Self(hash_secret(cookie))
    }
}

impl Sessions {
    /// Opens a session and returns the value of its cookie.
    pub(crate) fn open(&self, token_sha256: &str, now: Instant) -> Result<SecretString, getrandom::Error> {
        let minted = mint::<COOKIE_BYTES>()?;
        let mut sessions = self.0.lock();
        if sessions.len() >= MAX_SESSIONS {
            sessions.retain(|_, session| session.is_valid(now));
        }
        if sessions.len() >= MAX_SESSIONS {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used_at);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| sessions.remove(&key));
        }
        let session = ConsoleSession { token_sha256: token_sha256.to_owned(), used_at: now };
        sessions.insert(SessionKey(minted.digest), session);
        Ok(minted.secret)
    }

    /// Renews a session and returns the digest of its token. `None` if it is unknown or expired.
    pub(crate) fn renew(&self, key: &SessionKey, now: Instant) -> Option<String> {
        let mut sessions = self.0.lock();
        let session = sessions.get_mut(key)?;
        if !session.is_valid(now) {
            sessions.remove(key);
            return None;
        }
        session.used_at = now;
        Some(session.token_sha256.clone())
    }

    /// Returns true while a session is valid, without renewing it.
    pub(crate) fn is_open(&self, key: &SessionKey, now: Instant) -> bool {
        self.0.lock().get(key).is_some_and(|session| session.is_valid(now))
    }

    /// Ends a session.
    pub(crate) fn close(&self, key: &SessionKey) {
        self.0.lock().remove(key);
    }
}

impl ConsoleSession {
    fn is_valid(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.used_at) < VALID_FOR
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn use_renews_a_session() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let cookie = sessions.open("token", now).unwrap();
        let key = SessionKey::of(cookie.expose_secret());
        let later = now + VALID_FOR - Duration::from_secs(1);
        assert_eq!(sessions.renew(&key, later).as_deref(), Some("token"));
        assert!(sessions.is_open(&key, now + VALID_FOR));
        assert!(!sessions.is_open(&key, later + VALID_FOR));
        assert_eq!(sessions.renew(&key, later + VALID_FOR), None);
        assert!(sessions.0.lock().is_empty());
    }

    #[test]
    fn a_closed_session_is_gone() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let key = SessionKey::of(sessions.open("token", now).unwrap().expose_secret());
        sessions.close(&key);
        assert_eq!(sessions.renew(&key, now), None);
    }

    #[test]
    fn the_longest_unused_session_makes_room() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let open = |at: Instant| SessionKey::of(sessions.open("token", at).unwrap().expose_secret());
        let first = open(now);
        let second = open(now + Duration::from_secs(1));
        for _ in 2..=MAX_SESSIONS {
            open(now + Duration::from_secs(2));
        }
        assert!(!sessions.is_open(&first, now) && sessions.is_open(&second, now));
    }
}
