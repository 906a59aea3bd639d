//! A parsed request to Anthropic's API.

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) body: Value,
    /// Both parts of the system text.
    pub(crate) system: String,
    /// Messages without cache markers, whose position changes.
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Value,
}

/// A text in a request by its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text<'a> {
    System(&'a str),
    /// Text of a message.
    Message(&'a str),
    /// Output of a tool.
    Output(&'a str),
    /// A reminder inserted by the gateway.
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

    /// Returns true if the request asks for a summary.
    pub(crate) fn is_for_summary(&self) -> bool {
        self.system.starts_with("Summarise the conversation")
    }

    /// Returns all texts in reading order with the index of their message.
    pub(crate) fn texts(&self) -> Vec<(usize, Text<'_>)> {
        let mut texts = vec![(0, Text::System(self.system.as_str()))];
        for (index, message) in self.messages.iter().enumerate() {
            for block in elements(&message["content"]) {
                let own = block["text"].as_str().map(classify);
                let inner = elements(&block["content"]).filter_map(|inner| inner["text"].as_str());
                let inner = inner.map(|text| match classify(text) {
                    Text::Message(text) => Text::Output(text),
                    reminder => reminder,
                });
                texts.extend(own.into_iter().chain(inner).map(|text| (index, text)));
            }
        }
        texts
    }

    /// Returns the texts of all messages as one string.
    pub(crate) fn message_texts(&self) -> String {
        let texts = self.texts().into_iter().skip(1).map(|(_, text)| match text {
            Text::System(text) | Text::Message(text) | Text::Output(text) | Text::Reminder(text) => text,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the sections of the system text with their headings.
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

fn classify(text: &str) -> Text<'_> {
    if text.starts_with(REMINDER) { Text::Reminder(text) } else { Text::Message(text) }
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // The markers move forward with every request, while the text they mark must stay the same.
            fields.remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        Value::Array(list) => list.iter_mut().for_each(without_marks),
        _ => {}
    }
}
