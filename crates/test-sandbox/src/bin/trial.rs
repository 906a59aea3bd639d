//! Runs one command in a sandbox, for tests. Tests that run as root start it as another user.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use sandbox::{CommandRequest, Guarded, HEARTBEAT, Probe, Program};

fn main() -> ExitCode {
    if let Some(exit) = sandbox::run_if_asked() {
        return exit;
    }
    match run() {
        Ok(answer) => {
            let _ = std::io::stdout().write_all(answer.to_string().as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the request in the first argument and returns the report and the output; without a request, returns the available levels.
/// The second argument is a file whose existence cancels the command. The third is a program to use as the guard.
fn run() -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let Some(request) = std::env::args().nth(1) else {
        let probe = Probe::of_system(&Program::this());
        let reasons: Vec<&str> = probe.unavailable().iter().map(|level| level.reason.as_str()).collect();
        return Ok(serde_json::json!({ "best": probe.best(), "reasons": reasons }));
    };
    let request: CommandRequest = serde_json::from_str(&request)?;
    let cancel = std::env::args_os().nth(2).filter(|file| !file.is_empty());
    let program = std::env::args_os().nth(3).map_or_else(Program::this, Program::at);
    let (mut guarded, mut output) = Guarded::start(&program, &request)?;
    // The output is read on another thread, because this one must keep sending signs of life to the guard.
    let reading = std::thread::spawn(move || {
        let mut printed = Vec::new();
        output.read_to_end(&mut printed).map(|_| String::from_utf8_lossy(&printed).into_owned())
    });
    while !reading.is_finished() {
        guarded.keep_alive();
        if cancel.as_ref().is_some_and(|file| std::path::Path::new(file).exists()) {
            guarded.release();
        }
        std::thread::sleep(HEARTBEAT / 100);
    }
    let printed = reading.join().map_err(|_| "the output could not be read")??;
    Ok(serde_json::json!({ "report": guarded.wait()?, "output": printed }))
}
