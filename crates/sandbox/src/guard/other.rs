//! A guard for systems without subreapers: it ends the command's process group; processes that left it survive.

use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};

use super::start;
use crate::PATIENCE;
use crate::guarded::{Ended, Report};
use crate::launch::Launch;

enum Event {
    Over(io::Result<std::process::ExitStatus>),
    Heard,
    Released,
}

pub(super) fn guard(launch: &Launch) -> io::Result<Report> {
    let deadline = Instant::now() + launch.time;
    let (mut child, beginning) = start(launch)?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, events) = mpsc::channel();
    let listening = sender.clone();
    std::thread::spawn(move || {
        while let Ok(1..) = io::stdin().read(&mut [0; 64]) {
            let _ = listening.send(Event::Heard);
        }
        let _ = listening.send(Event::Released);
    });
    std::thread::spawn(move || sender.send(Event::Over(child.wait())));
    let mut heard = Instant::now();
    let ended = loop {
        let until = deadline.min(heard + PATIENCE);
        match events.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Event::Over(status)) => {
                let status = status?;
                break status.code().map_or(Ended::Signalled(status.signal().unwrap_or(0)), Ended::Exited);
            }
            Ok(Event::Heard) => heard = Instant::now(),
            Ok(Event::Released) => break Ended::Released,
            Err(_) if Instant::now() >= deadline => break Ended::TimedOut,
            Err(_) => break Ended::Released,
        }
    };
    // The group is signalled even after a regular exit, for processes that the command left in the background.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    beginning.report(ended, launch)
}
