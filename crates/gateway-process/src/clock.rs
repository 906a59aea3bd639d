//! Shifted clocks: libfaketime changes the wall clock. Monotonic clocks stay as they are, or every timeout would be
//! wrong.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use client::Target;

use crate::Launch;

/// Permitted deviation: HTTP dates have whole seconds, and the machine may be busy.
const TOLERANCE: Duration = Duration::from_secs(20);

/// Fails unless a gateway's clock differs from ours by `seconds`. Uses the date of an HTTP response, because stored
/// times come from the database.
pub fn check_clock(target: &Target, seconds: i64) -> anyhow::Result<()> {
    let url = target.locate()?.url;
    let address = url.split("//").nth(1).and_then(|rest| rest.split('/').next()).context("no address")?;
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(TOLERANCE))?;
    write!(socket, "GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    let date =
        answer.lines().find_map(|line| line.strip_prefix("date: ")).context("an answer without a date")?;
    let shift = Duration::from_secs(seconds.unsigned_abs());
    let now = SystemTime::now();
    let expected = if seconds < 0 { now - shift } else { now + shift };
    let told = httpdate::parse_http_date(date)?;
    let apart = told.duration_since(expected).unwrap_or_else(|earlier| earlier.duration());
    anyhow::ensure!(apart < TOLERANCE, "a clock should be {seconds} seconds from ours and says {date}");
    Ok(())
}

/// Path of the library that Debian's package `faketime` installs.
#[derive(Debug, Clone)]
pub struct ClockShift {
    library: PathBuf,
}

impl ClockShift {
    /// Returns `None` if the library is not installed.
    pub fn find() -> Option<Self> {
        let architectures = std::fs::read_dir("/usr/lib").ok()?.flatten();
        let mut candidates = architectures.map(|entry| entry.path().join("faketime/libfaketime.so.1"));
        candidates.find(|path| path.is_file()).map(|library| Self { library })
    }

    /// Returns the launch with a clock that differs from the machine's by `seconds`.
    pub fn apply(&self, mut launch: Launch, seconds: i64) -> Launch {
        launch.variables.extend([
            ("LD_PRELOAD", self.library.clone().into()),
            ("FAKETIME", format!("{seconds:+}").into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            // Name of the same variable before version 0.9.9.
            ("DONT_FAKE_MONOTONIC", "1".into()),
            // The library shares the time with child processes through shared memory, which a killed gateway would
            // leave behind.
            ("FAKETIME_DISABLE_SHM", "1".into()),
        ]);
        launch
    }
}
