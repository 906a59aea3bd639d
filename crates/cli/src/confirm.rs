//! Confirmation on the terminal, independent of standard input.

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};

/// The controlling terminal of this process.
const TERMINAL: &str = "/dev/tty";

/// Asks a yes/no question on the controlling terminal. `None` if there is no terminal. Only an explicit yes counts.
pub(crate) fn confirm(question: &str) -> Option<bool> {
    // If standard error is redirected, the user would not see the question.
    if !std::io::stderr().is_terminal() {
        return None;
    }
    // Standard input may carry the data of the command, so the terminal is opened directly.
    let terminal = File::options().read(true).write(true).open(TERMINAL).ok()?;
    write!(&terminal, "{question} [y/N] ").ok()?;
    let mut answer = String::new();
    BufReader::new(&terminal).read_line(&mut answer).ok()?;
    Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
