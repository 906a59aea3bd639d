//! `[memory]` of the configuration.

/// Settings for memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// Enables recall and the memory tools.
    pub enabled: bool,
    /// Hides the memory tools until a model requests them.
    pub hidden: bool,
    /// Extracts memories after each turn with another call to a model.
    pub extract: bool,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { enabled: true, hidden: true, extract: false }
    }
}
