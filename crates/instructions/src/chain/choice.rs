//! Chooses the files of one directory.

use std::path::Path;

use super::{Chain, Origin, Survey};
use crate::decision::{Decision, Outcome};
use crate::file::Found;
use crate::profile::Blank;
use crate::text::is_blank;

/// What a candidate does to those after it.
enum Effect {
    /// The next one is tried.
    TryNext,
    /// It wins.
    Wins,
}

impl Chain<'_> {
    /// The first usable name wins; the added names follow it.
    pub(super) fn choose_in(&mut self, directory: &Path, names: &[String]) {
        let mut winner: Option<usize> = None;
        for name in 0..self.winning {
            if let Some(winner) = winner {
                if self.survey == Survey::Everything {
                    self.shadowed(directory, &names[name], &names[winner]);
                }
                continue;
            }
            match self.try_name(directory, name, names) {
                Effect::TryNext => {}
                Effect::Wins => winner = Some(name),
            }
            if winner.is_some() && self.survey == Survey::Needed {
                break;
            }
        }
        for name in self.winning..self.winning + self.added {
            self.try_name(directory, name, names);
        }
    }

    fn try_name(&mut self, directory: &Path, name: usize, names: &[String]) -> Effect {
        let found = self.reader.read(directory, name, &self.bounds, self.max_file_bytes);
        let path = || directory.join(&names[name]);
        let profile = self.request.settings.profile;
        // Where a blank file hides others it is chosen like any other: whether it is blank shows after the cut.
        if let Found::File { content, .. } = &found
            && profile.blank == Blank::FallsThrough
            && is_blank(content.text(profile), profile.byte_order_mark)
        {
            let detail = "it is only white space, so it counts as if it were not there";
            self.decisions.push(Decision::new(path(), Outcome::Blank).because(detail));
            return Effect::TryNext;
        }
        if matches!(found, Found::Absent) && self.survey == Survey::Needed {
            return Effect::TryNext;
        }
        match self.consider(path(), Origin::Project, found) {
            true => Effect::Wins,
            false => Effect::TryNext,
        }
    }

    fn shadowed(&mut self, directory: &Path, name: &str, winner: &str) {
        let path = directory.join(name);
        let decision = match path.symlink_metadata() {
            Ok(_) => Decision::new(path, Outcome::Shadowed).by(directory.join(winner)),
            Err(_) => Decision::new(path, Outcome::Absent),
        };
        self.decisions.push(decision);
    }
}
