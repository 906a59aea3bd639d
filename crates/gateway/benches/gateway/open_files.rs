//! How many files this process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Allows as many as the system lets this process allow itself, and says how many that are.
pub(crate) fn allow_most() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, what was allowed before stays.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
