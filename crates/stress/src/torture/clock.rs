//! Gateways whose clocks differ.

/// Offsets of the gateways' clocks from the machine's, in seconds.
// A minute is longer than the leases of turns and jobs. If a gateway compared them with its own clock, it would take
// over work that is still running.
const SHIFTS: [i64; 3] = [-60, 0, 60];

/// Returns the clock offset of a gateway.
pub(crate) fn shift(node: usize) -> i64 {
    SHIFTS[node % SHIFTS.len()]
}
