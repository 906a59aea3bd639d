//! Trees that are too large to load or draw at once.

use std::time::{Duration, Instant};

use gpui_kit::test::TestQueryExt as _;

use crate::harness::{Desk, Peer, state};

/// Presses End until all rows are loaded. Returns the number of frames and the time of the slowest one.
fn go_to_the_end(desk: &mut Desk, count: usize) -> (u32, Duration) {
    let mut frames = 0;
    let mut slowest = Duration::ZERO;
    let workbench = desk.workbench.clone();
    let session = desk.update(|_, cx| workbench.read(cx).session().clone());
    desk.press("secondary-1");
    while desk.update(|_, cx| session.read(cx).tree().is_none_or(|tree| tree.len() < count)) {
        // Each press shows the last loaded rows, which requests the next part.
        desk.press("end");
        let begun = Instant::now();
        desk.frame();
        frames += 1;
        slowest = slowest.max(begun.elapsed());
        assert!(frames < 20_000, "the end is never reached");
        std::thread::sleep(Duration::from_millis(1));
    }
    (frames, slowest)
}

#[test]
fn long_thread_list_loads_on_demand() {
    let mut other = Peer::start();
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

/// Returns the average time of a page up, including the drawing.
fn page_up(desk: &mut Desk) -> Duration {
    let begun = Instant::now();
    for _ in 0..40 {
        desk.press("pageup");
    }
    begun.elapsed() / 40
}

/// Prints the figures of the docs: `cargo xtask test --desktop -- --test desktop -- --ignored --nocapture
/// hundred`.
#[test]
#[ignore = "takes minutes to make the threads"]
fn a_hundred_thousand_threads() {
    let mut other = Peer::start();
    for (made, count) in [(0, 1_000), (1_000, 100_000)] {
        other.threads(count - made);
        let mut desk = Desk::connected(&other, &state());
        let begun = Instant::now();
        let (frames, slowest) = go_to_the_end(&mut desk, count as usize);
        let taken = begun.elapsed();
        println!("to the end of {count} threads: {frames} frames in {taken:.1?}, the slowest {slowest:.0?}");
        println!("a page up among {count} threads: {:.0?} on average", page_up(&mut desk));
    }
}
