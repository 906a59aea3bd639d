//! Prompts, and what agents read.

use desktop::views::{CompareView, PromptView};
use gpui_kit::TestAppContext;
use gpui_kit::prelude::*;
use protocol::ThreadMode;
use protocol::TurnStatus;
use protocol::method::{TurnList, TurnListParams, TurnStart, TurnStartParams};
use scripted_model::Answer;

use crate::stage::{Stage, until};

#[gpui_kit::test]
fn a_prompt_shows_its_sections_and_why_the_cache_breaks(cx: &mut TestAppContext) {
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
    let section = opened.words(cx, ("section", index)).unwrap();
    assert!(section.starts_with("▯ agents_md: "), "{section}");
    assert_eq!(opened.words(cx, ("cache", 0_usize)).unwrap(), "There is no earlier turn to compare with.");

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
    let breaks = opened.words(cx, ("cache", 1_usize)).unwrap();
    assert!(breaks.starts_with("It breaks in section agents_md, line "), "{breaks}");
    let cause = opened.words(cx, ("cache", 2_usize)).unwrap();
    assert!(cause.contains("version 1 became") && cause.ends_with("version 2."), "{cause}");

    opened.click(cx, "text");
    assert!(opened.words(cx, "prompt-text").unwrap().contains("Be brief.\nBe kind.\n"));
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
    let cell = opened.words(cx, gpui_kit::SharedString::from(format!("cell-0-{column}"))).unwrap();
    assert!(cell.starts_with("✓ "), "{cell}");
    assert_eq!(opened.words(cx, ("lost", column)).unwrap(), "0 bytes");
    // A directory outside of the workspace is refused in words.
    opened.view.update(cx, |_, cx| cx.notify());
    cx.update_window(opened.window, |_, window, cx| {
        opened.view.update(cx, |view, cx| view.set_path("/", window, cx));
    })
    .unwrap();
    opened.until(cx, |view| view.comparison().is_none() && !view.is_loading());
    assert!(opened.words(cx, "problem").is_some_and(|problem| !problem.is_empty()));
}
