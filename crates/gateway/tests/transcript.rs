//! Golden transcripts: the requests of a conversation as a provider gets them, in a form that people can read.
//!
//! A request shows its system text, its tools by name, its messages block by block, and the places where a cache may
//! end. Parts that an earlier request of the transcript has in the same place are not repeated, so a broken prefix is
//! immediately visible. Ids, dates, file times and paths differ between runs and are replaced by names.
//!
//! `UPDATE_TRANSCRIPTS=1 cargo nextest run -p foreword-gateway` writes them anew; read them before they are committed.

mod rendering;
mod stable_names;

use std::path::Path;

use serde_json::Value;

use crate::support::Stage;

/// Extent of the system text in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemText {
    Whole,
    /// The whole text and the descriptions of the tools.
    WithTools,
    /// The headings only, for transcripts about messages: they survive changes of wording elsewhere.
    Headings,
}

/// Compares all requests to the model with `tests/transcripts/NAME.txt`.
pub(crate) fn check(stage: &Stage, name: &str, system: SystemText) {
    check_requests(stage, name, system, &stage.bodies());
}

/// Like [`check`], with some of the requests only.
pub(crate) fn check_requests(stage: &Stage, name: &str, system: SystemText, bodies: &[Value]) {
    let text = stable(stage, &rendering::render(bodies, system));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/{name}.txt"));
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_TRANSCRIPTS=1 writes it", path.display()));
    if text == golden {
        return;
    }
    let mut lines = text.lines().zip(golden.lines()).enumerate();
    let (line, now, before) = match lines.find(|(_, (now, before))| now != before) {
        Some((index, (now, before))) => (index + 1, now, before),
        None => (text.lines().count().min(golden.lines().count()) + 1, "(the end differs)", ""),
    };
    panic!(
        "transcript {name}, line {line}\n  now:    {now}\n  before: {before}\nUPDATE_TRANSCRIPTS=1 writes it anew"
    );
}

/// Replaces everything in a text that differs between runs.
pub(crate) fn stable(stage: &Stage, text: &str) -> String {
    stable_names::replace(text, stage)
}
