//! The number of a request.

/// Which of a state machine's requests an answer is about. A request that was given up may be answered all the same, when
/// another one is under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNumber(u64);

impl RequestNumber {
    /// The number of another request.
    pub(crate) fn next(&mut self) -> Self {
        self.0 += 1;
        *self
    }
}
