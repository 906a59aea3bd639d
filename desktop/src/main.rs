//! The native application: `foreword-desktop [--data DIR] [--state DIR] [--foreword FILE]`.

use std::process::ExitCode;

use desktop::{DesktopArguments, Paths};

fn main() -> ExitCode {
    // Usage errors are reported on the terminal and with exit code 2, like those of the command; a window
    // would come too late.
    let paths = DesktopArguments::parse(std::env::args_os().skip(1))
        .and_then(|arguments| Paths::find(arguments, |name| std::env::var_os(name)));
    match paths {
        Ok(paths) => {
            desktop::run(paths);
            ExitCode::SUCCESS
        }
        Err(error) => {
            print_error(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "usage errors are printed before a window exists")]
fn print_error(error: &dyn std::error::Error) {
    eprintln!("error: {error}");
}
