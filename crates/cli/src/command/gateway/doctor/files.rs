//! Checks of the file system and of system limits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::check::Check;

/// Free space below which the next save may fail.
const LEAST_SPACE: u64 = 16 << 20;
const LITTLE_SPACE: u64 = 256 << 20;
/// File handles for the maximum number of connections, the database and its files.
const HANDLES: u64 = 2_048;
/// Maximum number of bytes searched for secrets.
const SEARCHED_BYTES: u64 = 1 << 20;
/// Prefixes of our own secrets and those of built-in providers.
const SECRET_PREFIXES: &[&str] = &["fwt_", "sk-"];
/// Minimum length after such a prefix that distinguishes a secret from a mention.
const SECRET_LENGTH: usize = 16;
/// Start of a secret header value, up to the quote after it.
const CREDENTIALS: &[&str] = &["Bearer ", "Basic "];

fn is_open(path: &Path) -> bool {
    path.symlink_metadata()
        // The mode of a link is meaningless, because only that of its target counts.
        .is_ok_and(|metadata| !metadata.is_symlink() && metadata.permissions().mode() & 0o077 != 0)
}

/// Checks that the directory and everything in it is private.
pub(super) fn data_directory(data: &Path) -> Vec<Check> {
    if !data.exists() {
        return vec![Check::ok("data", format!("{} is not there yet", data.display()))];
    }
    let entries = match fs::read_dir(data) {
        Ok(entries) => entries,
        Err(error) => {
            let hint = "run this as the user who starts the gateway, or name another directory with --data";
            let message = format!("could not read {}: {error}", data.display());
            return vec![Check::fail("data", message).hint(hint)];
        }
    };
    let mut open: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .chain([data.to_owned()])
        .filter(|path| is_open(path))
        .collect();
    open.sort();
    if open.is_empty() {
        return vec![Check::ok("data", format!("{} is private", data.display()))];
    }
    let checks = open.into_iter().map(|path| {
        let hint = format!("chmod go= {}", crate::shell_quote::shell_word(&path.to_string_lossy()));
        Check::fail("data", format!("others can reach {}", path.display())).hint(hint)
    });
    checks.collect()
}

/// Warns about files in the home directory that contain secrets and are readable by others. They belong to the user.
pub(super) fn secrets(home: &Path) -> Check {
    let files = fs::read_dir(home).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut open: Vec<String> = files
        .filter(|path| path.is_file() && is_open(path) && holds_secret(path))
        .map(|path| path.display().to_string())
        .collect();
    open.sort();
    if open.is_empty() {
        return Check::ok("home", format!("no file in {} gives a secret away", home.display()));
    }
    let hint = "chmod 600 each of them, and replace the secrets if others use this machine";
    Check::warn("home", format!("others can read secrets in {}", open.join(", "))).hint(hint)
}

fn holds_secret(path: &Path) -> bool {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    // Three kinds of secrets are recognized: keys by their prefix, credentials of headers, and passwords in
    // addresses.
    read.is_ok()
        && (after(&text, SECRET_PREFIXES).any(|rest| secret_end(rest) >= SECRET_LENGTH)
            || after(&text, CREDENTIALS).any(|rest| {
                let end = secret_end(rest);
                end > 0 && rest[end..].starts_with(['"', '\''])
            })
            || after(&text, &["://"]).any(has_password))
}

/// Iterates over the texts after each of these words.
fn after<'a>(text: &'a str, words: &'a [&str]) -> impl Iterator<Item = &'a str> {
    words.iter().flat_map(move |word| text.match_indices(word).map(|(start, _)| &text[start + word.len()..]))
}

/// Returns the part up to the first character that cannot belong to a secret.
fn secret_end(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_.+/=".contains(letter))
        .unwrap_or(text.len())
}

/// Returns true if an address contains a user and a password.
fn has_password(rest: &str) -> bool {
    let host = rest.split(|end: char| end.is_whitespace() || "/\"'".contains(end)).next().unwrap_or_default();
    let user = host.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
    user.is_some_and(|(_, password)| !password.is_empty())
}

pub(super) fn disk_space(data: &Path) -> Check {
    // The data directory may not exist yet, so look at the file system that will contain it.
    let Some(there) = data.ancestors().find(|path| path.exists()) else {
        return Check::warn("disk", format!("{} is on no disk", data.display()));
    };
    let free = match rustix::fs::statvfs(there) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => return Check::warn("disk", format!("could not ask for the space: {error}")),
    };
    let message = format!("{} MiB free for {}", free >> 20, data.display());
    match free {
        ..LEAST_SPACE => Check::fail("disk", message).hint("free some space, or saves will fail"),
        LEAST_SPACE..LITTLE_SPACE => Check::warn("disk", message).hint("free some space soon"),
        _ => Check::ok("disk", message),
    }
}

pub(super) fn handles() -> Check {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match limit {
        Some(limit) if limit < HANDLES => {
            let hint = format!("raise it with `ulimit -n {HANDLES}`, or lower limits.connections");
            Check::warn("handles", format!("this shell allows {limit} open files")).hint(hint)
        }
        Some(limit) => Check::ok("handles", format!("{limit} files may be open")),
        None => Check::ok("handles", "any number of files may be open"),
    }
}
