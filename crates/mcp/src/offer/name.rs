//! Names of servers' tools for models.

use protocol::ContentHash;
use tools::MAX_NAME_CHARS;

/// Hexadecimal digits that distinguish changed names.
const DIGITS: usize = 8;

/// Returns `mcp__{server}__{tool}` in a form that model APIs accept. A name that must be changed ends with digits of its digest,
/// so that different names stay different.
pub(crate) fn fitted(server: &str, tool: &str) -> String {
    let wanted = format!("mcp__{server}__{tool}");
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if wanted.len() <= MAX_NAME_CHARS && wanted.chars().all(is_allowed) && !tool.is_empty() {
        return wanted;
    }
    let digest = ContentHash::of(&wanted);
    let replaced = wanted.chars().map(|character| if is_allowed(character) { character } else { '_' });
    let kept: String = replaced.take(MAX_NAME_CHARS - DIGITS - 1).collect();
    format!("{kept}_{}", &digest.as_str()[..DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_distinct() {
        assert_eq!(fitted("git", "log"), "mcp__git__log");
        let long = [fitted("git", &"a".repeat(80)), fitted("git", &format!("{}b", "a".repeat(79)))];
        assert!(long.iter().all(|name| name.len() == MAX_NAME_CHARS), "{long:?}");
        assert_ne!(long[0], long[1]);
        let odd = ["read file", "read/file", "lé", "", "a\nb"].map(|tool| fitted("files", tool));
        for name in &odd {
            assert!(name.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it)), "{name}");
        }
        assert_ne!(odd[0], odd[1]);
    }
}
