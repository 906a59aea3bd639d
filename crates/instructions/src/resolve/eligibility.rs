//! Whether a file that can be read applies: not if it is there already, nor by what it says itself.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::Path;

use super::chain::{Chain, Chosen, Origin};
use crate::fs::file::Stamp;
use crate::profile::SameFile;
use crate::resolve::decision::{Decision, Outcome};
use crate::resolve::resolution::FileScope;
use crate::text::front_matter::Audience;

/// What became of a file that can be read.
pub(super) enum Judged {
    Taken(Chosen),
    Duplicate,
    NotApplicable,
}

/// Whether a file applies; where it does not, why, in words.
enum Applicability {
    Always,
    /// To the target, and not to everything.
    Rule,
    OtherPaths(String),
    OtherAudience(String),
}

impl Chain<'_> {
    /// What tells a file from others, by the profile's rules.
    pub(super) fn identity(&self, path: &Path, stamp: Stamp) -> (u64, u64) {
        if self.request.settings.profile.choose.same_file != SameFile::OncePerRealPath {
            return (stamp.device, stamp.inode);
        }
        let mut hasher = DefaultHasher::new();
        path.canonicalize().unwrap_or_else(|_| path.to_owned()).hash(&mut hasher);
        (0, hasher.finish())
    }

    /// Decides about a file that can be read; `via` says how an import came to be one.
    pub(super) fn judge(&mut self, mut file: Chosen, via: Option<&str>) -> Judged {
        let profile = self.request.settings.profile;
        let identity = self.identity(&file.path, file.stamp);
        if profile.choose.same_file.goes_by_path() && !self.is_first_of_its_path(&file) {
            let why = via.unwrap_or("it was read before").to_owned();
            self.decisions.push(Decision::new(file.path, Outcome::Duplicate).because(why));
            return Judged::Duplicate;
        }
        if matches!(profile.choose.same_file, SameFile::UsedOnce | SameFile::OncePerRealPath)
            && let Some(first) = self.seen.get(&identity)
        {
            let why = match via {
                Some(via) => format!("{via}; each file is used once"),
                None => "it is the same file, under another name".to_owned(),
            };
            let first = self.decisions[*first].path.clone();
            self.decisions.push(Decision::new(file.path, Outcome::Duplicate).by(first).because(why));
            return Judged::Duplicate;
        }
        file.decision = self.decisions.len();
        match self.applicability(&file) {
            Applicability::Always => {}
            Applicability::Rule => file.scope = FileScope::Rule,
            Applicability::OtherPaths(why) => {
                let decision = Decision::new(file.path.clone(), Outcome::NotApplicable).because(why);
                self.decisions.push(decision.waiting());
                self.dormant.push(file);
                return Judged::NotApplicable;
            }
            Applicability::OtherAudience(why) => {
                let decision = Decision::new(file.path, Outcome::NotApplicable).because(why);
                self.decisions.push(decision.waiting());
                return Judged::NotApplicable;
            }
        }
        self.seen.insert(identity, file.decision);
        let mut decision = Decision::new(file.path.clone(), Outcome::Used);
        decision.detail = via.map(str::to_owned);
        self.decisions.push(decision);
        Judged::Taken(file)
    }

    /// Whether nothing of this path was read before. Rules go by where links lead, and are told apart from other files.
    fn is_first_of_its_path(&mut self, file: &Chosen) -> bool {
        match file.folder {
            Some(_) => {
                let real = file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
                self.seen_rules.insert(real)
            }
            None => self.seen_paths.insert(file.path.clone()),
        }
    }

    /// Whether a file applies, by what it says itself.
    fn applicability(&self, file: &Chosen) -> Applicability {
        let settings = self.request.settings;
        let Some(conditions) = &file.content.markup(settings.profile).conditions else {
            return Applicability::Always;
        };
        if let Some(audience) = conditions.audience.filter(|audience| *audience != settings.audience) {
            return Applicability::OtherAudience(match audience {
                Audience::Main => "it is for the main agent alone (audience: main)".to_owned(),
                Audience::Delegate => {
                    "it is for agents that others give work to (audience: delegate)".to_owned()
                }
            });
        }
        let Some(rule) = &conditions.applies_to else { return Applicability::Always };
        // The user's own directory has no sources in it; what an import applies to is a matter of who imports it.
        let owner = file.imported_by.as_deref().unwrap_or(&file.path);
        let base = match file.origin {
            Origin::Home => &self.top,
            Origin::Project => owner.parent().unwrap_or(owner),
        };
        if rule.matches(self.target, base) {
            return Applicability::Rule;
        }
        let globs = rule.describe();
        let base = base.display();
        let how = if settings.resolver_enabled() {
            "; it is brought in when a path that matches is touched"
        } else {
            ""
        };
        Applicability::OtherPaths(format!("it applies to {globs} below {base}{how}"))
    }
}
