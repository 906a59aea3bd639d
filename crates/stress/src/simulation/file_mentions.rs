//! Mentions of instruction files in a request, in reading order.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::simulation::request::{Request, Text};
use crate::simulation::world::{World, numbers};

/// A mention of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mention {
    /// Text of a version, inserted by the gateway.
    Text(u64),
    /// Complete text of a version, read by a tool.
    Read(u64),
    /// Path and modification time of a version.
    Pointer(u64),
    Removed,
}

/// Mentions of one file with the index of their message; the system text belongs to the first message.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileMentions(pub(crate) Vec<(usize, Mention)>);

impl FileMentions {
    /// Returns the version the model should consider current; `None` if the file was removed.
    pub(crate) fn last(&self) -> Option<u64> {
        match &self.0.last()?.1 {
            Mention::Text(rule) | Mention::Read(rule) | Mention::Pointer(rule) => Some(*rule),
            Mention::Removed => None,
        }
    }

    /// Returns true if a version's text is present and not superseded by a later mention.
    pub(crate) fn has_text(&self, rule: u64) -> bool {
        let mut has = false;
        for (_, mention) in &self.0 {
            has = match mention {
                Mention::Text(it) | Mention::Read(it) => *it == rule,
                Mention::Pointer(it) => has && *it == rule,
                Mention::Removed => false,
            };
        }
        has
    }

    /// Returns a version whose text was inserted at or after message `new` although it was already present.
    pub(crate) fn repeated(&self, new: usize) -> Option<u64> {
        let mut present = None;
        for (message, mention) in &self.0 {
            match mention {
                Mention::Text(rule) if present == Some(*rule) && *message >= new => return present,
                Mention::Text(rule) | Mention::Read(rule) => present = Some(*rule),
                Mention::Pointer(rule) if present == Some(*rule) => {}
                Mention::Pointer(_) | Mention::Removed => present = None,
            }
        }
        None
    }
}

/// Returns the mentions of every file in a request.
pub(crate) fn file_mentions(request: &Request, world: &World) -> BTreeMap<PathBuf, FileMentions> {
    let mut mentions: BTreeMap<PathBuf, FileMentions> = BTreeMap::new();
    let mut add =
        |path: PathBuf, mention: (usize, Mention)| mentions.entry(path).or_default().0.push(mention);
    for (message, text) in request.texts() {
        match text {
            Text::System(text) => {
                for rule in numbers(text, "RULE-") {
                    add(world.owners[&rule].clone(), (message, Mention::Text(rule)));
                }
            }
            Text::Output(text) => {
                // A tool may return a part of a file. Only an output with the end counts as complete.
                let ends = numbers(text, "END-");
                for rule in numbers(text, "RULE-").into_iter().filter(|rule| ends.contains(rule)) {
                    add(world.owners[&rule].clone(), (message, Mention::Read(rule)));
                }
            }
            Text::Reminder(text) => {
                let rules = numbers(text, "RULE-");
                for (path, time) in named(text) {
                    let brought = rules.iter().find(|rule| world.owners[*rule] == path);
                    let at = |time: i64| world.moments.get(&(path.clone(), time)).copied();
                    let mention = match (brought, time) {
                        (Some(rule), _) => Mention::Text(*rule),
                        // A modification time the file never had stands for a version that never existed.
                        (None, Some(time)) => Mention::Pointer(at(time).unwrap_or_default()),
                        (None, None) => Mention::Removed,
                    };
                    add(path, (message, mention));
                }
            }
            Text::Message(_) => {}
        }
    }
    mentions
}

/// Returns the files listed in a reminder with their modification times, or `None` for removed files.
fn named(reminder: &str) -> Vec<(PathBuf, Option<i64>)> {
    let lines = reminder.lines().filter_map(|line| {
        let (path, rest) = line.strip_prefix("- ")?.rsplit_once(" (")?;
        let path = PathBuf::from(path);
        let is_removed = |words: &&str| rest.starts_with(*words);
        if ["deleted)", "replaced by ", "no longer applies: "].iter().any(is_removed) {
            return Some((path, None));
        }
        let time = rest.strip_prefix("mtime: ")?.strip_suffix(')')?.parse().ok()?;
        Some((path, Some(time)))
    });
    lines.collect()
}
