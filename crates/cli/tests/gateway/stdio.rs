//! `foreword serve --stdio`: alone it is the gateway, beside one it passes everything on.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::support::{Machine, PATIENCE, eventually, finish, signal, start};

/// A parent process that talks to `serve --stdio`.
struct Parent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Notifications that came before an answer.
    passed_over: VecDeque<Value>,
}

impl Parent {
    fn start(machine: &Machine) -> Self {
        let mut child = start(machine.command("serve --stdio"));
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        // A thread reads the answers, since a blocking read has no timeout: a missing answer would hang the
        // whole test run.
        thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.unwrap();
                sender.send(serde_json::from_str(&line).expect(&line)).unwrap();
            }
        });
        Self { child, stdin, lines, passed_over: VecDeque::new() }
    }

    fn send(&mut self, line: impl ToString) {
        writeln!(self.stdin.as_mut().unwrap(), "{}", line.to_string()).unwrap();
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        self.passed_over.pop_front().unwrap_or_else(|| self.arriving())
    }

    #[track_caller]
    fn arriving(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a message")
    }

    /// Makes a request and takes its answer; notifications may come before it, of the same change too.
    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }));
        let mut answer = self.arriving();
        while answer.get("id").is_none() {
            self.passed_over.push_back(answer);
            answer = self.arriving();
        }
        assert_eq!(answer["id"], method, "{answer}");
        answer["result"].clone()
    }

    /// Closes its end, reads the rest, and returns how the process ended.
    fn close(mut self) -> (Vec<Value>, ExitStatus) {
        drop(self.stdin.take());
        let left = self.passed_over.drain(..).chain(self.lines.iter()).collect();
        (left, eventually("the process to end", || self.child.try_wait().unwrap()))
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn stdio_alone_serves_calls_and_events() {
    let machine = Machine::new();
    let mut parent = Parent::start(&machine);
    let capabilities = parent.call("initialize", json!({}))["capabilities"].clone();
    assert_eq!(capabilities["events"], true);
    let workspace = parent.call("workspace/create", json!({ "name": "demo" }))["workspace"]["id"].clone();
    assert_eq!(parent.call("events/subscribe", json!({ "workspace_id": workspace }))["seq"], 1);
    let saved = parent.call("thread/agents_doc/save", json!({ "workspace_id": workspace, "content": "a" }));
    assert_eq!(saved["doc"]["updated_by"], "stdio");
    let event = parent.next();
    assert_eq!((&event["method"], &event["params"]["seq"]), (&json!("thread/agents_doc/changed"), &json!(2)));
    assert_eq!(parent.next()["params"]["reason"], "agents_doc");
    // Other commands on this machine find it, and it hears of what they do.
    machine.run_with("doc save --expected-version 1", "b").done();
    assert_eq!(parent.next()["params"]["seq"], 4);
    parent.send("no JSON");
    assert_eq!(parent.next()["error"]["code"], -32700);
    let (left, status) = parent.close();
    assert_eq!((left, status.code()), (vec![], Some(0)));
    assert!(!machine.data().join("gateway.json").exists());
}

#[test]
fn everything_that_was_asked_is_answered_before_the_end() {
    let (machine, server) = Machine::with_workspace();
    let requests: String = (1..=200)
        .map(|id| format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "workspace/list" })))
        .collect();
    let answered = |machine: &Machine| -> Vec<Value> {
        let out = finish(machine.command("serve --stdio"), requests.as_bytes()).done();
        out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone()).collect()
    };
    // The input ends right after the requests. A proxy that stopped at the end of its input would lose the
    // answers that are still on their way.
    let expected: Vec<Value> = (1..=200).map(Value::from).collect();
    assert_eq!(answered(&machine), expected, "beside a gateway");
    drop(server);
    assert_eq!(answered(&machine), expected, "alone");
}

/// The proxy has the limits of the gateway, not the defaults.
#[test]
fn a_stdio_proxy_accepts_messages_up_to_the_gateways_limit() {
    let machine = Machine::new();
    for (limit, length, code) in [(4 << 20, 2 << 20, None), (64 << 10, 100 << 10, Some(-32013))] {
        machine.write("home/config.toml", format!("[limits]\nmessage_bytes = {limit}\n"));
        let _server = machine.serve();
        let mut parent = Parent::start(&machine);
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "workspace/list" });
        parent.send(format!("{request}{}", " ".repeat(length)));
        let answer = parent.next();
        assert_eq!(answer["error"]["code"].as_i64(), code, "{limit}: {answer}");
        assert_eq!(answer["result"]["workspaces"].is_array(), code.is_none(), "{limit}: {answer}");
        assert_eq!(parent.close().1.code(), Some(0));
    }
}

#[test]
fn beside_a_gateway_both_see_the_same() {
    let (machine, _server) = Machine::with_workspace();
    let mut parent = Parent::start(&machine);
    let listed = parent.call("workspace/list", json!({}));
    let workspace = listed["workspaces"][0]["id"].clone();
    parent.call("events/subscribe", json!({ "workspace_id": workspace }));
    machine.run_with("doc save", "from the command").done();
    assert_eq!(parent.next()["params"]["summary"]["version"], 1);
    assert_eq!(parent.next()["params"]["reason"], "agents_doc");
    let got = parent.call("thread/agents_doc/get", json!({ "workspace_id": workspace }));
    assert_eq!(got["explicit"]["content"], "from the command");
    parent.call("thread/agents_doc/save", json!({ "workspace_id": workspace, "content": "from the parent" }));
    assert_eq!(parent.next()["params"]["summary"]["version"], 2);
    assert_eq!(machine.run("doc get").done(), "from the parent\n");
    // Invalid messages are answered by the proxy, valid ones by the gateway.
    parent.send("x".repeat(2 << 20));
    assert_eq!(parent.next()["error"]["code"], -32013);
    parent.send("[1]");
    assert_eq!(parent.next()[0]["error"]["code"], -32600);
    let (left, status) = parent.close();
    assert_eq!((left, status.code()), (vec![], Some(0)));
    machine.run("workspace list").done();
}

#[test]
fn a_request_to_end_leaves_no_save_unanswered() {
    for beside in [false, true] {
        let (machine, server) = Machine::with_workspace();
        if !beside {
            drop(server);
        }
        let mut parent = Parent::start(&machine);
        let workspace = parent.call("workspace/list", json!({}))["workspaces"][0]["id"].clone();
        for id in 1..=100 {
            let params = json!({ "workspace_id": workspace, "content": id.to_string() });
            parent.send(
                json!({ "jsonrpc": "2.0", "id": id, "method": "thread/agents_doc/save", "params": params }),
            );
        }
        // The signal arrives in the middle of the saves. Every save in the database must have been
        // acknowledged, because a client repeats the others.
        assert_eq!(parent.next()["id"], 1);
        signal(parent.child.id(), "TERM");
        let status = eventually("the process to end", || parent.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(0));
        let answered = 1 + parent.lines.iter().filter(|answer| answer["result"].is_object()).count();
        if !beside {
            assert!(!machine.data().join("gateway.json").exists());
        }
        let _server = (!beside).then(|| machine.serve());
        let saved = machine.run("doc get --format json").object()["explicit"]["version"].clone();
        assert_eq!(saved, answered, "beside a gateway: {beside}");
    }
}

#[test]
fn a_stdio_proxy_ends_with_its_gateway() {
    let (machine, server) = Machine::with_workspace();
    let mut parent = Parent::start(&machine);
    parent.call("workspace/list", json!({}));
    server.kill();
    let status = eventually("the process to end", || parent.child.try_wait().unwrap());
    assert_eq!(status.code(), Some(3));
    let err = std::io::read_to_string(parent.child.stderr.take().unwrap()).unwrap();
    assert_eq!(err, "error: the gateway closed the connection\n");
}

#[test]
fn beside_a_gateway_that_is_still_starting_it_waits() {
    let machine = Machine::new();
    let lock = machine.write("data/gateway.lock", "");
    let lock = std::fs::File::open(lock).unwrap();
    // The lock is held without an announced address, which is the state of a gateway that is starting or
    // migrating its database.
    lock.lock().unwrap();
    let mut parent = Parent::start(&machine);
    let mut said = BufReader::new(parent.child.stderr.take().unwrap()).lines();
    assert_eq!(
        said.next().expect("a line").unwrap(),
        "waiting for the gateway of this data directory to respond"
    );
    // That one never came up: now the place is free.
    drop(lock);
    assert_eq!(parent.call("workspace/list", json!({}))["workspaces"], json!([]));
}

#[test]
fn two_concurrent_commands_share_one_gateway() {
    let machine = Machine::new();
    let mut first = Parent::start(&machine);
    // Editors start one such process per window. Whichever takes the lock first becomes the gateway, and
    // the other one its proxy.
    let mut second = Parent::start(&machine);
    first.call("workspace/create", json!({ "name": "demo" }));
    let listed = second.call("workspace/list", json!({}));
    assert_eq!(listed["workspaces"][0]["name"], "demo");
}
