//! Request numbers.

/// Identifies a request of a state machine. An abandoned request may still be answered while another one is in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestNumber(u64);

impl RequestNumber {
    /// Returns the next number.
    pub(crate) fn next(&mut self) -> Self {
        self.0 += 1;
        *self
    }
}
