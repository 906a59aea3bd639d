//! Private files, and protection against reusing or replacing a database by mistake.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::{Machine, Server, finish};

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// Everything below a directory that others can reach.
fn open_to_others(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(open_to_others(&path));
        }
        if mode(&path) & 0o077 != 0 {
            found.push(path);
        }
    }
    found
}

/// Gives a gateway something to write into every file it has, with no umask at all.
fn serve_without_umask(machine: &Machine) -> Server {
    let command = machine.shell("umask 000; exec $foreword serve --listen 127.0.0.1:0");
    Server::start(machine, command)
}

#[test]
fn files_are_private_without_a_umask() {
    let machine = Machine::new();
    // Under a usual umask most files are private by accident. A umask of 000 reveals each file that relies
    // on it.
    let server = serve_without_umask(&machine);
    machine.run("workspace create demo").done();
    // The editor fails, so that the draft stays.
    let edit = machine.shell("umask 000; EDITOR=false exec $foreword doc edit");
    finish(edit, b"").failed(3);
    assert_eq!(machine.data().join("drafts").read_dir().unwrap().count(), 2, "the text, and what it is of");
    let resolve = machine.shell(
        "umask 000; mkdir -m 700 s; exec $foreword resolve --session s/session.json --cwd . AGENTS.md",
    );
    finish(resolve, b"").done();
    for directory in [machine.data(), machine.home(), machine.project().join("s")] {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
        assert_eq!(open_to_others(&directory), Vec::<PathBuf>::new());
    }
    drop(server);
}

#[test]
fn a_start_fixes_permissions_of_the_data_directory_only() {
    let (machine, server) = Machine::with_workspace();
    let mut edit = machine.command("doc edit");
    edit.env("EDITOR", "false");
    finish(edit, b"").failed(3);
    drop(server);
    let loosen = "chmod -R a+rX ../data ../home";
    finish(machine.shell(loosen), b"").done();
    assert_ne!(open_to_others(&machine.data()), Vec::<PathBuf>::new());
    let server = machine.serve();
    assert_eq!(open_to_others(&machine.data()), Vec::<PathBuf>::new());
    // Users choose the mode of their own configuration, for example to share it. Only the data directory
    // belongs to the gateway.
    assert_eq!(mode(&machine.home().join("SOUL.md")), 0o644);
    let log = machine.tidy(&server.log());
    assert!(log.contains("~/data/owner.token was readable by others and is now private"), "{log}");
}

#[test]
fn one_database_has_one_gateway_across_data_directories() {
    let (machine, server) = Machine::with_workspace();
    let database = machine.data().join("foreword.db");
    // The lock must follow the file and not its name. Through a link, two gateways would otherwise write to
    // one SQLite file.
    std::os::unix::fs::symlink(&database, machine.project().join("link.db")).unwrap();
    for name in [database.display().to_string(), "link.db".to_owned()] {
        machine.check_code(
            &format!("serve --listen 127.0.0.1:0 --data ../other --database sqlite://{name}"),
            3,
            "",
            "error: another gateway uses the database ~/data/foreword.db\n\
             hint: use that gateway, stop it first, or start this one with another --database\n",
        );
    }
    assert!(machine.run("workspace list").done().contains("demo"), "the first one still serves");
    // A lock ends with its process, however that ends.
    server.kill();
    let _server = machine.serve();
    assert!(machine.run("workspace list").done().contains("demo"));
}

#[test]
fn a_lost_database_is_not_replaced_by_an_empty_one() {
    let (machine, server) = Machine::with_workspace();
    assert_eq!(server.stop("TERM").code(), Some(0));
    let database = machine.data().join("foreword.db");
    let aside = machine.data().join("aside.db");
    std::fs::rename(&database, &aside).unwrap();
    let refused = "error: the database sqlite://~/data/foreword.db is gone: it was used from ~/data before, and is missing \
         or empty now\n\
         hint: put the database back, or restore a backup with `foreword restore`; to go on with what is there, or with \
         an empty one, start once with --new-database\n";
    machine.check_code("serve --listen 127.0.0.1:0", 3, "", refused);
    assert!(!database.exists(), "nothing was made in its place");
    // SQLite accepts an empty file as a new database, so it counts as missing here. A volume that failed to
    // mount looks just like this.
    std::fs::write(&database, "").unwrap();
    std::fs::set_permissions(&database, std::fs::Permissions::from_mode(0o600)).unwrap();
    machine.check_code("serve --listen 127.0.0.1:0", 3, "", refused);
    assert_eq!(database.metadata().unwrap().len(), 0);

    // Put back, it is as before, also where the data directory has moved.
    std::fs::rename(&aside, &database).unwrap();
    let server = machine.serve();
    assert!(machine.run("workspace list").done().contains("demo"));
    assert_eq!(server.stop("TERM").code(), Some(0));
    let moved = machine.root().join("moved");
    std::fs::rename(machine.data(), &moved).unwrap();
    std::fs::rename(moved.join("foreword.db"), moved.join("aside.db")).unwrap();
    let err = machine
        .tidy(&machine.run(&format!("serve --listen 127.0.0.1:0 --data {}", moved.display())).failed(3));
    assert!(err.contains("~/moved/foreword.db is gone"), "{err}");
    std::fs::rename(moved.join("aside.db"), moved.join("foreword.db")).unwrap();
    std::fs::rename(&moved, machine.data()).unwrap();

    // An empty one is made where that is asked for, once.
    std::fs::remove_file(&database).unwrap();
    let server = machine.serve_with("--new-database");
    assert!(!machine.run("workspace list").done().contains("demo"));
    assert_eq!(server.stop("TERM").code(), Some(0));
    let _server = machine.serve();
}

#[test]
fn a_swapped_database_is_refused() {
    let (machine, server) = Machine::with_workspace();
    assert_eq!(server.stop("TERM").code(), Some(0));
    let other = Machine::new();
    assert_eq!(other.serve().stop("TERM").code(), Some(0));
    // Both databases are valid, so only the instance id that is remembered beside the data reveals the
    // exchange.
    std::fs::copy(other.data().join("foreword.db"), machine.data().join("foreword.db")).unwrap();
    let err = machine.tidy(&machine.run("serve --listen 127.0.0.1:0").failed(3));
    assert!(
        err.starts_with(
            "error: the database sqlite://~/data/foreword.db is another one than the one that ~/data was used with\n"
        ),
        "{err}"
    );
    let server = machine.serve_with("--new-database");
    assert_eq!(server.stop("TERM").code(), Some(0));
    let _server = machine.serve();
}
