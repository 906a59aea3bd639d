//! What an id may look like: it stands in errors, records and manifests.

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// Whether a text can be an id: visible ASCII, neither empty nor longer than [`MAX_ID_BYTES`].
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_ID_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        for good in ["a", "foreword.thread_agents_doc_prompt", "mcp/server:1"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", " ", "a b", "a\n", "é", &"x".repeat(MAX_ID_BYTES + 1)] {
            assert!(!is_id(bad), "{bad:?}");
        }
    }
}
