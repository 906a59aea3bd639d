//! Folders that an agent's user does not trust.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::Hook;
use crate::agent::TrustFile;
use crate::json_text::JsonText;

/// Largest file that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Whether the user has said not to trust a directory, or one above it; the nearest that is named counts. The agent has run
/// us, so silence is no distrust.
pub(super) fn is_distrusted(file: TrustFile, hook: &Hook<'_>, cwd: &Path) -> bool {
    let is_set = |name: &str| !name.is_empty() && (hook.variable)(name).is_some_and(|value| value == "true");
    if is_set(file.trusting_variable) {
        return false;
    }
    let named = (hook.variable)(file.path_variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let own = || Some(hook.rules.homes.of(hook.agent.profile)?.join(file.name));
    let Some(folders) = named.or_else(own).and_then(|path| read(&path)) else { return false };
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let about = |directory: &Path| folders.get(directory.to_str()?)?.as_str();
    let nearest = real.ancestors().find_map(about);
    // Trust in a parent is written down for the folder that was asked about.
    nearest == Some("DO_NOT_TRUST")
}

fn read(path: &Path) -> Option<Map<String, Value>> {
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    JsonText::parse(&std::fs::read_to_string(path).ok()?).ok()?.object().fields()
}
