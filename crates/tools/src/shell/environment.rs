//! The environment of commands: only variables that are named.

use std::ffi::OsString;

use super::ShellSettings;
use protocol::SandboxLevel;

/// Variables passed on unchanged.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"];
/// Variables set so that no program waits for input.
const SET: &[(&str, &str)] = &[("TERM", "dumb"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Returns the variables of a command, without those that its sandbox sets.
pub(super) fn variables(settings: &ShellSettings, level: SandboxLevel) -> Vec<(OsString, OsString)> {
    let set = SET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    // A sandbox sets its own home directory.
    let home = (level == SandboxLevel::Off).then_some("HOME");
    let named = home.into_iter().chain(PASSED.iter().copied());
    let named = named.chain(settings.environment.iter().map(String::as_str));
    // The fixed values come first, so that a variable that the user names explicitly overrides them.
    set.chain(named.filter_map(|name| Some((name.into(), std::env::var_os(name)?)))).collect()
}
