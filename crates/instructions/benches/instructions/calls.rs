//! The system calls of one cold and one warm resolution, counted by strace.

use std::process::Command;

use instructions::{Cache, resolve};
use measure::system_calls::{begin_part, end_part};
use measure::{SystemCalls, Table};

use crate::bare::Calls;
use crate::fixture::Project;

/// Argument that makes this program the traced one.
pub(crate) const MODE: &str = "be-watched";

const DEPTH: usize = 8;

pub(crate) fn measure() -> anyhow::Result<()> {
    if !SystemCalls::can_be_counted() {
        println!("## System calls\n\nstrace is not there, or may not watch.\n");
        return Ok(());
    }
    let parts = SystemCalls::count(Command::new(std::env::current_exe()?).arg(MODE))?;
    let mut table = Table::new(["", "calls", "which"]);
    for part in PARTS {
        let calls = parts.get(part).cloned().unwrap_or_default();
        table.row([part.replace('-', " "), calls.total().to_string(), calls.to_string()]);
    }
    println!("## System calls at depth {DEPTH}\n\n{table}");
    Ok(())
}

const PARTS: [&str; 4] = ["bare-cold", "resolve-cold", "bare-warm", "resolve-warm"];

/// Runs the traced work.
pub(crate) fn be_watched() -> anyhow::Result<()> {
    let project = Project::create(DEPTH)?.settle();
    let request = project.request();
    let cache = Cache::new();
    resolve(&request, Some(&cache))?;
    let mut cold = Calls::cold(&project);
    let mut warm = Calls::warm(&project);
    begin_part("bare-cold");
    cold.run()?;
    begin_part("resolve-cold");
    let first = resolve(&request, None)?;
    begin_part("bare-warm");
    warm.run()?;
    begin_part("resolve-warm");
    let second = resolve(&request, Some(&cache))?;
    end_part();
    anyhow::ensure!(first == second);
    Ok(())
}
