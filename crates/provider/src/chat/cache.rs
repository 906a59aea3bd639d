//! Cache breakpoints.
//!
//! Anthropic caches up to each marked block, in the order tools, system, messages. Marks are set at the ends of parts that
//! change at different times: tools with the stable part; the session part, which may end with the first block of the messages
//! instead of system text; the message that opened the turn; and the last message. The opening is marked because the API looks back
//! only about twenty blocks from a mark, which one round of many parallel calls can exceed.

use protocol::round::CacheMark;
use serde_json::{Map, Value, json};

use crate::{CacheRules, ChatRequest};

/// Smallest plausible size of a token. An unnecessary mark does no harm; a missing one costs money.
const BYTES_PER_TOKEN: usize = 2;

/// Marks the ends of the parts that are long enough, at most as many as the rules allow.
pub(crate) fn mark(body: &mut Map<String, Value>, rules: CacheRules, session_end: SessionEnd) {
    let minimum = rules.minimum_tokens as usize * BYTES_PER_TOKEN;
    let sizes = Sizes::of(body, session_end);
    // The most valuable first, for rules that allow fewer marks than there are parts.
    let places = [Breakpoint::Stable, Breakpoint::Session, Breakpoint::LastMessage, Breakpoint::Opening]
        .map(|place| (place, sizes.until(place)));
    let mut left = rules.breakpoints;
    for (place, size) in places {
        if left == 0 {
            return;
        }
        if size >= minimum
            && let Some(block) = block(body, place, session_end)
            // Two parts may end at the same block: a first message that ends the session part can also be the last
            // message. It is marked once, and the breakpoint that this saves remains for another part.
            && !block.contains_key("cache_control")
        {
            block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
            left -= 1;
        }
    }
}

/// Returns the marks that a request contains.
pub(crate) fn marks(body: &Value, session_end: SessionEnd) -> Vec<CacheMark> {
    // The marks are read back from the finished body instead of being collected while it is built, so what is reported
    // is what was sent, for adapters without breakpoints too.
    let has_mark = |block: &Value| block.get("cache_control").is_some();
    let list = |name: &str| body.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut marks = Vec::new();
    if list("tools").iter().any(has_mark) || list("system").first().is_some_and(has_mark) {
        marks.push(CacheMark::Stable);
    }
    let blocks_of = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let mut messages: Vec<Vec<Value>> = list("messages").iter().map(blocks_of).collect();
    let mut session = list("system").iter().skip(1).any(has_mark);
    if let (SessionEnd::FirstMessage, Some(first)) =
        (session_end, messages.first_mut().filter(|it| !it.is_empty()))
    {
        session |= has_mark(&first.remove(0));
    }
    if session {
        marks.push(CacheMark::Session);
    }
    if let Some((last, earlier)) = messages.split_last() {
        if earlier.iter().flatten().any(has_mark) {
            marks.push(CacheMark::Opening);
        }
        if last.iter().any(has_mark) {
            marks.push(CacheMark::LastMessage);
        }
    }
    if body.get("prompt_cache_key").is_some() {
        marks.push(CacheMark::ThreadKey);
    }
    marks
}

/// Last element of the session part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEnd {
    System,
    /// The first block of the first message.
    FirstMessage,
}

impl SessionEnd {
    pub(crate) fn of(request: &ChatRequest) -> Self {
        if request.preamble.trim().is_empty() { Self::System } else { Self::FirstMessage }
    }
}

/// End of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breakpoint {
    Stable,
    Session,
    Opening,
    LastMessage,
}

/// Bytes before the end of each part.
struct Sizes {
    stable: usize,
    session: usize,
    all: usize,
}

impl Sizes {
    fn of(body: &Map<String, Value>, session_end: SessionEnd) -> Self {
        let size = |value: Option<&Value>| value.map_or(0, |value| value.to_string().len());
        let system = body.get("system").and_then(Value::as_array);
        let stable = size(body.get("tools")) + size(system.and_then(|parts| parts.first()));
        let system = size(body.get("tools")) + size(body.get("system"));
        let session = match session_end {
            SessionEnd::System => system,
            SessionEnd::FirstMessage => {
                let first = body.get("messages").and_then(|all| all.pointer("/0/content/0"));
                system + size(first)
            }
        };
        Self { stable, session, all: system + size(body.get("messages")) }
    }

    fn until(&self, place: Breakpoint) -> usize {
        match place {
            Breakpoint::Stable => self.stable,
            Breakpoint::Session => self.session,
            Breakpoint::Opening | Breakpoint::LastMessage => self.all,
        }
    }
}

/// Returns the block to mark, if there is one.
fn block(
    body: &mut Map<String, Value>,
    place: Breakpoint,
    session_end: SessionEnd,
) -> Option<&mut Map<String, Value>> {
    let index = match place {
        // Tools precede the system text, so the first system block ends both.
        Breakpoint::Stable if body.contains_key("system") => {
            return body.get_mut("system")?.as_array_mut()?.first_mut()?.as_object_mut();
        }
        Breakpoint::Stable => return body.get_mut("tools")?.as_array_mut()?.last_mut()?.as_object_mut(),
        Breakpoint::Session if session_end == SessionEnd::FirstMessage => {
            // The question that follows is in the same message, so only the first block ends the session part.
            let first = body.get_mut("messages")?.as_array_mut()?.first_mut()?.get_mut("content")?;
            return first.as_array_mut()?.first_mut()?.as_object_mut();
        }
        Breakpoint::Session => return body.get_mut("system")?.as_array_mut()?.get_mut(1)?.as_object_mut(),
        Breakpoint::LastMessage => body.get("messages")?.as_array()?.len().checked_sub(1)?,
        Breakpoint::Opening => opening(body.get("messages")?.as_array()?)?,
    };
    let content =
        body.get_mut("messages")?.as_array_mut()?.get_mut(index)?.get_mut("content")?.as_array_mut()?;
    let mut blocks = content.iter_mut().rev().filter_map(Value::as_object_mut);
    // The API rejects marks on thinking blocks.
    blocks.find(|block| {
        !block.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("thinking"))
    })
}

/// Returns the index of the message that opened the current turn, if others follow it.
fn opening(messages: &[Value]) -> Option<usize> {
    let opens = |message: &Value| {
        let first = message.pointer("/content/0/type").and_then(Value::as_str);
        message["role"] == "user" && first.is_some_and(|kind| kind != "tool_result")
        // Results of tools have the role `user` as well, but they do not open a turn.
    };
    messages.iter().rposition(opens).filter(|index| index + 1 < messages.len())
}
