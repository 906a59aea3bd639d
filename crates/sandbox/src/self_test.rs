//! Attacks from inside the sandbox, tried once before any command runs, because a sandbox is not trusted untested.

use std::fs;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use protocol::SandboxLevel;
use serde::{Deserialize, Serialize};

/// Time limit of a connection attempt.
const CONNECTING: Duration = Duration::from_millis(500);

/// Targets of the attacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelfTest {
    pub(crate) level: SandboxLevel,
    /// Address of a listener outside.
    pub(crate) tcp: SocketAddr,
    /// Path of a listening Unix socket outside.
    pub(crate) unix: PathBuf,
    /// A file of the user outside.
    pub(crate) outside: PathBuf,
    /// A file inside a hidden directory, if this level can hide any.
    pub(crate) hidden: PathBuf,
    /// The writable directory.
    pub(crate) root: PathBuf,
}

impl SelfTest {
    /// Returns a description of every attack that succeeded.
    pub(crate) fn breaches(&self) -> Vec<String> {
        let is_isolated = self.level == SandboxLevel::Isolated;
        let mut breaches = Vec::new();
        let mut expect = |is_as_promised: bool, breach: &str| {
            if !is_as_promised {
                breaches.push(breach.to_owned());
            }
        };
        expect(
            TcpStream::connect_timeout(&self.tcp, CONNECTING).is_err(),
            "the machine's network can be reached",
        );
        // Binding locally is permitted in a network namespace of its own; without one, even that must fail.
        let datagram = UdpSocket::bind("127.0.0.1:0").is_err();
        expect(is_isolated || datagram, "datagrams can be sent to the machine's network");
        expect(UnixStream::connect(&self.unix).is_err(), "sockets in the file system can be reached");
        expect(fs::read(&self.outside).is_err(), "files outside can be read");
        expect(!is_isolated || !self.outside.exists(), "files outside can be seen");
        // An isolated command may have a directory of its own at that path. The caller checks the file itself.
        let _ = fs::write(&self.outside, "written");
        expect(fs::read(&self.hidden).is_err(), "hidden directories can be read");
        if is_isolated {
            let system = fs::metadata("/usr").map(|metadata| metadata.permissions());
            let changed = system.and_then(|permissions| fs::set_permissions("/usr", permissions));
            expect(changed.is_err(), "modes of files outside can be changed");
        }
        let file = self.root.join("written-by-self-test");
        let written = fs::write(&file, "x").and_then(|()| fs::remove_file(&file));
        expect(written.is_ok(), "the workspace cannot be written");
        breaches
    }
}
