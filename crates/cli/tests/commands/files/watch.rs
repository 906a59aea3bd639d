//! `foreword watch`.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Machine, PATIENCE, eventually, signal, start};

/// A running `foreword watch`, ended when dropped.
struct Watch {
    child: Child,
    objects: Receiver<Value>,
}

impl Watch {
    fn start(machine: &Machine, words: &str) -> Self {
        let mut child = start(machine.command(&format!("watch --format json {words}")));
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, objects) = channel();
        std::thread::spawn(move || {
            for line in out.lines() {
                let Ok(line) = line else { return };
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        Self { child, objects }
    }

    /// Waits for an explanation whose text is, or is not there and, contains something.
    #[track_caller]
    fn until(&self, what: &str, fits: impl Fn(&str) -> bool) {
        loop {
            let object = self.objects.recv_timeout(PATIENCE).expect(what);
            if fits(object["text"].as_str().unwrap_or_default()) {
                return;
            }
        }
    }

    #[track_caller]
    fn ended(&mut self) -> Option<i32> {
        let child = &mut self.child;
        eventually("the end of watch", || child.try_wait().unwrap()).code()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn each_change_that_matters_is_explained() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/a/other", "");
    let mut watch = Watch::start(&machine, "a");
    watch.until("the start", str::is_empty);
    machine.write("project/AGENTS.md", "one\n");
    watch.until("a file that appears", |text| text.contains("one"));
    machine.write("project/AGENTS.md", "two\n");
    watch.until("a file that changes", |text| text.contains("two"));
    // As editors save.
    machine.write("project/AGENTS.md.new", "three\n");
    std::fs::rename(machine.project().join("AGENTS.md.new"), machine.project().join("AGENTS.md")).unwrap();
    watch.until("a file that is replaced", |text| text.contains("three"));
    machine.write("project/a/AGENTS.md", "leaf\n");
    watch.until("a file below", |text| text.contains("three") && text.contains("leaf"));
    machine.write("home/AGENTS.md", "mine\n");
    watch.until("the user's own file", |text| text.contains("mine"));
    std::fs::remove_file(machine.project().join("AGENTS.md")).unwrap();
    watch.until("a file that goes", |text| !text.contains("three"));
    // Irrelevant differences are not reported.
    machine.write("project/a/other", "x");
    machine.write("project/a/AGENTS.md", "leaf\n");
    assert!(watch.objects.recv_timeout(Duration::from_millis(500)).is_err());
    signal(watch.child.id(), "INT");
    assert_eq!(watch.ended(), Some(0));
}

#[test]
fn a_directory_that_goes_and_comes_back_is_followed() {
    let machine = Machine::new();
    machine.write("project/.git/HEAD", "");
    machine.write("project/a/AGENTS.md", "before\n");
    let watch = Watch::start(&machine, "a");
    watch.until("the start", |text| text.contains("before"));
    std::fs::rename(machine.project().join("a"), machine.project().join("old")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    machine.write("project/a/AGENTS.md", "after\n");
    watch.until("the new directory", |text| text.contains("after"));
    machine.write("project/a/AGENTS.md", "again\n");
    watch.until("a change in it", |text| text.contains("again"));
}

#[test]
fn people_get_the_explanation() {
    let machine = Machine::new();
    machine.write("project/AGENTS.md", "one\n");
    let mut child = start(machine.command("watch"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "profile  foreword");
    let used = lines.find(|line| line.contains("AGENTS.md ")).unwrap();
    assert!(used.starts_with("  + AGENTS.md   used "), "{used}");
    // From then on, when, and only what is different.
    machine.write("project/AGENTS.local.md", "two\n");
    let until = |lines: &mut dyn Iterator<Item = String>, end: &str| {
        let mut shown = Vec::new();
        for line in lines {
            let line = machine.tidy(&line);
            let is_end = line.starts_with(end);
            shown.push(line);
            if is_end {
                break;
            }
        }
        shown
    };
    let shown = until(&mut lines, "  + AGENTS.local.md  used ");
    assert!(shown.iter().any(|line| line.starts_with("TIME  text about ")), "{shown:?}");
    // In one step: a file that is written in place is empty for a moment, which is a change of its own.
    machine.write("new", " ");
    std::fs::rename(machine.root().join("new"), machine.project().join("AGENTS.md")).unwrap();
    let shown = until(&mut lines, "  - AGENTS.md   blank ");
    assert_eq!(shown.len(), 3, "{shown:?}");
    std::fs::remove_file(machine.project().join("AGENTS.md")).unwrap();
    let shown = until(&mut lines, "  - AGENTS.md   gone");
    assert_eq!(shown.len(), 3, "{shown:?}");
    signal(child.id(), "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_reader_that_leaves_ends_it_without_a_further_change() {
    let machine = Machine::new();
    machine.write("project/AGENTS.md", "one\n");
    let mut child = start(machine.command("watch"));
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    let status = eventually("the end of watch", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}
