//! The memory policy of a turn: settings, and requests of the user in this turn.

use std::sync::LazyLock;

use crate::MemorySettings;
use crate::terms::sequence;

/// Allowed uses of memory in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The model may see memories.
    pub recall: bool,
    /// The turn may add memories.
    pub remember: bool,
}

impl Policy {
    /// Returns the policy of a turn, which the user may have marked as off the record. Existing memories are never
    /// deleted by it.
    pub fn of(settings: &MemorySettings, is_off_the_record: bool) -> Self {
        Self { recall: settings.enabled, remember: settings.enabled && !is_off_the_record }
    }
}

/// Phrases that ask not to remember a message. They are compared word by word, without accents and apostrophes, so that
/// typing habits do not matter.
// "I don't remember" must not match, so each phrase names its object or an action.
const PHRASES: &[&str] = &[
    "don't remember this",
    "don't remember that",
    "don't remember it",
    "don't remember any of this",
    "don't remember anything",
    "do not remember this",
    "do not remember that",
    "do not remember it",
    "do not remember any of this",
    "do not remember anything",
    "please don't remember",
    "please do not remember",
    "don't save this",
    "do not save this",
    "don't store this",
    "do not store this",
    "don't memorize this",
    "don't memorise this",
    "off the record",
    "keep this out of memory",
    "keep this out of your memory",
    "merk dir das nicht",
    "merke dir das nicht",
    "nicht merken",
    "ne retiens pas",
    "n'enregistre pas ceci",
    "no recuerdes esto",
    "no guardes esto",
    "non ricordare questo",
    "não guarde isto",
    "не запоминай",
    "别记住",
    "不要记住",
    "不要記住",
    "覚えないで",
    "기억하지 마",
];

/// Subjects of "don't remember this" that make it a statement about forgetting instead of a request.
const SPEAKERS: &[&str] = &["i", "we", "you", "they", "who", "people"];

/// [`PHRASES`], split into words once, because each message of each turn is compared with all of them.
static PHRASE_WORDS: LazyLock<Vec<Vec<String>>> =
    LazyLock::new(|| PHRASES.iter().map(|phrase| sequence(phrase).collect()).collect());

/// Returns the phrase with which a message asks not to be remembered, as the list of phrases spells it.
pub fn phrase_against_remembering(message: &str) -> Option<&'static str> {
    let said: Vec<String> = sequence(message).collect();
    let is_in = |phrase: &Vec<String>| {
        said.windows(phrase.len()).enumerate().any(|(place, here)| {
            let speaker = place.checked_sub(1).and_then(|before| said.get(before));
            here == phrase.as_slice() && !speaker.is_some_and(|word| SPEAKERS.contains(&word.as_str()))
        })
    };
    PHRASES.iter().zip(PHRASE_WORDS.iter()).find(|(_, words)| is_in(words)).map(|(phrase, _)| *phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_anywhere_in_any_case() {
        for message in [
            "Don't remember this: my PIN is 1234",
            "My salary is 5. Please do NOT remember that.",
            "off the record, the launch slips",
            "Das ist privat, bitte nicht merken!",
            "dont remember this",
            "这是秘密，不要记住",
            "これは覚えないでください",
        ] {
            assert!(phrase_against_remembering(message).is_some(), "{message}");
        }
    }

    #[test]
    fn other_messages_are_no_such_phrase() {
        for message in [
            "I don't remember this function, where is it?",
            "remember this: tabs",
            "why don't you remember?",
            "forget everything",
            "",
        ] {
            assert!(phrase_against_remembering(message).is_none(), "{message}");
        }
    }

    #[test]
    fn settings_and_phrases_narrow() {
        let on = MemorySettings::default();
        assert_eq!(Policy::of(&on, false), Policy { recall: true, remember: true });
        assert_eq!(Policy::of(&on, true), Policy { recall: true, remember: false });
        let off = MemorySettings { enabled: false, ..on };
        assert_eq!(Policy::of(&off, false), Policy { recall: false, remember: false });
    }
}
