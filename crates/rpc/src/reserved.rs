//! Memory set aside for an answer until its last byte was handed to the transport.

use tokio::sync::OwnedSemaphorePermit;

/// Unit in which memory is counted.
pub const UNIT: usize = 1024;
/// Answers up to this size are not counted: connections are limited, so these cannot use much, and a client whose answers
/// are small must not wait for one whose answers are large.
pub const SMALL: usize = 16 * 1024;

/// Shares of one or more limits, released on drop.
#[derive(Debug, Default)]
pub struct Reserved(Vec<OwnedSemaphorePermit>);

impl Reserved {
    /// Holds permits of [`UNIT`] bytes each, the same number of every limit.
    pub fn new(permits: impl IntoIterator<Item = OwnedSemaphorePermit>) -> Self {
        Self(permits.into_iter().collect())
    }

    /// Releases what an answer of this size does not need.
    pub fn shrink_to(&mut self, bytes: usize) {
        let needed = if bytes <= SMALL { 0 } else { bytes.div_ceil(UNIT) };
        for permit in &mut self.0 {
            drop(permit.split(permit.num_permits().saturating_sub(needed)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn what_an_answer_does_not_need_is_released() {
        let limit = Arc::new(Semaphore::new(100));
        let permit = Arc::clone(&limit).try_acquire_many_owned(100).unwrap();
        let mut reserved = Reserved::new([permit]);
        reserved.shrink_to(40 * UNIT);
        assert_eq!(limit.available_permits(), 60);
        reserved.shrink_to(50 * UNIT);
        assert_eq!(limit.available_permits(), 60, "it never grows");
        reserved.shrink_to(SMALL);
        assert_eq!(limit.available_permits(), 100);
    }
}
