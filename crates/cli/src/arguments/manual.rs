//! Manual pages, generated from the definition of the command line.

use clap::Command;
use clap_mangen::Man;

use super::command_line;

/// Returns the name and text of every page, starting with `foreword` itself.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut command = command_line();
    command.build();
    let mut pages = Vec::new();
    add(&command, "foreword", &mut pages);
    pages
}

fn add(command: &Command, name: &str, pages: &mut Vec<(String, String)>) {
    let mut text = Vec::new();
    // A page is named after all words of the command, as in `man foreword-doc-save`.
    let page = Man::new(command.clone()).title(name.to_owned());
    // Writing to memory cannot fail, so an error only skips the page.
    if page.render(&mut text).is_ok() {
        pages.push((format!("{name}.1"), String::from_utf8_lossy(&text).into_owned()));
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        add(below, &format!("{name}-{}", below.get_name()), pages);
    }
}
