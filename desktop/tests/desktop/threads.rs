//! Threads: sending, streaming, approvals, canceling.

use desktop::views::ThreadView;
use gpui_kit::prelude::*;
use gpui_kit::test::TestWindowExt as _;
use gpui_kit::{Focusable as _, SharedString, TestAppContext};
use protocol::{ThreadId, ThreadMode, TurnStatus};
use scripted_model::{Answer, Release};
use serde_json::json;

use crate::stage::{Opened, Stage};

fn open(stage: &Stage, thread: &ThreadId, cx: &mut TestAppContext) -> Opened<ThreadView> {
    let thread = thread.clone();
    stage.open(cx, |session, window, cx| cx.new(|cx| ThreadView::new(session, thread, window, cx)))
}

fn say(opened: &Opened<ThreadView>, text: &str, cx: &mut TestAppContext) {
    cx.update_window(opened.window, |_, window, cx| {
        let input = opened.view.read(cx).input().clone();
        input.update(cx, |input, cx| input.set_value(text.to_owned(), window, cx));
        window.render_frame(cx);
        window.click("send", cx);
    })
    .unwrap();
}

/// An answer whose second half is held until the test releases it.
fn halved() -> (String, Answer, Release) {
    let words: Vec<String> = (0..40).map(|word| format!("word {word}")).collect();
    let text = words.join(" ");
    let (answer, release) = Answer::text(&text).in_deltas(40).held_after_events(20);
    (text, answer, release)
}

fn status(view: &ThreadView) -> Option<TurnStatus> {
    view.turns().last().and_then(|turn| turn.turn()).map(|turn| turn.status)
}

fn live(view: &ThreadView) -> &str {
    view.turns().last().map_or("", |turn| turn.live_text())
}

#[gpui_kit::test]
fn answer_streams_to_every_window(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let thread = stage.thread("talk", ThreadMode::Chat, None);
    let opened = open(&stage, &thread, cx);
    let (text, answer, release) = halved();
    stage.model.answer(answer);
    opened.until_words(cx, "placeholder", |words| words.starts_with("Nothing was asked here yet."));
    say(&opened, "Tell me.", cx);
    opened.until(cx, |view| status(view) == Some(TurnStatus::Running) && live(view).starts_with("word 0"));
    assert!(opened.words(cx, "item-0-1").unwrap().starts_with("word 0"));
    // A second window opens the thread in the middle of the answer and must catch up.
    let other = open(&stage, &thread, cx);
    other.until(cx, |view| live(view).starts_with("word 0"));
    release.now();
    for window in [&opened, &other] {
        window.until(cx, |view| status(view) == Some(TurnStatus::Completed));
        // The steps are loaded after the notification of the end, so their text is awaited separately.
        window.until_says(cx, "item-0-0", "Tell me.");
        window.until_says(cx, "item-0-1", &text);
        window.until_says(cx, ("turn", 0_usize), "Turn 1: completed");
    }
    let left = opened.view.read_with(cx, |view, cx| view.input().read(cx).value());
    assert_eq!(left, "", "the field is cleared");
}

#[gpui_kit::test]
fn call_is_shown_whole_and_runs_when_allowed(cx: &mut TestAppContext) {
    let stage = Stage::new();
    std::fs::write(stage.root.path().join("a.txt"), "old\n").unwrap();
    let thread = stage.thread("work", ThreadMode::Agent, None);
    let opened = open(&stage, &thread, cx);
    // A character that reverses the text could make the difference look harmless, so it must be spelled out.
    let arguments = json!({ "path": "a.txt", "content": "new\u{202e}\n" }).to_string();
    stage.model.answer(Answer::text("I write.").tool_call("call_1", "write_file", &arguments));
    stage.model.answer(Answer::text("Done."));
    say(&opened, "Write.", cx);
    opened.until(cx, |view| view.waiting().len() == 1);
    let difference = opened.words(cx, ("difference", 0_usize)).unwrap();
    assert!(difference.contains("-old") && difference.contains("+new⟨U+202E⟩"), "{difference}");
    assert_eq!(std::fs::read_to_string(stage.root.path().join("a.txt")).unwrap(), "old\n");
    opened.click(cx, ("allow", 0_usize));
    opened.until(cx, |view| status(view) == Some(TurnStatus::Completed));
    assert_eq!(std::fs::read_to_string(stage.root.path().join("a.txt")).unwrap(), "new\u{202e}\n");
    opened.until_says(cx, "item-0-2", "⚙ write_file (done)");
}

#[gpui_kit::test]
fn denied_call_does_not_run(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let thread = stage.thread("work", ThreadMode::Agent, None);
    let opened = open(&stage, &thread, cx);
    let arguments = json!({ "path": "a.txt", "content": "new" }).to_string();
    stage.model.answer(Answer::text("I write.").tool_call("call_1", "write_file", &arguments));
    stage.model.answer(Answer::text("Well."));
    say(&opened, "Write.", cx);
    opened.until(cx, |view| view.waiting().len() == 1);
    opened.click(cx, ("deny", 0_usize));
    opened.until(cx, |view| status(view) == Some(TurnStatus::Completed));
    assert!(!stage.root.path().join("a.txt").exists());
}

#[gpui_kit::test]
fn running_turn_is_canceled(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let thread = stage.thread("talk", ThreadMode::Chat, None);
    let opened = open(&stage, &thread, cx);
    let (_, answer, _held) = halved();
    stage.model.answer(answer);
    say(&opened, "Tell me.", cx);
    opened.until(cx, |view| live(view).starts_with("word 0"));
    opened.click(cx, "cancel");
    opened.until(cx, |view| status(view) == Some(TurnStatus::Cancelled));
    assert!(opened.words(cx, "cancel").is_none(), "the button is gone");
}

#[gpui_kit::test]
fn reminders_to_the_model_are_shown(cx: &mut TestAppContext) {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.root.path().join("sub")).unwrap();
    std::fs::create_dir(stage.root.path().join(".git")).unwrap();
    std::fs::write(stage.root.path().join("sub/AGENTS.md"), "Sub rules.\n").unwrap();
    std::fs::write(stage.root.path().join("sub/a.txt"), "text\n").unwrap();
    let thread = stage.thread("work", ThreadMode::Agent, None);
    let opened = open(&stage, &thread, cx);
    let arguments = json!({ "path": "sub/a.txt" }).to_string();
    stage.model.answer(Answer::text("I read.").tool_call("call_1", "read_file", &arguments));
    stage.model.answer(Answer::text("Done."));
    say(&opened, "Read.", cx);
    opened.until_says(cx, "item-0-4", "Done.");
    let reminder = opened.words(cx, "item-0-3").unwrap();
    assert!(reminder.contains("agents.resolve.paths") && reminder.contains("Sub rules."), "{reminder}");
}

#[gpui_kit::test]
fn delegated_turns_are_listed_with_their_threads(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let thread = stage.thread("work", ThreadMode::Agent, None);
    let opened = open(&stage, &thread, cx);
    let arguments = json!({ "goal": "Count the files." }).to_string();
    stage.model.answer(Answer::text("I delegate.").tool_call("call_1", "delegate", &arguments));
    stage.model.answer(Answer::text("Three."));
    stage.model.answer(Answer::text("There are three."));
    say(&opened, "How many files are there?", cx);
    opened.until(cx, |view| status(view) == Some(TurnStatus::Completed));
    let children = |view: &ThreadView| view.turns().last().map_or(0, |turn| turn.children().len());
    opened.until(cx, |view| children(view) == 1);
    let child = opened.words(cx, "child-0-0").unwrap();
    assert!(child.contains("Count the files."), "{child}");
    assert!(opened.words(cx, "open-child-0-0").is_some());
}

/// Presses a key while the message field has the focus.
fn press(opened: &Opened<ThreadView>, key: &str, cx: &mut TestAppContext) {
    cx.update_window(opened.window, |_, window, cx| {
        window.render_frame(cx);
        opened.view.read(cx).focus_handle(cx).focus(window, cx);
        window.render_frame(cx);
        window.press(key, cx);
    })
    .unwrap();
}

#[gpui_kit::test]
fn keys_decide_about_calls(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let thread = stage.thread("work", ThreadMode::Agent, None);
    let opened = open(&stage, &thread, cx);
    for name in ["denied", "allowed"] {
        let arguments = json!({ "path": name, "content": "new\n" }).to_string();
        stage.model.answer(Answer::text("I write.").tool_call(name, "write_file", &arguments));
    }
    stage.model.answer(Answer::text("Done."));
    say(&opened, "Write.", cx);
    // The second call arrives only after the first decision, so each key has exactly one pending call.
    for (name, key) in [("denied", "alt-d"), ("allowed", "alt-a")] {
        opened.until(cx, |view| view.waiting().iter().any(|(_, it)| it.request.call_id == name));
        press(&opened, key, cx);
    }
    opened.until(cx, |view| status(view) == Some(TurnStatus::Completed));
    let is_there = |name: &str| stage.root.path().join(name).exists();
    assert!(is_there("allowed") && !is_there("denied"));
}

#[gpui_kit::test]
fn long_tool_result_expands(cx: &mut TestAppContext) {
    let stage = Stage::new();
    let text = "A line of a long file.\n".repeat(400) + "the end\n";
    std::fs::write(stage.root.path().join("long.txt"), &text).unwrap();
    let thread = stage.thread("work", ThreadMode::Agent, None);
    let opened = open(&stage, &thread, cx);
    let arguments = json!({ "path": "long.txt" }).to_string();
    stage.model.answer(Answer::text("I read.").tool_call("call_1", "read_file", &arguments));
    stage.model.answer(Answer::text("Done."));
    say(&opened, "Read.", cx);
    opened.until_says(cx, "item-0-3", "Done.");
    let result = SharedString::from("item-0-2-result");
    let shown = opened.words(cx, result.clone()).unwrap();
    assert!(shown.chars().count() == 4_000 && !shown.contains("the end"), "{shown}");
    opened.click(cx, SharedString::from("item-0-2-result-all"));
    opened.until_words(cx, result, |words| words.contains("the end"));
}
