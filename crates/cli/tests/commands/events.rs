//! `foreword events`.

use std::io::{BufRead as _, BufReader};

use crate::support::{Machine, eventually, signal, start};

#[test]
fn past_events_are_printed_up_to_a_limit() {
    let (machine, _server) = Machine::with_workspace();
    machine.run("folder create services").done();
    machine.run_with("doc save --folder services", "text").done();
    machine.run_with("doc save --force --allow-empty", " ").done();
    machine.run("doc archive").done();
    machine.run("thread create Deep").done();
    machine.check(
        "events --since 0 --limit 9",
        "     1  thread/tree/changed  workspace created\n\
         \x20    2  thread/tree/changed  folder created  ID\n\
         \x20    3  thread/agents_doc/changed  ID  version 1, 4 characters\n\
         \x20    4  thread/tree/changed  agents doc  ID\n\
         \x20    5  thread/agents_doc/changed  /  version 1, 1 characters, draft\n\
         \x20    6  thread/tree/changed  agents doc\n\
         \x20    7  thread/agents_doc/changed  /  archived\n\
         \x20    8  thread/tree/changed  agents doc\n\
         \x20    9  thread/tree/changed  thread created  ID\n",
        "following workspace `demo`; stop with Ctrl-C\n",
    );
    let two = machine.run("events --since 3 --limit 2").done();
    assert_eq!(
        two.lines().map(|line| line.trim_start().split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["4", "5"]
    );
    machine.check("events --limit 0", "", "following workspace `demo`; stop with Ctrl-C\n");
    machine.check_code(
        "events --since 10",
        2,
        "",
        "error: `since` is 10, but the newest change of this workspace is 9\n",
    );
}

#[test]
fn programs_get_one_object_a_line() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "text").done();
    let out = machine.run("events --since 0 --limit 2 --format json").done();
    let events: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["method"], "thread/tree/changed");
    assert_eq!(
        (&events[1]["params"]["seq"], &events[1]["params"]["summary"]["version"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn what_happens_is_told_as_it_happens_across_a_restart_until_ctrl_c() {
    let (machine, server) = Machine::with_workspace();
    let mut child = start(machine.command("events --since 0"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = || lines.next().unwrap().trim_start().split("  ").next().unwrap().to_owned();
    assert_eq!(next(), "1");
    machine.run_with("doc save", "before").done();
    assert_eq!((next(), next()), ("2".to_owned(), "3".to_owned()));
    server.kill();
    let _server = machine.serve();
    machine.run_with("doc save --force", "after").done();
    assert_eq!(next(), "4");
    signal(child.id(), "INT");
    let status = eventually("the command to end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_reader_that_has_had_enough_ends_the_command_with_the_next_event() {
    let (machine, _server) = Machine::with_workspace();
    let mut child = start(machine.shell("\"$foreword\" events --since 0 | head -1"));
    let mut number = 0;
    let status = eventually("the command to end", || {
        number += 1;
        machine.run_with("doc save --force", number.to_string()).done();
        child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(0));
    let out = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert_eq!(out, "     1  thread/tree/changed  workspace created\n");
}
