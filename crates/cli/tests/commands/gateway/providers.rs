//! `[providers.NAME]` in the configuration, and what a gateway makes of it.

use std::os::unix::fs::PermissionsExt as _;

use scripted_model::{Answer, ScriptedModel, Wire};
use tokio::runtime::Runtime;

use crate::support::Machine;

#[test]
fn a_provider_is_shown_without_its_secrets() {
    let machine = Machine::new();
    machine.write(
        "home/config.toml",
        "[providers.local]\nkind = 'openai_compatible'\nbase_url = 'http://127.0.0.1:9/v1?key=secret-1'\n\
         api_key_env = 'LOCAL_KEY'\nheaders = { X-Team = 'secret-2' }\n",
    );
    let text = machine.run("config").done();
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(line("providers.local.headers ").contains("{ \"X-Team\" = \"***\" }"), "{text}");
    assert!(line("providers.local.base_url ").contains("?key=***\""), "{text}");
    assert!(line("providers.local.api_key_env ").contains("\"LOCAL_KEY\""), "{text}");
    // Both formats are checked, since they are printed by different code and either may end up in a bug
    // report.
    let json = machine.run("config --format json").done();
    assert!(!text.contains("secret") && !json.contains("secret"), "{json}");
}

#[test]
fn a_key_in_the_configuration_is_refused() {
    let machine = Machine::new();
    machine.write("home/config.toml", "[providers.anthropic]\napi_key = 'sk-secret'\n");
    for words in ["config", "serve --listen 127.0.0.1:0"] {
        machine.check_code(
            words,
            2,
            "",
            "error: ~/home/config.toml:2: `providers.anthropic.api_key` must not be in a configuration file\n\
             hint: name an environment variable with `api_key_env`, or a file of mode 0600 with `api_key_file`\n",
        );
    }
}

#[test]
fn a_provider_that_cannot_be_used_stops_the_start() {
    let machine = Machine::new();
    machine
        .write("home/config.toml", "[providers.local]\nkind = 'openai_compatible'\nbase_url = 'nonsense'\n");
    let error = machine.run("serve --listen 127.0.0.1:0").failed(2);
    assert!(error.starts_with("error: provider `local`: the base URL is not an address"), "{error}");
    machine.write("home/config.toml", "[providers.openai]\napi_key_file = 'openai.key'\n");
    let key = machine.write("home/openai.key", "sk-secret\n");
    // Readable by the group is already too much: on many systems all users share one group.
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    machine.check_code(
        "serve --listen 127.0.0.1:0",
        2,
        "",
        "error: provider `openai`: the key file ~/home/openai.key has mode 0640, so that others could use it \
         (~/home/config.toml:2)\n\
         hint: chmod 600 ~/home/openai.key\n",
    );
    assert!(!machine.data().exists(), "nothing was made");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let _server = machine.serve();
}

#[test]
fn bad_settings_of_turns_stop_the_start() {
    for (text, part) in [
        ("[turns]\nmax_context_tokens = 1000\n", "must be below `turns.max_context_tokens`, which is 1000"),
        ("[turns]\nmax_rounds = 0\n", "`turns.max_rounds` must be a positive integer"),
        ("[providers.x]\nkind = 'x'\n", "`providers.x.kind` must be one of `anthropic`, `openai`"),
        ("[model]\ndefault = 'x/y'\n", "names provider `x`, which is not configured"),
    ] {
        // Rejected at the start, because a gateway that fails with its first turn fails when its operator
        // has left.
        let machine = Machine::new();
        machine.write("home/config.toml", text);
        let error = machine.run("serve --listen 127.0.0.1:0").failed(2);
        assert!(error.contains("config.toml:2: ") && error.contains(part), "{error}");
    }
}

#[test]
fn a_key_file_reaches_only_its_provider() {
    const KEY: &str = "key-of-the-file";
    let machine = Machine::new();
    let runtime = Runtime::new().unwrap();
    let model = runtime.block_on(ScriptedModel::start()).unwrap();
    // The model rejects every other key, so the answer proves that this one arrived without its line end.
    model.require_key(KEY);
    model.answer(Answer::text("Hello."));
    machine.write(
        "home/config.toml",
        format!(
            "[model]\ndefault = 'anthropic/m'\n[providers.anthropic]\nbase_url = '{}'\napi_key_file = 'anthropic.key'\n",
            model.base_url(Wire::Anthropic)
        ),
    );
    let key = machine.write("home/anthropic.key", format!("{KEY}\n"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let server = machine.serve();
    machine.run("workspace create demo").done();
    let thread = machine.run("thread create Talk --mode chat").word();
    let turn = machine.run(&format!("turn start {} hello", thread.trim()));
    assert!(turn.code == Some(0) && turn.out.contains("Hello."), "{turn:?}");
    assert_eq!(model.requests().len(), 1);
    let shown = [
        turn.out,
        turn.err,
        server.log(),
        machine.run("config").done(),
        machine.run("config --format json").done(),
        machine.run("audit --since '1 day' --format json").done(),
    ];
    assert!(shown.iter().all(|text| !text.contains(KEY)), "{shown:?}");
}
