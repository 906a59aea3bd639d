//! Quoting for commands that people copy from our messages.

use std::borrow::Cow;

/// A word as a shell takes it literally, for commands that people copy from our messages.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@%+,".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', "'\\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(shell_word("/tmp/a-b_c.md"), "/tmp/a-b_c.md");
        assert_eq!(shell_word("my team"), "'my team'");
        assert_eq!(shell_word("it's $HOME"), "'it'\\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
