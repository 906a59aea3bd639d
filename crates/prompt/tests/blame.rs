//! Tests of `blame`: the first section that differs, its source and line, and the cost.

mod support;

use std::collections::HashMap;

use prompt::{
    CompiledPrompt, PromptBlame, PromptChange, PromptCompileInput, Stability, blame, compile_prompt,
};
use support::full_input;

fn between(before: &CompiledPrompt, after: &CompiledPrompt) -> PromptBlame {
    let texts: HashMap<prompt::ContentHash, String> = before
        .sections
        .iter()
        .chain(&after.sections)
        .map(|section| (section.sha256.clone(), section.text.to_string()))
        .collect();
    blame(&before.manifest, &after.manifest, |sha256| texts.get(sha256).cloned())
}

#[test]
fn identical_prompts_have_no_difference() {
    let one = compile_prompt(&full_input());
    let found = between(&one, &one);
    assert_eq!(found.first_difference, None);
    assert_eq!((found.lost_tokens, found.lost_prefix_tokens), (0, 0));
    assert_eq!(found.kept_tokens, found.tokens_before);
}

#[test]
fn repeated_sections_are_not_counted() {
    let before = compile_prompt(&full_input());
    let mut after = compile_prompt(&full_input());
    let repeated = after.manifest.sections.iter_mut().find(|section| section.id == "extra_system").unwrap();
    repeated.said_earlier = true;
    let repeated = repeated.tokens;
    let found = between(&before, &after);
    assert_eq!((found.first_difference, found.lost_tokens), (None, 0));
    assert_eq!(
        (found.kept_tokens, found.tokens_after),
        (found.tokens_before - repeated, found.tokens_before - repeated)
    );
    let twice = between(&after, &after);
    assert_eq!(
        (twice.kept_tokens, twice.tokens_before, twice.lost_tokens),
        (found.tokens_after, found.tokens_after, 0)
    );
}

#[test]
fn edited_document_is_named_with_version_and_line() {
    let before = compile_prompt(&full_input());
    let mut input = full_input();
    input.contributed[0].section.content = "Answer in English.\nAlways test.\n".to_owned();
    input.contributed[0].section.sources[0].version = Some(8);
    let after = compile_prompt(&input);
    let found = between(&before, &after);
    let difference = found.first_difference.clone().map(|it| {
        let version = |sources: &[prompt::PromptSource]| sources.first().and_then(|source| source.version);
        let versions = (version(&it.sources_before), version(&it.sources_after));
        (it.section_id, it.stability, it.change, it.line, versions)
    });
    // The line number counts the rendered section: heading, introduction, blank line, opening tag and the document's
    // first line come before the changed one.
    let expected =
        ("agents_md".to_owned(), Stability::Session, PromptChange::Edited, Some(6), (Some(7), Some(8)));
    assert_eq!(difference, Some(expected));
    assert_eq!(found.changed_sections, ["agents_md"]);
    assert!(found.lost_prefix_tokens > 0 && found.lost_prefix_tokens < found.lost_tokens);
    assert_eq!(found.kept_tokens + found.lost_tokens, found.tokens_before);
    let without_texts = blame(&before.manifest, &after.manifest, |_| None);
    assert_eq!(without_texts.first_difference.and_then(|it| it.line), None);
    // Without the texts, the beginning of the edited section cannot be compared, so it counts as lost as a whole.
    assert!(without_texts.kept_tokens < found.kept_tokens);
}

#[test]
fn turn_section_change_keeps_the_prefix() {
    let before = compile_prompt(&full_input());
    let after = compile_prompt(&PromptCompileInput { extra_system: None, ..full_input() });
    let found = between(&before, &after);
    assert_eq!(found.lost_prefix_tokens, 0);
    let first = found.first_difference.map(|it| (it.section_id, it.change));
    assert_eq!(first, Some(("extra_system".to_owned(), PromptChange::Removed)));
    let found = between(&after, &before);
    let first = found.first_difference.map(|it| (it.section_id, it.change));
    assert_eq!(first, Some(("extra_system".to_owned(), PromptChange::Added)));
}
