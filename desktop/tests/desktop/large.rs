//! A tree that is too large to be read or drawn as a whole.

use std::time::Instant;

use gpui_kit::test::TestQueryExt as _;

use crate::harness::{Desk, Other, state};

/// Goes to the end as often as more is read, and returns how many frames that took and how long the slowest was.
fn go_to_the_end(desk: &mut Desk, count: usize) -> (u32, std::time::Duration) {
    let (mut frames, mut slowest) = (0, std::time::Duration::ZERO);
    let workbench = desk.workbench.clone();
    let session = desk.update(|_, cx| workbench.read(cx).session().clone());
    desk.press("secondary-1");
    while desk.update(|_, cx| session.read(cx).tree().is_none_or(|tree| tree.len() < count)) {
        desk.press("end");
        let begun = Instant::now();
        desk.frame();
        frames += 1;
        slowest = slowest.max(begun.elapsed());
        assert!(frames < 20_000, "the end is never reached");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (frames, slowest)
}

#[test]
fn a_long_list_of_threads_is_read_as_far_as_it_is_looked_at() {
    let mut other = Other::start();
    other.threads(1_200);
    let mut desk = Desk::connected(&other, &state());
    desk.until("rows", |workbench, _, cx| {
        workbench.read(cx).session().read(cx).tree().is_some_and(|tree| tree.len() > 100)
    });
    let drawn = desk.update(|window, _| {
        window.elements().iter().filter(|element| element.role() == Some(gpui_kit::Role::TreeItem)).count()
    });
    assert!(drawn < 100, "only what is on the screen is drawn, not {drawn} rows");
    go_to_the_end(&mut desk, 1_200);
}

/// `cargo test --manifest-path desktop/Cargo.toml -- --ignored --nocapture hundred` prints the figures of the docs.
#[test]
#[ignore = "takes minutes to make the threads"]
fn a_hundred_thousand_threads() {
    let mut other = Other::start();
    other.threads(100_000);
    let mut desk = Desk::connected(&other, &state());
    let begun = Instant::now();
    let (frames, slowest) = go_to_the_end(&mut desk, 100_000);
    println!(
        "to the end of 100,000 threads: {frames} frames in {:?}, the slowest {slowest:?}",
        begun.elapsed()
    );
    let begun = Instant::now();
    for _ in 0..100 {
        desk.press("pageup");
    }
    println!("a page up: {:?} on average", begun.elapsed() / 100);
}
