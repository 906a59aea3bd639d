//! `attack [--only NAME] [--program FILE]`: runs scripted attacks against real gateways and prints the table of results.
//! Exits with 1 if one gets through.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its results")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use measure::Machine;
use stress::attack::Attack;

/// Attack real gateways with scripts and print the results
#[derive(Parser)]
struct Arguments {
    /// Run only attacks whose name contains this text
    #[arg(long, default_value = "")]
    only: String,
    /// The gateway's program; by default the one next to this program
    #[arg(long)]
    program: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { only, program } = Arguments::parse();
    let program = match (program, std::env::current_exe()) {
        (Some(program), _) => program,
        // Cargo builds both programs into the same directory.
        (None, Ok(own)) => own.with_file_name(format!("foreword{}", std::env::consts::EXE_SUFFIX)),
        (None, Err(error)) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let report = Attack { program: program.clone(), only }.run().await;
    println!("{}\n{}\n{report}", program.display(), Machine::this());
    if report.is_held() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
