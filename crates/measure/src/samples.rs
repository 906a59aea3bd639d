//! Times of a subject and their quantiles.

use std::time::Duration;

/// Measured times, shortest first.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Sorts the given times.
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// Returns the time that half of the samples do not exceed.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Returns the time that the given part of the samples, from 0 to 1, does not exceed. Zero without samples.
    pub fn quantile(&self, part: f64) -> Duration {
        // Nearest rank rather than interpolation: every printed quantile is then a time that really occurred, and a few
        // samples do not yield a p99 that looks more precise than it is.
        let within = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(within.saturating_sub(1)).copied().unwrap_or_default()
    }

    pub fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }

    /// Returns the number of samples.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_times() {
        let samples = Samples::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(samples.median(), Duration::from_millis(50));
        assert_eq!(samples.quantile(0.99), Duration::from_millis(99));
        assert_eq!(samples.quantile(1.0), samples.max());
        assert_eq!(samples.quantile(0.0), Duration::from_millis(1));
        assert_eq!(Samples::default().median(), Duration::ZERO);
    }
}
