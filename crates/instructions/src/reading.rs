//! A file's bytes as text, with what was found in them.

use std::ops::Range;
use std::path::Path;

use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::file::Content;
use crate::profile::{Profile, UnsafeText};
use crate::safety;
use crate::text::decode;

/// Some of a file's bytes as the profile wants them.
pub(crate) fn read(
    content: &Content,
    kept: Range<usize>,
    path: &Path,
    profile: &Profile,
    diagnostics: &mut Vec<Diagnostic>,
) -> String {
    let lines_before = lines(&content.bytes[..kept.start]);
    let decoded = decode(&content.bytes[kept], profile.byte_order_mark);
    if let Some(problem) = &content.markup(profile).problem {
        let message = format!("the front matter cannot be followed, so it is text: {}", problem.message);
        let code = DiagnosticCode::InvalidFrontMatter;
        diagnostics.push(Diagnostic::new(code, Severity::Warning, path, message).at_line(problem.line));
    }
    if let Some(line) = decoded.invalid_line {
        let message = "bytes that are not UTF-8 are shown as U+FFFD; save the file as UTF-8";
        diagnostics.push(
            Diagnostic::new(DiagnosticCode::InvalidUtf8, Severity::Warning, path, message)
                .at_line(lines_before + line),
        );
    }
    if content.unsteady {
        let message = "the file kept changing while it was read; what is shown may be a mixture";
        diagnostics.push(Diagnostic::new(DiagnosticCode::ChangedWhileRead, Severity::Warning, path, message));
    }
    let mut checked = safety::check(&decoded.text, path);
    for diagnostic in &mut checked.diagnostics {
        diagnostic.line = diagnostic.line.map(|line| lines_before + line);
    }
    diagnostics.extend(checked.diagnostics);
    match profile.unsafe_text {
        UnsafeText::MadeHarmless => checked.text.into_owned(),
        UnsafeText::Reported => decoded.text.into_owned(),
    }
}

/// How many lines end in some bytes.
pub(crate) fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}
