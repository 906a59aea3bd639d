//! What a server's tool is called where models call it.

use protocol::ContentHash;
use tools::MAX_NAME_CHARS;

/// Hexadecimal digits that tell names apart which had to be changed.
const DIGITS: usize = 8;

/// `mcp__{server}__{tool}`, as model APIs take it. A name that has to be changed for that ends with digits of its digest, so
/// that two of them stay two.
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
    fn names_fit_and_stay_apart() {
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
