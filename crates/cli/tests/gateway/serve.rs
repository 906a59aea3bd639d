//! `foreword serve`: what it leaves in the data directory, whom it lets start, and how it ends.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use protocol::local::GatewayFile;
use test_postgres::test_database;

use crate::support::{Machine, Server, eventually, finish, signal, start};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_data_directory_and_all_in_it_is_private() {
    let machine = Machine::new();
    // An existing directory that was open to all becomes private too.
    machine.write("data/keep", "");
    std::fs::set_permissions(machine.data(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let server = machine.serve();
    assert_eq!(mode(&machine.data()), 0o700);
    for name in ["owner.token", "gateway.json", "gateway.lock", "databases.json", "foreword.db.lock"] {
        assert_eq!(mode(&machine.data().join(name)), 0o600, "{name}");
    }
    for name in ["foreword.db", "foreword.db-wal", "foreword.db-shm"] {
        assert_eq!(mode(&machine.data().join(name)), 0o600, "{name}");
    }
    let text = std::fs::read_to_string(machine.data().join("gateway.json")).unwrap();
    let file: GatewayFile = serde_json::from_str(&text).unwrap();
    assert_eq!((file.pid, file.url.as_str()), (server.pid(), server.url.as_str()));
}

#[test]
fn a_token_never_reaches_a_log() {
    let machine = Machine::new();
    // Trace level includes the logs of the HTTP and database libraries, which print headers and parameters
    // unless they are redacted.
    let mut command = machine.command("serve -vv --listen 127.0.0.1:0");
    command.env("FOREWORD_LOG", "trace");
    let server = Server::start(&machine, command);
    let mut command = machine.command("token create bob -vv");
    command.env("FOREWORD_LOG", "trace");
    let said = finish(command, b"");
    let secret = said.clone().word();
    let owner = std::fs::read_to_string(machine.data().join("owner.token")).unwrap();
    let logged = server.log() + &said.err;
    for secret in [secret.trim(), owner.trim()] {
        assert!(!logged.contains(secret), "{logged}");
    }
}

#[test]
fn the_first_start_suggests_commands_that_work() {
    let machine = Machine::new();
    let server = machine.serve();
    let log = eventually("the welcome", || Some(server.log()).filter(|log| log.contains("Ctrl-C")));
    let foreword = env!("CARGO_BIN_EXE_foreword");
    // The data directory is not the default one here, so the suggested commands need `--data`. Without it,
    // a copied command would look for another gateway.
    let flag = format!("--data {}", machine.data().display());
    assert_eq!(
        log,
        format!(
            "foreword gateway at {url}\n  database    sqlite://{data}/foreword.db\n  \
             token       {data}/owner.token\n  model       none (model.default is not set)\n  \
             sandbox     no commands (shell.enabled is false)\n  \
             console     {url}/console/\n\n\
             Nothing is in it yet. In another terminal, make a workspace and give its root an AGENTS.md:\n\n  \
             {foreword} {flag} workspace create demo\n  \
             echo 'Answer briefly.' | {foreword} {flag} doc save\n\n\
             or go into a project and run `{foreword} {flag} init`.\n\n\
             Stop with Ctrl-C.\n",
            url = server.url,
            data = machine.data().display(),
        )
    );
    // Another terminal has none of this one's variables.
    let commands: Vec<&str> =
        log.lines().filter(|line| line.starts_with("  ") && line.contains(foreword)).collect();
    let mut shell = machine.shell(&commands.join("\n"));
    shell.env_remove("FOREWORD_DATA").env_remove("FOREWORD_HOME");
    finish(shell, b"").done();
    assert_eq!(machine.run("doc get").done(), "Answer briefly.\n");
}

#[test]
fn the_consoles_address_works_once() {
    let machine = Machine::new();
    assert!(machine.run("console --print").failed(3).contains("no gateway is running"));
    let server = machine.serve();
    let url = machine.run("console --print").done();
    let (page, code) = url.trim().split_once("#code=").unwrap();
    assert_eq!((page, code.len()), (format!("{}/console/", server.url).as_str(), 32));
    assert!(!server.log().contains(code));
}

#[test]
fn a_console_that_is_off_names_its_setting() {
    let machine = Machine::new();
    machine.write("home/config.toml", "[console]\nenabled = false\n");
    let _server = machine.serve();
    assert!(machine.run("console --print").failed(3).contains("console.enabled"));
}

#[test]
fn a_later_start_lists_existing_and_missing_parts() {
    let machine = Machine::new();
    let server = machine.serve();
    machine.run("workspace create demo").done();
    // Two workspaces of one name, one of them archived: the welcome must list active ones only, and each
    // once.
    machine.run("workspace archive demo").done();
    machine.run("workspace create demo").done();
    machine.run("workspace create 'my team'").done();
    assert!(server.stop("TERM").success());
    machine.write("home/config.toml", "[model]\ndefault = 'anthropic/claude-test'\n");
    let welcome = |server: &Server| {
        eventually("the welcome", || Some(server.log()).filter(|log| log.contains("Ctrl-C")))
    };
    let server = machine.serve();
    let log = welcome(&server);
    let model = "anthropic/claude-test, but ANTHROPIC_API_KEY is not set, so it cannot be asked";
    for part in
        ["  workspaces  demo, my team\n", &format!("  model       {model}\n"), " thread tree -w demo\n"]
    {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("turn start") && !log.contains("workspace create"), "{log}");
    assert!(server.stop("TERM").success());
    let mut command = machine.command("serve --listen 127.0.0.1:0");
    command.env("ANTHROPIC_API_KEY", "sk-test");
    let log = welcome(&Server::start(&machine, command));
    assert!(log.contains("  model       anthropic/claude-test\n"), "{log}");
    assert!(log.contains(" turn start -w demo THREAD ") && !log.contains("sk-test"), "{log}");
}

#[test]
fn programs_get_the_address_as_an_object() {
    let machine = Machine::new();
    let mut child = start(machine.command("serve --listen 127.0.0.1:0 --format json"));
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(object["event"], "listening");
    assert_eq!(object["pid"], child.id());
    // Right after the start, a request to end is heard, too.
    signal(child.id(), "TERM");
    let status = eventually("the gateway to end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
    assert_eq!(std::io::read_to_string(child.stderr.take().unwrap()).unwrap(), "");
}

#[test]
fn a_second_gateway_on_the_same_data_is_refused() {
    let (machine, server) = Machine::with_workspace();
    machine.check_code(
        "serve --listen 127.0.0.1:0",
        3,
        "",
        &format!(
            "error: a gateway is already running on ~/data at {}\n\
             hint: use that gateway, stop it first, or start this one with another --data directory\n",
            server.url
        ),
    );
    assert!(machine.run("workspace list").done().contains("demo"), "the first one still serves");
}

#[test]
fn signals_end_it_gracefully_and_leave_no_address() {
    for name in ["TERM", "INT"] {
        let (machine, server) = Machine::with_workspace();
        let log = machine.root().join("serve.log");
        assert_eq!(server.stop(name).code(), Some(0), "{name}");
        assert!(!machine.data().join("gateway.json").exists(), "{name}");
        // SQLite removes its write-ahead log when the last connection closes. A leftover file means that
        // the process ended with an open database.
        assert!(!machine.data().join("foreword.db-wal").exists(), "{name}: the database was not closed");
        let log = std::fs::read_to_string(log).unwrap();
        assert!(
            log.ends_with("stopping; finishing accepted requests (press again to stop immediately)\n"),
            "{log}"
        );
        machine.run("workspace list").failed(3);
        let _server = machine.serve();
        assert!(machine.run("workspace list").done().contains("demo"));
    }
}

#[test]
fn leftovers_of_a_killed_gateway_do_not_block() {
    let (machine, server) = Machine::with_workspace();
    server.kill();
    assert!(machine.data().join("gateway.json").exists());
    let server = machine.serve();
    assert!(machine.run("workspace list").done().contains("demo"));
    server.kill();
    // Half-written files of a gateway that was killed while it started.
    machine.write("data/gateway.json", "{\"url\":");
    machine.write("data/.gateway.json.1", "{");
    machine.write("data/.owner.token.1", "");
    let _server = machine.serve();
    assert!(machine.run("workspace list").done().contains("demo"));
}

#[test]
fn a_deleted_or_emptied_token_is_made_anew() {
    let (machine, server) = Machine::with_workspace();
    let path = machine.data().join("owner.token");
    let first = std::fs::read_to_string(&path).unwrap();
    drop(server);
    std::fs::remove_file(&path).unwrap();
    let server = machine.serve();
    let second = std::fs::read_to_string(&path).unwrap();
    assert_ne!(first, second);
    assert_eq!(mode(&path), 0o600);
    assert!(machine.run("workspace list").done().contains("demo"));
    drop(server);
    // A crash or a full disk can leave an empty file behind. It must not be taken for an empty token.
    std::fs::write(&path, "\n").unwrap();
    let _server = machine.serve();
    assert!(machine.run("workspace list").done().contains("demo"));
}

#[test]
fn an_address_that_others_can_reach_needs_to_be_allowed() {
    let machine = Machine::new();
    machine.check_code(
        "serve --listen 0.0.0.0:0",
        2,
        "",
        "error: 0.0.0.0:0 can be reached from other machines\n\
         hint: add --allow-remote if that is meant, put a TLS proxy in front, and name the host in \
         gateway.allowed_hosts\n",
    );
    assert!(!machine.data().exists(), "nothing was made");
    let server = Server::start(&machine, machine.command("serve --listen 0.0.0.0:0 --allow-remote"));
    // 0.0.0.0 is an address to listen on and not one to connect to, so local commands are given the
    // loopback address.
    assert!(server.url.starts_with("http://127.0.0.1:"), "{}", server.url);
    machine.run("workspace create demo").done();
}

#[test]
fn a_taken_port_is_an_error_with_a_hint() {
    let machine = Machine::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    machine.check_code(
        &format!("serve --listen {address}"),
        3,
        "",
        &format!(
            "error: could not listen on {address}: Address already in use (os error 98)\n\
             hint: choose another port with --listen, or take a free one with --listen 127.0.0.1:0\n"
        ),
    );
    // Nothing is left that would stop the next try.
    let _server = machine.serve();
}

#[test]
fn bad_addresses_and_databases_are_refused() {
    let machine = Machine::new();
    let err = machine.run("serve --listen nonsense").failed(2);
    assert!(err.starts_with("error: `nonsense` is not an address to listen on: "), "{err}");
    machine.check_code(
        "serve --database mysql://me:secret@db/x",
        2,
        "",
        "error: `mysql://me@db/x` is not a database address; expected postgres://USER@HOST/NAME or sqlite://PATH \
         (from flag `--database`)\n",
    );
    // The file is longer than the header of an SQLite database, so that its content is rejected and not its
    // length.
    machine.write("home/config.toml", "[gateway]\ndatabase = 'nonsense'\n");
    let err = machine.tidy(&machine.run("serve").failed(2));
    assert!(
        err.contains("`nonsense` is not a database address;") && err.contains("(from ~/home/config.toml:2)"),
        "{err}"
    );
    machine.write("home/config.toml", "");
    let err =
        machine.run("serve --listen 127.0.0.1:0 --database postgres://me:secret@127.0.0.1:1/x").failed(3);
    // The note is printed before the wait, so that the user knows the reason for it.
    let err = err.strip_prefix("waiting for the database postgres://me@127.0.0.1:1/x\n").expect(&err);
    assert!(err.starts_with("error: could not open the database postgres://me@127.0.0.1:1/x: "), "{err}");
    assert!(!err.contains("secret"), "{err}");
    machine.write(
        "project/not.db",
        "this is no database, but long enough to have a header of its own".repeat(20),
    );
    let err = machine.run("serve --listen 127.0.0.1:0 --database sqlite://not.db").failed(3);
    assert!(err.starts_with("error: could not open the database sqlite://not.db: "), "{err}");
}

#[test]
fn the_database_can_be_another_file() {
    let machine = Machine::new();
    let file = machine.project().join("other.db");
    let server = machine.serve_with(&format!("--database sqlite://{}", file.display()));
    machine.run("workspace create demo").done();
    assert!(file.exists() && !machine.data().join("foreword.db").exists());
    drop(server);
    // The same token opens both.
    let server = machine.serve();
    assert!(!machine.run("workspace list").done().contains("demo"));
    drop(server);
    // The short form is relative to the working directory and names the same file as the absolute URL
    // above.
    let _server = machine.serve_with("--database sqlite:other.db");
    assert!(machine.run("workspace list").done().contains("demo"));
}

#[test]
fn the_database_can_be_postgresql() {
    let Some(database) = test_database() else { return };
    let machine = Machine::new();
    let server = machine.serve_with(&format!("--database {}", database.url()));
    machine.run("workspace create demo").done();
    machine.run_with("doc save", "text").done();
    assert!(!machine.data().join("foreword.db").exists());
    assert_eq!(server.stop("TERM").code(), Some(0));
    let mut command = machine.command("serve --listen 127.0.0.1:0");
    command.env("FOREWORD_GATEWAY_DATABASE", database.url());
    let _server = Server::start(&machine, command);
    assert_eq!(machine.run("doc get").done(), "text\n");
}

#[test]
fn flags_win_over_variables_and_variables_over_files() {
    let machine = Machine::new();
    machine.write("home/config.toml", "gateway.listen = 'nonsense'");
    // The error about a taken port proves that the variable was used. The value in the file would fail
    // earlier, because it is no address.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = machine.command("serve");
    command.env("FOREWORD_GATEWAY_LISTEN", taken.local_addr().unwrap().to_string());
    let err = finish(command, b"").failed(3);
    assert!(err.contains(&format!("could not listen on {}", taken.local_addr().unwrap())), "{err}");
    let _server = machine.serve();
}
