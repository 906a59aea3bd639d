//! `foreword token`, and commands that use another token than the owner's.

use crate::support::{Machine, Said, finish};

fn run_as(machine: &Machine, token: &str, words: &str) -> Said {
    let mut command = machine.command(words);
    command.env("FOREWORD_TOKEN", token);
    finish(command, b"")
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let (machine, _server) = Machine::with_workspace();
    let said = machine.run("token create bob --role reader --workspace demo");
    assert_eq!(
        said.err,
        "made token `bob` with the role reader; this is the only time its secret is shown\n"
    );
    let secret = said.word();
    // Without a role, a token is a reader. The weakest role is the default, so a forgotten flag grants too
    // little.
    machine.run("token create ann").done();
    let listed = machine.run("token list").done();
    assert!(!listed.contains(&secret));
    let heading = "NAME   ROLE    WORKSPACE  CREATED                   BY     STATE\n";
    let rows = "owner  owner   all        TIME  -      valid\n\
                bob    reader  demo       TIME  owner  valid\n\
                ann    reader  all        TIME  owner  valid\n";
    assert_eq!(machine.tidy(&listed), format!("{heading}{rows}"));
    machine.check("token revoke bob", "", "revoked token `bob`\n");
    let listed = machine.tidy(&machine.run("token list").done());
    assert!(listed.contains("bob    reader  demo       TIME  owner  revoked TIME\n"), "{listed}");
    machine.check_code(
        "token revoke bob",
        2,
        "",
        "error: there is no token `bob`\nhint: list tokens with `foreword token list`\n",
    );
    machine.check_code(
        "token create ann",
        2,
        "",
        "error: there is already a token named `ann`\nhint: choose another name\n",
    );
}

#[test]
fn commands_show_the_token_they_are_given() {
    let (machine, _server) = Machine::with_workspace();
    machine.run_with("doc save", "text\n").done();
    let reader = machine.run("token create bob --role reader").word();
    assert_eq!(run_as(&machine, &reader, "doc get").done(), "text\n");
    assert_eq!(
        run_as(&machine, &reader, "doc archive").failed(3),
        "error: `thread/agents_doc/archive` needs the role editor, this token has reader\n\
         hint: use a token with a stronger role, or ask an owner for one\n"
    );
    // The author in the history proves that the configured token was sent and not the owner's.
    let editor = machine.run("token create ann --role editor").word();
    machine.write("home/ann.token", format!("{editor}\n"));
    machine.write("home/config.toml", "client.token_file = 'ann.token'");
    machine.run_with("doc save --force", "changed\n").done();
    let history = machine.run("doc history").done();
    assert!(history.lines().nth(1).is_some_and(|line| line.contains("  ann  ")), "{history}");
    // The variable wins.
    run_as(&machine, &reader, "doc archive").failed(3);
}

#[test]
fn a_revoked_or_made_up_token_opens_nothing() {
    let (machine, _server) = Machine::with_workspace();
    let secret = machine.run("token create bob").word();
    run_as(&machine, &secret, "doc get").failed(1);
    machine.run("token revoke bob").done();
    let refused = "error: the gateway rejected the token: it is unknown or revoked\n\
                   hint: ask an owner for a new token (`foreword token create`); to recreate the owner's token, \
                   delete owner.token in the gateway's data directory and restart it\n";
    assert_eq!(run_as(&machine, &secret, "doc get").failed(3), refused);
    assert_eq!(run_as(&machine, "made up", "doc get").failed(3), refused);
}

#[test]
fn the_audit_names_actors_without_secrets() {
    let machine = Machine::new();
    machine.write(
        "home/config.toml",
        "[retention]\naudit = '2 years'\n[gateway]\nrate_limit_per_second = 1000\n",
    );
    let _server = machine.serve();
    let secret = machine.run("token create bob --role editor").word();
    machine.run("token revoke bob").done();
    run_as(&machine, secret.trim(), "workspace list").failed(3);
    let out = machine.run("audit").done();
    let lines: Vec<&str> = out.lines().collect();
    let position =
        |words: &str| lines.iter().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{out}"));
    assert!(position("gateway started") < position("bob, editor"), "oldest first: {out}");
    assert!(position("bob, editor") < position("token revoked"), "{out}");
    assert!(position("from 127.0.0.1: revoked token, 1 time") > 0, "{out}");
    // The log records settings that differ from the default, since they decide what the other entries mean.
    let started = lines[position("gateway started")];
    assert!(
        started.contains("retention.audit = \"2 years\"") && started.contains("rate_limit_per_second = 1000"),
        "{started}"
    );
    assert!(!out.contains(secret.trim()), "{out}");

    let entries = machine.run("audit --since '1 day' --format json").object();
    let kinds: Vec<&str> = entries["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["event"]["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"token_created") && kinds.contains(&"authentication_failed"), "{kinds:?}");
    // A time in the future is valid input with an empty answer, unlike a word that is no time.
    let later = machine.run("audit --since 2999-01-01T00:00:00Z --format json").object();
    assert_eq!(later["entries"].as_array().unwrap().len(), 0);
    let err = machine.run("audit --since yesterday").failed(2);
    assert!(err.contains("expected an age such as `7 days`"), "{err}");
}
