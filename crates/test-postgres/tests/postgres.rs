//! The temporary cluster.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use test_postgres::{Options, test_cluster, test_database};

/// Returns host and port of an address.
fn host(url: &str) -> &str {
    url.split(['@', '/']).nth(3).unwrap_or_default()
}

fn answers(url: &str) -> bool {
    TcpStream::connect(host(url)).is_ok()
}

fn within(limit: Duration, reached: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !reached() {
        if begun.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

#[test]
fn every_database_is_another_one() {
    let (Some(first), Some(second)) = (test_database(), test_database()) else { return };
    assert_ne!(first.url(), second.url());
    assert_eq!(host(first.url()), host(second.url()));
}

#[test]
fn a_cluster_restarts_at_the_same_address() {
    let Some(cluster) = test_cluster(Options::fast()) else { return };
    let url = cluster.create_database().unwrap();
    cluster.stop().unwrap();
    assert!(!answers(&url));
    cluster.start_again().unwrap();
    assert!(answers(&url));
    drop(cluster);
    assert!(!answers(&url));
}

#[test]
fn a_cluster_that_was_killed_comes_back() {
    let Some(cluster) = test_cluster(Options::fast()) else { return };
    let url = cluster.create_database().unwrap();
    cluster.crash().unwrap();
    cluster.start_again().unwrap();
    assert!(answers(&url));
}

#[test]
fn with_postgres_keeps_the_exit_code() {
    if test_database().is_none() {
        return;
    }
    let status = Command::new(env!("CARGO_BIN_EXE_with-postgres"))
        .args(["sh", "-c", "test -n \"$FOREWORD_TEST_POSTGRES\" && exit 42"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(42));
}

#[test]
fn a_killed_process_leaves_no_server_and_no_files() {
    use std::os::unix::fs::PermissionsExt as _;
    if test_database().is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // The server may run as another user, who must be able to reach its own directory below this one.
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut watched = Command::new(env!("CARGO_BIN_EXE_with-postgres"))
        .args(["sh", "-c", "echo $FOREWORD_TEST_POSTGRES; exec cat"])
        .env("TMPDIR", directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(watched.stdout.take().unwrap()).read_line(&mut url).unwrap();
    assert!(answers(&url));
    watched.kill().unwrap();
    watched.wait().unwrap();
    assert!(within(Duration::from_secs(20), || !answers(&url)));
    assert!(within(Duration::from_secs(20), || directory.path().read_dir().unwrap().next().is_none()));
}
