//! From text to the terms that it is indexed and looked for by: the same in every script, and on every database.
//!
//! Databases cut texts into words by rules of their own, which differ between them and between their versions. So they are
//! given terms that are cut already, and that none of them has a reason to cut again: letters, digits and the marks that
//! belong to them, in small letters.

mod fold;

use std::collections::{BTreeMap, BTreeSet};

use self::fold::{CharacterKind, fold, kind};

/// Characters of a term.
// Longer ones are not words, and PostgreSQL rejects those above 2,000 bytes.
pub const MAX_TERM_CHARS: usize = 64;
/// Terms of a query. Further ones are ignored.
pub const MAX_QUERY_TERMS: usize = 64;

/// The terms of a text, each with its positions from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexTerms {
    places: BTreeMap<String, Vec<u32>>,
}

/// The terms of a query, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryTerms {
    terms: Vec<String>,
}

impl IndexTerms {
    /// Returns the terms that a text is found by.
    pub fn of(text: &str) -> Self {
        let mut places: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut place = 0;
        for run in runs(text) {
            match run {
                Run::Word(word) => {
                    place += 1;
                    places.entry(word).or_default().push(place);
                }
                // A single character is a term too, because it may be searched for alone.
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

    /// Returns each term with its positions, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.places.iter().map(|(term, places)| (term.as_str(), places.as_slice()))
    }

    /// Returns true if the text has this term.
    pub fn contains(&self, term: &str) -> bool {
        self.places.contains_key(term)
    }

    /// Returns the number of different terms.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if the text has no terms, so that no query finds it.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

impl QueryTerms {
    /// Returns the terms of a query in their order.
    pub fn of(text: &str) -> Self {
        let mut seen = BTreeSet::new();
        let terms = sequence(text).filter(|term| seen.insert(term.clone())).take(MAX_QUERY_TERMS);
        Self { terms: terms.collect() }
    }

    /// Returns the terms in the order of the query.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(String::as_str)
    }

    /// Returns the number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Returns true if the query has no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// Returns all terms of a text in order, with repetitions: words, and pairs of characters in scripts that do not
/// separate words.
pub(crate) fn sequence(text: &str) -> impl Iterator<Item = String> {
    runs(text).flat_map(|run| match run {
        Run::Word(word) => vec![word],
        Run::Unspaced(characters) if characters.len() == 1 => characters,
        Run::Unspaced(characters) => characters.windows(2).map(|pair| pair.concat()).collect(),
    })
}

/// A run of characters that belong together.
#[derive(Debug, PartialEq, Eq)]
enum Run {
    /// A word of a script that separates words.
    Word(String),
    /// Characters of a script that does not, each with its marks.
    Unspaced(Vec<String>),
}

/// Returns the runs of a text in order.
fn runs(text: &str) -> impl Iterator<Item = Run> {
    let mut characters = fold(text).peekable();
    std::iter::from_fn(move || {
        loop {
            let first = characters.next()?;
            match kind(first) {
                CharacterKind::Between => {}
                // A mark without a character that it could belong to.
                CharacterKind::Mark | CharacterKind::Ignored => {}
                CharacterKind::Spaced => {
                    let mut word = String::from(first);
                    let mut length = 1;
                    while let Some(next) = characters.next_if(|next| {
                        matches!(
                            kind(*next),
                            CharacterKind::Spaced | CharacterKind::Mark | CharacterKind::Ignored
                        )
                    }) {
                        if kind(next) != CharacterKind::Ignored && length < MAX_TERM_CHARS {
                            word.push(next);
                            length += 1;
                        }
                    }
                    return Some(Run::Word(word));
                }
                CharacterKind::Unspaced => {
                    let mut all = vec![String::from(first)];
                    while let Some(next) = characters.next_if(|next| {
                        matches!(
                            kind(*next),
                            CharacterKind::Unspaced | CharacterKind::Mark | CharacterKind::Ignored
                        )
                    }) {
                        match (kind(next), all.last_mut()) {
                            (CharacterKind::Mark, Some(last))
                                if last.chars().count() < MAX_TERM_CHARS / 2 =>
                            {
                                last.push(next);
                            }
                            (CharacterKind::Mark | CharacterKind::Ignored, _) => {}
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
