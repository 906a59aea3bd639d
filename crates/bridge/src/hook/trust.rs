//! Folders that an agent's user does not trust.

use std::path::{Path, PathBuf};

use super::{Hook, HookError};
use crate::agent::TrustFile;

/// Whether the user has said not to trust a directory, or one above it; the nearest that is named counts. The agent has run
/// us, so silence is no distrust; a file that cannot be understood is not silence.
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
