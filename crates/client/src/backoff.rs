//! Pauses between retries.

use std::time::Duration;

/// The pause after the first failure.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Returns the pause after `failures` consecutive failures.
pub(crate) fn pause(failures: u32) -> Duration {
    // The exponent is capped because `failures` may be any number: a larger power would overflow long before
    // the pause is cut to the longest one.
    let doublings = failures.saturating_sub(1).min(16);
    (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_longest_one() {
        let pauses: Vec<u128> = (0..8).map(|failures| pause(failures).as_millis()).collect();
        assert_eq!(pauses, [200, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }
}
