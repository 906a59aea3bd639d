use proptest::prelude::*;

use super::*;

fn query(text: &str) -> Vec<String> {
    QueryTerms::of(text).terms
}

/// Returns true if `query` finds `text`.
fn finds(query: &str, text: &str) -> bool {
    let index = IndexTerms::of(text);
    let terms = QueryTerms::of(query);
    !terms.is_empty() && terms.iter().all(|term| index.contains(term))
}

#[test]
fn words_of_every_script_are_found() {
    for (query, text) in [
        ("tests", "Run the tests, always."),
        ("CAFÉ", "the cafe on the corner"),
        ("cafe", "le café du coin"),
        ("strasse", "Hauptstraße 5, Straße"),
        ("Ångström", "angstrom"),
        ("ﬁle", "a file"),
        ("don't", "dont"),
        ("don’t", "I don't"),
        ("ΟΔΟΣ", "οδός"),
        ("москва", "Москва́ слезам не верит"),
        ("ёлка", "елка"),
        ("שלום", "שָׁלוֹם"),
        ("محمد", "مُحَمَّد"),
        ("हिन्दी", "मुझे हिन्दी पसंद है"),
        ("தமிழ்", "தமிழ் மொழி"),
        ("東京", "私は東京都に住んでいます"),
        ("猫", "黒猫が好き"),
        ("カタカナ", "ｶﾀｶﾅ"),
        ("서울", "서울에서 만나요"),
        ("ไทย", "ภาษาไทยยาก"),
        ("မြန်မာ", "မြန်မာဘာသာ"),
        ("ខ្មែរ", "ភាសាខ្មែរ"),
        ("𞤀𞤁", "𞤢𞤣"),
        ("snake case", "use snake_case everywhere"),
        ("v1", "v1.2.3"),
    ] {
        assert!(finds(query, text), "{query:?} in {text:?}: {:?}", IndexTerms::of(text));
    }
}

#[test]
fn other_words_are_not() {
    for (query, text) in [
        ("test", "tests"),
        ("東大", "東京大学"),
        // Without its vowel sign it is a different word.
        ("कल", "काल"),
        ("...", "a"),
        ("", "a"),
    ] {
        assert!(!finds(query, text), "{query:?} in {text:?}");
    }
}

#[test]
fn scripts_without_spaces_use_bigrams() {
    assert_eq!(query("東京都"), ["東京", "京都"]);
    assert_eq!(query("都"), ["都"]);
    assert_eq!(query("the the THE"), ["the"]);
    assert_eq!(query("rust東京"), ["rust", "東京"]);
}

#[test]
fn places_count_from_one() {
    let index = IndexTerms::of("one two, one");
    assert_eq!(index.iter().collect::<Vec<_>>(), [("one", &[1, 3][..]), ("two", &[2])]);
}

#[test]
fn endless_words_and_queries_are_bounded() {
    let index = IndexTerms::of(&"x".repeat(100_000));
    assert_eq!(index.iter().map(|(term, _)| term.len()).collect::<Vec<_>>(), [MAX_TERM_CHARS]);
    // A common prefix matches, which is better than no result.
    assert!(finds(&"x".repeat(100), &"x".repeat(100_000)));
    let many: Vec<String> = (0..1_000).map(|number| format!("w{number}")).collect();
    assert_eq!(QueryTerms::of(&many.join(" ")).len(), MAX_QUERY_TERMS);
    let marks = format!("ก{}", "\u{E48}".repeat(10_000));
    assert!(IndexTerms::of(&marks).iter().all(|(term, _)| term.chars().count() <= MAX_TERM_CHARS));
}

proptest! {
    /// The database must get nothing that it could split or take for an operator, whatever the input.
    #[test]
    fn terms_are_letters_digits_and_marks(text in "\\PC{0,200}") {
        for (term, places) in IndexTerms::of(&text).iter() {
            prop_assert!(!term.is_empty() && !places.is_empty());
            prop_assert!(term.chars().all(|it| matches!(kind(it), CharacterKind::Spaced | CharacterKind::Unspaced | CharacterKind::Mark)), "{term:?}");
            prop_assert!(term.chars().count() <= MAX_TERM_CHARS, "{term:?}");
            prop_assert!(!term.chars().any(|it| it.is_ascii() && !it.is_ascii_alphanumeric()), "{term:?}");
        }
    }

    /// A text is found by itself, however it is written.
    #[test]
    fn a_text_is_found_by_itself(text in "\\PC{0,80}") {
        let index = IndexTerms::of(&text);
        for term in QueryTerms::of(&text).iter() {
            prop_assert!(index.contains(term), "{term:?} of {text:?}");
        }
    }
}
