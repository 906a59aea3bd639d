//! What keeps an agent from starting.

/// Things in the place of an instruction file that an agent does not get past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traps {
    /// Whether it waits for ever for a pipe.
    pub pipe: bool,
    /// Whether a link that leads back to itself ends it.
    pub link_circle: bool,
}

impl Traps {
    pub(in crate::profile) const NONE: Self = Self { pipe: false, link_circle: false };
    pub(in crate::profile) const PIPE: Self = Self { pipe: true, ..Self::NONE };
}
