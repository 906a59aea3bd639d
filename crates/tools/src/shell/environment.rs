//! What a command finds in its environment: nothing that was not named.

use std::path::Path;

use tokio::process::Command;

use super::ShellSettings;
use super::sandbox::Confinement;

/// Passed on as they are.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"];
/// Set, so that nothing waits for somebody.
const SET: &[(&str, &str)] = &[("TERM", "dumb"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Clears the environment and puts in what is allowed.
pub(super) fn apply(
    command: &mut Command,
    settings: &ShellSettings,
    confinement: Confinement,
    temporary: &Path,
) {
    command.env_clear();
    command.envs(SET.iter().copied()).env("TMPDIR", temporary);
    // A home that cannot be read is worse than an empty one: git, for one, gives up.
    match confinement {
        Confinement::None => command.envs(std::env::var_os("HOME").map(|home| ("HOME", home))),
        #[cfg(target_os = "linux")]
        Confinement::Landlock => command.env("HOME", temporary),
    };
    let named = PASSED.iter().copied().chain(settings.environment.iter().map(String::as_str));
    command.envs(named.filter_map(|name| Some((name, std::env::var_os(name)?))));
}
