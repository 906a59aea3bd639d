//! Lookup by id, name, path, title, number, `last`, or the start of an id.

use protocol::plausible;

use crate::failure::Failure;

/// Words for a kind of item in messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    /// Command that lists the items.
    pub(crate) list: &'static str,
}

pub(crate) const WORKSPACE: Kind =
    Kind { one: "workspace", many: "workspaces", list: "foreword workspace list" };
pub(crate) const FOLDER: Kind = Kind { one: "folder", many: "folders", list: "foreword folder list" };
pub(crate) const THREAD: Kind = Kind { one: "thread", many: "threads", list: "foreword thread tree" };
pub(crate) const TURN: Kind = Kind { one: "turn", many: "turns", list: "foreword turn list THREAD" };

/// Name of the newest item.
pub(crate) const LAST: &str = "last";

/// Minimum length of an id prefix. A shorter one could be a mistyped name.
const MIN_PREFIX: usize = 4;
/// Maximum number of candidates in a message about an ambiguous name.
const MAX_LISTED: usize = 8;

/// An item that a name may refer to.
#[derive(Debug, Clone)]
pub(crate) struct Candidate<T> {
    pub(crate) value: T,
    pub(crate) id: String,
    /// Name or path of the item.
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    /// Distinguishes the item from others with the same name.
    pub(crate) about: Option<String>,
}

/// Returns true if a candidate matches in one particular way.
type Stage<'a, T> = &'a dyn Fn(&Candidate<T>) -> bool;

/// Returns the matching candidate. `None` if there is no match. Earlier stages win, so that an exact name is never taken
/// for the start of an id.
pub(crate) fn choose<T>(
    kind: Kind,
    named: &str,
    candidates: Vec<Candidate<T>>,
) -> Result<Option<T>, Failure> {
    // The first kind of match ends the search, so an item that is named in full is found even if ids of others
    // begin alike.
    let stages: [Stage<'_, T>; 4] = [
        &|candidate| candidate.id == named,
        &|candidate| candidate.name == named,
        &|candidate| candidate.title.as_deref() == Some(named),
        &|candidate| is_prefix(named, &candidate.id),
    ];
    for is_meant in stages {
        let meant: Vec<usize> = (0..candidates.len()).filter(|index| is_meant(&candidates[*index])).collect();
        match meant.as_slice() {
            [] => {}
            [one] => {
                let index = *one;
                return Ok(candidates.into_iter().nth(index).map(|candidate| candidate.value));
            }
            several => {
                let mut several: Vec<_> = several.iter().map(|index| &candidates[*index]).collect();
                // Ids are ordered by time, so the oldest candidate is listed first.
                several.sort_by(|one, other| one.id.cmp(&other.id));
                return Err(ambiguous(kind, named, &several));
            }
        }
    }
    Ok(None)
}

/// Creates the error for an unknown name, with a suggestion.
pub(crate) fn unknown<'a>(kind: Kind, named: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    let failure = Failure::usage(format!("there is no {} `{named}`", kind.one));
    let listed = format!("list {} with `{}`", kind.many, kind.list);
    // Any name is close to one of two letters, so a suggestion would be arbitrary.
    match plausible(named, known).filter(|_| named.chars().count() > 2) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")).hint(listed),
        None => failure.hint(listed),
    }
}

fn ambiguous<T>(kind: Kind, named: &str, meant: &[&Candidate<T>]) -> Failure {
    let count = meant.len();
    let failure = Failure::usage(format!("`{named}` matches {count} {}; use an id", kind.many));
    let listed = meant.iter().take(MAX_LISTED).fold(failure, |failure, candidate| {
        let called = candidate.title.as_ref().unwrap_or(&candidate.name);
        let about = candidate.about.as_ref().map_or_else(String::new, |about| format!("  {about}"));
        failure.hint(format!("{}  {called}{about}", candidate.id))
    });
    if count > MAX_LISTED { listed.hint(format!("and {} more", count - MAX_LISTED)) } else { listed }
}

/// Returns true if a text has the shape of a complete id.
pub(crate) fn is_id(text: &str) -> bool {
    // Ids are UUIDs, which have hyphens at fixed positions.
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// Returns true if a text may be the start of an id.
pub(crate) fn is_prefix(named: &str, id: &str) -> bool {
    named.len() >= MIN_PREFIX && named.len() < id.len() && id.starts_with(&named.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: &str, name: &str, title: &str) -> Candidate<String> {
        Candidate {
            value: id.to_owned(),
            id: id.to_owned(),
            name: name.to_owned(),
            title: Some(title.into()),
            about: None,
        }
    }

    fn chosen(named: &str) -> Result<Option<String>, Failure> {
        let candidates = vec![
            candidate("0190aaaa-1", "web/fix", "fix"),
            candidate("0190aaab-2", "api/fix", "fix"),
            candidate("0190bbbb-3", "0190aaaa", "plan"),
        ];
        choose(THREAD, named, candidates)
    }

    #[test]
    fn earlier_stages_win() {
        assert_eq!(chosen("0190aaab-2").unwrap().as_deref(), Some("0190aaab-2"), "an id");
        assert_eq!(chosen("web/fix").unwrap().as_deref(), Some("0190aaaa-1"), "a path");
        assert_eq!(chosen("plan").unwrap().as_deref(), Some("0190bbbb-3"), "a title");
        assert_eq!(
            chosen("0190aaaa").unwrap().as_deref(),
            Some("0190bbbb-3"),
            "a name that looks like an id"
        );
        assert_eq!(chosen("0190AAAB").unwrap().as_deref(), Some("0190aaab-2"), "the start of an id");
    }

    #[test]
    fn ambiguous_names_list_the_candidates() {
        let failure = chosen("fix").unwrap_err();
        assert_eq!(failure.message, "`fix` matches 2 threads; use an id");
        assert_eq!(failure.hints, ["0190aaaa-1  fix", "0190aaab-2  fix"]);
        assert_eq!(chosen("0190").unwrap_err().hints.len(), 3);
    }

    #[test]
    fn short_or_unknown_names_match_nothing() {
        for named in ["019", "", "nothing", "0190aaaa-12"] {
            assert_eq!(chosen(named).unwrap(), None, "{named}");
        }
        let failure = unknown(WORKSPACE, "dmeo", ["demo", "other"]);
        assert_eq!(failure.message, "there is no workspace `dmeo`");
        assert_eq!(failure.hints[0], "did you mean `demo`?");
        assert_eq!(unknown(WORKSPACE, "sight", ["docs", "site"]).hints[0], "did you mean `site`?");
        assert_eq!(unknown(WORKSPACE, "nosuch", ["Agent one"]).hints.len(), 1, "no name is similar");
    }
}
