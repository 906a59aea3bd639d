//! Prompts and the comparison of agents.

use desktop::views::{CompareView, PromptView};
use gpui_kit::TestAppContext;
use gpui_kit::prelude::*;
use protocol::ThreadMode;
use protocol::TurnStatus;
use protocol::method::{TurnList, TurnListParams, TurnStart, TurnStartParams};
use scripted_model::Answer;

use crate::stage::{Stage, until};

#[gpui_kit::test]
fn prompt_shows_sections_and_cache_breaks(cx: &mut TestAppContext) {
    let stage = Stage::new();
    stage.save(None, "Be brief.\n");
    let thread = stage.thread("talk", ThreadMode::Chat, None);
    let opened = stage
        .open(cx, |session, window, cx| cx.new(|cx| PromptView::new(session, thread.clone(), window, cx)));
    opened.until(cx, |view| view.inspected().is_some());
    let index = opened.view.read_with(cx, |view, _| {
        let sections = &view.inspected().unwrap().prompt.manifest.sections;
        sections.iter().position(|section| section.id == "agents_md").unwrap()
    });
    opened.until_words(cx, ("section", index), |words| words.starts_with("▯ agents_md: "));
    opened.until_says(cx, ("cache", 0_usize), "There is no earlier turn to compare with.");

    stage.model.answer(Answer::text("Yes."));
    stage.call::<TurnStart>(&TurnStartParams::new(&stage.workspace_id, &thread, "Hello?"));
    let list = TurnListParams {
        workspace_id: stage.workspace_id.clone(),
        thread_id: Some(thread),
        limit: None,
        before: None,
    };
    until(cx, |_| stage.call::<TurnList>(&list).turns[0].status == TurnStatus::Completed);
    stage.save(None, "Be brief.\nBe kind.\n");
    opened.until(cx, |view| {
        let since = view.inspected().and_then(|inspected| inspected.since.as_ref());
        since.is_some_and(|(_, diff)| diff.blame.first_difference.is_some())
    });
    // Several notifications arrive for one change, and each reloads the prompt, so the labels are awaited and
    // not read once.
    let breaks = |words: &str| words.starts_with("It breaks in section agents_md, line ");
    opened.until_words(cx, ("cache", 1_usize), breaks);
    let cause = |words: &str| words.contains("version 1 became") && words.ends_with("version 2.");
    opened.until_words(cx, ("cache", 2_usize), cause);

    opened.click(cx, "text");
    opened.until_words(cx, "prompt-text", |words| words.contains("Be brief.\nBe kind.\n"));
}

#[gpui_kit::test]
fn agents_are_compared_file_by_file(cx: &mut TestAppContext) {
    let stage = Stage::new();
    std::fs::create_dir(stage.root.path().join(".git")).unwrap();
    std::fs::write(stage.root.path().join("AGENTS.md"), "Rules.\n").unwrap();
    let opened = stage.open(cx, |session, window, cx| cx.new(|cx| CompareView::new(session, window, cx)));
    opened.until(cx, |view| view.comparison().is_some());
    let column = opened.view.read_with(cx, |view, _| {
        let comparison = view.comparison().unwrap();
        comparison.agents.iter().position(|agent| agent.agent == "foreword").unwrap()
    });
    let cell = gpui_kit::SharedString::from(format!("cell-0-{column}"));
    opened.until_words(cx, cell, |words| words.starts_with("✓ "));
    opened.until_says(cx, ("lost", column), "0 bytes");
    // A directory outside the workspace is refused with a message.
    opened.view.update(cx, |_, cx| cx.notify());
    cx.update_window(opened.window, |_, window, cx| {
        opened.view.update(cx, |view, cx| view.set_path("/", window, cx));
    })
    .unwrap();
    opened.until(cx, |view| view.comparison().is_none() && !view.is_loading());
    assert!(opened.words(cx, "problem").is_some_and(|problem| !problem.is_empty()));
}
