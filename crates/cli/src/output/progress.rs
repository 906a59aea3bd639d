//! Progress line on a terminal for operations longer than a second.
//!
//! It is one line on standard error, redrawn periodically and erased before other output. It is omitted in pipes, on
//! terminals without cursor movement, and for programs.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::output::Output;
use crate::output::terminal;

/// Shorter operations show no progress.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
const FRAME_TIME: Duration = Duration::from_millis(125);
/// Characters that every terminal has, whatever its locale.
const FRAMES: [char; 4] = ['-', '\\', '|', '/'];
const ERASE_LINE: &str = "\r\u{1b}[2K";

/// A running operation. A separate task draws its progress, so that the operation itself does not have to.
pub(crate) struct Progress {
    drawn: Option<(Arc<Mutex<Drawn>>, JoinHandle<()>)>,
}

struct Drawn {
    message: String,
    /// Start of the operation, while it is running.
    since: Option<Instant>,
    frame: usize,
    is_shown: bool,
}

impl Progress {
    /// Starts showing an operation, until this is dropped.
    pub(crate) fn start(output: Output, message: impl Into<String>) -> Self {
        let progress = Self::paused(output, message);
        progress.resume();
        progress
    }

    /// Creates an operation that has not started.
    pub(crate) fn paused(output: Output, message: impl Into<String>) -> Self {
        if output.is_json() || !can_draw() {
            return Self { drawn: None };
        }
        let drawn = Drawn { message: message.into(), since: None, frame: 0, is_shown: false };
        let drawn = Arc::new(Mutex::new(drawn));
        let drawing = Arc::clone(&drawn);
        // A task draws the line, so that it moves even while the operation waits for a single answer.
        let task = tokio::spawn(async move {
            loop {
                tokio::time::sleep(FRAME_TIME).await;
                lock(&drawing).draw();
            }
        });
        Self { drawn: Some((drawn, task)) }
    }

    /// Continues the operation and restarts the delay before it is shown.
    pub(crate) fn resume(&self) {
        if let Some((drawn, _)) = &self.drawn {
            lock(drawn).since = Some(Instant::now());
        }
    }

    /// Changes the message.
    pub(crate) fn say(&self, message: impl Into<String>) {
        if let Some((drawn, _)) = &self.drawn {
            lock(drawn).message = message.into();
        }
    }

    /// Erases the line for other output until the operation continues.
    pub(crate) fn pause(&self) {
        if let Some((drawn, _)) = &self.drawn {
            lock(drawn).erase();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.pause();
        if let Some((_, task)) = &self.drawn {
            task.abort();
        }
    }
}

impl Drawn {
    fn draw(&mut self) {
        let Some(since) = self.since.filter(|since| since.elapsed() >= SHOWN_AFTER) else { return };
        self.frame = (self.frame + 1) % FRAMES.len();
        let columns = terminal::columns_of(std::io::stderr());
        let line = line(FRAMES[self.frame], &self.message, since.elapsed(), columns);
        self.is_shown = true;
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{ERASE_LINE}{line}").and_then(|()| stderr.flush());
    }

    fn erase(&mut self) {
        // The delay starts again after other output, so short pauses between outputs show no progress.
        self.since = None;
        if std::mem::take(&mut self.is_shown) {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "{ERASE_LINE}").and_then(|()| stderr.flush());
        }
    }
}

/// Returns the line, cut to the terminal's width because a wrapped line could not be erased.
fn line(frame: char, message: &str, elapsed: Duration, columns: Option<usize>) -> String {
    let line = format!("{frame} {message} ({} s)", elapsed.as_secs());
    match columns {
        Some(columns) => {
            let mut used = 0;
            let fits = |character: &char| {
                used += terminal::max_columns(*character);
                used < columns
            };
            line.chars().take_while(fits).collect()
        }
        None => line,
    }
}

fn can_draw() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|kind| kind != "dumb")
}

fn lock(drawn: &Mutex<Drawn>) -> MutexGuard<'_, Drawn> {
    drawn.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_reaches_the_last_column() {
        let line = |columns| line('-', "waiting for the model", Duration::from_millis(2_900), columns);
        assert_eq!(line(None), "- waiting for the model (2 s)");
        assert_eq!(line(Some(80)), "- waiting for the model (2 s)");
        assert_eq!(line(Some(20)), "- waiting for the m");
    }
}
