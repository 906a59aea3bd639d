//! Folders that the agent's user distrusts.

use std::path::{Path, PathBuf};

use super::{Hook, HookError};
use crate::agent::TrustFile;

/// Returns true if the user distrusts a directory or its nearest listed ancestor. The agent has run our hook, so a
/// directory that is not listed is not distrusted. A list that cannot be parsed is an error, never treated as empty.
pub(super) fn is_distrusted(file: TrustFile, hook: &Hook<'_>, cwd: &Path) -> Result<bool, HookError> {
    let is_set = |name: &str| !name.is_empty() && (hook.variable)(name).is_some_and(|value| value == "true");
    if is_set(file.trusting_variable) {
        return Ok(false);
    }
    let named = (hook.variable)(file.path_variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let own = || Some(hook.rules.homes.of(hook.agent.profile)?.join(file.name));
    let Some(path) = named.or_else(own) else { return Ok(false) };
    instructions::is_distrusted(&path, cwd).map_err(|reason| HookError::Trust { path, reason })
}
