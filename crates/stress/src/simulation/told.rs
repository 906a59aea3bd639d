//! What a request says about each instruction file, in the order in which a model reads it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::simulation::request::{Request, Text};
use crate::simulation::world::{World, numbers};

/// Something that a request says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// We brought the text of a version.
    Text(u64),
    /// A tool read the whole of a version.
    Read(u64),
    /// A path and a time, which is that of a version.
    Pointer(u64),
    Removed,
}

/// Everything that is said of one file, and in which message; the system text is in the first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Story(pub(crate) Vec<(usize, Told)>);

impl Story {
    /// The version that holds for a model that believes what it was told last; none: it was removed.
    pub(crate) fn last(&self) -> Option<u64> {
        match &self.0.last()?.1 {
            Told::Text(rule) | Told::Read(rule) | Told::Pointer(rule) => Some(*rule),
            Told::Removed => None,
        }
    }

    /// Whether the text of a version is there, and nothing after it says otherwise.
    pub(crate) fn has_text(&self, rule: u64) -> bool {
        let mut has = false;
        for (_, told) in &self.0 {
            has = match told {
                Told::Text(it) | Told::Read(it) => *it == rule,
                Told::Pointer(it) => has && *it == rule,
                Told::Removed => false,
            };
        }
        has
    }

    /// A version whose text we brought in this message or later although it was there.
    pub(crate) fn repeated(&self, new: usize) -> Option<u64> {
        let mut present = None;
        for (message, told) in &self.0 {
            match told {
                Told::Text(rule) if present == Some(*rule) && *message >= new => return present,
                Told::Text(rule) | Told::Read(rule) => present = Some(*rule),
                Told::Pointer(rule) if present == Some(*rule) => {}
                Told::Pointer(_) | Told::Removed => present = None,
            }
        }
        None
    }
}

/// What a request says of every file.
pub(crate) fn stories(request: &Request, world: &World) -> BTreeMap<PathBuf, Story> {
    let mut stories: BTreeMap<PathBuf, Story> = BTreeMap::new();
    let mut add = |path: PathBuf, told: (usize, Told)| stories.entry(path).or_default().0.push(told);
    for (message, text) in request.texts() {
        match text {
            Text::System(text) => {
                for rule in numbers(text, "RULE-") {
                    add(world.owners[&rule].clone(), (message, Told::Text(rule)));
                }
            }
            Text::Output(text) => {
                let ends = numbers(text, "END-");
                for rule in numbers(text, "RULE-").into_iter().filter(|rule| ends.contains(rule)) {
                    add(world.owners[&rule].clone(), (message, Told::Read(rule)));
                }
            }
            Text::Reminder(text) => {
                let rules = numbers(text, "RULE-");
                for (path, time) in named(text) {
                    let brought = rules.iter().find(|rule| world.owners[*rule] == path);
                    let at = |time: i64| world.moments.get(&(path.clone(), time)).copied();
                    let told = match (brought, time) {
                        (Some(rule), _) => Told::Text(*rule),
                        // A time that the file never had is a version that it never had.
                        (None, Some(time)) => Told::Pointer(at(time).unwrap_or_default()),
                        (None, None) => Told::Removed,
                    };
                    add(path, (message, told));
                }
            }
            Text::Said(_) => {}
        }
    }
    stories
}

/// The files that a reminder lists, with their time or without when they were removed.
fn named(reminder: &str) -> Vec<(PathBuf, Option<i64>)> {
    let lines = reminder.lines().filter_map(|line| {
        let (path, rest) = line.strip_prefix("- ")?.rsplit_once(" (")?;
        let path = PathBuf::from(path);
        if rest.starts_with("removed") {
            return Some((path, None));
        }
        let time = rest.strip_prefix("mtime: ")?.strip_suffix(')')?.parse().ok()?;
        Some((path, Some(time)))
    });
    lines.collect()
}
