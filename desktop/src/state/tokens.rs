//! Tokens of gateways, in the system's keyring or in a file that only the user can read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpui_kit::{App, Task};
use secrecy::{ExposeSecret as _, SecretString};

use crate::state::files;

/// User name of the keyring entries.
const USER: &str = "foreword";

/// Storage of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenStorage {
    Keyring,
    File,
}

fn path(state: &Path) -> PathBuf {
    state.join("tokens.json")
}

type Tokens = BTreeMap<String, String>;

/// Stores the token of an address.
pub fn keep(state: &Path, url: &str, token: SecretString, cx: &App) -> Task<Result<TokenStorage, String>> {
    let written = cx.write_credentials(url, USER, token.expose_secret().as_bytes());
    let state = state.to_owned();
    let url = url.to_owned();
    cx.spawn(async move |cx| {
        // A keyring may accept an entry and not return it. The token is read back, because a token that
        // cannot be found at the next start is worse than one in a private file.
        if written.await.is_ok() {
            let read = cx.update(|cx| cx.read_credentials(&url));
            if read.await.is_ok_and(|found| found.is_some()) {
                return Ok(TokenStorage::Keyring);
            }
        }
        let mut tokens: Tokens = files::read(&path(&state)).map_err(text)?.unwrap_or_default();
        tokens.insert(url, token.expose_secret().to_owned());
        files::write(&path(&state), &tokens).map_err(text)?;
        Ok(TokenStorage::File)
    })
}

/// Finds the token of an address in the keyring or the file.
pub fn find(state: &Path, url: &str, cx: &App) -> Task<Option<SecretString>> {
    let read = cx.read_credentials(url);
    let state = state.to_owned();
    let url = url.to_owned();
    cx.background_executor().spawn(async move {
        if let Ok(Some((_, secret))) = read.await
            && let Ok(secret) = String::from_utf8(secret)
        {
            return Some(SecretString::from(secret));
        }
        let tokens: Tokens = files::read(&path(&state)).ok()??;
        tokens.get(&url).cloned().map(SecretString::from)
    })
}

/// Removes the token of an address from both storages.
pub fn forget(state: &Path, url: &str, cx: &App) -> Task<Result<(), String>> {
    let deleted = cx.delete_credentials(url);
    let state = state.to_owned();
    let url = url.to_owned();
    cx.background_executor().spawn(async move {
        // Fails if there is no keyring or no entry in it; the file below is checked in any case.
        let _ = deleted.await;
        let Some(mut tokens) = files::read::<Tokens>(&path(&state)).map_err(text)? else { return Ok(()) };
        if tokens.remove(&url).is_some() {
            files::write(&path(&state), &tokens).map_err(text)?;
        }
        Ok(())
    })
}

fn text(error: files::FileError) -> String {
    error.to_string()
}
