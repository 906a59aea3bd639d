//! Which known name somebody probably meant, for "did you mean".

use strsim::normalized_damerau_levenshtein;

/// How alike two names must be to be taken for one another, from 0 to 1.
const ALIKE: f64 = 0.6;
/// How alike names must be that people chose, and remember by their sound.
const PLAUSIBLE: f64 = 0.4;
/// Comparing costs the square of the length.
const MAX_COMPARED: usize = 64;

/// The known name that is nearest to `wanted`, however far it is.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).map(|(_, name)| name)
}

/// The known name that is nearest to `wanted`, if it is like it at all.
pub fn similar<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, name)| name)
}

/// The known name that was probably meant, if any: less alike than [`similar`] asks for, because names that people chose are
/// few and are remembered by their sound.
pub fn plausible<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).filter(|(likeness, _)| *likeness >= PLAUSIBLE).map(|(_, name)| name)
}

/// A right last part (`max_bytes` for `agents.initial.max_bytes`) counts as much as the whole, because keys are often
/// written in the wrong table.
fn scored<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    let wanted: String = wanted.chars().take(MAX_COMPARED).flat_map(char::to_lowercase).collect();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let whole = normalized_damerau_levenshtein(&wanted, &name);
        let last = normalized_damerau_levenshtein(last_part(&wanted), last_part(&name));
        (whole + last) / 2.0
    };
    let scored = known.into_iter().map(|name| (likeness(name), name));
    scored.max_by(|(one, _), (other, _)| one.total_cmp(other))
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_alike_is_suggested() {
        let known = ["read_file", "write_file", "list_dir"];
        assert_eq!(similar("Read_File", known), Some("read_file"));
        assert_eq!(similar("raed_file", known), Some("read_file"));
        assert_eq!(similar("shell", known), None);
        assert!(nearest("shell", known).is_some());
        assert_eq!(nearest("x", []), None);
        assert_eq!(similar(&"read_file".repeat(100_000), known), None, "a long name costs nothing");
    }
}
