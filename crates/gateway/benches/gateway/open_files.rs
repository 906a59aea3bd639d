//! Limit on open files.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit to the maximum this process may set, and returns it.
pub(crate) fn allow_most() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If raising it is not permitted, the old limit stays in force.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
