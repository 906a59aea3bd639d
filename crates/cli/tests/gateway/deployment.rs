//! The systemd unit and the container file under `examples/`: what they start is started, with the environment they give it.
//!
//! `systemd-analyze` looks at the unit where there is one. The two base images come from the network, so an image is built
//! from nothing, with the binary of the tests and its libraries, where `buildah` can: its instructions are the file's own.

#![expect(clippy::print_stdout, reason = "a test says what it could not look at")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{FOREWORD, Machine, Server, finish};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// Directory in which both keep everything, replaced by one of the test.
const STATE: &str = "/var/lib/foreword";

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(EXAMPLES).join(name)).expect(name)
}

/// Starts a gateway with these words and variables, asks it for something, and ends it as a service manager does.
#[track_caller]
fn try_out(words: &[String], variables: &BTreeMap<String, String>) {
    let machine = Machine::new();
    let state = machine.root().join("state");
    std::fs::create_dir(&state).unwrap();
    let here = |text: &str| text.replace(STATE, &state.display().to_string());
    let data = here(&variables["FOREWORD_DATA"]);
    let mut gateway = Command::new(FOREWORD);
    // The port of the example may be taken on this machine.
    gateway.args(words.iter().map(|word| word.replace(":4670", ":0")));
    // Only the variables of the example apply. A variable of the tests could otherwise hide a missing one.
    gateway.env_clear().current_dir(&state);
    gateway.envs(variables.iter().map(|(name, value)| (name, here(value))));
    let server = Server::start_on(&machine, gateway, Path::new(&data));
    let mut create = machine.command("workspace create demo");
    create.env("FOREWORD_DATA", &data);
    finish(create, b"").done();
    assert!(server.stop("TERM").success());
    // Everything it wrote is where it will be again.
    assert!(Path::new(&data).join("foreword.db").exists());
}

/// The values of a key of a unit, in their order.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let lines = unit.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(name, _)| *name == key).map(|(_, value)| value).collect()
}

#[test]
fn the_systemd_unit_starts_a_gateway() {
    let unit = read("systemd/foreword.service");
    let [start] = values(&unit, "ExecStart")[..] else { panic!("one command") };
    let words: Vec<String> = start.split(' ').skip(1).map(str::to_owned).collect();
    let environment = values(&unit, "Environment");
    let variables: BTreeMap<String, String> = environment
        .iter()
        .map(|it| {
            it.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).expect("NAME=value")
        })
        .collect();
    // systemd makes this directory, and nothing else can be written.
    assert_eq!(values(&unit, "StateDirectory"), ["foreword"]);
    assert!(variables.values().all(|value| value.starts_with(STATE)), "{variables:?}");
    try_out(&words, &variables);
}

#[test]
fn systemd_accepts_the_unit() {
    let machine = Machine::new();
    // It wants the command to be there.
    let unit = read("systemd/foreword.service").replace("/usr/local/bin/foreword", FOREWORD);
    let path = machine.write("foreword.service", unit);
    let mut verify = Command::new("systemd-analyze");
    match verify.arg("verify").arg(&path).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            // Units of the machine itself may have problems of their own.
            let ours: Vec<&str> = said.lines().filter(|line| line.contains("foreword.service")).collect();
            assert_eq!(ours, Vec::<&str>::new(), "{said}");
        }
        // Not every machine runs systemd, and `the_systemd_unit_starts_a_gateway` checks the essentials
        // without it.
        Err(error) => println!("not verified, systemd-analyze cannot be started: {error}"),
    }
}

/// The instructions of a container file, with continued lines joined.
fn instructions(text: &str) -> Vec<(String, String)> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').expect("an instruction and its words"))
        .map(|(name, words)| (name.to_owned(), words.trim().to_owned()))
        .collect()
}

#[test]
fn the_container_file_starts_a_gateway() {
    let instructions = instructions(&read("container/Containerfile"));
    let last = |name: &str| {
        let found = instructions.iter().rev().find(|(it, _)| it == name);
        found.map(|(_, words)| words.clone()).expect(name)
    };
    // The test interprets the file itself. An instruction that it does not know could change the
    // environment unnoticed.
    let known = ["FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"];
    for (name, words) in &instructions {
        assert!(known.contains(&name.as_str()), "{name} {words}");
    }
    assert_eq!(instructions[0].0, "FROM");
    assert_eq!(last("ENTRYPOINT"), r#"["foreword"]"#);
    let words: Vec<String> = serde_json::from_str(&last("CMD")).expect("a list of words");
    let variables: BTreeMap<String, String> = last("ENV")
        .split(' ')
        .map(|it| {
            it.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).expect("NAME=value")
        })
        .collect();
    assert_eq!(last("VOLUME"), STATE);
    assert!(variables.values().all(|value| value.starts_with(STATE)), "{variables:?}");
    try_out(&words, &variables);

    // The files copied out of the first image are those that cargo builds there.
    let build = instructions.iter().find(|(_, words)| words.starts_with("cargo build")).expect("a build");
    let profile = build.1.split("--profile ").nth(1).and_then(|it| it.split(' ').next()).expect("a profile");
    let copied = format!("--from=build /source/target/{profile}/foreword /usr/local/bin/foreword");
    assert!(instructions.contains(&("COPY".to_owned(), copied)));
    let manifest = std::fs::read_to_string(Path::new(EXAMPLES).join("../Cargo.toml")).unwrap();
    assert!(manifest.contains(&format!("[profile.{profile}]")));
    let version = manifest.split("rust-version = \"").nth(1).and_then(|it| it.split('"').next()).unwrap();
    assert!(instructions[0].1.contains(&format!("rust:{version}-")), "{}", instructions[0].1);
}

/// Returns `buildah` with its own store. `None` if it cannot be started.
fn buildah(machine: &Machine, words: &[&str]) -> Option<Command> {
    Command::new("buildah").arg("--version").output().ok()?;
    let mut buildah = Command::new("buildah");
    let place = |name: &str| machine.root().join(name);
    buildah.arg("--root").arg(place("store")).arg("--runroot").arg(place("run"));
    // The driver `vfs` needs no kernel support, so it works inside containers and without privileges.
    buildah.args(["--storage-driver", "vfs"]).args(words);
    Some(buildah)
}

/// The last image of the container file without what takes a distribution, and with a binary that is built already.
fn from_nothing(text: &str) -> String {
    let all = instructions(text);
    let last = all.iter().rposition(|(name, _)| name == "FROM").expect("an image");
    let mut lines = vec!["FROM scratch".to_owned(), "COPY libraries /".to_owned()];
    for (name, words) in &all[last + 1..] {
        match name.as_str() {
            // Both need a distribution: the one has no shell to run in, the other no list of users.
            "RUN" | "USER" => {}
            "COPY" => lines.push(format!("COPY foreword {}", words.rsplit(' ').next().expect("a place"))),
            _ => lines.push(format!("{name} {words}")),
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn an_image_is_built_and_a_gateway_answers_in_it() {
    let machine = Machine::new();
    let Some(mut build) = buildah(&machine, &["build-using-dockerfile", "--quiet", "--tag", "foreword"])
    else {
        println!("no image was built, buildah cannot be started");
        return;
    };
    machine.write("context/Containerfile", from_nothing(&read("container/Containerfile")));
    let context = machine.root().join("context");
    std::fs::copy(FOREWORD, context.join("foreword")).unwrap();
    let libraries = Command::new("ldd").arg(FOREWORD).output().expect("the binary's libraries");
    for path in String::from_utf8_lossy(&libraries.stdout).split_whitespace().filter(|it| it.starts_with('/'))
    {
        let copy = context.join("libraries").join(path.trim_start_matches('/'));
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(path, copy).unwrap();
    }
    build.arg(&context);
    finish(build, b"").done();
    let container = finish(buildah(&machine, &["from", "foreword"]).unwrap(), b"").word();
    // It has no network of its own, so the gateway is asked through its standard input, in the environment of the file.
    let run = ["run", "--isolation", "chroot", &container, "--", "foreword", "serve", "--stdio"];
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let answer = finish(buildah(&machine, &run).unwrap(), &[request, b"\n".as_slice()].concat()).done();
    let answer: serde_json::Value =
        serde_json::from_str(answer.lines().next().unwrap_or_default()).expect(&answer);
    assert_eq!(answer["result"]["server"]["name"], "foreword", "{answer}");
    // Its output is in the volume, where the next command finds it.
    let copy = ["run", "--isolation", "chroot", &container, "--", "foreword", "backup", "/copy.db"];
    let copied = finish(buildah(&machine, &copy).unwrap(), b"");
    assert!(copied.err.contains("copied /var/lib/foreword/data/foreword.db"), "{copied:?}");
    assert_eq!(copied.done(), "/copy.db\n");
    finish(buildah(&machine, &["rm", &container]).unwrap(), b"").done();
}
