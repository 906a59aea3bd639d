//! Asks whoever sits at the terminal, whatever standard input is.

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};

/// The terminal that controls this process.
const TERMINAL: &str = "/dev/tty";

/// Yes or no from the controlling terminal; none where nobody can be asked. Only a plain yes is one.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    // Whoever sends our messages elsewhere does not wait for questions.
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let terminal = File::options().read(true).write(true).open(TERMINAL).ok()?;
    write!(&terminal, "{question} [y/N] ").ok()?;
    let mut answer = String::new();
    BufReader::new(&terminal).read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
