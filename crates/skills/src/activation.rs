//! Which skills a turn gets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::Target;
use protocol::{SkillOutcome, SkillReason, SkillSummary};

use crate::catalogue::Catalogue;
use crate::skill::Skill;

/// Whether skills are offered that nothing asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Implicit {
    /// All that can be used and are for no paths in particular.
    #[default]
    Offered,
    /// Only those that a turn names or a path matches.
    LeftOut,
}

/// What a turn is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Situation<'a> {
    /// Slugs that the turn names.
    pub selected: &'a [String],
    /// Where it works.
    pub cwd: Option<&'a Path>,
    /// Files that were touched in its thread.
    pub touched: &'a [PathBuf],
    /// Whether the others are offered.
    pub implicit: Implicit,
}

/// Every skill with what became of it in a turn.
#[derive(Debug, Clone)]
pub struct Activation {
    catalogue: Arc<Catalogue>,
    outcomes: Vec<(SkillOutcome, SkillReason)>,
}

impl Catalogue {
    /// Decides which skills a turn gets.
    pub fn activate(self: &Arc<Self>, situation: &Situation<'_>) -> Activation {
        let decide = |skill: &Skill| skill.verdict().unwrap_or_else(|| decide(skill, situation));
        Activation { catalogue: Arc::clone(self), outcomes: self.skills().iter().map(decide).collect() }
    }
}

fn decide(skill: &Skill, situation: &Situation<'_>) -> (SkillOutcome, SkillReason) {
    if situation.selected.contains(&skill.slug) {
        return (SkillOutcome::Active, SkillReason::Selected);
    }
    let Some(front_matter) = &skill.front_matter else {
        return (SkillOutcome::Disabled, SkillReason::NotImplicit);
    };
    if front_matter.is_explicit {
        return (SkillOutcome::Disabled, SkillReason::NotImplicit);
    }
    match (&front_matter.applies_to, situation.implicit) {
        (Some(globs), _) => {
            let matches = |target| skill.base.as_deref().is_some_and(|base| globs.matches(target, base));
            let is_matched = situation.cwd.is_some_and(|cwd| matches(Target::Directory(cwd)))
                || situation.touched.iter().any(|file| matches(Target::File(file)));
            if is_matched {
                (SkillOutcome::Active, SkillReason::PathMatched)
            } else {
                (SkillOutcome::Disabled, SkillReason::NoPathMatched)
            }
        }
        (None, Implicit::Offered) => (SkillOutcome::Active, SkillReason::Implicit),
        (None, Implicit::LeftOut) => (SkillOutcome::Disabled, SkillReason::NotImplicit),
    }
}

impl Activation {
    /// What it was decided from.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Every skill and what became of it, nearest first.
    pub fn outcomes(&self) -> impl Iterator<Item = (&Skill, SkillOutcome, SkillReason)> {
        let skills = self.catalogue.skills().iter();
        skills.zip(&self.outcomes).map(|(skill, (outcome, reason))| (skill, *outcome, *reason))
    }

    /// The skills that a model is told of: first those that the turn names, then those for its paths, then the others.
    pub fn active(&self) -> Vec<(&Skill, SkillReason)> {
        let active = self.outcomes().filter(|(_, outcome, _)| *outcome == SkillOutcome::Active);
        let mut active: Vec<(&Skill, SkillReason)> =
            active.map(|(skill, _, reason)| (skill, reason)).collect();
        active.sort_by_key(|(_, reason)| match reason {
            SkillReason::Selected => 0,
            SkillReason::PathMatched => 1,
            _ => 2,
        });
        active
    }

    /// The skills that a model is not told of, up to so many, and how many more there are.
    pub fn inactive(&self, limit: usize) -> (Vec<SkillSummary>, usize) {
        let inactive = || self.outcomes().filter(|(_, outcome, _)| *outcome != SkillOutcome::Active);
        let more = inactive().skip(limit).count();
        (
            inactive().take(limit).map(|(skill, outcome, reason)| skill.summary(outcome, reason)).collect(),
            more,
        )
    }

    /// Every skill as others are told it, nearest first.
    pub fn summaries(&self) -> Vec<SkillSummary> {
        self.outcomes().map(|(skill, outcome, reason)| skill.summary(outcome, reason)).collect()
    }
}
