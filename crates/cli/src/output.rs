//! Data on standard output, everything else on standard error.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;

use crate::failure::{Exit, Failure};

/// How data is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: one object, or one a line where there is no end.
    Json,
}

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// Where a command's words go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a result: as JSON for programs, as `text` says for people.
    pub(crate) fn data(self, result: &impl Serialize, text: impl FnOnce() -> String) -> Result<(), Failure> {
        match self.format {
            Format::Json => self.json(result),
            Format::Text => print(&text()),
        }
    }

    /// Prints one JSON object on a line of its own.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::new(Exit::Failed, format!("could not print: {error}")))?;
        print(&format!("{text}\n"))
    }

    /// Says something that is not data.
    pub(crate) fn note(self, message: impl AsRef<str>) {
        if !self.is_json() {
            let _ = writeln!(anstream::stderr(), "{}", message.as_ref());
        }
    }

    /// Says something that the user should look at.
    pub(crate) fn warning(self, message: &str, hint: Option<&str>) {
        let mut stderr = anstream::stderr();
        if self.is_json() {
            let _ = writeln!(stderr, "{}", json!({ "warning": { "message": message, "hint": hint } }));
            return;
        }
        let _ = writeln!(stderr, "{WARNING}warning:{WARNING:#} {message}");
        if let Some(hint) = hint {
            let _ = writeln!(stderr, "{HINT}hint:{HINT:#} {hint}");
        }
    }

    /// Says why the command failed.
    pub(crate) fn failure(self, failure: &Failure) {
        let mut stderr = anstream::stderr();
        if self.is_json() {
            let mut error = json!({ "message": failure.message });
            if !failure.hints.is_empty() {
                error["hint"] = failure.hints.join("; ").into();
            }
            if let Some(data) = &failure.data {
                error["data"] = serde_json::to_value(data).unwrap_or_default();
            }
            let _ = writeln!(stderr, "{}", json!({ "error": error }));
            return;
        }
        let _ = writeln!(stderr, "{ERROR}error:{ERROR:#} {}", failure.message);
        for hint in &failure.hints {
            let _ = writeln!(stderr, "{HINT}hint:{HINT:#} {hint}");
        }
    }
}

/// Prints data. A reader that has had enough (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::new(Exit::Failed, format!("could not write to standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}
