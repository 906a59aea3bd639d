//! One-time codes, which bring a person from a terminal into a browser.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use secrecy::SecretString;
use store::hash_secret;

use super::mint;

/// Lifetime of a code.
pub(crate) const VALID_FOR: Duration = Duration::from_secs(60);
/// Bytes of a code.
const CODE_BYTES: usize = 16;
/// Most unused codes of one token. The oldest one makes room.
const OF_TOKEN: usize = 16;

/// Unused codes by digest.
#[derive(Default)]
pub(crate) struct OneTimeCodes(Mutex<HashMap<String, OneTimeCode>>);

struct OneTimeCode {
    /// Digest of the token that the code stands for.
    token_sha256: String,
    made_at: Instant,
}

impl OneTimeCodes {
    /// Returns a new code for a token.
    pub(crate) fn make(&self, token_sha256: &str, now: Instant) -> Result<SecretString, getrandom::Error> {
        let minted = mint::<CODE_BYTES>()?;
        let mut codes = self.0.lock();
        codes.retain(|_, code| code.is_valid(now));
        let of_token = codes.iter().filter(|(_, code)| code.token_sha256 == token_sha256);
        if of_token.clone().count() >= OF_TOKEN {
            let oldest = of_token.min_by_key(|(_, code)| code.made_at).map(|(digest, _)| digest.clone());
            oldest.and_then(|digest| codes.remove(&digest));
        }
        codes.insert(minted.digest, OneTimeCode { token_sha256: token_sha256.to_owned(), made_at: now });
        Ok(minted.secret)
    }

    /// Uses up a code and returns the digest of its token. `None` if it is unknown, used or expired.
    pub(crate) fn take(&self, code: &str, now: Instant) -> Option<String> {
        // Removed before anything else is checked: a second attempt with the same code finds nothing, also if
        // the first one failed.
        let code = self.0.lock().remove(&hash_secret(code))?;
        code.is_valid(now).then_some(code.token_sha256)
    }
}

impl OneTimeCode {
    fn is_valid(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.made_at) < VALID_FOR
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    #[test]
    fn a_code_works_once_within_its_minute() {
        let codes = OneTimeCodes::default();
        let now = Instant::now();
        let code = codes.make("token", now).unwrap();
        let code = code.expose_secret();
        assert_eq!(code.len(), 32);
        assert_eq!(codes.take("0123", now), None);
        let soon = now + VALID_FOR - Duration::from_millis(1);
        assert_eq!(codes.take(code, soon).as_deref(), Some("token"));
        assert_eq!(codes.take(code, soon), None);

        let late = codes.make("token", now).unwrap();
        assert_eq!(codes.take(late.expose_secret(), now + VALID_FOR), None);
        assert!(codes.0.lock().is_empty());
    }

    #[test]
    fn codes_of_one_token_are_bounded() {
        let codes = OneTimeCodes::default();
        let now = Instant::now();
        let first = codes.make("a", now).unwrap();
        for number in 1..=OF_TOKEN {
            codes.make("a", now + Duration::from_millis(number as u64)).unwrap();
        }
        let other = codes.make("b", now).unwrap();
        assert_eq!(codes.0.lock().len(), OF_TOKEN + 1);
        assert_eq!(codes.take(first.expose_secret(), now), None);
        assert_eq!(codes.take(other.expose_secret(), now).as_deref(), Some("b"));
    }
}
