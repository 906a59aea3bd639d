//! Share of each request that repeats the beginning of the previous one.

use tokens::{Counter, Encoding};

use crate::simulation::request::Request;

/// Sums over requests, in tokens.
#[derive(Default)]
pub struct PrefixReuse {
    counter: Counter,
    /// Requests that had a predecessor.
    pub requests: u64,
    /// Tokens of previous requests before the first intended change.
    pub reusable: u64,
    /// Part of `reusable` that was repeated in the same place.
    pub reused: u64,
    /// Tokens of all previous requests.
    pub before: u64,
    /// Tokens of all requests.
    pub sent: u64,
}

/// Part of a request: heading, if it is a section of the system text, and text.
type Segment = (Option<String>, String);

impl PrefixReuse {
    /// Compares a request with the previous one. Edited sections may differ, and after a summary the messages may.
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
        // The segment may exist in one request only, if a section was added or removed.
        let had_to_change = is_edited(earlier.get(same)) || is_edited(later.get(same));
        let reused = self.count(&earlier[..same]);
        let all = reused + self.count(&earlier[same..]);
        self.requests += 1;
        self.reused += reused;
        self.reusable += if had_to_change { reused } else { all };
        self.before += all;
        self.sent += self.count(&later);
    }

    /// Returns the reused share of the reusable tokens.
    pub fn share(&self) -> f64 {
        self.reused as f64 / (self.reusable as f64).max(1.0)
    }

    /// Returns the reused share of all tokens of previous requests.
    pub fn share_of_before(&self) -> f64 {
        self.reused as f64 / (self.before as f64).max(1.0)
    }

    /// Returns the reused share of all tokens sent.
    pub fn share_of_sent(&self) -> f64 {
        self.reused as f64 / (self.sent as f64).max(1.0)
    }

    fn count(&self, segments: &[Segment]) -> u64 {
        segments.iter().map(|(_, text)| self.counter.count(Encoding::Cl100k, text) as u64).sum()
    }
}

/// Returns the parts of a request in the order of the provider's cache: tools, system text, messages.
fn segments(request: &Request) -> Vec<Segment> {
    let sections = request.sections().into_iter();
    let sections = sections.map(|(title, text)| (Some(title.to_owned()), format!("## {title}\n{text}")));
    let messages = request.messages.iter().map(|message| (None, message.to_string()));
    let tools = (Some("tools".to_owned()), request.tools.to_string());
    [tools].into_iter().chain(sections).chain(messages).collect()
}
