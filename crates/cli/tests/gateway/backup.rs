//! `foreword backup` and `foreword restore`: the drill.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::method::{Initialize, InitializeParams, WorkspaceList, WorkspaceListParams};

use crate::support::{Machine, all_events, all_revisions, finish, folder, save};

/// Saves go on while the copy is made; what the copy has is whole, and what comes after it continues its numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_made_during_saves_is_restored_and_continues() {
    let (machine, server) = Machine::with_workspace();
    let client = machine.client().await;
    let workspace =
        client.call::<WorkspaceList>(&WorkspaceListParams::default()).await.unwrap().workspaces[0].id.clone();
    let place = folder(&client, &workspace, "a").await;
    let instance = client.call::<Initialize>(&InitializeParams::default()).await.unwrap().instance;
    let reader = machine.run("token create bob").word();
    save(&client, &workspace, &place, "text 1").await.unwrap();

    let enough = Arc::new(AtomicBool::new(false));
    let saving = tokio::spawn({
        let enough = Arc::clone(&enough);
        let workspace = workspace.clone();
        let place = place.clone();
        async move {
            let mut number = 1;
            while !enough.load(Ordering::Relaxed) {
                number += 1;
                save(&client, &workspace, &place, &format!("text {number}")).await.unwrap();
            }
            number
        }
    });
    let file = machine.root().join("backup.db");
    let command = format!("backup {}", file.display());
    tokio::task::block_in_place(|| machine.run(&command)).done();
    enough.store(true, Ordering::Relaxed);
    let saved = saving.await.unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // The copy is written under a temporary name and renamed at the end. None of these names may remain
    // beside it.
    let beside: Vec<_> =
        machine.root().read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(beside.iter().all(|name| !name.to_string_lossy().starts_with("backup.db.")), "{beside:?}");
    tokio::task::block_in_place(|| {
        let refused = machine.tidy(&machine.run(&command).failed(2));
        assert_eq!(
            refused,
            "error: ~/backup.db is already there\nhint: name another file, or overwrite this one with --force\n"
        );
        // The copy that was made during the saves is the one that is restored; overwriting is for another.
        std::fs::copy(&file, machine.root().join("again.db")).unwrap();
        machine.run(&format!("backup {} --force", machine.root().join("again.db").display())).done();
    });

    // A new instance id makes clients reload, since the restored log may lack changes that they have
    // already seen.
    let other = Machine::new();
    tokio::task::block_in_place(|| other.run(&format!("restore {}", file.display())).done());
    let restored = tokio::task::block_in_place(|| other.serve());
    let mut client = other.client().await;
    let now = client.call::<Initialize>(&InitializeParams::default()).await.unwrap().instance;
    assert_ne!(now, instance, "clients notice");
    let revisions = all_revisions(&client, &workspace, &place).await;
    let copied = revisions.len() as u64;
    assert!((1..=saved).contains(&copied), "{copied} of {saved}");
    let expected: Vec<String> = (1..=copied).map(|number| format!("text {number}")).collect();
    assert_eq!(revisions, expected, "one moment, with everything before it");
    let before = all_events(&mut client, &workspace).await.len();
    let version = save(&client, &workspace, &place, "after").await.unwrap();
    assert_eq!(version.0, copied + 1);
    let mut client = other.client().await;
    assert_eq!(all_events(&mut client, &workspace).await.len(), before + 1, "sequence numbers continue");

    tokio::task::block_in_place(|| {
        // A backup may have been read by others, so a restore revokes its tokens unless `--keep-tokens` is
        // given.
        let owner = std::fs::read_to_string(machine.data().join("owner.token")).unwrap();
        for old in [reader.trim(), owner.trim()] {
            let mut command = other.command("workspace list");
            command.env("FOREWORD_TOKEN", old);
            let err = crate::support::finish(command, b"").failed(3);
            assert!(err.contains("rejected the token: it is unknown or revoked"), "{err}");
        }
        let audited = other.run("audit --since '1 day' --format json").object();
        let entries = audited["entries"].as_array().unwrap().iter();
        let mut revoked: Vec<_> = entries
            .filter(|entry| entry["event"]["kind"] == "token_revoked")
            .map(|entry| (entry["event"]["name"].as_str().unwrap(), entry["actor"].as_str().unwrap()))
            .collect();
        revoked.sort_unstable();
        assert_eq!(revoked, [("bob", "gateway"), ("owner", "gateway")]);
        drop(restored);
        drop(server);
    });
}

#[test]
fn restore_refuses_existing_and_damaged_databases() {
    let (machine, server) = Machine::with_workspace();
    let bob = machine.run("token create bob").word();
    machine.run("backup ../backup.db").done();
    let err = machine.tidy(&machine.run("restore ../backup.db").failed(3));
    assert!(err.starts_with("error: a gateway is already running on ~/data"), "{err}");
    assert_eq!(server.stop("TERM").code(), Some(0));
    machine.check_code(
        "restore ../backup.db",
        2,
        "",
        "error: ~/data already holds a database\n\
         hint: move the database away, with its -wal and -shm files, or restore into another directory with --data\n",
    );
    let mut bytes = std::fs::read(machine.root().join("backup.db")).unwrap();
    let middle = bytes.len() / 2;
    // The header is left intact, so that the file still looks like a database and only its pages are
    // damaged.
    bytes[4096..middle].fill(0x55);
    machine.write("damaged.db", &bytes);
    machine.write("text.db", "no database at all, but long enough to look like one".repeat(100));
    for name in ["damaged.db", "text.db", "missing.db"] {
        let said = machine.run(&format!("restore ../{name} --data ../new"));
        assert!(matches!(said.code, Some(2 | 3)), "{name}: {said:?}");
        assert!(!machine.root().join("new/foreword.db").exists(), "{name}");
    }
    // The remedy for a database that is gone, with its tokens.
    std::fs::remove_file(machine.data().join("foreword.db")).unwrap();
    machine.run("restore ../backup.db --keep-tokens").done();
    let _server = machine.serve();
    let mut command = machine.command("workspace list");
    command.env("FOREWORD_TOKEN", bob);
    assert!(crate::support::finish(command, b"").done().contains("demo"));
    assert!(machine.run("workspace list").done().contains("demo"), "the new owner's token opens it");
}

/// A killed gateway leaves a write-ahead log. Moving only the database would apply that log to the next one.
#[test]
fn restore_ignores_leftovers_of_a_killed_gateway() {
    let (machine, server) = Machine::with_workspace();
    machine.write("AGENTS.md", "in the backup\n");
    machine.run("doc save ../AGENTS.md").done();
    machine.run("backup ../backup.db").done();
    // Enough saves to leave changes in the log that are missing in the main file.
    for number in 0..20 {
        machine.write("AGENTS.md", format!("after it, {number}\n"));
        machine.run("doc save ../AGENTS.md --force").done();
    }
    server.kill();
    let data = machine.data();
    std::fs::rename(data.join("foreword.db"), machine.root().join("old.db")).unwrap();
    machine.check_code(
        "restore ../backup.db",
        2,
        "",
        "error: ~/data/foreword.db-wal was left behind by another database\n\
         hint: move it to where its database is now, as it may hold the last changes, or delete it\n",
    );
    assert!(!data.join("foreword.db").exists());

    // With its log beside it the old database is whole, and restored as it was when the gateway was killed.
    for suffix in ["-wal", "-shm"] {
        let left = data.join(format!("foreword.db{suffix}"));
        std::fs::rename(left, machine.root().join(format!("old.db{suffix}"))).unwrap();
    }
    // Remains of a killed restore do not get in the way.
    for suffix in ["", "-wal", "-shm"] {
        machine.write(format!("data/restoring.db{suffix}"), "half");
    }
    let log = std::fs::read(machine.root().join("old.db-wal")).unwrap();
    machine.run("restore ../old.db").done();
    assert_eq!(std::fs::read(machine.root().join("old.db-wal")).unwrap(), log, "it is only read");
    let restored = machine.serve();
    assert_eq!(machine.run("doc get").done(), "after it, 19\n");
    drop(restored);

    let other = Machine::new();
    other.run(&format!("restore {}", machine.root().join("backup.db").display())).done();
    let _restored = other.serve();
    assert_eq!(other.run("doc get").done(), "in the backup\n");
    let names: Vec<_> = other.data().read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("restoring")), "{names:?}");
}

#[test]
fn a_backup_never_replaces_a_database_in_use() {
    let (machine, server) = Machine::with_workspace();
    // `--force` permits overwriting an old backup. It must never permit overwriting the database that is
    // being copied.
    let refused = "error: ../data/foreword.db is a database in use\nhint: name another file\n";
    machine.check_code("backup ../data/foreword.db --force", 2, "", refused);
    assert_eq!(server.stop("TERM").code(), Some(0));
    // Nor, when nothing runs, what it is made from.
    machine.check_code("backup ../data/foreword.db --force", 2, "", refused);
    // Nor another gateway's.
    let other = Machine::new();
    let _running = other.serve();
    let theirs = other.data().join("foreword.db");
    let err = machine.run(&format!("backup {} --force", theirs.display())).failed(2);
    assert!(err.contains("is a database in use"), "{err}");
    other.run("workspace create demo").done();
    machine.run("backup ../backup.db").done();
}

#[test]
fn a_backup_needs_a_place_and_a_database() {
    let machine = Machine::new();
    machine.check_code(
        "backup ../copy.db",
        2,
        "",
        "error: there is no database at ~/data/foreword.db\nhint: name the data directory of the gateway with \
         --data; if its database is PostgreSQL, use pg_dump\n",
    );
    machine.write("data/foreword.db", "");
    machine.check_code(
        "backup no/such/copy.db",
        2,
        "",
        "error: there is no directory no/such for the backup\nhint: make it first, or name another file\n",
    );
    for command in ["backup .", "backup . --force"] {
        machine.check_code(
            command,
            2,
            "",
            "error: . is a directory, and a backup is a file\nhint: name a file, such as ./foreword.db\n",
        );
    }
}

#[test]
fn a_backup_with_an_impossible_name_is_refused() {
    let (machine, _server) = Machine::with_workspace();
    let copies = machine.root().join("copies");
    std::fs::create_dir(&copies).unwrap();
    let mut command = machine.command("backup");
    // The name is a valid path, but SQLite receives it as a string in a statement.
    command.arg(copies.join(OsStr::from_bytes(b"b\xff.db")));
    let said = finish(command, b"");
    assert!(said.code == Some(3) && said.err.contains("not UTF-8"), "{said:?}");
    assert_eq!(std::fs::read_dir(&copies).unwrap().count(), 0);
}

#[test]
fn on_postgresql_both_name_its_own_tools() {
    let machine = Machine::new();
    machine.write("home/config.toml", "[gateway]\ndatabase = 'postgres://me:secret@localhost/x'\n");
    for (command, tool) in [("backup", "pg_dump"), ("restore", "pg_restore")] {
        let err = machine.run(&format!("{command} ../file")).failed(2);
        assert!(err.contains("postgres://me@localhost/x is PostgreSQL's") && err.contains(tool), "{err}");
    }
}

/// The commands of docs/operations.md, as they are there.
#[test]
fn the_documented_commands_of_postgresql_bring_everything_back() {
    let Some(database) = test_postgres::test_database() else { return };
    let tools = ["pg_dump", "createdb", "pg_restore"];
    let is_there = |tool: &&str| std::process::Command::new(tool).arg("--version").output().is_ok();
    // Without these programs the page cannot be followed.
    if !tools.iter().all(is_there) {
        return;
    }
    // The commands are taken from the page itself, so that the page cannot drift away from what works.
    let page = include_str!("../../../../docs/operations.md");
    let (_, rest) = page.split_once("On PostgreSQL use its own tools.").unwrap();
    let (_, rest) = rest.split_once("```sh").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let (commands, _) = rest.split_once("```").unwrap();

    let machine = Machine::new();
    machine.write("home/config.toml", format!("[gateway]\ndatabase = '{}'\n", database.url()));
    let server = machine.serve();
    machine.run("workspace create demo").done();
    machine.write("AGENTS.md", "be brief\n");
    machine.run("doc save ../AGENTS.md").done();
    let instance = machine.run("status --format json").object()["instance"].clone();
    // The server is there for every test, so that the copy needs a name of its own.
    let (server_url, name) = database.url().rsplit_once('/').unwrap();
    let restored = format!("{name}_restored");
    let script = format!("set -e\n{}", commands.replace("restored", &restored));
    let (host, port) = server_url.rsplit_once('@').unwrap().1.split_once(':').unwrap();
    let user = server_url.rsplit_once('@').unwrap().0.rsplit_once('/').unwrap().1;
    let ran = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(machine.root())
        .envs([("DATABASE", database.url()), ("PGHOST", host), ("PGPORT", port), ("PGUSER", user)])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{script}\n{}", String::from_utf8_lossy(&ran.stderr));
    let mode = machine.root().join("foreword.dump").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others cannot read it");
    assert_eq!(server.stop("TERM").code(), Some(0));

    let other = Machine::new();
    other.write("home/config.toml", format!("[gateway]\ndatabase = '{server_url}/{restored}'\n"));
    let _server = other.serve();
    assert_eq!(other.run("doc get").done(), "be brief\n");
    assert_eq!(other.run("status --format json").object()["instance"], instance, "it is the same database");
}
