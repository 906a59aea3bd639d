//! `foreword doctor` and `foreword status`: before, during and after a gateway, and with something wrong.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Machine, eventually};

/// The verdict of every check of a kind, worst case last.
fn verdicts(machine: &Machine, name: &str, code: i32) -> Vec<(String, String)> {
    let said = machine.run("doctor --format json");
    assert_eq!(said.code, Some(code), "{said:?}");
    let report = said.object();
    assert_eq!(report["ok"], code == 0);
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
    let text = |value: &Value| machine.tidy(value.as_str().unwrap_or_default());
    checks.map(|check| (text(&check["verdict"]), text(&check["message"]))).collect()
}

fn is(verdict: &str, message: &str) -> Vec<(String, String)> {
    vec![(verdict.to_owned(), message.to_owned())]
}

#[test]
fn doctor_passes_a_working_setup() {
    let machine = Machine::new();
    assert_eq!(verdicts(&machine, "gateway", 0), is("ok", "none runs on this data directory"));
    assert!(!machine.data().exists(), "looking makes nothing");
    let server = machine.serve();
    let runs = format!("runs at {}", server.url);
    assert_eq!(verdicts(&machine, "gateway", 0), is("ok", &runs));
    assert_eq!(verdicts(&machine, "data", 0), is("ok", "~/data is private"));
    assert_eq!(verdicts(&machine, "database", 0), is("ok", "~/data/foreword.db is whole"));
    // Only a kill leaves the announcement behind. It is a warning, because the next gateway replaces the
    // file.
    server.kill();
    let stale = "none runs, but gateway.json is still there";
    assert_eq!(verdicts(&machine, "gateway", 0), is("warn", stale));
}

#[test]
fn problems_are_reported_with_hints() {
    let machine = Machine::new();
    assert_eq!(machine.serve().stop("TERM").code(), Some(0));
    let token = machine.data().join("owner.token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(verdicts(&machine, "data", 1), is("fail", "others can reach ~/data/owner.token"));
    let said = machine.run("doctor");
    let out = machine.tidy(&said.out);
    assert!(
        out.contains(
            "fail  data: others can reach ~/data/owner.token\n      hint: chmod go= ~/data/owner.token\n"
        ),
        "{out}"
    );
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();

    let key = machine.write("home/notes.txt", "my key is sk-abcdefghijklmnopqrstuvwxyz");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(verdicts(&machine, "home", 0), is("warn", "others can read secrets in ~/home/notes.txt"));
    // The last two contain the same characters as a secret, in an address and in prose. False alarms would
    // teach users to ignore this check.
    for (text, verdict) in [
        ("database = 'postgres://a:secret@db.example/x'", "warn"),
        ("headers = { Authorization = 'Bearer abc' }", "warn"),
        ("see https://docs.example/a:b@c, and ask for a Bearer token", "ok"),
        ("base_url = 'https://docs.example:8080/a@b'", "ok"),
    ] {
        std::fs::write(&key, text).unwrap();
        assert_eq!(verdicts(&machine, "home", 0)[0].0, verdict, "{text}");
    }
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(verdicts(&machine, "home", 0)[0].0, "ok");
    std::fs::rename(machine.data().join("foreword.db"), machine.data().join("gone.db")).unwrap();
    let lost = verdicts(&machine, "database", 1);
    assert!(lost[0].0 == "fail" && lost[0].1.contains("is gone"), "{lost:?}");
    std::fs::rename(machine.data().join("gone.db"), machine.data().join("foreword.db")).unwrap();

    let database = machine.data().join("foreword.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let end = bytes.len() / 2;
    // The first page with the header stays intact, so the file still opens and only an integrity check
    // finds the damage.
    bytes[4096..end].fill(0x55);
    std::fs::write(&database, bytes).unwrap();
    assert_eq!(verdicts(&machine, "database", 1)[0].0, "fail");

    machine.write("home/config.toml", "nonsense = 1\n");
    assert_eq!(verdicts(&machine, "configuration", 1)[0].0, "fail");
    // The rest is looked at all the same.
    assert_eq!(verdicts(&machine, "database", 1)[0].0, "fail");
    assert_eq!(verdicts(&machine, "data", 1)[0].0, "ok");
    assert_eq!(verdicts(&machine, "gateway", 1)[0].1, "none runs on this data directory");
    assert_eq!(verdicts(&machine, "others", 1)[0].0, "warn");
}

#[test]
fn doctor_reports_a_gateway_that_is_not_ready() {
    let machine = Machine::new();
    let server = machine.serve();
    let database = machine.data().join("foreword.db");
    // The process keeps its open file after the rename and could serve from it, but its data would be lost
    // with the next start.
    std::fs::rename(&database, machine.data().join("gone.db")).unwrap();
    let found = verdicts(&machine, "gateway", 1);
    let (verdict, message) = &found[0];
    assert_eq!(verdict, "fail", "{message}");
    assert!(message.starts_with(&format!("runs at {}, but is not ready: ", server.url)), "{message}");
    std::fs::rename(machine.data().join("gone.db"), &database).unwrap();
    assert_eq!(verdicts(&machine, "gateway", 0)[0].0, "ok");
}

#[test]
fn doctor_reports_a_root_with_private_files() {
    let machine = Machine::new();
    let server = machine.serve();
    let root = machine.project().join("linked");
    std::fs::create_dir(machine.project().join("real")).unwrap();
    std::os::unix::fs::symlink("real", &root).unwrap();
    machine.run(&format!("workspace create demo --root {}", root.display())).done();
    assert_eq!(verdicts(&machine, "workspaces", 0), []);
    // The root was safe when the workspace was created. Redirecting the link afterwards bypasses that
    // check, so it is repeated at every start.
    std::fs::remove_file(&root).unwrap();
    std::os::unix::fs::symlink(machine.data(), &root).unwrap();
    let found = verdicts(&machine, "workspaces", 0);
    let (verdict, message) = &found[0];
    assert_eq!((found.len(), verdict.as_str()), (1, "warn"));
    let unsafe_root = "the root of workspace `demo` is not safe: ~/project/linked is ~/data, where the gateway keeps \
                       its own files";
    assert_eq!(message, unsafe_root);
    assert_eq!(server.stop("TERM").code(), Some(0));
    let server = machine.serve();
    // The check of the roots only runs once the gateway listens, so the warning may appear late.
    let warning = format!("warning: {unsafe_root}\nhint: ");
    eventually("the warning", || machine.tidy(&server.log()).contains(&warning).then_some(()));
}

#[test]
fn a_schema_of_an_older_version_is_reported() {
    let machine = Machine::new();
    assert_eq!(machine.serve().stop("TERM").code(), Some(0));
    let database = rusqlite::Connection::open(machine.data().join("foreword.db")).unwrap();
    let newest = "DELETE FROM seaql_migrations WHERE version = (SELECT max(version) FROM seaql_migrations)";
    database.execute(newest, []).unwrap();
    drop(database);
    let older = "~/data/foreword.db is whole; its schema is of an older version (1 migration behind)";
    assert_eq!(verdicts(&machine, "database", 0), is("warn", older));
}

#[test]
fn postgresql_is_asked_for_its_settings() {
    let Some(database) = test_postgres::test_database() else { return };
    let machine = Machine::new();
    machine.write("home/config.toml", format!("[gateway]\ndatabase = '{}'\n", database.url()));
    assert_eq!(verdicts(&machine, "database", 0)[0].0, "ok");
    assert!(verdicts(&machine, "connections", 0)[0].1.starts_with("max_connections is "));
    assert_eq!(verdicts(&machine, "clock", 0), is("ok", "the database's and this machine's agree"));
    // Port 1 refuses connections at once. The error is likely to be pasted into a bug report, so it must
    // not contain the password.
    machine.write("home/config.toml", "[gateway]\ndatabase = 'postgres://me:secret@127.0.0.1:1/x'\n");
    let found = verdicts(&machine, "database", 1);
    assert!(found[0].0 == "fail" && !found[0].1.contains("secret"), "{found:?}");
}

#[test]
fn status_works_with_and_without_a_gateway() {
    let machine = Machine::new();
    let status = machine.run("status --format json").object();
    assert_eq!((&status["running"], status.get("url")), (&Value::Bool(false), None));
    let out = machine.run("status").done();
    assert!(out.starts_with("gateway    not running; start it with `foreword serve`\n"), "{out}");
    let server = machine.serve();
    machine.run("workspace create demo").done();
    let status = machine.run("status --format json").object();
    assert_eq!((&status["running"], status["url"].as_str()), (&Value::Bool(true), Some(server.url.as_str())));
    assert_eq!(status["workspaces"][0]["name"], "demo");
    assert_eq!(
        status["providers"][1],
        serde_json::json!({ "name": "openai", "missing_key": "OPENAI_API_KEY" })
    );
    let out = machine.tidy(&machine.run("status").done());
    assert!(
        out.contains("workspaces demo\nturns      0 running\n")
            && out.contains(
                "providers  anthropic (ANTHROPIC_API_KEY is not set), openai (OPENAI_API_KEY is not set)\n"
            )
            && out.contains("database   sqlite://~/data/foreword.db\n"),
        "{out}"
    );
}
