//! The table `[skills]` of the configuration.

use std::path::PathBuf;

use crate::activation::Implicit;

/// Settings for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSettings {
    /// Enables skills.
    pub enabled: bool,
    /// Offers skills that nothing selects.
    pub implicit: bool,
    /// Additional folders of skills, which count as the user's own.
    pub folders: Vec<PathBuf>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self { enabled: true, implicit: true, folders: Vec::new() }
    }
}

impl SkillSettings {
    /// Returns the treatment of skills that nothing selects.
    pub fn implicit(&self) -> Implicit {
        if self.implicit { Implicit::Offered } else { Implicit::LeftOut }
    }
}
