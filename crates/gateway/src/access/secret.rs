//! Secrets of access tokens: 32 random bytes after a prefix that secret scanners recognize.

use protocol::hex;
use secrecy::SecretString;

const PREFIX: &str = "fwt_";

pub(crate) fn generate() -> Result<SecretString, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(SecretString::from(format!("{PREFIX}{}", hex(&bytes))))
}
