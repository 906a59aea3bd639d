//! The native application: `foreword-desktop [--data DIR] [--state DIR] [--foreword FILE]`.

use std::process::ExitCode;

use desktop::{Arguments, Places};

fn main() -> ExitCode {
    let places = Arguments::parse(std::env::args_os().skip(1))
        .and_then(|arguments| Places::find(arguments, |name| std::env::var_os(name)));
    match places {
        Ok(places) => {
            desktop::run(places);
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "wrong usage is told before there is a window")]
fn complain(error: &dyn std::error::Error) {
    eprintln!("error: {error}");
}
