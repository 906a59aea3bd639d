//! Pieces of work whose instructions `cargo xtask gate` counts, each repeated a given number of times.
//!
//! A separate package, so that it builds with only the crates that it measures.

mod files;
mod prompts;

use std::process::ExitCode;

/// A piece of work: prepared once, then repeated the given number of times.
pub(crate) type Work = fn(usize) -> Result<(), Box<dyn std::error::Error>>;

/// Every piece of work by its name.
const PIECES: &[(&str, Work)] = &[
    ("files-cold", files::cold),
    ("files-warm", files::warm),
    ("files-resolver", files::resolver),
    ("files-neutralise", files::neutralise),
    ("prompt-compile", prompts::compile),
    ("prompt-compile-again", prompts::compile_again),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let work = match words.as_slice() {
        [piece, times] => PIECES.iter().find(|(name, _)| name == piece).zip(times.parse().ok()),
        _ => None,
    };
    let Some(((_, work), times)) = work else {
        let names: Vec<&str> = PIECES.iter().map(|(name, _)| *name).collect();
        return fail(&format!("usage: gate PIECE TIMES; the pieces are {}", names.join(", ")));
    };
    match work(times) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

#[expect(clippy::print_stderr, reason = "this is a program")]
fn fail(message: &str) -> ExitCode {
    eprintln!("gate: {message}");
    ExitCode::from(2)
}
