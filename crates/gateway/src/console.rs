//! The web console: its files, one-time codes and sessions.
//!
//! A session stands for a token. The holder of its cookie has the token's role and workspace, and loses both with the
//! token. Sessions and codes live in memory: after a restart people sign in again.

pub(crate) mod codes;
pub(crate) mod cookie;
pub(crate) mod failures;
pub(crate) mod pages;
pub(crate) mod sessions;
pub(crate) mod sign_in;

use secrecy::{ExposeSecret as _, SecretString};
use store::hash_secret;

use crate::console::codes::OneTimeCodes;
use crate::console::failures::FailedSignIns;
use crate::console::sessions::Sessions;

/// State of the console of one gateway.
pub(crate) struct Console {
    pub(crate) is_enabled: bool,
    /// Name of the cookie. Browsers share cookies between the ports of a host, so it contains the port.
    pub(crate) cookie: String,
    pub(crate) codes: OneTimeCodes,
    pub(crate) sessions: Sessions,
    pub(crate) failures: FailedSignIns,
}

impl Console {
    pub(crate) fn new(is_enabled: bool, port: u16) -> Self {
        Self {
            is_enabled,
            cookie: format!("foreword_console_{port}"),
            codes: OneTimeCodes::default(),
            sessions: Sessions::default(),
            failures: FailedSignIns::default(),
        }
    }
}

/// A random secret and the digest under which it is kept.
struct Minted {
    secret: SecretString,
    digest: String,
}

/// Returns a secret of `N` random bytes. Only its digest is kept, as with tokens: a copy of the memory is no key.
fn mint<const N: usize>() -> Result<Minted, getrandom::Error> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)?;
    let secret = SecretString::from(protocol::hex(&bytes));
    let digest = hash_secret(secret.expose_secret());
    Ok(Minted { secret, digest })
}
