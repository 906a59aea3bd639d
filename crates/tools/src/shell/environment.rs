//! What a command finds in its environment: nothing that was not named.

use std::ffi::OsString;

use super::ShellSettings;
use protocol::SandboxLevel;

/// Passed on as they are.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"];
/// Set, so that nothing waits for somebody.
const SET: &[(&str, &str)] = &[("TERM", "dumb"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The variables that a command gets, besides those that its sandbox sets.
pub(super) fn variables(settings: &ShellSettings, level: SandboxLevel) -> Vec<(OsString, OsString)> {
    let set = SET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    // In a sandbox there is a home of its own.
    let home = (level == SandboxLevel::Off).then_some("HOME");
    let named = home.into_iter().chain(PASSED.iter().copied());
    let named = named.chain(settings.environment.iter().map(String::as_str));
    set.chain(named.filter_map(|name| Some((name.into(), std::env::var_os(name)?)))).collect()
}
