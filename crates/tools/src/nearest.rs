//! The known name that somebody probably meant.

/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.6;

/// The name most like `name`, if one is like it at all.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // What is compared with costs its square.
    let name: String = name.chars().take(64).collect();
    let scored = known.into_iter().map(|known| (strsim::normalized_damerau_levenshtein(&name, known), known));
    scored.filter(|(score, _)| *score >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
