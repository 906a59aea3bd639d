//! A file's bytes as text, with what was found in them.

use std::path::Path;

use crate::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::file::Content;
use crate::profile::{Profile, UnsafeText};
use crate::safety;
use crate::text::decode;

/// The first bytes of a file as the profile wants them.
pub(crate) fn read(
    content: &Content,
    kept: usize,
    path: &Path,
    profile: &Profile,
    diagnostics: &mut Vec<Diagnostic>,
) -> String {
    let decoded = decode(&content.bytes[..kept], profile.byte_order_mark);
    if let Some(line) = decoded.invalid_line {
        let message = "bytes that are not UTF-8 are shown as U+FFFD; save the file as UTF-8";
        diagnostics.push(
            Diagnostic::new(DiagnosticCode::InvalidUtf8, Severity::Warning, path, message).at_line(line),
        );
    }
    if content.unsteady {
        let message = "the file kept changing while it was read; what is shown may be a mixture";
        diagnostics.push(Diagnostic::new(DiagnosticCode::ChangedWhileRead, Severity::Warning, path, message));
    }
    let checked = safety::check(&decoded.text, path);
    diagnostics.extend(checked.diagnostics);
    match profile.unsafe_text {
        UnsafeText::MadeHarmless => checked.text.into_owned(),
        UnsafeText::Reported => decoded.text.into_owned(),
    }
}
