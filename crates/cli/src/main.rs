//! Entry point of the command; the implementation is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
