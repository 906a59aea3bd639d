//! Secrets of access tokens: 32 random bytes behind a prefix that secret scanners can know.

use protocol::hex;
use secrecy::SecretString;

/// What every secret starts with.
const PREFIX: &str = "fwt_";

/// A new secret, or the system's word on why there is no randomness.
pub(crate) fn generate() -> Result<SecretString, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(SecretString::from(format!("{PREFIX}{}", hex(&bytes))))
}
