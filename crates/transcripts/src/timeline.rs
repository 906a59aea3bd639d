//! The timeline of a session, for reading.

use protocol::{TranscriptEvent, TranscriptEventKind, TranscriptTimeline};

use crate::digest::{Digest, Digester};
use crate::event::{Event, EventKind, MessageRole, Sink};
use crate::model::ReadError;
use crate::sources::Source;

/// Characters of a text that are shown.
const MAX_TEXT: usize = 4000;
/// Events that are shown.
const MAX_EVENTS: usize = 20_000;

/// Returns the timeline of a session.
pub fn timeline(source: &Source) -> Result<(TranscriptTimeline, Digest), ReadError> {
    let mut both = Both { digester: Digester::new(None), events: Vec::new() };
    let (header, problems) = source.read(&mut both)?;
    let digest = both.digester.finish(source.agent, header, problems);
    Ok((TranscriptTimeline { session: digest.session(0), events: both.events }, digest))
}

struct Both {
    digester: Digester<'static>,
    events: Vec<TranscriptEvent>,
}

impl Sink for Both {
    fn needs_text(&self) -> bool {
        self.events.len() < MAX_EVENTS
    }

    fn take(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.extend(shown(&event));
        }
        self.digester.take(event);
    }
}

fn shown(event: &Event) -> Vec<TranscriptEvent> {
    use TranscriptEventKind as Kind;
    let Event { message, at, .. } = *event;
    let empty = |kind| TranscriptEvent { message, at, kind, text: None, path: None, tool: None };
    let text = |kind, text: &str| TranscriptEvent { text: cut(text), ..empty(kind) };
    let of_text = |found: &crate::event::InstructionText| {
        let path = found.path.as_ref().map(|path| path.to_string_lossy().into_owned());
        TranscriptEvent { path, ..text(Kind::Instructions, &found.text) }
    };
    match &event.kind {
        EventKind::Start { .. } => vec![empty(Kind::Start)],
        EventKind::Message { role, text: found } => {
            let kind = match role {
                MessageRole::User => Kind::User,
                MessageRole::Assistant => Kind::Assistant,
                MessageRole::Tool => Kind::Result,
            };
            vec![text(kind, found.as_deref().unwrap_or_default())]
        }
        EventKind::Call { tool, input, path } => {
            let (path, tool) = (path.clone(), Some(tool.clone()));
            vec![TranscriptEvent { path, tool, ..text(Kind::Call, input) }]
        }
        EventKind::Instructions(found) => vec![of_text(found)],
        EventKind::Replaced(found) => found.iter().map(of_text).collect(),
        EventKind::Announced { path } => {
            let path = Some(path.to_string_lossy().into_owned());
            vec![TranscriptEvent { path, ..empty(Kind::Instructions) }]
        }
        EventKind::Compaction(_) => vec![empty(Kind::Compaction)],
        EventKind::Removed(_) | EventKind::Snapshot { .. } | EventKind::Usage { .. } => Vec::new(),
    }
}

/// Returns the beginning of a text, or `None` if it is empty.
fn cut(text: &str) -> Option<String> {
    let mut shown: String = text.chars().take(MAX_TEXT).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}
