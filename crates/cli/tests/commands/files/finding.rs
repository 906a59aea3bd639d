//! Locating the gateway, and traps that must not mislead a command.

use std::net::TcpListener;

use crate::support::{Machine, finish};

const NOT_RUNNING: &str = "error: no gateway is running on ~/data\n\
    hint: start one with `foreword serve`, or name the data directory of a running one with --data\n";

#[test]
fn a_missing_gateway_has_a_hint() {
    let machine = Machine::new();
    for words in ["workspace list", "doc get", "doc save", "doc edit", "events", "token list"] {
        machine.check_code(words, 3, "", NOT_RUNNING);
    }
    assert!(!machine.data().exists(), "looking must leave nothing behind");
}

#[test]
fn data_selects_another_gateway() {
    let (machine, _server) = Machine::with_workspace();
    let other = Machine::new();
    let words = format!("workspace list --data {}", machine.data().display());
    assert!(other.run(&words).done().contains("demo"));
}

#[test]
fn a_token_is_never_sent_to_a_stale_address() {
    let (machine, server) = Machine::with_workspace();
    let announced = std::fs::read_to_string(machine.data().join("gateway.json")).unwrap();
    server.kill();
    // Another program now listens at the gateway's old address.
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let stale = format!(r#"{{"url":"http://{}","pid":1}}"#, stranger.local_addr().unwrap());
    assert!(machine.data().join("gateway.json").exists(), "kill -9 leaves it: {announced}");
    machine.write("data/gateway.json", stale);
    for words in ["workspace list", "doc save", "events"] {
        machine.check_code(words, 3, "", NOT_RUNNING);
    }
    // The lock, not the announcement, proves that a gateway lives. Without a lock file the announcement
    // must be distrusted just the same.
    std::fs::remove_file(machine.data().join("gateway.lock")).unwrap();
    machine.check_code("workspace list", 3, "", NOT_RUNNING);
    assert!(stranger.accept().is_err(), "somebody connected");

    let _server = machine.serve();
    assert!(machine.run("workspace list").done().contains("demo"));
    assert!(stranger.accept().is_err(), "somebody connected");
}

#[test]
fn a_gateway_that_is_still_starting_is_not_running_yet() {
    let machine = Machine::new();
    let lock = machine.write("data/gateway.lock", "");
    let lock = std::fs::File::open(lock).unwrap();
    // A gateway takes the lock first and announces its address last. In between there is nothing to connect
    // to.
    lock.lock().unwrap();
    machine.check_code("workspace list", 3, "", NOT_RUNNING);
}

#[test]
fn missing_tokens_differ_from_missing_gateways() {
    let (machine, _server) = Machine::with_workspace();
    std::fs::remove_file(machine.data().join("owner.token")).unwrap();
    machine.check_code(
        "workspace list",
        3,
        "",
        "error: could not read ~/data/owner.token: No such file or directory (os error 2)\n\
         hint: restart the gateway: it creates a new token\n",
    );
}

#[test]
fn a_remote_gateway_is_reached_by_address_and_token() {
    let (machine, server) = Machine::with_workspace();
    let secret = machine.run("token create bob").word();
    let far = Machine::new();
    far.write("home/config.toml", format!("client.url = '{}'", server.url));
    far.check_code(
        "workspace list",
        2,
        "",
        &format!(
            "error: no token is set for the gateway at {}\n\
             hint: set FOREWORD_TOKEN, or client.token_file in the configuration\n",
            server.url
        ),
    );
    let run = |token: &str| {
        let mut command = far.command("workspace list");
        command.env("FOREWORD_TOKEN", token);
        finish(command, b"")
    };
    assert!(run(&secret).done().contains("demo"));
    drop(server);
    let err = run(&secret).failed(3);
    assert!(err.starts_with("error: could not connect to ws://127.0.0.1:"), "{err}");
    // Error messages end up in logs and bug reports.
    assert!(!err.contains(&secret));
}

#[test]
fn another_server_is_not_mistaken_for_a_gateway() {
    let machine = Machine::new();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = stranger.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 14\r\n\r\n<h1>Hello</h1>").unwrap();
    });
    let mut command = machine.command("workspace list");
    command.env("FOREWORD_CLIENT_URL", format!("http://{address}")).env("FOREWORD_TOKEN", "x");
    assert_eq!(
        finish(command, b"").failed(3),
        "error: the gateway rejected the connection: status 404, which is not a gateway's answer\n"
    );
    answering.join().unwrap();
}
