//! The pictures of the README: `docs/pictures/overview.svg`, drawn here, and `docs/pictures/session.svg`, a real session.
//!
//! `UPDATE_DOCS=1 cargo test -p foreword pictures` writes them anew; look at them before they are committed.

mod overview;
mod recorded;
mod svg;

use std::path::PathBuf;

use crate::pages::without_figures;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures").join(name)
}

/// Writes a picture where that is wanted, and returns the one that is there.
fn stored(name: &str, drawn: &str) -> String {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path("")).unwrap();
        std::fs::write(path(name), drawn).unwrap();
    }
    std::fs::read_to_string(path(name)).unwrap_or_default()
}

#[test]
fn the_overview_is_the_one_that_is_drawn() {
    let drawn = overview::picture();
    assert!(
        stored("overview.svg", &drawn) == drawn,
        "docs/pictures/overview.svg is another; run: UPDATE_DOCS=1 cargo test -p foreword pictures"
    );
}

/// The session shows actual output, except for figures that depend on the project's path.
#[test]
fn the_session_is_what_the_commands_say() {
    let session = recorded::session();
    let drawn = svg::terminal(&session);
    let stored = stored("session.svg", &drawn);
    let lines =
        |picture: &str| -> Vec<String> { svg::lines(picture).iter().map(|it| without_figures(it)).collect() };
    assert_eq!(
        lines(&stored),
        lines(&drawn),
        "docs/pictures/session.svg is out of date; run: UPDATE_DOCS=1 cargo test -p foreword pictures"
    );
}
