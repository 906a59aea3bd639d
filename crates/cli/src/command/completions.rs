//! `foreword completions`.

use clap::CommandFactory as _;

use crate::arguments::Arguments;
use crate::failure::{Exit, Failure};
use crate::output::print;

pub(crate) fn run(shell: clap_complete::Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "foreword", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
