//! Pieces of work, repeated as often as asked, for `cargo xtask gate` to count the instructions of.
//!
//! A package of its own, so that it builds with nothing but what it measures.

mod files;
mod prompts;

use std::process::ExitCode;

/// A piece of work: prepared once, then done so many times.
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
