//! The pages of the manual, written from the same definition as `--help`.

use clap::Command;
use clap_mangen::Man;

use super::command_line;

/// Every page as a file's name and its text; that of `foreword` itself first.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut command = command_line();
    command.build();
    let mut pages = Vec::new();
    add(&command, "foreword", &mut pages);
    pages
}

fn add(command: &Command, name: &str, pages: &mut Vec<(String, String)>) {
    let mut text = Vec::new();
    // A page is called by all its words, as in `man foreword-doc-save`.
    let page = Man::new(command.clone()).title(name.to_owned());
    // Only a full disk could fail, and memory is none.
    if page.render(&mut text).is_ok() {
        pages.push((format!("{name}.1"), String::from_utf8_lossy(&text).into_owned()));
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        add(below, &format!("{name}-{}", below.get_name()), pages);
    }
}
