//! `foreword config`, and how settings reach commands.

use serde_json::{Value, json};

use crate::support::{Machine, finish};

/// One value of `config --format json`.
#[track_caller]
fn value(machine: &Machine, key: &str) -> Value {
    let object = machine.run("config --format json").object();
    let values = object["values"].as_array().unwrap();
    values.iter().find(|value| value["key"] == key).unwrap().clone()
}

#[test]
fn every_value_is_shown_with_where_it_came_from() {
    let machine = Machine::new();
    machine.write(
        "home/config.toml",
        "[gateway]\nlisten = '127.0.0.1:1'\ndatabase = 'postgres://me:secret@db/x'\n",
    );
    machine.write("project/.foreword/config.toml", "[agents]\nprofile = 'codex'\n");
    let mut command = machine.command("config");
    command.env("FOREWORD_WORKSPACE", "demo");
    let said = finish(command, b"");
    assert_eq!(machine.tidy(&said.err), "home: ~/home\ndata: ~/data\n");
    let out = machine.tidy(&said.done());
    let columns: Vec<Vec<&str>> = out
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(columns[0], ["KEY", "VALUE", "FROM"]);
    for expected in [
        ["gateway.listen", "\"127.0.0.1:1\"", "user (~/home/config.toml)"],
        ["gateway.database", "\"postgres://me:***@db/x\"", "user (~/home/config.toml)"],
        ["gateway.allow_remote", "false", "built-in"],
        ["client.url", "(the gateway running on this data directory)", "built-in"],
        ["client.workspace", "\"demo\"", "environment (FOREWORD_WORKSPACE)"],
        ["agents.profile", "\"codex\"", "project (~/project/.foreword/config.toml)"],
    ] {
        assert!(columns.contains(&expected.to_vec()), "{expected:?} is not in {out}");
    }
}

#[test]
fn programs_get_values_origins_and_directories() {
    let machine = Machine::new();
    let file = machine.write("home/config.toml", "gateway.rate_limit_per_second = 5");
    assert_eq!(
        value(&machine, "gateway.rate_limit_per_second"),
        json!({ "key": "gateway.rate_limit_per_second", "value": 5, "origin": "user", "source": file })
    );
    let object = machine.run("config --format json").object();
    assert_eq!((&object["home"], &object["data"]), (&json!(machine.home()), &json!(machine.data())));
}

// The schema of these settings allows positive numbers only.
#[test]
fn limits_of_zero_in_a_file_are_refused() {
    for (key, value) in [
        ("agents.initial.max_files", "max_files = 0"),
        ("agents.initial.max_bytes", "max_bytes = 0"),
        ("agents.resolver.max_files_per_resolve", "max_files_per_resolve = 0"),
    ] {
        let machine = Machine::new();
        let (table, _) = key.rsplit_once('.').unwrap();
        machine.write("home/config.toml", format!("[{table}]\n{value}\n"));
        let said = machine.run("show");
        assert_eq!(said.code, Some(2), "{key}");
        let expected = format!("`{key}` must be a positive integer, found the integer 0");
        assert!(said.err.contains(&expected), "{}", said.err);
    }
}

#[test]
fn flags_win_over_variables_for_directories_and_files() {
    let machine = Machine::new();
    machine.write("elsewhere/config.toml", "agents.profile = 'elsewhere'");
    let file = machine.write("project/named.toml", "agents.profile = 'named'");
    let profile = |words: &str| {
        let object = machine.run(&format!("config --format json {words}")).object();
        let values = object["values"].as_array().unwrap();
        values.iter().find(|value| value["key"] == "agents.profile").unwrap()["value"].clone()
    };
    assert_eq!(profile(""), "foreword");
    assert_eq!(profile("--home ../elsewhere"), "elsewhere");
    assert_eq!(profile("--home ../elsewhere --config named.toml"), "named");
    assert_eq!(profile(&format!("--config {}", file.display())), "named");
    machine.check_code(
        "config --config absent.toml",
        2,
        "",
        "error: the configuration file ~/project/absent.toml does not exist\n\
         hint: create the file, or omit `--config`\n",
    );
    let object = machine.run("config --format json --data other").object();
    assert_eq!(object["data"], json!(machine.project().join("other")));
}

#[test]
fn an_unknown_key_suggests_the_nearest_one() {
    let machine = Machine::new();
    machine.write("home/config.toml", "[gateway]\nlisen = '127.0.0.1:0'\n");
    let error = "error: ~/home/config.toml:2: unknown key `gateway.lisen`\n\
                 hint: the nearest known key is `gateway.listen`; `foreword config` lists all\n";
    for words in ["config", "serve", "workspace list"] {
        machine.check_code(words, 2, "", error);
    }
}

#[test]
fn a_project_may_not_choose_gateways_nor_raise_limits() {
    let machine = Machine::new();
    let project = "project/.foreword/config.toml";
    machine.write(project, "[client]\nurl = 'http://evil.example'\n");
    machine.check_code(
        "workspace list",
        2,
        "",
        "error: ~/project/.foreword/config.toml:2: a project cannot set `client.url`\n\
         hint: remove it there and set it in ~/home/config.toml or with the variable FOREWORD_CLIENT_URL\n",
    );
    machine.write(project, "agents.resolver.max_files_per_resolve = 9");
    machine.check_code(
        "config",
        2,
        "",
        "error: ~/project/.foreword/config.toml:1: a project cannot raise `agents.resolver.max_files_per_resolve` from 8 \
         to 9\n\
         hint: a project may only lower limits; to raise this one, set it in ~/home/config.toml or with the variable \
         FOREWORD_AGENTS_MAX_FILES_PER_RESOLVE\n",
    );
    machine.write(project, "agents.resolver.max_files_per_resolve = 3");
    assert_eq!(value(&machine, "agents.resolver.max_files_per_resolve")["value"], 3);
}

#[test]
fn the_variables_of_an_agent_hold_with_its_rules() {
    let machine = Machine::new();
    let bytes = |profile: &str| {
        let mut command = machine.command("config --format json");
        command.env("CODELIA_AGENTS_INITIAL_MAX_BYTES", "100").env("FOREWORD_AGENTS_PROFILE", profile);
        let object = finish(command, b"").object();
        let values = object["values"].as_array().unwrap();
        values.iter().find(|value| value["key"] == "agents.initial.max_bytes").unwrap().clone()
    };
    assert_eq!(
        bytes("codelia"),
        json!({
            "key": "agents.initial.max_bytes", "value": 100, "origin": "environment",
            "source": "CODELIA_AGENTS_INITIAL_MAX_BYTES",
        })
    );
    assert_eq!(bytes("foreword")["value"], json!(null));
}

#[test]
fn an_unknown_variable_only_warns() {
    let machine = Machine::new();
    let mut command = machine.command("config");
    command.env("FOREWORD_GATEWAY_LISEN", "x");
    let said = finish(command, b"");
    assert!(
        said.err.starts_with(
            "warning: environment variable `FOREWORD_GATEWAY_LISEN` is unknown and has no effect\n\
             hint: the nearest known variable is `FOREWORD_GATEWAY_LISTEN`\n"
        ),
        "{}",
        said.err
    );
    said.done();
}

#[test]
fn a_log_filter_that_is_none_only_warns() {
    let machine = Machine::new();
    let mut command = machine.command("config");
    command.env("FOREWORD_LOG", "gateway=loud");
    let said = finish(command, b"");
    assert!(
        said.err.starts_with("warning: environment variable `FOREWORD_LOG` has no effect: "),
        "{}",
        said.err
    );
    assert!(said.err.contains("\nhint: give a level, such as `info`, or `gateway=debug`\n"), "{}", said.err);
    said.done();
}
