//! Waiting and ending on Linux.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, WaitStatus, getpid, pidfd_open, set_child_subreaper, waitpid,
};

use super::{Beginning, below, start};
use crate::PATIENCE;
use crate::guarded::{Ended, Report};
use crate::launch::Launch;

/// Starts the command and waits for its end, or ends it.
pub(super) fn guard(launch: &Launch) -> io::Result<Report> {
    // Orphans below become children of this process, even if they left their session and group. Without this, a daemon
    // would escape to the system's init.
    set_child_subreaper(Some(getpid()))?;
    let deadline = Instant::now() + launch.time;
    let (child, mut beginning) = start(launch)?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("a process without a number"))?;
    let stopped = wait(id, deadline, &mut beginning);
    let status = match &stopped {
        Ok(None) => waitpid(Some(id), WaitOptions::empty())?.map(|(_, status)| status),
        _ => None,
    };
    // After the command itself is reaped, so that its exit status is not lost among those of the orphans.
    below::end_all()?;
    let ended = stopped?.unwrap_or_else(|| status.map_or(Ended::Released, of_status));
    beginning.report(ended, launch)
}

/// Waits for the end of the command. Returns the reason if it must be ended instead.
fn wait(id: Pid, deadline: Instant, beginning: &mut Beginning) -> io::Result<Option<Ended>> {
    let command = pidfd_open(id, PidfdFlags::empty())?;
    let stdin = io::stdin();
    let mut heard = Instant::now();
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Ok(Some(Ended::TimedOut));
        }
        // A frozen gateway does not close its pipe, so silence counts as well.
        if now >= heard + PATIENCE {
            return Ok(Some(Ended::Released));
        }
        let time = (deadline - now).min(heard + PATIENCE - now);
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        let mut ready = vec![PollFd::new(&command, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        ready.extend(beginning.pipe().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut ready, Some(&time)) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let has_events =
            |index: usize| ready.get(index).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty());
        let [is_over, is_heard, is_told] = [0, 1, 2].map(has_events);
        if is_told {
            beginning.read()?;
        }
        if is_over {
            return Ok(None);
        }
        if is_heard {
            // Read without a buffer, which `poll` would not know about.
            match rustix::io::read(stdin.as_fd(), &mut [0; 64]) {
                Ok(0) => return Ok(Some(Ended::Released)),
                Ok(_) => heard = now,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

fn of_status(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, signal) => Ended::Signalled(signal.unwrap_or(0)),
    }
}
