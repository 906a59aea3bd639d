//! From text to the terms that it is indexed and looked for by: the same in every script, and on every database.
//!
//! Databases cut texts into words by rules of their own, which differ between them and between their versions. So they are
//! given terms that are cut already, and that none of them has a reason to cut again: letters, digits and the marks that
//! belong to them, in small letters.

mod fold;

use std::collections::{BTreeMap, BTreeSet};

use self::fold::{Kind, fold, kind};

/// Most characters of a term. What is longer is nobody's word, and PostgreSQL takes no more than two thousand bytes.
pub const MAX_TERM_CHARS: usize = 64;
/// Most terms of a query; the rest of a longer one does not count.
pub const MAX_QUERY_TERMS: usize = 64;

/// The terms of a text, each with the places where it is, from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexTerms {
    places: BTreeMap<String, Vec<u32>>,
}

/// The terms to look for, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryTerms {
    terms: Vec<String>,
}

impl IndexTerms {
    /// The terms that a text is found by.
    pub fn of(text: &str) -> Self {
        let mut places: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut place = 0;
        for run in runs(text) {
            match run {
                Run::Word(word) => {
                    place += 1;
                    places.entry(word).or_default().push(place);
                }
                // A single character is a term too, because it may be looked for alone.
                Run::Unspaced(characters) => {
                    for (index, character) in characters.iter().enumerate() {
                        place += 1;
                        places.entry(character.clone()).or_default().push(place);
                        if let Some(next) = characters.get(index + 1) {
                            places.entry(format!("{character}{next}")).or_default().push(place);
                        }
                    }
                }
            }
        }
        Self { places }
    }

    /// Each term, and the places where it is, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.places.iter().map(|(term, places)| (term.as_str(), places.as_slice()))
    }

    /// Whether a term is among them.
    pub fn contains(&self, term: &str) -> bool {
        self.places.contains_key(term)
    }

    /// How many different terms there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nothing could find the text.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl QueryTerms {
    /// The terms of what somebody looks for, in their order.
    pub fn of(text: &str) -> Self {
        let mut seen = BTreeSet::new();
        let terms = sequence(text).filter(|term| seen.insert(term.clone())).take(MAX_QUERY_TERMS);
        Self { terms: terms.collect() }
    }

    /// The terms, in the order in which they were asked for.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(String::as_str)
    }

    /// How many different terms there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// The terms of a text in their order, repeated ones too: words, and pairs of characters where nothing parts words.
pub(crate) fn sequence(text: &str) -> impl Iterator<Item = String> {
    runs(text).flat_map(|run| match run {
        Run::Word(word) => vec![word],
        Run::Unspaced(characters) if characters.len() == 1 => characters,
        Run::Unspaced(characters) => characters.windows(2).map(|pair| pair.concat()).collect(),
    })
}

/// Characters that belong together.
#[derive(Debug, PartialEq, Eq)]
enum Run {
    /// A word of a script that puts something between its words.
    Word(String),
    /// Characters of a script that does not, each with the marks that belong to it.
    Unspaced(Vec<String>),
}

/// The runs of a text, in order.
fn runs(text: &str) -> impl Iterator<Item = Run> {
    let mut characters = fold(text).peekable();
    std::iter::from_fn(move || {
        loop {
            let first = characters.next()?;
            match kind(first) {
                Kind::Between => {}
                // A mark without anything that it could belong to.
                Kind::Mark | Kind::Ignored => {}
                Kind::Spaced => {
                    let mut word = String::from(first);
                    let mut length = 1;
                    while let Some(next) = characters
                        .next_if(|next| matches!(kind(*next), Kind::Spaced | Kind::Mark | Kind::Ignored))
                    {
                        if kind(next) != Kind::Ignored && length < MAX_TERM_CHARS {
                            word.push(next);
                            length += 1;
                        }
                    }
                    return Some(Run::Word(word));
                }
                Kind::Unspaced => {
                    let mut all = vec![String::from(first)];
                    while let Some(next) = characters
                        .next_if(|next| matches!(kind(*next), Kind::Unspaced | Kind::Mark | Kind::Ignored))
                    {
                        match (kind(next), all.last_mut()) {
                            (Kind::Mark, Some(last)) if last.chars().count() < MAX_TERM_CHARS / 2 => {
                                last.push(next);
                            }
                            (Kind::Mark | Kind::Ignored, _) => {}
                            _ => all.push(String::from(next)),
                        }
                    }
                    return Some(Run::Unspaced(all));
                }
            }
        }
    })
}

#[cfg(test)]
mod tests;
