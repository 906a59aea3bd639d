//! Files of known findings: `--baseline` and `--write-baseline`.

use std::path::Path;

use check::{Baseline, CheckReport};

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::{count, shown_path};

/// Removes the known findings of a file from a report.
pub(super) fn apply(context: &Context, report: &mut CheckReport, file: &Path) -> Result<(), Failure> {
    let (known, gone) = read(file)?.apply(report);
    if known > 0 {
        context.output.note(format!("{} in the baseline not shown", count(known as u64, "finding")));
    }
    if gone > 0 {
        let gone = count(gone as u64, "finding");
        let file = shown_path(file);
        context
            .output
            .note(format!("{gone} in the baseline no longer occur; --write-baseline {file} updates it"));
    }
    Ok(())
}

/// Writes all findings of a report to a file.
pub(super) fn write(context: &Context, report: &CheckReport, file: &Path) -> Result<Exit, Failure> {
    // A mistyped name must not cost a file that is something else.
    if file.symlink_metadata().is_ok() {
        read(file).map_err(|failure| failure.hint("give another name, or remove the file first"))?;
    }
    let baseline = Baseline::of(report);
    let text = baseline.to_text().map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    std::fs::write(file, text).map_err(|error| Failure::file("write", file, error))?;
    let findings = count(baseline.len() as u64, "finding");
    context.output.note(format!("wrote {findings} to {}", shown_path(file)));
    Ok(Exit::Done)
}

fn read(file: &Path) -> Result<Baseline, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        let is_missing = error.kind() == std::io::ErrorKind::NotFound;
        let failure = Failure::usage(format!("could not read {}: {error}", shown_path(file)));
        if is_missing { failure.hint("create it with --write-baseline") } else { failure }
    })?;
    Baseline::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", shown_path(file))))
}
