//! Turns with a small real model, which llama.cpp serves on loopback through all three APIs.
//!
//! `cargo xtask real-model` installs the server and the weights and runs these tests. A scripted model accepts every
//! request; a real one has a context that ends, a template that rejects some messages, and a cache that misses.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use scripted_model::Trial;
use serde_json::Value;

use crate::support::{Machine, Server, eventually};

/// Python of the environment that has the server and the weights.
const PYTHON: &str = "FOREWORD_TEST_REAL_MODEL";
/// Context of the server in tokens; small, so that a conversation fills it in seconds on one core.
const CONTEXT: usize = 1024;
/// Tokens reserved for an answer.
const RESERVE: usize = 192;

/// The server and its model, for the table of counterparts.
const COUNTERPART: &str = "llama.cpp (xllamacpp 2026.10.11549), SmolLM2 135M";

/// The provider kinds, which are also the names of the APIs.
const APIS: [&str; 3] = ["anthropic", "openai", "openai_compatible"];

/// Rejects neighboring messages of the same role, as the templates of Gemma and Mistral do.
const ALTERNATING: &str = "\
{%- set state = namespace(expected='user') -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
<|im_start|>system\n{{ message.content }}<|im_end|>\n
{%- else -%}
{%- if message.role != state.expected -%}
{{ raise_exception('roles must alternate') }}
{%- endif -%}
{%- set state.expected = 'assistant' if state.expected == 'user' else 'user' -%}
<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n
{%- endif -%}
{%- endfor -%}
<|im_start|>assistant\n";

/// Way in which the model ends its answers.
#[derive(Clone, Copy)]
enum Ending {
    Natural,
    /// Only at a limit: such a model runs into every one there is.
    Endless,
}

/// A llama.cpp server. It ends when its standard input closes, also if the test is killed.
struct Model {
    child: Child,
    _input: ChildStdin,
    url: String,
}

impl Model {
    fn start(machine: &Machine, template: Option<&str>, ending: Ending) -> Self {
        let python = std::env::var(PYTHON).expect("run by cargo xtask real-model");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_model/serve.py");
        let template = template.map_or_else(|| PathBuf::from("-"), |text| machine.write("template", text));
        let mut child = Command::new(python)
            .arg(script)
            .arg(CONTEXT.to_string())
            .arg(template)
            .arg(match ending {
                Ending::Natural => "natural",
                Ending::Endless => "endless",
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("start the model");
        // The server prints its address once the weights are loaded, which can take a while on one core.
        let mut url = String::new();
        let output = child.stdout.take().expect("standard output");
        BufReader::new(output).read_line(&mut url).expect("the address of the model");
        assert!(url.starts_with("http://127.0.0.1:"), "the model did not start: {url:?}");
        let input = child.stdin.take().expect("standard input");
        Self { child, _input: input, url: url.trim().to_owned() }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway whose only model is the real one, and a thread.
struct Conversation {
    machine: Machine,
    server: Option<Server>,
    model: Model,
}

impl Conversation {
    fn start(api: &str, template: Option<&str>, ending: Ending) -> Self {
        let machine = Machine::new();
        let model = Model::start(&machine, template, ending);
        // The Messages API is addressed without a version, the others with it.
        let path = if api == "anthropic" { "" } else { "/v1" };
        machine.write(
            "home/config.toml",
            format!(
                "[model]\ndefault = 'real/smollm2'\n\
                 [providers.real]\nkind = '{api}'\nbase_url = '{}{path}'\napi_key_env = 'REAL_KEY'\n\
                 [prompt]\nprofile = 'minimal'\n\
                 [turns]\nmax_context_tokens = {CONTEXT}\nresponse_reserve_tokens = {RESERVE}\n",
                model.url
            ),
        );
        let server = Some(serve(&machine));
        let conversation = Self { machine, server, model };
        conversation.run("workspace create demo");
        conversation.run("thread create Talk --mode chat");
        conversation
    }

    fn run(&self, words: &str) -> String {
        let output = self.machine.command(words).output().expect("run the command");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{words}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    fn ask(&self, text: &str) -> String {
        self.run(&format!("turn start Talk '{text}'"))
    }

    /// Returns the turns of the thread, oldest first.
    fn turns(&self) -> Vec<Value> {
        let text = self.run("turn list Talk --format json");
        let list: Value = serde_json::from_str(&text).expect(&text);
        let mut turns = list["turns"].as_array().expect("turns").clone();
        turns.sort_by_key(|turn| turn["ordinal"].as_u64());
        turns
    }
}

fn serve(machine: &Machine) -> Server {
    let mut command = machine.command("serve --listen 127.0.0.1:0");
    command.env("REAL_KEY", "sk-none");
    Server::start(machine, command)
}

fn trial(api: &str, tried: &str) -> Trial {
    Trial::new(COUNTERPART, format!("`{api}`: {tried}"))
}

fn tokens(turn: &Value, name: &str) -> u64 {
    turn["usage"][name].as_u64().unwrap_or_default()
}

#[test]
#[ignore = "needs the real model: cargo xtask real-model"]
fn later_turns_read_their_prefix_from_the_cache() {
    for api in APIS {
        let trial = trial(api, "three chat turns");
        let conversation = Conversation::start(api, None, Ending::Natural);
        // Three turns, because the second one can reuse little more than the system text.
        for text in ["Name a color.", "Name another color.", "Which of them is darker?"] {
            assert!(!conversation.ask(text).trim().is_empty(), "{api}");
        }
        let turns = conversation.turns();
        assert!(turns.iter().all(|turn| turn["status"] == "completed"), "{api}: {turns:?}");
        let (input, cached) = (tokens(&turns[2], "input"), tokens(&turns[2], "cached_read"));
        // Only the last answer and the question are new.
        assert!(cached * 2 > input, "{api}: {turns:?}");
        trial.succeeded(format!("{cached} of {input} input tokens of the third turn from the cache"));
    }
}

#[test]
#[ignore = "needs the real model: cargo xtask real-model"]
fn a_full_context_ends_the_turn_and_not_the_thread() {
    for api in APIS {
        let trial = trial(api, "answers that fill the context");
        let conversation = Conversation::start(api, None, Ending::Endless);
        let mut answers = Vec::new();
        for text in ["Count from 1 to 2000.", "Go on."] {
            answers.push(conversation.ask(text));
        }
        let turns = conversation.turns();
        assert!(turns.iter().all(|turn| turn["status"] == "completed"), "{api}: {turns:?}");
        // The printed answers stay in the history of the thread.
        for (turn, answer) in turns.iter().zip(&answers) {
            let id = turn["id"].as_str().expect("an id");
            let shown: Value =
                serde_json::from_str(&conversation.run(&format!("turn show {id} --format json")))
                    .expect("JSON");
            let kept = shown["turn"]["answer"].as_str().unwrap_or_default();
            assert_eq!(kept.trim(), answer.trim(), "{api}");
        }
        let bytes: Vec<usize> = answers.iter().map(String::len).collect();
        trial.succeeded(format!("complete, and kept: answers of {bytes:?} bytes"));
    }
}

#[test]
#[ignore = "needs the real model: cargo xtask real-model"]
fn long_histories_fit_the_context() {
    long_history(None);
}

#[test]
#[ignore = "needs the real model: cargo xtask real-model"]
fn templates_that_require_alternating_roles_are_satisfied() {
    long_history(Some(ALTERNATING));
}

/// Fills the context several times, so that summaries are made.
fn long_history(template: Option<&str>) {
    // Each question takes a good part of the small context, so four of them certainly exceed it.
    let story = "Once upon a time there was a gateway that kept every instruction. ".repeat(10);
    for api in APIS {
        let kind = if template.is_some() { ", roles must alternate" } else { "" };
        let trial = trial(api, &format!("a history beyond the context{kind}"));
        let conversation = Conversation::start(api, template, Ending::Natural);
        for number in 1..=4 {
            conversation.ask(&format!("{story} This was part {number}. Say ok."));
        }
        let turns = conversation.turns();
        let inputs: Vec<u64> = turns.iter().map(|turn| tokens(turn, "input")).collect();
        assert!(turns.iter().all(|turn| turn["status"] == "completed"), "{api}: {turns:?}");
        trial.succeeded(format!("complete, with {inputs:?} input tokens"));
    }
}

#[test]
#[ignore = "needs the real model: cargo xtask real-model"]
fn cancelled_turns_record_their_input() {
    for api in APIS {
        let trial = trial(api, "a cancelled turn");
        let conversation = Conversation::start(api, None, Ending::Endless);
        let mut command = conversation.machine.command("turn start Talk 'Count from 1 to 2000.'");
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start the command");
        let mut output = BufReader::new(child.stdout.take().expect("standard output"));
        // The first line of the answer proves that the model is generating when the turn is cancelled.
        let mut line = String::new();
        output.read_line(&mut line).expect("a line of the answer");
        let id = conversation.turns()[0]["id"].as_str().expect("an id").to_owned();
        conversation.run(&format!("turn cancel {id}"));
        child.wait().expect("wait for the command");
        let turn = eventually("the turn to end", || {
            conversation.turns().into_iter().next().filter(|turn| turn["status"] != "running")
        });
        assert_eq!(turn["status"], "cancelled", "{api}");
        let (input, output) = (tokens(&turn, "input"), tokens(&turn, "output"));
        assert!(input > 0 && output > 0, "{api}: {turn:?}");
        trial.succeeded(format!("{input} input and {output} output tokens on record"));
    }
}

#[test]
#[ignore = "needs the real model: cargo xtask real-model"]
fn a_killed_gateway_continues_its_threads() {
    for api in APIS {
        let trial = trial(api, "a gateway that is killed in the middle of an answer");
        let mut conversation = Conversation::start(api, None, Ending::Endless);
        conversation.ask("Name a color.");
        let mut command = conversation.machine.command("turn start Talk 'Count from 1 to 2000.'");
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("start the command");
        let mut line = String::new();
        let output = child.stdout.take().expect("standard output");
        BufReader::new(output).read_line(&mut line).expect("a line of the answer");
        conversation.server.take().expect("a gateway").kill();
        child.kill().expect("end the command");
        child.wait().expect("wait for the command");
        // The model may still be writing the answer, which has no reader any more.
        std::thread::sleep(Duration::from_secs(1));
        conversation.server = Some(serve(&conversation.machine));
        eventually("the killed turn to be failed", || {
            conversation.turns().get(1).filter(|turn| turn["status"] != "running").cloned()
        });
        // The lease of the killed turn has expired by now. Before that, the thread would count as busy.
        conversation.ask("Name another color.");
        let turns = conversation.turns();
        assert_eq!(turns[2]["status"], "completed", "{api}: {turns:?}");
        assert!(!conversation.model.url.is_empty());
        trial.succeeded("the killed turn failed, the next one completed");
    }
}
