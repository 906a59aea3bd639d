//! A request as Anthropic's API gets it, taken apart.

use serde_json::Value;

/// What a model is asked with.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) body: Value,
    /// Both parts of the system text.
    pub(crate) system: String,
    /// Without marks for caches, which move.
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Value,
}

/// A text in a request, and what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text<'a> {
    System(&'a str),
    /// Something said in a message.
    Said(&'a str),
    /// What a tool answered.
    Output(&'a str),
    /// A reminder of ours.
    Reminder(&'a str),
}

const REMINDER: &str = "<system-reminder type=";

impl Request {
    pub(crate) fn new(body: &Value) -> Self {
        let texts = body["system"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        let system = texts.collect::<Vec<_>>().join("\n\n");
        let mut messages = body["messages"].clone();
        without_marks(&mut messages);
        let mut tools = body["tools"].clone();
        without_marks(&mut tools);
        let messages = messages.as_array().cloned().unwrap_or_default();
        Self { body: body.clone(), system, messages, tools }
    }

    /// Whether it asks for a summary.
    pub(crate) fn is_for_summary(&self) -> bool {
        self.system.starts_with("Summarise the conversation")
    }

    /// Every text, in the order in which a model reads them, and the message it is in.
    pub(crate) fn texts(&self) -> Vec<(usize, Text<'_>)> {
        let mut texts = vec![(0, Text::System(self.system.as_str()))];
        for (index, message) in self.messages.iter().enumerate() {
            for block in elements(&message["content"]) {
                let own = block["text"].as_str().map(said);
                let inner = elements(&block["content"]).filter_map(|inner| inner["text"].as_str());
                let inner = inner.map(|text| match said(text) {
                    Text::Said(text) => Text::Output(text),
                    reminder => reminder,
                });
                texts.extend(own.into_iter().chain(inner).map(|text| (index, text)));
            }
        }
        texts
    }

    /// All texts of messages in one.
    pub(crate) fn said(&self) -> String {
        let texts = self.texts().into_iter().skip(1).map(|(_, text)| match text {
            Text::System(text) | Text::Said(text) | Text::Output(text) | Text::Reminder(text) => text,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The sections of the system text, each with its heading.
    pub(crate) fn sections(&self) -> Vec<(&str, &str)> {
        let sections = self.system.split("\n\n## ").map(|section| {
            let section = section.strip_prefix("## ").unwrap_or(section);
            section.split_once('\n').unwrap_or((section, ""))
        });
        sections.collect()
    }
}

pub(crate) fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn said(text: &str) -> Text<'_> {
    if text.starts_with(REMINDER) { Text::Reminder(text) } else { Text::Said(text) }
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(list) => list.iter_mut().for_each(without_marks),
        _ => {}
    }
}
