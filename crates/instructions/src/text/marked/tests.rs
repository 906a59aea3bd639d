use serde_json::{Value, json};

use super::*;

fn described(tokens: &[Token]) -> Value {
    Value::Array(tokens.iter().map(one).collect())
}

fn one(token: &Token) -> Value {
    let kind = match token.kind {
        Kind::Space => "space",
        Kind::Code => "code",
        Kind::Heading => "heading",
        Kind::Rule => "hr",
        Kind::Quote => "blockquote",
        Kind::List => "list",
        Kind::Item => "list_item",
        Kind::Html => "html",
        Kind::Table => "table",
        Kind::Paragraph => "paragraph",
        Kind::Text => "text",
        Kind::CodeSpan => "codespan",
        Kind::Emphasis => "em",
        Kind::Link => "link",
        Kind::Image => "image",
        Kind::Other => "other",
    };
    let inner: Vec<Value> = token.tokens.iter().flatten().chain(&token.items).map(one).collect();
    if inner.is_empty() { json!([kind, token.raw]) } else { json!([kind, token.raw, inner]) }
}

/// Recorded from `marked` 15.0.12 on random texts.
#[test]
fn tokens_are_those_of_the_library() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    for case in &cases {
        let text = case["text"].as_str().unwrap();
        assert_eq!(described(&lex(text, Dialect::Plain)), case["plain"], "{text:?}");
        let github = if case["github"].is_null() { &case["plain"] } else { &case["github"] };
        assert_eq!(described(&lex(text, Dialect::GitHub)), *github, "{text:?}");
    }
}

/// Each of these texts makes the library's regular expressions slow, or nests deeply.
#[test]
fn hostile_texts_take_no_time() {
    let many = |one: &str| one.repeat(30_000 / one.len());
    let texts = [
        "*a ", "_a*", "`", "`` `", "[", "[a](", "![", "<!--", "<a b", "> ", "- ", "1. ", "a\n", "~~a",
        "| a\n",
    ];
    let more =
        ["[a]: <b\n", "\\", "  ", "<![CDATA[", "-\n", "*a_b ", "a@b.", "http://a&b;", "> - ", "[a]: b\n"];
    for text in texts.iter().chain(&more) {
        for dialect in [Dialect::Plain, Dialect::GitHub] {
            lex(&many(text), dialect);
        }
    }
}
