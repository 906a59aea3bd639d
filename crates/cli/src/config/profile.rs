//! What the settings have from the rules that are in use.

use instructions::Profile;

use super::key::Key;
use super::setting::Settings;

/// The key that chooses the rules.
pub(crate) const PROFILE: &str = "agents.profile";

/// A limit that holds by a profile alone, so that a project cannot raise what nobody has set.
struct ProfileLimit {
    key: &'static str,
    of: fn(&Profile) -> Option<u64>,
}

const LIMITS: &[ProfileLimit] = &[
    ProfileLimit { key: "agents.initial.max_bytes", of: |profile| Some(profile.max_bytes) },
    ProfileLimit { key: "agents.initial.max_files", of: |profile| profile.max_files },
];

/// The rules that are in use so far; none when there are none of that name.
pub(crate) fn in_use(settings: &Settings) -> Option<&'static Profile> {
    Profile::find(settings.text(PROFILE)?)
}

/// What a limit is that nobody has set.
pub(crate) fn limit(settings: &Settings, key: &Key) -> Option<u64> {
    let limit = LIMITS.iter().find(|limit| limit.key == key.path)?;
    (limit.of)(in_use(settings)?)
}
