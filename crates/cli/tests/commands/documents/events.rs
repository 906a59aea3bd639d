//! `foreword events`.

use std::io::{BufRead as _, BufReader};

use scripted_model::Answer;

use crate::commands::turns::starting::Talk;
use crate::support::{Machine, eventually, finish, signal, start};

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
        "     1  TIME  owner  workspace created\n\
         \x20    2  TIME  owner  folder created: services\n\
         \x20    3  TIME  owner  document of services: version 1, 4 characters\n\
         \x20    4  TIME  owner  document of services: status changed\n\
         \x20    5  TIME  owner  document of /: version 1, 1 character, draft\n\
         \x20    6  TIME  owner  document of /: status changed\n\
         \x20    7  TIME  owner  document of /: archived\n\
         \x20    8  TIME  owner  document of /: status changed\n\
         \x20    9  TIME  owner  thread created: Deep\n",
        "following workspace `demo`; stop with Ctrl-C\n",
    );
    let two = machine.run("events --since 3 --limit 2").done();
    assert_eq!(
        two.lines().map(|line| line.trim_start().split(' ').next().unwrap()).collect::<Vec<_>>(),
        ["4", "5"]
    );
    machine.check("events --limit 0", "", "following workspace `demo`; stop with Ctrl-C\n");
    // A number from the future usually belongs to another workspace. Waiting for it silently would look
    // like a feed without changes.
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
    assert_eq!(events[0]["params"]["changed_by"], "owner");
    assert!(events[0]["params"]["changed_at"].is_string(), "{}", events[0]);
    assert_eq!(
        (&events[1]["params"]["seq"], &events[1]["params"]["summary"]["version"]),
        (&2.into(), &1.into())
    );
}

#[test]
fn deleted_folders_threads_and_turns_have_names() {
    let talk = Talk::new("chat");
    let machine = &talk.machine;
    machine.run("folder create services").done();
    machine.run("folder create billing --parent services").done();
    // Events carry ids, and names are looked up for display. A deleted folder is missing from the tree, so
    // its name must come from elsewhere.
    machine.run("folder delete services/billing").done();
    talk.model.answer(Answer::text("Yes."));
    machine.run("turn start Talk Really?").done();
    let secret = machine.run("token create alice --role editor").word();
    let mut command = machine.command("thread rename Talk Chatter");
    command.env("FOREWORD_TOKEN", &secret);
    finish(command, b"").done();
    machine.check(
        "events --since 2 --limit 7",
        "     3  TIME  owner  folder created: services\n\
         \x20    4  TIME  owner  folder created: services/billing\n\
         \x20    5  TIME  owner  folder deleted: services/billing\n\
         \x20    6  TIME  owner  turn 1 of Chatter: started\n\
         \x20    7  TIME  owner  turn 1 of Chatter: manifest, round 1\n\
         \x20    8  TIME  owner  turn 1 of Chatter: completed\n\
         \x20    9  TIME  alice  thread renamed: Chatter\n",
        "following workspace `demo`; stop with Ctrl-C\n",
    );
}

#[test]
fn events_continue_across_a_restart() {
    let (machine, server) = Machine::with_workspace();
    let mut child = start(machine.command("events --since 0"));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut next = || lines.next().unwrap().trim_start().split("  ").next().unwrap().to_owned();
    assert_eq!(next(), "1");
    machine.run_with("doc save", "before").done();
    assert_eq!((next(), next()), ("2".to_owned(), "3".to_owned()));
    // The gateway is killed instead of stopped, so the client gets no farewell. It must reconnect to the
    // new address and resume after the last number without gaps or repeats.
    server.kill();
    let _server = machine.serve();
    machine.run_with("doc save --force", "after").done();
    assert_eq!(next(), "4");
    signal(child.id(), "INT");
    let status = eventually("the command to end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_closed_pipe_ends_events() {
    let (machine, _server) = Machine::with_workspace();
    let mut child = start(machine.shell("\"$foreword\" events --since 0 | head -1"));
    // A closed pipe is only noticed on the next write. The loop therefore saves documents until an event
    // reaches the command.
    let mut number = 0;
    let status = eventually("the command to end", || {
        number += 1;
        machine.run_with("doc save --force", number.to_string()).done();
        child.try_wait().unwrap()
    });
    assert_eq!(status.code(), Some(0));
    let out = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert_eq!(machine.tidy(&out), "     1  TIME  owner  workspace created\n");
}
