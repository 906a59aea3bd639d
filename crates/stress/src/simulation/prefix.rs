//! How much of a request a provider has seen before, in the same place from the beginning.

use tokens::{Counter, Encoding};

use crate::simulation::request::Request;

/// Sums over requests, in tokens.
#[derive(Default)]
pub struct PrefixReuse {
    counter: Counter,
    /// Requests that had one before them.
    pub requests: u64,
    /// What the requests before had up to the first thing that somebody changed.
    pub reusable: u64,
    /// What of that came again in the same place.
    pub reused: u64,
    /// All of what the requests before had.
    pub before: u64,
    /// All of what was sent.
    pub sent: u64,
}

/// A part of a request: a heading of the system text, if it is one of its sections, and the text.
type Segment = (Option<String>, String);

impl PrefixReuse {
    /// Compares a request with the one whose beginning it should repeat. Sections that were edited since may differ, and
    /// after a summary the messages may.
    pub(crate) fn add(&mut self, before: &Request, now: &Request, edited: &[&str], summarised: bool) {
        let earlier = segments(before);
        let later = segments(now);
        let same = earlier.iter().zip(&later).take_while(|(one, other)| one == other).count();
        let is_edited = |segment: Option<&Segment>| {
            segment.is_some_and(|(title, _)| match title {
                Some(title) => edited.contains(&title.as_str()),
                None => summarised,
            })
        };
        let had_to_change = is_edited(earlier.get(same)) || is_edited(later.get(same));
        let reused = self.count(&earlier[..same]);
        let all = reused + self.count(&earlier[same..]);
        self.requests += 1;
        self.reused += reused;
        self.reusable += if had_to_change { reused } else { all };
        self.before += all;
        self.sent += self.count(&later);
    }

    /// The share of what could be reused that was.
    pub fn share(&self) -> f64 {
        self.reused as f64 / (self.reusable as f64).max(1.0)
    }

    /// The share of what the requests before had that came again, whatever changed.
    pub fn share_of_before(&self) -> f64 {
        self.reused as f64 / (self.before as f64).max(1.0)
    }

    /// The share of what was sent that had been sent before.
    pub fn share_of_sent(&self) -> f64 {
        self.reused as f64 / (self.sent as f64).max(1.0)
    }

    fn count(&self, segments: &[Segment]) -> u64 {
        segments.iter().map(|(_, text)| self.counter.count(Encoding::Cl100k, text) as u64).sum()
    }
}

/// The parts of a request in the order in which providers cache: tools, system text, messages.
fn segments(request: &Request) -> Vec<Segment> {
    let sections = request.sections().into_iter();
    let sections = sections.map(|(title, text)| (Some(title.to_owned()), format!("## {title}\n{text}")));
    let messages = request.messages.iter().map(|message| (None, message.to_string()));
    let tools = (Some("tools".to_owned()), request.tools.to_string());
    [tools].into_iter().chain(sections).chain(messages).collect()
}
