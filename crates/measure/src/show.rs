//! Numbers formatted for readers.

use std::time::Duration;

/// Formats a time in a suitable unit with three digits.
pub fn show_time(time: Duration) -> String {
    let nanoseconds = time.as_nanos() as f64;
    let (value, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        ..1e6 => (nanoseconds / 1e3, "µs"),
        ..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats bytes in a suitable unit with three digits.
pub fn show_bytes(bytes: u64) -> String {
    const KIBIBYTE: f64 = (1_u64 << 10) as f64;
    const MEBIBYTE: f64 = (1_u64 << 20) as f64;
    const GIBIBYTE: f64 = (1_u64 << 30) as f64;
    let bytes = bytes as f64;
    let (value, unit) = match bytes {
        ..MEBIBYTE => (bytes / KIBIBYTE, "KiB"),
        ..GIBIBYTE => (bytes / MEBIBYTE, "MiB"),
        _ => (bytes / GIBIBYTE, "GiB"),
    };
    format!("{} {unit}", three_digits(value))
}

pub fn show_ratio(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// Formats a count with separated thousands.
pub fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatted_numbers_are_short() {
        assert_eq!(show_time(Duration::from_nanos(7)), "7.00 ns");
        assert_eq!(show_time(Duration::from_nanos(45_678)), "45.7 µs");
        assert_eq!(show_time(Duration::from_millis(123)), "123 ms");
        assert_eq!(show_time(Duration::from_millis(1_234)), "1.23 s");
        assert_eq!(show_bytes(2_048), "2.00 KiB");
        assert_eq!(show_bytes(20 << 20), "20.0 MiB");
        assert_eq!(show_bytes(3 << 30), "3.00 GiB");
        assert_eq!(show_ratio(1.254), "1.25×");
        assert_eq!(show_count(7), "7");
        assert_eq!(show_count(1_234_567), "1,234,567");
        assert_eq!(show_count(100_000), "100,000");
    }
}
