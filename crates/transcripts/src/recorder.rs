//! Numbers messages, remembers the calls that read instruction files, and passes events on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use instructions::{OTHER_AGENTS, PROFILES};
use protocol::{DeliveryTime, Timestamp};
use serde_json::Value;

use crate::event::{Event, EventKind, InstructionText, Layer, MessageRole, Origin, Remainder, Sink};
use crate::lines::Problems;
use crate::model::TranscriptHeader;

/// Most calls whose results are awaited.
const MAX_AWAITED: usize = 256;
/// Longest title in characters.
const TITLE: usize = 80;

/// Last parts of the names of all instruction files, in lower case.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let known = PROFILES.iter().flat_map(|profile| profile.known_names());
    let others = OTHER_AGENTS.iter().map(|(name, _)| *name);
    let mut names: Vec<String> =
        known.chain(others).filter_map(|name| name.rsplit('/').next()).map(str::to_lowercase).collect();
    names.sort_unstable();
    names.dedup();
    names
});

/// Returns true if a path has the name of an instruction file.
pub(crate) fn is_instruction_file(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
    NAMES.binary_search(&name).is_ok()
}

/// Builder of a session's events.
pub(crate) struct Recorder<'a> {
    sink: &'a mut dyn Sink,
    pub(crate) header: TranscriptHeader,
    pub(crate) problems: Problems,
    message: u64,
    at: Option<Timestamp>,
    /// The response that the current assistant message belongs to.
    open: bool,
    /// Files that a call prints, by the id of the call.
    reads: HashMap<String, PathBuf>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            header: TranscriptHeader::default(),
            problems: Problems::default(),
            message: 0,
            at: None,
            open: false,
            reads: HashMap::new(),
        }
    }

    /// Sets the time of the following events.
    pub(crate) fn at(&mut self, time: Option<Timestamp>) {
        let Some(time) = time else { return };
        self.at = Some(time);
        let header = &mut self.header;
        header.started_at = Some(header.started_at.map_or(time, |start| start.min(time)));
        header.ended_at = Some(header.ended_at.map_or(time, |end| end.max(time)));
    }

    pub(crate) fn at_text(&mut self, time: Option<&str>) {
        self.at(time.and_then(|time| time.parse().ok()));
    }

    pub(crate) fn at_milliseconds(&mut self, time: Option<i64>) {
        self.at(time.map(Timestamp::from_milliseconds));
    }

    /// Returns true if messages must carry their texts.
    pub(crate) fn needs_text(&self) -> bool {
        self.sink.needs_text()
    }

    pub(crate) fn start(&mut self, resumed: bool) {
        self.send(EventKind::Start { resumed });
    }

    /// Adds a message of the user.
    pub(crate) fn user(&mut self, text: impl FnOnce() -> String) {
        self.message += 1;
        self.open = false;
        let wants_title = self.header.title.is_none();
        let text = (wants_title || self.needs_text()).then(text);
        if wants_title && let Some(text) = &text {
            self.header.title = title_of(text);
        }
        let text = text.filter(|_| self.needs_text());
        self.send(EventKind::Message { role: MessageRole::User, text });
    }

    /// Adds a part of the model's current message, or begins one.
    pub(crate) fn assistant(&mut self, text: impl FnOnce() -> String) {
        self.begin_assistant();
        let text = self.needs_text().then(text);
        self.send(EventKind::Message { role: MessageRole::Assistant, text });
    }

    fn begin_assistant(&mut self) {
        if !self.open {
            self.message += 1;
            self.open = true;
        }
    }

    /// Ends the model's message, so that its next part begins another one.
    pub(crate) fn close(&mut self) {
        self.open = false;
    }

    /// Adds a tool call to the model's current message.
    pub(crate) fn call(&mut self, id: &str, tool: &str, input: &Value) {
        self.begin_assistant();
        let path = path_argument(input);
        if let Some(file) = printed_file(path, input)
            && self.reads.len() < MAX_AWAITED
        {
            self.reads.insert(id.to_owned(), self.absolute(&file));
        }
        let path = path.map(str::to_owned);
        let mut texts = Vec::new();
        if self.needs_text() {
            collect_texts(input, &mut texts);
        }
        self.send(EventKind::Call { tool: tool.to_owned(), input: texts.join("\n"), path });
    }

    /// Adds a command that the current call has run.
    pub(crate) fn command(&mut self, command: &str) {
        if self.needs_text() {
            // The call is over once its result is there, but a late record still belongs to it.
            let input = command.to_owned();
            self.send(EventKind::Call { tool: "shell".to_owned(), input, path: None });
        }
    }

    /// Adds a tool's result. `text` is called only if it matters.
    pub(crate) fn result(&mut self, id: &str, text: impl FnOnce() -> String) {
        self.message += 1;
        self.open = false;
        let file = self.reads.remove(id);
        let text = (file.is_some() || self.needs_text()).then(text);
        let shown = text.clone().filter(|_| self.needs_text());
        self.send(EventKind::Message { role: MessageRole::Tool, text: shown });
        if let (Some(file), Some(text)) = (file, text) {
            self.instructions(InstructionText {
                path: Some(file),
                text,
                when: DeliveryTime::Reading,
                layer: Layer::Conversation,
                origin: Origin::Tool,
                record: None,
            });
        }
    }

    /// Adds an instruction text to the current message.
    pub(crate) fn instructions(&mut self, text: InstructionText) {
        let number = match text.layer {
            Layer::System => 0,
            // Some agents write the text before the message that carries it.
            Layer::Conversation => self.message.max(1),
        };
        self.send_to(number, EventKind::Instructions(text));
    }

    pub(crate) fn replaced(&mut self, texts: Vec<InstructionText>) {
        self.send_to(self.message.max(1), EventKind::Replaced(texts));
    }

    pub(crate) fn announced(&mut self, path: PathBuf) {
        let path = self.absolute(&path);
        self.send(EventKind::Announced { path });
    }

    pub(crate) fn compaction(&mut self, remainder: Remainder) {
        self.open = false;
        self.send(EventKind::Compaction(remainder));
    }

    pub(crate) fn removed(&mut self, layer: Layer) {
        self.send(EventKind::Removed(layer));
    }

    pub(crate) fn snapshot(&mut self, tree: String) {
        self.send(EventKind::Snapshot { tree });
    }

    /// Adds the size of the request that was just answered.
    pub(crate) fn usage(&mut self, input_tokens: Option<u64>) {
        if let Some(input_tokens) = input_tokens.filter(|tokens| *tokens > 0) {
            self.send(EventKind::Usage { input_tokens });
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let base = self.header.cwd.as_deref().unwrap_or(Path::new(""));
        instructions::path::normalise(path, base)
    }

    fn send(&mut self, kind: EventKind) {
        self.send_to(self.message, kind);
    }

    fn send_to(&mut self, message: u64, kind: EventKind) {
        self.sink.take(Event { message, at: self.at, kind });
    }
}

/// Returns the first line of a prompt, unless an agent wrote it.
fn title_of(text: &str) -> Option<String> {
    // Agents wrap the context that they add in tags, or begin it with a heading.
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    if line.starts_with('<') || line.starts_with("# AGENTS.md instructions") {
        return None;
    }
    // `opencode run` keeps the quotes of the shell's word.
    let line = line.trim_matches('"');
    let mut title: String = line.chars().take(TITLE).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// Returns the argument of a call that names a file.
fn path_argument(input: &Value) -> Option<&str> {
    const KEYS: &[&str] = &["file_path", "filePath", "path", "absolute_path", "notebook_path", "file"];
    KEYS.iter().find_map(|key| input.get(key)?.as_str())
}

/// Returns the instruction file whose text the result of a call may contain.
fn printed_file(path: Option<&str>, input: &Value) -> Option<PathBuf> {
    if let Some(path) = path {
        // The result of an edit shows a part of the file that the model has written itself.
        let is_edit = ["old_string", "oldString", "old_str", "edits", "content", "new_string"]
            .iter()
            .any(|key| input.get(key).is_some());
        return (!is_edit && is_instruction_file(path)).then(|| PathBuf::from(path));
    }
    let command = match input {
        Value::String(command) => command.as_str(),
        _ => ["command", "cmd"].iter().find_map(|key| input.get(key)?.as_str())?,
    };
    let words = command.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|' | '(' | ')'));
    words.filter(|word| is_instruction_file(word)).map(PathBuf::from).next()
}

/// Collects the texts in a value, in order.
pub(crate) fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(values) => values.values().for_each(|value| collect_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the texts in a value, joined by line ends.
pub(crate) fn texts_of(value: &Value) -> String {
    let mut texts = Vec::new();
    collect_texts(value, &mut texts);
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_that_print_instruction_files_are_found() {
        let file = |input: Value| printed_file(path_argument(&input), &input);
        assert_eq!(file(json!({ "file_path": "/r/AGENTS.md" })), Some(PathBuf::from("/r/AGENTS.md")));
        assert_eq!(file(json!({ "cmd": "cat 'docs/claude.md'; ls" })), Some(PathBuf::from("docs/claude.md")));
        assert_eq!(file(json!({ "command": "npm install" })), None);
        assert_eq!(file(json!({ "file_path": "/r/AGENTS.md", "old_string": "a" })), None);
        assert_eq!(file(json!({ "path": "src/main.rs" })), None);
    }

    #[test]
    fn titles_skip_what_agents_write() {
        assert_eq!(title_of("\n\"Add refunds\"\nmore"), Some("Add refunds".to_owned()));
        assert_eq!(title_of("<environment_context>"), None);
        assert_eq!(title_of("# AGENTS.md instructions for /r"), None);
        assert_eq!(title_of(&"x".repeat(90)).map(|title| title.chars().count()), Some(TITLE + 1));
    }
}
