//! PostgreSQL databases for tests.

use std::env;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::installation::{Installation, psql};
use crate::{Cluster, Options, random};

/// The environment variable that may hold the address of a running server, as its superuser.
pub const SERVER_VARIABLE: &str = "FOREWORD_TEST_POSTGRES";

/// An empty database of one test, dropped with the value.
pub struct TestDatabase {
    url: String,
    server: String,
    name: String,
}

impl TestDatabase {
    pub fn url(&self) -> &str {
        &self.url
    }

    fn create(server: String) -> anyhow::Result<Self> {
        let name = unique_name();
        run(&server, &format!("CREATE DATABASE {name}"))?;
        Ok(Self { url: with_database(&server, &name), server, name })
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // The server may be gone, and the database with it.
        let _ = run(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Returns an empty database on the server that [`SERVER_VARIABLE`] names, or on one that this process starts when it
/// is first needed. Prints a note and returns `None` if PostgreSQL is not installed; on CI that is a failure.
#[expect(clippy::panic, reason = "a test cannot go on without its database")]
pub fn test_database() -> Option<TestDatabase> {
    static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
    let server = match env::var(SERVER_VARIABLE) {
        Ok(server) => server,
        Err(_) => SHARED.get_or_init(|| test_cluster(Options::fast())).as_ref()?.url("postgres"),
    };
    match TestDatabase::create(server) {
        Ok(database) => Some(database),
        Err(error) => panic!("cannot make a test database: {error:#}"),
    }
}

/// Returns a cluster for one test. Prints a note and returns `None` if PostgreSQL is not installed; on CI that is a
/// failure.
#[expect(clippy::panic, reason = "a test cannot go on without its cluster")]
pub fn test_cluster(options: Options) -> Option<Cluster> {
    let Some(installation) = Installation::find() else {
        assert!(
            env::var_os("CI").is_none_or(|value| value != "true") || cfg!(not(unix)),
            "PostgreSQL's initdb and pg_ctl are neither on the path nor in /usr/lib/postgresql/*/bin; CI needs them"
        );
        let _ = writeln!(
            std::io::stderr(),
            "PostgreSQL is not installed: skipping the PostgreSQL half of this test"
        );
        return None;
    };
    match Cluster::start_with(installation, options) {
        Ok(cluster) => Some(cluster),
        Err(error) => panic!("cannot start PostgreSQL: {error:#}"),
    }
}

/// Returns a name that no other test's database has.
pub(crate) fn unique_name() -> String {
    format!("test_{:016x}", random::number())
}

fn run(server: &str, statement: &str) -> anyhow::Result<()> {
    match Installation::find() {
        Some(installation) => installation.psql(server, statement),
        // The server may be on another machine, so only the client is needed here.
        None => psql(Path::new("psql"), server, statement),
    }
}

/// Returns the address of another database on the same server.
fn with_database(server: &str, name: &str) -> String {
    let (address, parameters) = server.split_at(server.find('?').unwrap_or(server.len()));
    let host = address.find("://").map_or(0, |scheme| scheme + 3);
    let end = address[host..].find('/').map_or(address.len(), |slash| host + slash);
    format!("{}/{name}{parameters}", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_an_address_is_replaced() {
        assert_eq!(with_database("postgres://a:b@c:1/d", "n"), "postgres://a:b@c:1/n");
        assert_eq!(with_database("postgres://c", "n"), "postgres://c/n");
        assert_eq!(with_database("postgres://c/d?host=/tmp", "n"), "postgres://c/n?host=/tmp");
    }
}
