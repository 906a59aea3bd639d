//! Name suggestions for "did you mean".

use strsim::normalized_damerau_levenshtein;

/// Least similarity of a suggestion, from 0 to 1.
const ALIKE: f64 = 0.6;
/// Least similarity of a suggestion among names that people chose. They are few, and are misremembered by
/// their sound.
const PLAUSIBLE: f64 = 0.4;
/// Most characters compared. The cost grows with the square of the length.
const MAX_COMPARED: usize = 64;

/// Returns the known name nearest to `wanted`, however different it is.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).map(|(_, name)| name)
}

/// Returns the known name nearest to `wanted`, if it is similar.
pub fn similar<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, name)| name)
}

/// Returns the known name that was probably meant, with a lower threshold than [`similar`].
pub fn plausible<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    scored(wanted, known).filter(|(likeness, _)| *likeness >= PLAUSIBLE).map(|(_, name)| name)
}

/// Returns the best match and its score. The last part of a dotted key counts as much as the whole
/// (`max_bytes` for `agents.initial.max_bytes`), because keys are often written in the wrong table.
fn scored<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<(f64, &'a str)> {
    // Cut before comparing, because the text comes from users and models and its length is not limited
    // elsewhere.
    let wanted: String = wanted.chars().take(MAX_COMPARED).flat_map(char::to_lowercase).collect();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let whole = normalized_damerau_levenshtein(&wanted, &name);
        let last = normalized_damerau_levenshtein(last_part(&wanted), last_part(&name));
        (whole + last) / 2.0
    };
    let scored = known.into_iter().map(|name| (likeness(name), name));
    // `total_cmp` orders every float. Both parts of the score are numbers for empty names as well.
    scored.max_by(|(one, _), (other, _)| one.total_cmp(other))
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let known = ["read_file", "write_file", "list_dir"];
        assert_eq!(similar("Read_File", known), Some("read_file"));
        assert_eq!(similar("raed_file", known), Some("read_file"));
        assert_eq!(similar("shell", known), None);
        assert!(nearest("shell", known).is_some());
        assert_eq!(nearest("x", []), None);
        assert_eq!(similar(&"read_file".repeat(100_000), known), None, "a long name costs nothing");
    }
}
