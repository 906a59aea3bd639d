//! `[memory]` of the configuration.

/// Whether turns have memory, and what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySettings {
    /// Whether models are told of what is remembered, and have tools for it.
    pub enabled: bool,
    /// Whether its tools are in a request only once a model has asked for them.
    pub hidden: bool,
    /// Whether a model is asked after each turn what of it to remember.
    pub extract: bool,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { enabled: true, hidden: true, extract: false }
    }
}
