//! Renders request bodies of the three APIs as lines.

use std::fmt::Write as _;

use serde_json::Value;

use super::SystemText;

const CACHE_MARK: &str = "[a cache may end here]";

/// Renders all requests, each without the parts it shares with the previous one.
pub(super) fn render(bodies: &[Value], system: SystemText) -> String {
    let requests: Vec<Request> = bodies.iter().map(Request::read).collect();
    let mut text = String::new();
    for (index, request) in requests.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| &requests[before]);
        write!(
            text,
            "{}==== request {} ====\n{}",
            if index == 0 { "" } else { "\n" },
            index + 1,
            request.head
        )
        .unwrap();
        let shown = match system {
            SystemText::Whole | SystemText::WithTools => request.system.clone(),
            SystemText::Headings => headings(&request.system),
        };
        part(&mut text, "system", &request.system, &shown, before.map(|it| &it.system));
        let shown = if system == SystemText::WithTools { &request.tool_texts } else { &request.tools };
        part(&mut text, "tools", &request.tools, shown, before.map(|it| &it.tools));
        let same = before.map_or(0, |before| {
            let pairs = before.messages.iter().zip(&request.messages);
            pairs.take_while(|(one, other)| without_marks(one) == without_marks(other)).count()
        });
        if same > 0 {
            writeln!(text, "---- messages 1 to {same}: as before").unwrap();
        }
        for message in &request.messages[same..] {
            text.push_str(message);
        }
    }
    text
}

/// Writes a part of a request, or a note that it equals the same part of the previous request.
fn part(text: &mut String, name: &str, now: &str, shown: &str, before: Option<&String>) {
    if now.is_empty() {
        return;
    }
    match before.filter(|before| without_marks(before) == without_marks(now)) {
        Some(_) => writeln!(text, "---- {name}: as before").unwrap(),
        None => write!(text, "---- {name}\n{shown}").unwrap(),
    }
}

fn headings(text: &str) -> String {
    let kept = text.lines().filter(|line| line.starts_with("  | ## ") || line.trim() == CACHE_MARK);
    kept.fold(String::new(), |text, line| text + line + "\n")
}

fn without_marks(text: &str) -> String {
    text.lines().filter(|line| line.trim() != CACHE_MARK).collect::<Vec<_>>().join("\n")
}

/// A request, rendered part by part.
struct Request {
    head: String,
    system: String,
    /// The names of its tools.
    tools: String,
    /// The names with their descriptions and arguments.
    tool_texts: String,
    messages: Vec<String>,
}

impl Request {
    fn read(body: &Value) -> Self {
        let mut head = format!("model: {}\n", body["model"].as_str().unwrap_or("?"));
        match &body["tool_choice"] {
            Value::Null => {}
            choice => writeln!(head, "tool choice: {choice}").unwrap(),
        }
        let mut system = String::new();
        // Messages has `system`, Responses `instructions`, and Chat Completions a first message.
        blocks(&mut system, &body["system"]);
        blocks(&mut system, &body["instructions"]);
        let mut tools = String::new();
        let mut tool_texts = String::new();
        for tool in body["tools"].as_array().into_iter().flatten() {
            let name = tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap_or("?");
            writeln!(tools, "  {name}").unwrap();
            writeln!(tool_texts, "  {name}").unwrap();
            describe(&mut tool_texts, tool);
            mark(&mut tools, tool);
            mark(&mut tool_texts, tool);
        }
        let list = body["messages"].as_array().or(body["input"].as_array());
        let is_system = |message: &&Value| message["role"] == "system" || message["role"] == "developer";
        let (first, others): (Vec<&Value>, Vec<&Value>) = list.into_iter().flatten().partition(is_system);
        first.iter().for_each(|first| blocks(&mut system, &first["content"]));
        let messages = others.into_iter().map(message).collect();
        Self { head, system, tools, tool_texts, messages }
    }
}

/// Describes a tool and its arguments.
fn describe(text: &mut String, tool: &Value) {
    quote(text, tool["description"].as_str().unwrap_or("?"));
    for (name, argument) in tool["input_schema"]["properties"].as_object().into_iter().flatten() {
        quote(text, &format!("{name}: {}", argument["description"].as_str().unwrap_or("?")));
    }
}

fn message(message: &Value) -> String {
    let kind = message["role"].as_str().or(message["type"].as_str()).unwrap_or("?");
    let mut text = format!("---- {kind}\n");
    // In Responses, a call or a result is an element of its own.
    if message["role"].is_null() {
        block(&mut text, message);
        return text;
    }
    if let Some(call_id) = message["tool_call_id"].as_str() {
        writeln!(text, "  result of {call_id}").unwrap();
    }
    blocks(&mut text, &message["content"]);
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        call_line(&mut text, &call["id"], &function["name"], function["arguments"].as_str().unwrap_or("?"));
    }
    text
}

fn blocks(text: &mut String, content: &Value) {
    match content {
        Value::String(content) => quote(text, content),
        Value::Array(list) => {
            for (index, element) in list.iter().enumerate() {
                if index > 0 {
                    text.push_str("  ·\n");
                }
                block(text, element);
            }
        }
        _ => {}
    }
}

fn block(text: &mut String, block: &Value) {
    match block["type"].as_str().unwrap_or("?") {
        "text" | "input_text" | "output_text" => quote(text, block["text"].as_str().unwrap_or("?")),
        "tool_use" => call_line(text, &block["id"], &block["name"], &block["input"].to_string()),
        "function_call" => {
            call_line(text, &block["call_id"], &block["name"], block["arguments"].as_str().unwrap_or("?"));
        }
        "tool_result" => {
            let failed = if block["is_error"] == true { ", failed" } else { "" };
            writeln!(text, "  result of {}{failed}", block["tool_use_id"].as_str().unwrap_or("?")).unwrap();
            blocks(text, &block["content"]);
        }
        "function_call_output" => {
            writeln!(text, "  result of {}", block["call_id"].as_str().unwrap_or("?")).unwrap();
            blocks(text, &block["output"]);
        }
        "thinking" => writeln!(text, "  thinking: {}", block["thinking"].as_str().unwrap_or("?")).unwrap(),
        other => writeln!(text, "  ({other})").unwrap(),
    }
    mark(text, block);
}

fn call_line(text: &mut String, id: &Value, name: &Value, arguments: &str) {
    let id = id.as_str().unwrap_or("?");
    let name = name.as_str().unwrap_or("?");
    writeln!(text, "  call {id}: {name} {arguments}").unwrap();
}

fn mark(text: &mut String, value: &Value) {
    if value.get("cache_control").is_some() {
        writeln!(text, "  {CACHE_MARK}").unwrap();
    }
}

/// Writes the lines of a text, shortening repetitions of lines and within lines.
fn quote(text: &mut String, quoted: &str) {
    let lines: Vec<&str> = quoted.split('\n').collect();
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        let count = lines[next..].iter().take_while(|other| *other == line).count();
        let count = if count < MANY || line.is_empty() { 1 } else { count };
        let shown = without_repetition(line);
        let times = if count > 1 { format!(" … ×{count}") } else { String::new() };
        writeln!(text, "{}", format!("  | {shown}{times}").trim_end()).unwrap();
        next += count;
    }
}

/// Repetitions from which a line is shown once with its count: test filler is a short text repeated many times.
const MANY: usize = 8;
/// Length from which a repetition within a line is shortened.
const MANY_CHARACTERS: usize = 200;
/// Length of the longest repeated text that is detected.
const LONGEST_FILLER: usize = 80;

/// Shortens each text that is repeated many times to one occurrence and its count.
fn without_repetition(line: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    for start in 0..characters.len() {
        for length in 1..=LONGEST_FILLER.min((characters.len() - start) / MANY) {
            let filler = &characters[start..start + length];
            let count = characters[start..].chunks(length).take_while(|chunk| *chunk == filler).count();
            if count * length >= MANY_CHARACTERS {
                let part = |from: usize, to: usize| characters[from..to].iter().collect::<String>();
                let before = part(0, start);
                let filler = part(start, start + length);
                let rest = part(start + count * length, characters.len());
                return format!("{before}{} … ×{count} {}", filler.trim_end(), without_repetition(&rest));
            }
        }
    }
    line.to_owned()
}
