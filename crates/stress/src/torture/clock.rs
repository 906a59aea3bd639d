//! Gateways whose clocks differ.

/// How far gateways are from the machine's clock, in seconds, one after another.
const SHIFTS: [i64; 3] = [-60, 0, 60];

/// The shift of a gateway, by its number.
pub(crate) fn shift(node: usize) -> i64 {
    SHIFTS[node % SHIFTS.len()]
}
