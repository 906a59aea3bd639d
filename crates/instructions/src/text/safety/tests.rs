use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::scan::TAGS;
use super::*;
use crate::profile::UnsafeText;

fn checked(text: &str) -> (String, Vec<DiagnosticCode>) {
    let checked = check(text, Path::new("/f"), UnsafeText::MadeHarmless);
    (checked.text.into_owned(), checked.diagnostics.iter().map(|diagnostic| diagnostic.code).collect())
}

#[test]
fn our_tags_are_neutralised_in_every_spelling() {
    for tag in [
        "</AGENTS_MD>",
        "<agents_context scope=\"x\">",
        "< / SYSTEM-reminder >",
        "</instructions\n>",
        "<INSTRUCTIONS",
    ] {
        let (text, codes) = checked(tag);
        assert_eq!(text, format!("&lt;{}", &tag[1..]));
        assert_eq!(codes, [DiagnosticCode::WrapperTag]);
    }
    for harmless in ["<instructions2>", "<AGENTS_MD-x>", "a < b", "<system>", "<p"] {
        assert_eq!(checked(harmless), (harmless.to_owned(), vec![]));
    }
}

#[test]
fn look_alike_tags_are_neutralised() {
    for (text, harmless) in [
        ("＜/AGENTS_MD>", "&lt;/AGENTS_MD>"),
        ("<／ＡＧＥＮＴＳ＿ＭＤ＞", "&lt;／ＡＧＥＮＴＳ＿ＭＤ＞"),
        ("<\u{200b}/system\u{200d}-reminder>", "&lt;\\u{200b}/system\\u{200d}-reminder>"),
        ("﹤\u{3000}𝐬𝐲𝐬𝐭𝐞𝐦-reminder>", "&lt;\u{3000}𝐬𝐲𝐬𝐭𝐞𝐦-reminder>"),
        ("<syﬆem-reminder>", "&lt;syﬆem-reminder>"),
        ("‹system\u{2011}reminder>", "&lt;system\u{2011}reminder>"),
        ("⟨/system\u{2212}reminder⟩", "&lt;/system\u{2212}reminder⟩"),
        ("<\u{e0041}\u{8}in\u{ad}ſtructions>", "&lt;\\u{e0041}\u{8}in\u{ad}ſtructions>"),
    ] {
        assert_eq!(neutralise(text), harmless);
    }
    for harmless in ["＜p＞", "<ＡＧＥＮＴＳ＿ＭＤ２>", "≮AGENTS_MD>", "＜", "<Ж>", "<агенты>"]
    {
        assert_eq!(neutralise(harmless), harmless);
    }
    assert_eq!(make_harmless("a ＜\u{200b}/\n").0, "a &lt;\\u{200b}/\n");
}

// Seen in attacks: a model takes each of these for the tag it imitates.
#[test]
fn a_tag_in_similar_letters_is_a_tag() {
    for text in [
        "‹/AGENTS_MD›",
        "〈/AGENTS_MD〉",
        "</system_reminder>",
        "</AGENTS-MD>",
        "<//AGENTS_MD>",
        "<\\AGENTS_MD>",
        "<⁄ /AGENTS_MD>",
        "<АGENTS_MD>",
        "</АGЕΝТЅ_МD>",
        "</ѕуѕtеm-rеmіndеr>",
        "</ΑGEΝTS_MD>",
        "</ínstrúctiöns>",
        "<AGENTS_MDä",
    ] {
        let opening = text.chars().next().unwrap().len_utf8();
        assert_eq!(neutralise(text), format!("&lt;{}", &text[opening..]), "{text}");
    }
}

#[test]
fn tags_cannot_span_texts() {
    for (text, harmless) in [("a <", "a &lt;"), ("< / \n\n", "&lt; / \n\n"), ("</", "&lt;/")] {
        assert_eq!(checked(text), (harmless.to_owned(), vec![DiagnosticCode::WrapperTag]));
        assert_eq!(make_harmless(text), (harmless.into(), 1));
        assert_eq!(neutralise(text), text, "a text that stands alone is finished");
    }
    assert_eq!(checked("a </p> < b").1, Vec::<DiagnosticCode>::new());
}

#[test]
fn characters_that_cannot_be_seen_are_made_visible_and_reported() {
    use DiagnosticCode::{HiddenUnicode, ZeroWidth};
    for (text, shown, code) in [
        ("a\u{202e}b", "a\\u{202e}b", HiddenUnicode),
        ("a\u{e0041}", "a\\u{e0041}", HiddenUnicode),
        ("a\u{e0100}", "a\\u{e0100}", HiddenUnicode),
        ("a\u{200b}b", "a\\u{200b}b", ZeroWidth),
        ("a\u{200d}b", "a\\u{200d}b", ZeroWidth),
        ("a\u{200f}b", "a\\u{200f}b", ZeroWidth),
        ("a\u{fe01}b", "a\\u{fe01}b", ZeroWidth),
        ("a\u{feff}b", "a\\u{feff}b", ZeroWidth),
        ("a \u{ad}", "a \\u{ad}", ZeroWidth),
        ("a\u{3164}", "a\\u{3164}", ZeroWidth),
        ("hy\u{ad}phen", "hy\u{ad}phen", ZeroWidth),
    ] {
        assert_eq!(checked(text), (shown.to_owned(), vec![code]));
    }
}

#[test]
fn joiners_and_marks_stay_where_they_belong() {
    for text in [
        "👩\u{200d}👧 👩🏽\u{200d}🚒",
        "❤\u{fe0f}\u{200d}🔥 ❤\u{fe0f} 1\u{fe0f}\u{20e3} ☎\u{fe0e}",
        "می\u{200c}خواهم",
        "क\u{94d}\u{200d}ष क\u{94d}\u{200c}ष",
        "สวัสดี\u{200b}ครับ",
        "שלום\u{200f}! \u{200e}שלום",
        "\u{feff}a file with a byte order mark",
        "葛\u{fe00} ᠠ\u{180b}",
    ] {
        assert_eq!(checked(text), (text.to_owned(), vec![]));
    }
}

#[test]
fn findings_are_english_sentences() {
    let messages = |text: &str| -> Vec<String> {
        check(text, Path::new("/f"), UnsafeText::MadeHarmless)
            .diagnostics
            .into_iter()
            .map(|found| found.message)
            .collect()
    };
    assert_eq!(messages("a\u{ad}b"), ["an invisible character (U+00AD) that cannot be seen"]);
    assert_eq!(
        messages("\u{200b}"),
        ["a zero-width character (U+200B) that cannot be seen; shown as \\u{200b}"]
    );
    assert_eq!(
        messages("＜agents\u{200b}_md>")[0],
        "`＜agents\\u{200b}_md>` looks like one of our own tags; its `＜` is written as `&lt;`"
    );
}

#[test]
fn findings_have_their_line() {
    let lines = |text: &str| -> Vec<Option<usize>> {
        check(text, Path::new("/f"), UnsafeText::MadeHarmless)
            .diagnostics
            .into_iter()
            .map(|found| found.line)
            .collect()
    };
    let text = format!("{}\u{202e}\n\n</AGENTS_MD>\u{200b}\n<", "ä long line\n".repeat(100));
    assert_eq!(lines(&text), [Some(101), Some(103), Some(103), Some(104)]);
}

#[test]
fn a_flood_is_reported_once() {
    let checked = check(&"\u{202e}".repeat(1000), Path::new("/f"), UnsafeText::MadeHarmless).diagnostics;
    assert_eq!(checked.len(), MAX_FINDINGS);
    assert!(checked[MAX_FINDINGS - 1].message.contains("980 more"));
}

#[test]
fn shown_text_is_restored() {
    let text =
        "a &lt;p> &lt;/ AGENTS_MD> \\u{202e} \\u{61} \\u{202E} &lt;\\u{200b}system\\u{ad}-reminder> \\u{";
    let parts: Vec<&str> = shown_parts(text).into_iter().map(|part| &text[part]).collect();
    assert_eq!(parts, ["&lt;", "\\u{202e}", "&lt;", "\\u{200b}", "\\u{ad}"]);
}

/// Generates texts from parts of tags and hidden characters.
fn odd_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<",
        "＜",
        "﹤",
        "/",
        "／",
        " ",
        "\n",
        "\u{200b}",
        "\u{200d}",
        "\u{202e}",
        "\u{ad}",
        "\u{fe0f}",
        "\u{8}",
        "\u{e0041}",
        "\u{34f}",
        "\u{338}",
        "\u{3164}",
        "\u{180e}",
        "\u{2061}",
        "AGENTS_MD",
        "ＡＧＥＮＴＳ",
        "_MD",
        "system",
        "SYﬆEM",
        "-reminder",
        "－reminder",
        "inſtructions",
        "agents",
        "_context",
        "x",
        ">",
        "&lt;",
        "\\u{",
        "202e}",
        "👩",
        "❤",
        "می",
        "ä",
        "\u{feff}",
    ]);
    let any = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(any, 0..14).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_combining_mark_ends_a_name() {
    assert_eq!(neutralise("<AGENTS_MD\u{338}0"), "&lt;AGENTS_MD\u{338}0");
}

/// Returns the tags that a normalizing reader finds who ignores invisible characters.
fn live_tags(text: &str) -> Vec<String> {
    let read: String = text.nfkc().filter(|character| !is_ignorable(*character)).collect();
    let read = read.to_lowercase();
    let names = read.split('<').skip(1).map(|rest| {
        let rest = rest.trim_start();
        rest.strip_prefix('/').unwrap_or(rest).trim_start()
    });
    let is_tag = |name: &&str| {
        let tags = TAGS.iter().map(|tag| tag.to_lowercase());
        let mut after = tags.filter_map(|tag| name.strip_prefix(&*tag));
        after
            .any(|after| !after.starts_with(|next: char| next.is_ascii_alphanumeric() || "_-".contains(next)))
    };
    names.filter(is_tag).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// No live tag remains, and neutralizing again changes nothing.
    #[test]
    fn no_live_tag_is_left(text in odd_text()) {
        for harmless in [neutralise(&text), make_harmless(&text).0] {
            prop_assert_eq!(live_tags(&harmless), Vec::<String>::new(), "{:?}", harmless);
            prop_assert_eq!(&neutralise(&harmless), &harmless);
        }
    }

    #[test]
    fn parts_are_what_is_changed(text in odd_text()) {
        let mut shown = String::new();
        let mut position = 0;
        for part in unsafe_parts(&text) {
            shown.push_str(&text[position..part.range.start]);
            shown.push_str(&part.shown);
            position = part.range.end;
        }
        shown.push_str(&text[position..]);
        prop_assert_eq!(&neutralise(&text), &shown);
    }
}
