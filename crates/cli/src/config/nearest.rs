//! Which known name somebody probably meant.

use strsim::normalized_damerau_levenshtein;

/// The known name that is nearest to `wanted`. A right last part (`max_bytes` for `agents.initial.max_bytes`)
/// counts as much as the whole, because keys are often written in the wrong table.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        normalized_damerau_levenshtein(&wanted, &name)
            + normalized_damerau_levenshtein(last_part(&wanted), last_part(&name))
    };
    known
        .map(|name| (name, likeness(name)))
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(name, _)| name)
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::table::KEYS;

    #[test]
    fn typing_mistakes_and_wrong_tables_lead_to_the_key_that_was_meant() {
        let cases = [
            ("gatway.listen", "gateway.listen"),
            ("gateway.lisen", "gateway.listen"),
            ("Gateway.Listen", "gateway.listen"),
            ("max_bytes", "agents.initial.max_bytes"),
            ("agents.max_files", "agents.initial.max_files"),
            ("agents.markers", "agents.root.markers"),
            ("agents.fallback_file_names", "agents.fallback_filenames"),
            ("gateway.database_url", "gateway.database"),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(wanted, KEYS.iter().map(|key| key.path)), Some(expected), "for {wanted}");
        }
    }
}
