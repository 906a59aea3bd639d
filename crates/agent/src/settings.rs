//! What a gateway tells its agent once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use instructions::{FOREWORD, Profile, Surroundings};
use prompt::{Budgets, PromptProfile};

/// All of it.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where `SOUL.md`, `IDENTITY.md` and `USER.md` are.
    pub home: PathBuf,
    /// How instruction files on disk are found, where a workspace does not say otherwise.
    pub files: FileSettings,
    /// How prompts are compiled.
    pub prompt: PromptSettings,
}

/// How instruction files on disk are found.
#[derive(Debug, Clone)]
pub struct FileSettings {
    /// By which rules.
    pub profile: &'static Profile,
    /// With which settings.
    pub settings: instructions::Settings,
    /// Among which other directories.
    pub surroundings: Surroundings,
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            profile: &FOREWORD,
            settings: instructions::Settings::default(),
            surroundings: Surroundings::default(),
        }
    }
}

/// How prompts are compiled.
#[derive(Debug, Clone)]
pub struct PromptSettings {
    /// How much is made.
    pub profile: PromptProfile,
    /// Sections that are switched off.
    pub disabled_sections: BTreeSet<String>,
    /// How long everything may be.
    pub budgets: Budgets,
    /// Whether the model is told how AGENTS files of nested directories relate.
    pub nested_scope_rules: bool,
    /// Whether the time stands beside the date.
    pub time: Clock,
    /// How long the texts of sections are kept.
    pub keep_texts: KeepTexts,
}

impl Default for PromptSettings {
    fn default() -> Self {
        Self {
            profile: PromptProfile::Full,
            disabled_sections: BTreeSet::new(),
            budgets: Budgets::default(),
            nested_scope_rules: false,
            time: Clock::Date,
            keep_texts: KeepTexts::For(Duration::from_secs(90 * 24 * 60 * 60)),
        }
    }
}

/// What a prompt says about the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The date.
    Date,
    /// The date and the time, which is another one in every turn.
    DateAndTime,
}

/// How long the texts of sections are kept, so that a past prompt can be rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepTexts {
    /// Not at all.
    No,
    /// For so long after they were last used.
    For(Duration),
}
