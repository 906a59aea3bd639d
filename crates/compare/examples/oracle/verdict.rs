//! Comparison of a request with the blocks of our profile.

use instructions::{Block, ResolveError};

use crate::layout::MARK;
use crate::model::Sent;

pub(crate) enum Verdict {
    Agrees,
    /// In words.
    Differs(String),
}

impl Verdict {
    pub(crate) fn of(ours: Result<&[Block], &ResolveError>, sent: Option<&Sent>) -> Self {
        let (blocks, sent) = match (ours, sent) {
            // The profile predicts that the agent does not start, and it did not.
            (Err(_), None) => return Self::Agrees,
            (Err(error), Some(_)) => return Self::Differs(format!("it starts, and we say: {error}")),
            (Ok(_), None) => return Self::Differs("it sent nothing".to_owned()),
            (Ok(blocks), Some(sent)) => (blocks, sent),
        };
        for block in blocks {
            let role = serde_json::to_value(block.role).unwrap_or_default();
            let is_there =
                |(sent_as, text): &&(String, String)| role == sent_as.as_str() && text.contains(&block.text);
            if !sent.texts.iter().any(|text| is_there(&text)) {
                let ours = marks(std::iter::once(block.text.as_str()));
                let theirs = marks(sent.texts.iter().map(|(_, text)| text.as_str()));
                let why = if ours == theirs { "in other words, or another role" } else { "otherwise" };
                return Self::Differs(format!("a block of ours is there {why}: {ours:?}, sent {theirs:?}"));
            }
        }
        let ours = marks(blocks.iter().map(|block| block.text.as_str()));
        let theirs = marks(sent.texts.iter().map(|(_, text)| text.as_str()));
        let sorted = |mut marks: Vec<String>| {
            marks.sort();
            marks
        };
        if sorted(ours.clone()) == sorted(theirs.clone()) {
            return Self::Agrees;
        }
        Self::Differs(format!("it sends more: ours {ours:?}, sent {theirs:?}"))
    }
}

/// Returns the marks of files in texts, in order.
fn marks<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let of_one = |text: &'a str| {
        text.match_indices(MARK).map(move |(at, _)| {
            let digits = text[at + MARK.len()..].chars().take_while(char::is_ascii_digit);
            digits.collect::<String>()
        })
    };
    texts.flat_map(of_one).collect()
}
